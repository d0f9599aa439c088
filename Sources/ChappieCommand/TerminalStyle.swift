// Colour and weight of text on a terminal. Pure.

/// When output is coloured.
enum ColorChoice: String, CaseIterable {
    /// On a terminal, unless `NO_COLOR` is set.
    case auto
    /// Everywhere.
    case always
    /// Nowhere.
    case never

    /// Returns whether to colour (https://no-color.org: `NO_COLOR` counts when it is not empty).
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
    /// Indicates whether marks are made.
    let isColored: Bool

    /// Heavier.
    func bold(_ text: String) -> String { self.marked(text, "1") }
    /// Fainter.
    func dim(_ text: String) -> String { self.marked(text, "2") }
    /// For what went wrong.
    func red(_ text: String) -> String { self.marked(text, "31") }
    /// For what went right.
    func green(_ text: String) -> String { self.marked(text, "32") }

    /// Dark on light, with colour or without: nothing from outside can look like that, because no escape sequence of it
    /// reaches a terminal.
    static func reversed(_ text: String) -> String { "\u{1B}[7m\(text)\u{1B}[0m" }

    private func marked(_ text: String, _ code: String) -> String {
        guard self.isColored, !text.isEmpty else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}
