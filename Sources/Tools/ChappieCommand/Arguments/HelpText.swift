// The help of the program and of its commands. Pure: syntax in, text out.

/// Formats help texts, in lines of a number of columns.
struct HelpText {
    /// The widest lines, which are those of a pipe too.
    private static let maximumWidth = 100
    private static let minimumWidth = 40

    private let width: Int

    /// Creates help for a terminal with a number of columns; nil for a pipe.
    init(columnCount: Int? = nil) { self.width = Self.width(ofColumns: columnCount) }

    /// Returns the width of lines for a terminal with a number of columns, 40 to 100; nil for a pipe.
    static func width(ofColumns columnCount: Int?) -> Int {
        max(Self.minimumWidth, min(Self.maximumWidth, columnCount ?? .max))
    }

    /// Returns the help of one command.
    func text(for syntax: CommandSyntax) -> String {
        let operand = syntax.operandSpelling.map { " " + $0 } ?? ""
        var text = "Usage: chappie \(syntax.name) [OPTIONS]\(operand)\n\n"
        text += self.paragraph(syntax.summary) + "\n"
        text += "Options:\n" + self.table(syntax.allOptions.map { ($0.spelling, $0.summary) })
        for note in syntax.notes { text += "\n" + self.paragraph(note) }
        for section in syntax.sections {
            text += "\n\(section.title):\n" + self.table(section.rows)
            text += "\n" + self.paragraph(section.note)
        }
        return text
    }

    /// Returns the help of the whole program.
    func text(for commands: [CommandSyntax]) -> String {
        "Usage: chappie COMMAND [OPTIONS]\n\n"
            + self.paragraph(
                "Streams the responses of large language models over a WebSocket or HTTP, and prints each piece once.")
            + "\nCommands:\n" + self.table(commands.map { ($0.name, $0.summary) })
            + "\nOptions:\n"
            + self.table([
                ("--help", "print this and exit; with a command, its own help"),
                ("--version", "print the versions of this program and of the libraries it uses, and exit"),
            ])
            + "\nExit codes:\n" + self.table(Self.exitCodes)
    }

    private func paragraph(_ text: String) -> String { Self.wrapped(text, indentation: 0, width: self.width) }

    /// The exit codes and their meanings.
    static let exitCodes = [
        ("0", "done"), ("64", "usage"), ("65", "the server's data is wrong, or a replay diverged"),
        ("69", "unreachable, refused, or the server failed, and retrying did not help"),
        ("70", "a defect of this program"), ("75", "rate or usage limit: try later"), ("77", "credentials"),
        ("124", "a time budget ran out"), ("130", "interrupted"),
    ]

    private func table(_ rows: [(name: String, summary: String)]) -> String {
        let column = min(28, self.width / 3, (rows.map(\.name.count).max() ?? 0) + 4)
        return rows.map { row in
            let name = "  " + row.name
            let summary = Self.wrapped(row.summary, indentation: column, width: self.width)
            guard name.count + 2 <= column else { return name + "\n" + summary }
            return name + summary.dropFirst(name.count)
        }.joined()
    }

    /// Returns a text in lines, each of which begins with a margin of blanks.
    ///
    /// A word that is too long for a line stands in one of its own.
    static func wrapped(_ text: String, indentation: Int, width: Int) -> String {
        let margin = String(repeating: " ", count: indentation)
        var lines: [String] = []
        var line = margin
        for word in text.split(separator: " ") {
            if line.count > indentation, line.columnCount + 1 + word.columnCount > width {
                lines.append(line)
                line = margin
            }
            line += line.count > indentation ? " \(word)" : String(word)
        }
        return (lines + [line]).joined(separator: "\n") + "\n"
    }

    /// Returns the lines of a text that stands behind other text of at most a number of columns: the first line without
    /// a margin, the others below it, without a line feed at the end.
    ///
    /// Without a width, the text is returned as it is.
    static func wrapped(_ text: String, behind column: Int, width: Int?) -> String {
        guard let width else { return text }
        return String(Self.wrapped(text, indentation: column, width: width).dropFirst(column).dropLast())
    }
}

extension StringProtocol {
    /// The number of columns that its characters take: two for those of East Asian scripts, and for emoji.
    fileprivate var columnCount: Int {
        self.reduce(0) { count, character in
            count + (character.unicodeScalars.contains { $0.isWide } ? 2 : 1)
        }
    }
}

extension Unicode.Scalar {
    /// Indicates whether it may take two columns: it is neither of an alphabet nor typographic.
    fileprivate var isWide: Bool { self.value >= 0x1100 && !(0x1E00...0x2E7F ~= self.value) }
}
