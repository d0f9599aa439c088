// Where everything goes that is written while a stream is read.

/// The outputs of the process, and the question that may stand on its terminal.
struct StreamScreen: Sendable {
    /// Where output goes.
    let console: Console
    /// Asks the person.
    let question: TerminalQuestion

    /// Writes what is printed for an event or a failure.
    func write(_ text: PrintedText) throws(DescriptorError) {
        // What nobody can be told about standard error is not worth ending a stream for.
        try? self.console.errorOutput.write(text.errorOutput)
        try self.console.write(text.output)
        let terminals = self.console.terminals
        if terminals.output && !text.output.isEmpty || terminals.errorOutput && !text.errorOutput.isEmpty {
            self.question.showAgain()
        }
    }

    /// Writes a line of a tool's standard error on a terminal, under the tool's name and without anything that a
    /// terminal obeys: the model may have a part in it.
    ///
    /// Nil where standard error is no terminal, and tools have it as it is.
    func errorLine(of tool: String) -> (@Sendable (String) -> Void)? {
        guard self.console.terminals.errorOutput else { return nil }
        return { line in
            let words = self.console.errorStyle.dim("\(tool): \(line.escaped(columns: .max))")
            try? self.write(PrintedText(errorOutput: words + "\n"))
        }
    }
}
