// Colour and weight of text on a terminal, and text that cannot harm one. Pure.

/// When output is coloured.
enum ColorChoice: String, CaseIterable {
    /// On a terminal, unless `NO_COLOR` is set.
    case auto
    /// Everywhere.
    case always
    /// Nowhere.
    case never

    /// Whether to colour (https://no-color.org: `NO_COLOR` counts when it is not empty).
    func isColored(onTerminal isTerminal: Bool, environment: [String: String]) -> Bool {
        switch self {
        case .always: true
        case .never: false
        case .auto: isTerminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
        }
    }
}

/// Marks text up with ECMA-48's "select graphic rendition", or leaves it alone.
struct TerminalStyle: Sendable {
    /// Whether marks are made.
    let isColored: Bool

    /// Heavier.
    func bold(_ text: String) -> String { self.marked(text, "1") }
    /// Fainter.
    func dim(_ text: String) -> String { self.marked(text, "2") }
    /// For what went wrong.
    func red(_ text: String) -> String { self.marked(text, "31") }
    /// For what went right.
    func green(_ text: String) -> String { self.marked(text, "32") }

    private func marked(_ text: String, _ code: String) -> String {
        guard self.isColored, !text.isEmpty else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}

extension String {
    /// The text without control characters other than tab and line feed.
    ///
    /// A terminal obeys escape sequences; what a server says must not reach it as one.
    var withoutControlCharacters: String {
        guard self.unicodeScalars.contains(where: Self.isControl) else { return self }
        return String(String.UnicodeScalarView(self.unicodeScalars.filter { !Self.isControl($0) }))
    }

    /// The text on one line, with nothing that a terminal obeys or that changes the direction of writing.
    ///
    /// Names and plans are the server's words; none of them can look like a line of this program. What is longer than
    /// the limit, in characters, is cut.
    func onOneLine(limit: Int = 2_000) -> String {
        let scalars = self.withoutControlCharacters.unicodeScalars.compactMap { scalar -> Unicode.Scalar? in
            switch scalar.value {
            case 0x09, 0x0A, 0x2028, 0x2029: " "
            // https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters
            case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: nil
            default: scalar
            }
        }
        let text = String(String.UnicodeScalarView(scalars))
        return text.count > limit ? text.prefix(max(0, limit - 1)) + "…" : text
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: false
        case 0x00...0x1F, 0x7F...0x9F: true
        default: false
        }
    }
}
