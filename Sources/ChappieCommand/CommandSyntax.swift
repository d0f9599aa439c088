// What a command accepts, as a value: parsing, help and suggestions are made from it.

/// The options and the operand of one command.
struct CommandSyntax: Sendable {
    /// An option that begins with two hyphens.
    struct Option: Sendable {
        /// The name without hyphens.
        let name: String
        /// What its value is called in the help; nil for an option without a value.
        let valueName: String?
        /// What it does, in a few words.
        let summary: String

        /// An option with a value.
        init(_ name: String, _ valueName: String, _ summary: String) {
            self.name = name
            self.valueName = valueName
            self.summary = summary
        }

        /// An option without a value.
        init(_ name: String, _ summary: String) {
            self.name = name
            self.valueName = nil
            self.summary = summary
        }

        /// The option as it is typed.
        var spelling: String { "--\(self.name)" + (self.valueName.map { " \($0)" } ?? "") }
    }

    /// A table of more that can be typed.
    struct Section: Sendable {
        /// What stands above it.
        let title: String
        /// What is typed, and what it does.
        let rows: [(name: String, summary: String)]
        /// What stands below it.
        let note: String
    }

    /// The command's name.
    let name: String
    /// What it does, in a sentence.
    let summary: String
    /// What the only operand is called in the help; nil when the command takes none.
    var operand: String?
    /// Its own options, in the order of the help.
    var options: [Option]
    /// More about it, after the options in the help.
    var notes: [String] = []
    /// Tables after the notes in the help.
    var sections: [Section] = []

    /// The options that every command has.
    static let sharedOptions = [
        Option("color", "WHEN", "auto, always or never; auto heeds NO_COLOR and whether the output is a terminal"),
        Option("help", "print this and exit"),
    ]

    /// Its own options, and those that every command has.
    var allOptions: [Option] { self.options + Self.sharedOptions }
}
