// A stream has one consumer: a second task that reads it gets an error, and the first one reads on.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct SecondReaderTests {
    /// The forms in which a stream is read.
    enum Face: String, CaseIterable, CustomTestStringConvertible {
        case stream, sequence, batches

        var testDescription: String { self.rawValue }

        /// Returns a function that reads the next events; each call makes an iterator of its own, as a task does.
        func reader(of handle: ChappieStreamHandle) -> @Sendable () async throws -> [ChappieStreamEvent] {
            switch self {
            case .stream:
                let events = handle.events
                return {
                    var iterator = events.makeAsyncIterator()
                    return try await iterator.next().map { [$0] } ?? []
                }
            case .sequence:
                let events = handle.sequence()
                return {
                    var iterator = events.makeAsyncIterator()
                    return try await iterator.next().map { [$0] } ?? []
                }
            case .batches:
                let batches = handle.batches()
                return {
                    var iterator = batches.makeAsyncIterator()
                    return try await iterator.next() ?? []
                }
            }
        }
    }

    @Test(
        arguments: Face.allCases,
        [[], [ScriptStep.text(Event.created)], [.text(Event.created), .text(Event.text("a"))]])
    func secondReaderGetsAnErrorAndTheFirstReadsOn(of face: Face, waitingBehind steps: [ScriptStep]) async throws {
        let waiting = Signal()
        let fixture = TurnFixture([[.opened(101), .request] + steps + [.hang(waiting)]]) { $0.rawEvents = .none }
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
        let next = face.reader(of: handle)
        let first = Task {
            var events: [ChappieStreamEvent] = []
            while let more = Optional(try await next()), !more.isEmpty { events += more }
            return events
        }
        await waiting.wait()
        for other in Face.allCases {
            let next = other.reader(of: handle)
            await #expect(throws: ChappieClientError.alreadyRead) { try await next() }
        }
        fixture.transport.connections[0].play([.text(Event.text("b")), .text(Event.completed)])
        let events = try await first.value
        #expect(events.suffix(2) == [.textDelta("b"), .completed])
        #expect(handle.report.attempts.map(\.outcome) == ["completed"])
    }
}
