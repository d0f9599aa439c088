// Reads a stream, prints what comes, and says how it ended.
import Chappie

/// One reading of one stream.
///
/// Owned by the task that reads.
struct StreamReading {
    /// Where output goes.
    let screen: StreamScreen
    /// Makes text of events.
    var printer: any StreamPrinter
    /// What is sent as proof of identity.
    let proof: StreamFailure.Proof
    private var isComplete = false

    /// A reading that has not begun.
    init(screen: StreamScreen, printer: any StreamPrinter, proof: StreamFailure.Proof) {
        self.proof = proof
        self.screen = screen
        self.printer = printer
    }

    /// Reads until the stream ends, fails or is cancelled, or nobody reads what is printed.
    mutating func readToEnd(_ handle: ChappieStreamHandle, wasInterrupted: () -> Bool) async -> ExitCode {
        do {
            for try await event in handle.events {
                if event == .completed { self.isComplete = true }
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
            var failure = StreamFailure(error, report: handle.report, proof: self.proof)
            failure.serverMessage = handle.serverMessage ?? failure.serverMessage
            // Nobody is left to be told when that fails.
            try? self.screen.write(self.printer.printed(failure))
            return failure.status
        }
    }

    /// What is said when output cannot be written.
    private mutating func ended(_ error: DescriptorError, _ report: ChappieStreamReport) -> ExitCode {
        switch error {
        case .closed, .failed:
            return self.screen.console.report(error, command: StreamCommand.syntax.name)
        case .interrupted, .late:
            let failure = StreamFailure(error, report: report, proof: self.proof)
            // Standard output may have a part of something, behind which nothing else belongs.
            try? self.screen.write(PrintedText(errorOutput: self.printer.printed(failure).errorOutput))
            return failure.status
        }
    }
}

/// A stream that ended without an error and without `completed`, which no stream may.
private struct UnfinishedStreamError: Error {}
