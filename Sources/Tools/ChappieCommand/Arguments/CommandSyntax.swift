// The syntax of a command as a value, from which parsing, help and suggestions are derived.

/// The options and the operand of one command.
struct CommandSyntax: Sendable {
    /// An option that begins with two hyphens.
    struct Option: Sendable {
        /// The name without hyphens.
        let name: String
        /// The name of its value in the help; nil for an option without a value.
        let valueName: String?
        /// Its effect, in a few words.
        let summary: String
        /// The words that completions offer for its value: all, or beside files; empty where it may be any text.
        ///
        /// They are made when they are read: only completions need them.
        var values: [String] { self.makeValues() }
        private let makeValues: @Sendable () -> [String]

        /// Creates an option with a value.
        init(
            _ name: String, _ valueName: String, _ summary: String,
            values: @autoclosure @escaping @Sendable () -> [String] = []
        ) {
            self.name = name
            self.valueName = valueName
            self.summary = summary
            self.makeValues = values
        }

        /// Creates an option without a value.
        init(_ name: String, _ summary: String) {
            self.name = name
            self.valueName = nil
            self.summary = summary
            self.makeValues = { [] }
        }

        /// The option as it is typed.
        var spelling: String { "--\(self.name)" + (self.valueName.map { " \($0)" } ?? "") }
    }

    /// A table of further input in the help.
    struct Section: Sendable {
        /// The title above it.
        let title: String
        /// The input, and its effect.
        let rows: [(name: String, summary: String)]
        /// The note below it.
        let note: String
    }

    /// The command's name.
    let name: String
    /// Its purpose, in a sentence.
    let summary: String
    /// The name of the only operand in the help; nil when the command takes none.
    var operand: String?
    /// The words of which the operand has to be one; empty where it may be left out, or be any text.
    var operandValues: [String] = []
    /// Indicates whether the operand must be given.
    var requiresOperand = false
    /// Its own options, in the order of the help.
    var options: [Option]
    /// Further notes, after the options in the help.
    var notes: [String] = []
    /// Tables after the notes in the help.
    var sections: [Section] = []

    /// The options that every command has.
    static let sharedOptions = [
        Option(
            "color", "WHEN", "auto, always or never; auto heeds NO_COLOR and whether the output is a terminal",
            values: ColorChoice.allCases.map(\.rawValue)),
        Option("help", "print this and exit"),
    ]

    /// The operand as it is typed; nil when the command takes none.
    var operandSpelling: String? { self.operand.map { self.isOperandOptional ? "[\($0)]" : $0 } }

    /// Indicates whether the operand may be left out.
    var isOperandOptional: Bool { self.operandValues.isEmpty && !self.requiresOperand }

    /// Its own options, and those that every command has.
    var allOptions: [Option] { self.options + Self.sharedOptions }
}
