// The help of the program and of its commands. Pure: syntax in, text out.

/// Formats help texts.
enum HelpText {
    private static let width = 100

    /// Returns the help of one command.
    static func text(for syntax: CommandSyntax) -> String {
        let operand = syntax.operand.map { " [\($0)]" } ?? ""
        var text = "Usage: chappie \(syntax.name) [OPTIONS]\(operand)\n\n"
        text += Self.wrapped(syntax.summary, indentation: 0) + "\n"
        text += "Options:\n" + Self.table(syntax.allOptions.map { ($0.spelling, $0.summary) })
        for note in syntax.notes { text += "\n" + Self.wrapped(note, indentation: 0) }
        for section in syntax.sections {
            text += "\n\(section.title):\n" + Self.table(section.rows)
            text += "\n" + Self.wrapped(section.note, indentation: 0)
        }
        return text
    }

    /// Returns the help of the whole program.
    static func text(for commands: [CommandSyntax]) -> String {
        "Usage: chappie COMMAND [OPTIONS]\n\n"
            + "Streams the answers of large language models: WebSocket first, HTTP when that fails, exactly once.\n\n"
            + "Commands:\n" + Self.table(commands.map { ($0.name, $0.summary) })
            + "\nOptions:\n"
            + Self.table([
                ("--help", "print this and exit; with a command, its own help"),
                ("--version", "print the versions of this program and of the libraries it uses, and exit"),
            ])
            + "\nExit codes:\n" + Self.table(Self.exitCodes)
    }

    private static let exitCodes = [
        ("0", "done"), ("64", "usage"), ("65", "the server's data is wrong, or a replay diverged"),
        ("69", "unreachable, refused, or the server failed, and retrying did not help"),
        ("70", "a defect of this program"), ("75", "rate or usage limit: try later"), ("77", "credentials"),
        ("124", "a time budget ran out"), ("130", "interrupted"),
    ]

    private static func table(_ rows: [(name: String, summary: String)]) -> String {
        let column = min(28, (rows.map(\.name.count).max() ?? 0) + 4)
        return rows.map { row in
            let name = "  " + row.name
            let summary = Self.wrapped(row.summary, indentation: column)
            guard name.count + 2 <= column else { return name + "\n" + summary }
            return name + summary.dropFirst(name.count)
        }.joined()
    }

    /// Returns a text in lines, each of which begins with a margin of blanks.
    ///
    /// A word that is too long for a line stands in one of its own.
    static func wrapped(_ text: String, indentation: Int, width: Int = Self.width) -> String {
        let margin = String(repeating: " ", count: indentation)
        var lines: [String] = []
        var line = margin
        for word in text.split(separator: " ") {
            if line.count > indentation, line.count + 1 + word.count > width {
                lines.append(line)
                line = margin
            }
            line += line.count > indentation ? " \(word)" : String(word)
        }
        return (lines + [line]).joined(separator: "\n") + "\n"
    }
}
