// The outputs that are written while a stream is read.

/// The outputs of the process, and the question that may stand on its terminal.
struct StreamScreen: Sendable {
    /// The console for the output.
    let console: Console
    /// Asks the user.
    let question: TerminalQuestion

    /// Writes the text of an event or a failure.
    func write(_ text: PrintedText) throws(DescriptorError) {
        // A failure of standard error cannot be reported, and does not end the stream.
        try? self.console.errorOutput.write(text.errorOutput)
        try self.console.write(text.output)
        let terminals = self.console.terminals
        if terminals.output && !text.output.isEmpty || terminals.errorOutput && !text.errorOutput.isEmpty {
            self.question.showAgain()
        }
    }

    /// Returns a closure that writes a line of a tool's standard error on a terminal, with the tool's name and without
    /// characters that a terminal interprets: the model may influence it.
    ///
    /// Nil where standard error is not a terminal, in which case the tool writes to it directly.
    func errorLine(of tool: String) -> (@Sendable (String) -> Void)? {
        guard self.console.terminals.errorOutput else { return nil }
        return { line in
            let words = self.console.errorStyle.dim("\(tool): \(line.escaped(columns: .max))")
            try? self.write(PrintedText(errorOutput: words + "\n"))
        }
    }
}
