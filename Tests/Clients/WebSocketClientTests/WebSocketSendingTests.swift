// Messages, pings and close frames of a program.

import StreamTransport
import Testing

@testable import WebSocketClient

@Suite(.timeLimit(.minutes(10))) struct WebSocketSendingTests {
    /// With room at once, and after a wait for it.
    @Test(arguments: [true, false]) func messagesAreSentWithTheirTypes(atOnce: Bool) async throws {
        var fixture = try WebSocketFixture([.established()], sendsAtOnce: atOnce)
        fixture.configuration.limits.sendWatermark = 77
        let connection = try await fixture.open()
        try await connection.send("one")
        try await connection.send([0x74, 0x77, 0x6F])
        try await connection.send(.text("three"))
        try await connection.send(.binary([]))
        #expect(
            fixture.exchange.calls == [
                .send("one", .text, watermark: 77), .send("two", .binary, watermark: 77),
                .send("three", .text, watermark: 77), .send("", .binary, watermark: 77),
            ])
        #expect(connection.report.sentMessageCount == 4)
    }

    @Test(arguments: [true, false]) func sendingToAConnectionThatEndedIsAnError(atOnce: Bool) async throws {
        let fixture = try WebSocketFixture([.established()], sendOutcome: .ended, sendsAtOnce: atOnce)
        let connection = try await fixture.open()
        await #expect(throws: WebSocketError.notOpen) { try await connection.send("one") }
        #expect(WebSocketError.notOpen.tag == "ws.not-open" && WebSocketError.notOpen.isRetryable)
        #expect(connection.report.sentMessageCount == 0)
    }

    @Test func aCancelledSenderLeavesTheConnectionOpen() async throws {
        let fixture = try WebSocketFixture([.established(), .text("still here")], sendOutcome: .cancelled)
        let connection = try await fixture.open()
        await #expect(throws: CancellationError.self) { try await connection.send("one") }
        #expect(try await connection.receive() == .text("still here"))
    }

    @Test func pingReturnsItsRoundTripTime() async throws {
        let fixture = try WebSocketFixture([.established()], roundTrip: .measured(.milliseconds(7)))
        let connection = try await fixture.open()
        #expect(try await connection.ping() == .milliseconds(7))
        #expect(fixture.exchange.calls == [.roundTrip(within: .seconds(10))])
    }

    @Test func aPingWithoutAnAnswerIsAnError() async throws {
        let fixture = try WebSocketFixture([.established()], roundTrip: .ended)
        let connection = try await fixture.open()
        await #expect(throws: WebSocketError.notOpen) { try await connection.ping() }
    }

    @Test func aPingThatIsNotAnsweredInTimeLeavesTheConnectionOpen() async throws {
        let fixture = try WebSocketFixture([.established()], roundTrip: .timedOut)
        let connection = try await fixture.open()
        let error = await #expect(throws: WebSocketError.self) { try await connection.ping() }
        #expect(error?.tag == "ws.ping-timeout")
        try await connection.send("on")
        #expect(fixture.outcomes == ["connect completed"])
    }

    // MARK: Closing

    @Test func closingReturnsTheEnd() async throws {
        let fixture = try WebSocketFixture(
            [.established(), .text("unread"), .closed(4001, "bye")], peerBeganClosing: false)
        let connection = try await fixture.open()
        let close = try await connection.close(code: 4001, reason: "bye")
        #expect(close == WebSocketClose(code: 4001, reason: "bye", initiator: .client))
        #expect(close.isClean && close.isNormal)
        #expect(fixture.exchange.calls == [.close(4001, "bye")])
        await #expect(throws: WebSocketError.notOpen) { try await connection.send("late") }
        await #expect(throws: WebSocketError.notOpen) { try await connection.ping() }
        #expect(fixture.outcomes == ["connect completed", "connection completed"])
        // Messages before the end can still be received.
        #expect(try await connection.receive() == .text("unread"))
        #expect(try await connection.receive() == nil)
    }

    @Test func aPeerThatDoesNotCloseIsReported() async throws {
        let fixture = try WebSocketFixture([.established(), .closed(1006)])
        let connection = try await fixture.open()
        let close = try await connection.close()
        #expect(close == WebSocketClose(code: 1006, reason: "", initiator: .client))
        #expect(!close.isClean && !close.isNormal)
    }

    @Test(arguments: [
        -1, 0, 1, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535, 65_536, 66_536, .max, .min,
    ])
    func aCodeThatMustNotBeSentIsRefused(code: Int) async throws {
        let fixture = try WebSocketFixture([.established()])
        let connection = try await fixture.open()
        do {
            try await connection.close(code: code)
            Issue.record("there is no error")
        } catch WebSocketError.invalidArgument(let fault) {
            #expect(fault.argument == "code")
        }
        #expect(fixture.exchange.calls.isEmpty)
        try await connection.send("still open")
    }

    @Test(arguments: [1000, 1001, 1002, 1003, 1007, 1011, 1014, 3000, 4999])
    func aCodeOfTheProtocolIsSent(code: Int) async throws {
        let fixture = try WebSocketFixture([.established(), .closed(UInt16(code))], peerBeganClosing: false)
        try await fixture.open().close(code: code)
        #expect(fixture.exchange.calls.first == .close(UInt16(code), ""))
    }

    private static let reasons: [(String, Int?, isAllowed: Bool)] = [
        (String(repeating: "x", count: 123), 1000, true), (String(repeating: "x", count: 124), 1000, false),
        (String(repeating: "ä", count: 61) + "x", 1000, true), (String(repeating: "ä", count: 62), 1000, false),
        ("why", nil, false), ("", nil, true),
    ]

    @Test(arguments: Self.reasons)
    func closeReasonOfMoreThan123BytesIsRefused(_ reason: String, code: Int?, isAllowed: Bool) async throws {
        let fixture = try WebSocketFixture([.established(), .closed(1000)], peerBeganClosing: false)
        let connection = try await fixture.open()
        do {
            try await connection.close(code: code, reason: reason)
            #expect(isAllowed)
        } catch WebSocketError.invalidArgument(let fault) {
            #expect(!isAllowed && fault.argument == "reason")
        }
    }
}
