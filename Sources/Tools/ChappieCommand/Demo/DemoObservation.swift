// The observations of one turn of the demonstration, from both ends of the connection.
import Chappie
import ChappieTestServer

/// The events of the consumer, the report of the engine, and the log of the server.
struct DemoObservation {
    /// The deltas of the answer.
    var textDeltas: [String] = []
    /// The number of `.completed` events.
    var completedCount = 0
    /// The number of events after the first `.completed`.
    var eventsAfterCompletion = 0
    /// The number of requested tool calls.
    var requestedTools = 0
    /// The number of completed tool calls.
    var finishedTools = 0
    /// The calls for which the tool ran, by the server's identifiers, in order.
    var toolRuns: [String] = []
    /// The error that the stream threw.
    var error: (any Error)?
    /// The engine's report.
    var report: ChappieStreamReport
    /// The attempts that the server saw.
    var records: [ChappieTestServer.RequestRecord] = []
    /// The text that the server's model generates without faults.
    var uncutText = ""

    /// The delivered part of the answer.
    var text: String { self.textDeltas.joined() }

    /// The text of the error, where a replay diverged.
    var divergedText: String? {
        guard case .streamingTransportReplayDiverged(let text) = self.error as? ChappieClientError else { return nil }
        return text
    }

    /// The server's attempts by transport.
    var transports: [ChappieTestServer.Transport] { self.records.map(\.transport) }

    /// Creates an observation of which only the report is known.
    init(report: ChappieStreamReport) { self.report = report }

    /// Reads a stream to its end.
    init(reading handle: ChappieStreamHandle) async {
        self.init(report: handle.report)
        do {
            for try await event in handle.events { self.note(event) }
        } catch {
            self.error = error
        }
        self.report = handle.report
    }

    private mutating func note(_ event: ChappieStreamEvent) {
        if self.completedCount > 0 { self.eventsAfterCompletion += 1 }
        switch event {
        case .textDelta(let text): self.textDeltas.append(text)
        case .completed: self.completedCount += 1
        case .toolCallRequested: self.requestedTools += 1
        case .toolCallCompleted(let result): self.finishedTools += result.status == .completed ? 1 : 0
        case .reasoningDelta, .refusalDelta, .approvalRequested, .usageLimits, .raw, .restarted, .diagnostic: break
        }
    }
}
