// `chappie completion` and `chappie man`: the description of the command line for shells and man(1).

/// Prints the completions for a shell.
struct CompletionCommand {
    /// The command's syntax.
    static let syntax = CommandSyntax(
        name: "completion",
        summary: "Prints completions for a shell: bash, zsh or fish.",
        operand: "SHELL",
        operandValues: CompletionShell.allCases.map(\.rawValue),
        options: [],
        notes: [
            "For the current shell: source <(chappie completion bash), the same with zsh, or in fish: "
                + "chappie completion fish | source"
        ]
    )

    /// The console for the output.
    let console: Console

    /// Prints the script.
    func run(_ arguments: ParsedArguments) throws -> ExitCode {
        let names = CompletionShell.allCases.map(\.rawValue).joined(separator: ", ")
        guard let name = arguments.operands.first else { throw UsageError("there is no shell: give one of \(names)") }
        guard let shell = CompletionShell(rawValue: name) else {
            throw UsageError("there are no completions for \(name), only for \(names)")
        }
        try self.console.write(shell.script(for: CommandDispatch.commands))
        return .success
    }
}

/// Prints the manual page.
struct ManualCommand {
    /// The command's syntax.
    static let syntax = CommandSyntax(
        name: "man",
        summary: "Prints the manual page in the language of mdoc(7).",
        options: [],
        notes: ["To read it: chappie man | man -l -"]
    )

    /// The console for the output.
    let console: Console

    /// Prints the page.
    func run() throws -> ExitCode {
        try self.console.write(ManualPage.text(for: CommandDispatch.commands))
        return .success
    }
}
