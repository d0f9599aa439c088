// Reads a stream, prints its events, and returns its outcome.
import Chappie
import ChappieTransport

/// One reading of one stream.
///
/// Owned by the task that reads.
struct StreamReading {
    /// The outputs.
    let screen: StreamScreen
    /// Converts events to text.
    var printer: any StreamPrinter
    /// The proof of identity that was sent.
    let proof: StreamFailure.Proof
    /// The language of the server.
    let dialect: ChappieDialect
    private var isComplete = false

    /// Creates a reading that has not begun.
    init(screen: StreamScreen, printer: any StreamPrinter, proof: StreamFailure.Proof, dialect: ChappieDialect) {
        self.proof = proof
        self.dialect = dialect
        self.screen = screen
        self.printer = printer
    }

    /// Reads until the stream ends, fails or is cancelled, or the output is closed.
    mutating func readToEnd(_ handle: ChappieStreamHandle, wasInterrupted: () -> Bool) async -> ExitCode {
        do {
            for try await event in handle.events {
                if event == .completed { self.isComplete = true }
                // The end of a turn reports the end of its calls before it ends their tasks.
                if case .toolCallCompleted(let call) = event { self.screen.question.withdraw(call.callID) }
                try self.screen.write(self.printer.printed(event))
            }
            if self.isComplete { return .success }
            // A cancelled stream may end without an error; any other that does has broken its promise.
            if wasInterrupted() { throw CancellationError() }
            throw UnfinishedStreamError()
        } catch let error as DescriptorError {
            handle.cancel()
            return self.ended(error, handle.report)
        } catch {
            var failure = StreamFailure(error, report: handle.report, proof: self.proof, dialect: self.dialect)
            failure.serverMessage = handle.serverMessage ?? failure.serverMessage
            // A failure of this write could not be reported.
            try? self.screen.write(self.printer.printed(failure))
            return failure.status
        }
    }

    /// Handles output that cannot be written.
    private mutating func ended(_ error: DescriptorError, _ report: ChappieStreamReport) -> ExitCode {
        switch error {
        case .closed, .failed:
            return self.screen.console.report(error, command: StreamCommand.syntax.name)
        case .interrupted, .late:
            let failure = StreamFailure(error, report: report, proof: self.proof, dialect: self.dialect)
            // Standard output may end in the middle of a text, to which no other text belongs.
            try? self.screen.write(PrintedText(errorOutput: self.printer.printed(failure).errorOutput))
            return failure.status
        }
    }
}

/// The error of a stream that ended without an error and without `completed`, which must not occur.
private struct UnfinishedStreamError: Error {}
