// The manual page, from the syntax of the commands. Pure: syntax in, text out.

/// Formats the manual page in the language of mdoc(7).
enum ManualPage {
    /// The environment variables that several commands read.
    private static let variables = [
        ("CHAPPIE_API_KEY", "the key of requests; before OPENAI_API_KEY"),
        ("OPENAI_API_KEY", "the key of requests"),
        ("CHAPPIE_BASE_URL", "the base URL of requests; before OPENAI_BASE_URL"),
        ("OPENAI_BASE_URL", "the base URL of requests"),
        ("CHAPPIE_MODEL", "the model of requests that name none"),
        ("CHAPPIE_JOURNAL_KEY", "encrypts the journal of chappie relay"),
        ("CHAPPIE_CLIENT_ID", "the client identifier of sign-ins"),
        ("CHAPPIE_HOME", "the folder of credentials and settings"),
        ("XDG_CONFIG_HOME", "where CHAPPIE_HOME is not set, its folder chappie; default ~/.config"),
        ("HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY", "the proxies of connections, and the servers without one"),
        ("SSL_CERT_FILE, SSL_CERT_DIR", "the trusted certification authorities"),
        ("NO_COLOR", "where it is set and not empty, no output has colours"),
    ]

    /// Returns the page for all commands.
    static func text(for commands: [CommandSyntax]) -> String {
        var lines = [
            ".Dd \(PackageVersion.date)", ".Dt CHAPPIE 1", ".Os chappie \(PackageVersion.current)", ".Sh NAME",
            ".Nm chappie", ".Nd stream the answers of large language models", ".Sh SYNOPSIS",
        ]
        for command in commands {
            lines += [".Nm", ".Cm \(command.name)", ".Op Ar options"]
            if let operand = command.operand {
                lines.append(command.isOperandOptional ? ".Op Ar \(operand)" : ".Ar \(operand)")
            }
        }
        lines += [
            ".Sh DESCRIPTION", ".Nm",
            "streams responses of the Responses API: over a WebSocket first, and over HTTP when that fails.",
            "Each piece of output is printed once, behind reconnections too.",
        ]
        for command in commands { lines += Self.section(of: command) }
        lines += [".Sh ENVIRONMENT"] + Self.list(Self.variables.map { (".It Ev \($0.0)", $0.1) })
        lines += [".Sh EXIT STATUS"] + Self.list(HelpText.exitCodes.map { (".It \($0.0)", $0.1) })
        lines += [".Sh EXAMPLES"]
        for example in [
            "chappie stream --demo \"Why is the sky blue?\"", "chappie serve --port 8080 --scenario replay-same",
            "chappie events https://example.com/events", "curl -N https://example.com/events | chappie sse",
        ] { lines.append(".Dl \(Self.argument(example))") }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func section(of command: CommandSyntax) -> [String] {
        var lines = [".Ss chappie \(command.name)", Self.escaped(command.summary)]
        lines += Self.list(
            command.allOptions.map { option in
                let value = option.valueName.map { " Ar \(Self.argument($0))" } ?? ""
                return (".It Fl Fl \(option.name)\(value)", option.summary)
            })
        for note in command.notes { lines += [".Pp", Self.escaped(note)] }
        for section in command.sections {
            lines += [".Pp", Self.escaped(section.title + ":")]
            lines += Self.list(section.rows.map { (".It Li \(Self.argument($0.name))", $0.summary) })
            lines += [".Pp", Self.escaped(section.note)]
        }
        return lines
    }

    private static func list(_ rows: [(item: String, text: String)]) -> [String] {
        [".Bl -tag -width Ds"] + rows.flatMap { [$0.item, Self.escaped($0.text)] } + [".El"]
    }

    /// Returns text of a request's line, whose double quotes are characters.
    private static func argument(_ text: String) -> String {
        Self.escaped(text).replacing("\"", with: #"\(dq"#)
    }

    /// Returns text that is neither a request nor an escape, each sentence on a line of its own.
    private static func escaped(_ text: String) -> String {
        let text = text.replacing("\\", with: #"\e"#).replacing("-", with: #"\-"#)
        return text.replacing(". ", with: ".\n").split(separator: "\n")
            .map { line in (line.hasPrefix(".") || line.hasPrefix("'") ? #"\&"# : "") + line }
            .joined(separator: "\n")
    }
}
