import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// The limit of one event: at, below and above it, plain and compressed, on both transports.
@Suite(.timeLimit(.minutes(10))) struct EventLimitTests {
    struct Variant: Sendable, CustomTestStringConvertible {
        let wire: Wire
        let isCompressed: Bool

        var testDescription: String { "\(self.wire.rawValue), \(self.isCompressed ? "compressed" : "plain")" }

        static let all = Wire.allCases.flatMap { wire in [false, true].map { Variant(wire: wire, isCompressed: $0) } }
    }

    private static let deltaType = "response.output_text.delta"

    private static func delta(_ text: String) -> String {
        "{\"type\":\"\(Self.deltaType)\",\"output_index\":0,\"content_index\":0,\"delta\":\"\(text)\"}"
    }

    private static func events(largeByteCount: Int) -> [String] {
        [Self.delta("one"), Self.delta(String(repeating: "a", count: largeByteCount)), Self.delta("three")] + [
            "{\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"status\":\"completed\"}}"
        ]
    }

    /// Returns the size of the large event: that of the message, or of the values of the event's fields.
    private static func byteCount(of event: String, over wire: Wire) -> Int {
        event.utf8.count + (wire == .httpSSE ? Self.deltaType.utf8.count : 0)
    }

    private func outcome(_ variant: Variant, events: [String], limit: Int) async throws -> StreamOutcome {
        try await LoopbackTurn.run(
            server: { server in
                server.model = .recordings([events])
                server.messageCompression = variant.isCompressed ? .deflate(.init()) : .off
                server.contentCoding = variant.isCompressed ? .gzip : .identity
            },
            client: { client in
                client.policy = variant.wire.alone
                client.limits.eventByteCount = limit
            }
        ).outcome
    }

    @Test(arguments: Variant.all, [0, 1])
    func anEventThatFitsIsDelivered(_ variant: Variant, spare: Int) async throws {
        let events = Self.events(largeByteCount: 5_000)
        let limit = Self.byteCount(of: events[1], over: variant.wire) + spare
        let outcome = try await self.outcome(variant, events: events, limit: limit)
        outcome.expectWhole("one" + String(repeating: "a", count: 5_000) + "three")
    }

    @Test(arguments: Variant.all)
    func anEventOneByteOverTheLimitEndsTheTurn(_ variant: Variant) async throws {
        let events = Self.events(largeByteCount: 5_000)
        let limit = Self.byteCount(of: events[1], over: variant.wire) - 1
        self.expectTooLarge(try await self.outcome(variant, events: events, limit: limit), limit: limit)
    }

    @Test(arguments: Variant.all)
    func aSmallMessageThatInflatesToALargeOneEndsTheTurn(_ variant: Variant) async throws {
        let outcome = try await self.outcome(variant, events: Self.events(largeByteCount: 1 << 20), limit: 16 << 10)
        self.expectTooLarge(outcome, limit: 16 << 10)
        let received = try #require(outcome.transportFailure).details.receivedByteCount
        if variant.isCompressed { #expect(received < 16 << 10) }
    }

    private func expectTooLarge(
        _ outcome: StreamOutcome, limit: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(outcome.text == "one", sourceLocation: sourceLocation)
        let failure = outcome.transportFailure
        #expect(failure?.code == .eventTooLarge, sourceLocation: sourceLocation)
        #expect(failure?.details.limit == limit, sourceLocation: sourceLocation)
        #expect(failure?.phase == .stream, sourceLocation: sourceLocation)
        #expect(failure?.attempts == 1, sourceLocation: sourceLocation)
        #expect(failure?.replaySafety == .outputDelivered, sourceLocation: sourceLocation)
        #expect(outcome.report.attempts.map(\.outcome) == ["event.too-large"], sourceLocation: sourceLocation)
    }
}
