// Messages that are available together are read together, with the same result as reading them one by one.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct ReadAheadTests {
    /// Returns one attempt on one WebSocket, whose response has begun, so that deltas are only output.
    private static func fixture(
        _ steps: [ScriptStep], _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) -> TurnFixture {
        TurnFixture([[.opened(101), .request, .text(Event.created), .text(Event.text("0"))] + steps]) {
            $0.policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
            $0.rawEvents = .none
            $0.timeouts.idle = .seconds(300)
            $0.timeouts.progress = nil
            configure(&$0)
        }
    }

    private static let request = ChappieTransportRequest(prompt: "hi", model: "m")

    /// Reads a turn to its end with a consumer that takes its time for each event.
    private static func read(_ fixture: TurnFixture, pausingFor pause: Duration) async -> TurnOutcome {
        let handle = fixture.instance.streamHandle(Self.request)
        var outcome = TurnOutcome()
        do {
            for try await event in handle.events {
                outcome.events.append(event)
                fixture.clock.advance(by: pause)
            }
        } catch {
            outcome.error = error
        }
        outcome.report = handle.report
        return outcome
    }

    @Test(arguments: [1, 2, 63, 64, 65, 1_000, 2_000])
    func everyMessageIsReadOnceAndInOrder(count: Int) async {
        let outcome = await Self.fixture(TurnFixture.texts(count) + [.text(Event.completed)]).run()
        #expect(outcome.text == (0...count).map(String.init).joined())
        #expect(outcome.events.last == .completed)
        #expect(outcome.events.count == count + 2)
        #expect(outcome.outcomes == ["completed"])
    }

    @Test func otherEventsKeepTheirPlaceAmongTheDeltas() async {
        let fixture = Self.fixture([
            .text(Event.text("a")), .text(Event.limits(primary: 3)), .text(Event.text("b")), .text(Event.text("c")),
            .text(Event.call("{}")), .text(Event.text("d")), .text(#"{"type":"new"}"#), .text(Event.text("e")),
            .text(Event.completed),
        ]) { $0.rawEvents = .unsurfaced }
        let outcome = await fixture.run()
        let kinds = outcome.events.map { event in
            switch event {
            case .textDelta(let text): text
            case .usageLimits: "limits"
            case .raw(let type, _): type
            default: "end"
            }
        }
        #expect(
            kinds == [
                "response.created", "0", "a", "limits", "b", "c", "response.output_item.done", "d", "new", "e", "end",
            ])
    }

    @Test func aSlowConsumerDoesNotTurnItsOwnTimeIntoTheServersSilence() async {
        // Six deltas of 200 s each, and then 250 s of silence, where 300 s are too long.
        let fixture = Self.fixture(TurnFixture.texts(6) + [.pause(.seconds(250)), .text(Event.completed)])
        let outcome = await Self.read(fixture, pausingFor: .seconds(200))
        #expect(outcome.text == "0123456")
        #expect(outcome.error == nil)
    }

    @Test func theServersSilenceCountsFromTheLastDeltaThatWasTaken() async throws {
        let fixture = Self.fixture(TurnFixture.texts(6))
        let handle = fixture.instance.streamHandle(Self.request)
        for number in 0...6 {
            #expect(try await handle.events.next() == .textDelta(String(number)))
            if number < 6 { fixture.clock.advance(by: .seconds(200)) }
        }
        let taken = fixture.clock.now
        await #expect(throws: ChappieClientError.self) { try await handle.events.next() }
        #expect(fixture.clock.now - taken == .seconds(300))
        #expect(handle.report.attempts.map(\.outcome) == ["timeout.idle"])
    }

    @Test(arguments: [(999, "0123"), (1_000, "012")])
    func totalTimeoutIsCheckedBeforeEachMessage(milliseconds: Int, text: String) async {
        let fixture = Self.fixture(TurnFixture.texts(3) + [.pause(.seconds(3)), .text(Event.completed)]) {
            $0.timeouts.total = .seconds(3)
        }
        let outcome = await Self.read(fixture, pausingFor: .milliseconds(milliseconds))
        #expect(outcome.text == text)
        #expect(outcome.outcomes == ["timeout.total"])
    }

    @Test func unreadEventsAreDroppedByACancellation() async throws {
        let fixture = Self.fixture(TurnFixture.texts(5) + [.text(Event.completed)])
        let handle = fixture.instance.streamHandle(Self.request)
        #expect(try await handle.events.next() == .textDelta("0"))
        #expect(try await handle.events.next() == .textDelta("1"))
        handle.cancel()
        await #expect(throws: CancellationError.self) { try await handle.events.next() }
        #expect(try await handle.events.next() == nil)
        #expect(handle.report.attempts.map(\.outcome) == ["cancelled"])
        #expect(fixture.transport.connections[0].calls.last == .cancel)
    }

    @Test func theEndBehindTheMessagesIsSeenWhenTheyAreTaken() async throws {
        let fixture = Self.fixture(TurnFixture.texts(2) + [.ended(.closed(code: 1011, reason: ""))])
        let handle = fixture.instance.streamHandle(Self.request)
        for number in 0...2 {
            #expect(try await handle.events.next() == .textDelta(String(number)))
            #expect(handle.report.attempts.map(\.outcome) == [nil])
        }
        await #expect(throws: ChappieClientError.self) { try await handle.events.next() }
        #expect(handle.report.attempts.map(\.outcome) == ["ws.close.1011"])
    }

    @Test(arguments: [
        ScriptStep.binary([1]), .text("nonsense"), .textBytes([0xFF]), .text(Event.failed(code: "x")),
        .text(#"{"type":"response.output_text.delta"}"#),
        .text(#"{"type":"response.output_text.delta","output_index":-1,"delta":"x"}"#),
    ])
    func deltasBeforeAnUnreadableMessageAreDelivered(step: ScriptStep) async {
        let outcome = await Self.fixture(TurnFixture.texts(3) + [step, .text(Event.text("lost"))]).run()
        #expect(outcome.text == "0123")
        #expect(outcome.error != nil)
    }

    @Test func aReplayIsComparedBeforeItIsReadAhead() async {
        let fixture = TurnFixture([
            .broken(Event.created, Event.text("a"), Event.text("b"), Event.text("c")),
            .webSocket(
                Event.created, Event.text("ab"), Event.text("c"), Event.text("d"), Event.text("e"), Event.completed),
        ]) { $0.rawEvents = .none }
        let outcome = await fixture.run()
        #expect(outcome.text == "abcde")
        #expect(outcome.report.verifiedReplayByteCount == 3)
        #expect(outcome.error == nil)
    }

    @Test func aLargeMessageEndsTheStep() async throws {
        let large = String(repeating: "x", count: 70_000)
        let fixture = Self.fixture([.text(Event.text(large)), .text(Event.text("y")), .text(Event.completed)])
        let handle = fixture.instance.streamHandle(Self.request)
        #expect(try await handle.events.next() == .textDelta("0"))
        #expect(try await handle.events.next() == .textDelta(large))
        // The messages behind it are not read before they are requested.
        fixture.transport.connections[0].cancel()
        await #expect(throws: (any Error).self) { try await handle.events.next() }
    }
}
