// Reads a stream, prints what comes, and says how it ended.
import Chappie

/// One reading of one stream.
///
/// Owned by the task that reads.
struct StreamReading {
    /// Where output goes.
    let console: Console
    /// Makes text of events.
    var printer: any StreamPrinter
    private var isComplete = false

    /// A reading that has not begun.
    init(console: Console, printer: any StreamPrinter) {
        self.console = console
        self.printer = printer
    }

    /// Reads until the stream ends, fails or is cancelled, or nobody reads what is printed.
    mutating func readToEnd(_ handle: ChappieStreamHandle, wasInterrupted: () -> Bool) async -> ExitCode {
        do {
            for try await event in handle.events {
                if event == .completed { self.isComplete = true }
                try self.print(self.printer.printed(event))
            }
            if self.isComplete { return .success }
            // A cancelled stream may end without an error; any other that does has broken its promise.
            if wasInterrupted() { throw CancellationError() }
            throw UnfinishedStreamError()
        } catch let error as DescriptorError {
            handle.cancel()
            return self.console.report(error, command: StreamCommand.syntax.name)
        } catch {
            let failure = StreamFailure(error, report: handle.report)
            do throws(DescriptorError) {
                try self.print(self.printer.printed(failure))
            } catch {
                return failure.status
            }
            return failure.status
        }
    }

    private func print(_ text: PrintedText) throws(DescriptorError) {
        // What nobody can be told about standard error is not worth ending a stream for.
        try? self.console.errorOutput.write(text.errorOutput)
        try self.console.write(text.output)
    }
}

/// A stream that ended without an error and without `completed`, which no stream may.
private struct UnfinishedStreamError: Error {}
