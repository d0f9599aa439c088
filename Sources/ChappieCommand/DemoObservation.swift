// What was seen of one turn of the demonstration, from both ends of the wire.
import Chappie
import ChappieTestServer

/// What the consumer received, what the engine reports, and what the server logged.
struct DemoObservation {
    /// The deltas of the answer.
    var textDeltas: [String] = []
    /// How often `.completed` came.
    var completedCount = 0
    /// How many events came after the first `.completed`.
    var eventsAfterCompletion = 0
    /// How many tool calls the consumer heard of.
    var requestedTools = 0
    /// How many of them were completed.
    var finishedTools = 0
    /// The calls for which the tool ran, by the server's names, in order.
    var toolRuns: [String] = []
    /// What the stream threw.
    var error: (any Error)?
    /// What the engine says about it.
    var report: ChappieStreamReport
    /// The attempts that the server saw.
    var records: [ChappieTestServer.RequestRecord] = []
    /// The text that the server's model says when nothing is changed.
    var uncutText = ""

    /// The answer as far as it was delivered.
    var text: String { self.textDeltas.joined() }

    /// The text that came with the error, where a replay diverged.
    var divergedText: String? {
        guard case .streamingTransportReplayDiverged(let text) = self.error as? ChappieClientError else { return nil }
        return text
    }

    /// The server's attempts by transport.
    var transports: [ChappieTestServer.Transport] { self.records.map(\.transport) }

    /// A turn of which nothing was seen but a report.
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
        case .reasoningDelta, .refusalDelta, .approvalRequested, .usageLimits, .raw, .diagnostic: break
        }
    }
}
