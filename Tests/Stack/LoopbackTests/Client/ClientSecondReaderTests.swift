import Chappie
import ChappieTestServer
import Foundation
import Testing

/// A client's stream has one consumer: a second task that reads it gets an error, and the first one reads on.
@Suite(.timeLimit(.minutes(10))) struct ClientSecondReaderTests {
    /// The forms in which a turn is read.
    enum Face: String, CaseIterable {
        case stream, sequence, batches

        func read(_ handle: ChappieStreamHandle) async throws -> [ChappieStreamEvent] {
            var events: [ChappieStreamEvent] = []
            switch self {
            case .stream: for try await event in handle.events { events.append(event) }
            case .sequence: for try await event in handle.sequence() { events.append(event) }
            case .batches: for try await batch in handle.batches() { events += batch }
            }
            return events
        }
    }

    @Test(arguments: Face.allCases) func secondReaderOfATurnGetsAnErrorAndTheFirstReadsOn(of face: Face) async throws {
        let call = responseEvents(1, [functionCall("c", "t")], text: "Wait. ")
        try await withServer(scripted([call, responseEvents(2, [], text: "Done.")])) { server in
            let (running, gate) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
            // The call runs inside `next()` of the first reader, which waits for it there.
            let tool = ChappieHostTool(name: "t", description: "") { _ in
                running.continuation.yield()
                for await _ in gate.stream { break }
                return ChappieToolResult(output: "")
            }
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = [tool] })
            let handle = client.streamHandle("hi")
            let first = Task { try await face.read(handle) }
            for await _ in running.stream { break }
            for other in Face.allCases {
                await #expect(throws: ChappieClientError.alreadyRead) { try await other.read(handle) }
            }
            #expect(client.isRunning)
            gate.continuation.yield()
            var outcome = ClientOutcome()
            outcome.events = try await first.value
            #expect(outcome.text == "Wait. Done.")
            #expect(outcome.completions == 1)
        }
    }

    @Test func secondTurnInAScopeIsRefusedAndTheFirstGoesOn() async throws {
        try await withServer(scripted([responseEvents(1, [], text: "Done.")])) { server in
            let client = Chappie.client(configuration: .loopback(server))
            var outcome = ClientOutcome()
            try await client.withEvents(of: "hi") { event in
                outcome.events.append(event)
                guard case .textDelta = event else { return }
                await #expect(throws: ChappieClientError.alreadyRunning) {
                    try await client.withEvents(of: "again") { _ in }
                }
                #expect(client.isRunning)
            }
            #expect(outcome.text == "Done.")
            #expect(outcome.completions == 1)
            #expect(server.log.flatMap(\.bodies).count == 1)
        }
    }
}
