// Colour and weight of text on a terminal. Pure.

/// The choice of coloured output.
enum ColorChoice: String, CaseIterable {
    /// On a terminal, unless `NO_COLOR` is set.
    case auto
    /// Always.
    case always
    /// Never.
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

/// Marks text with ECMA-48's "select graphic rendition", or returns it unchanged.
struct TerminalStyle: Sendable {
    /// Indicates whether marks are made.
    let isColored: Bool

    /// Returns bold text.
    func bold(_ text: String) -> String { self.marked(text, "1") }
    /// Returns faint text.
    func dim(_ text: String) -> String { self.marked(text, "2") }
    /// Returns text that is struck out.
    func struckOut(_ text: String) -> String { self.marked(text, "9") }
    /// Returns red text, for failures.
    func red(_ text: String) -> String { self.marked(text, "31") }
    /// Returns green text, for successes.
    func green(_ text: String) -> String { self.marked(text, "32") }

    /// Returns reversed text, with colour or without: external text cannot look like it, because its escape sequences
    /// do not reach a terminal.
    static func reversed(_ text: String) -> String { "\u{1B}[7m\(text)\u{1B}[0m" }

    private func marked(_ text: String, _ code: String) -> String {
        guard self.isColored, !text.isEmpty else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}
