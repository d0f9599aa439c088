// Messages and ends, as a program receives them.

import StreamTransport
import Testing

@testable import WebSocketClient

@Suite(.timeLimit(.minutes(10))) struct WebSocketReceivingTests {
    @Test(arguments: [false, true])
    func messagesAreReceivedInOrder(lendsArrived: Bool) async throws {
        let fixture = try WebSocketFixture(
            [
                .established(), .text("one"), .pong, .message(.binary, [0, 255]), .text(""), .text("zwölf 😀"),
                .closed(1000),
            ], lendsArrived: lendsArrived)
        let connection = try await fixture.open()
        let (messages, error) = await connection.readToEnd()
        #expect(messages == [.text("one"), .binary([0, 255]), .text(""), .text("zwölf 😀")])
        #expect(error == nil)
        #expect(connection.report.receivedMessageCount == 4)
        #expect(connection.report.firstMessage != nil)
    }

    @Test func withNextMessageLendsTheBytes() async throws {
        let fixture = try WebSocketFixture([
            .established(), .text("lent"), .message(.binary, [1, 2, 3]), .closed(1000),
        ])
        let connection = try await fixture.open()
        let first = try await connection.withNextMessage { kind, bytes in (kind, bytes.byteCount) }
        #expect(first?.0 == .text && first?.1 == 4)
        let second = try await connection.withNextMessage { kind, bytes in
            kind == .binary && bytes.unsafeLoad(fromByteOffset: 2, as: UInt8.self) == 3
        }
        #expect(second == true)
        #expect(try await connection.withNextMessage { _, _ in } == nil)
    }

    @Test func theErrorOfABorrowerLeavesTheConnectionOpen() async throws {
        struct Stop: Error {}
        let fixture = try WebSocketFixture([.established(), .text("one"), .text("two")])
        let connection = try await fixture.open()
        await #expect(throws: Stop.self) { try await connection.withNextMessage { _, _ in throw Stop() } }
        #expect(try await connection.receive() == .text("two"))
        #expect(fixture.exchange.calls.isEmpty)
    }

    @Test(arguments: [false, true], [false, true])
    func textThatIsNotUTF8FailsTheConnection(isLent: Bool, lendsArrived: Bool) async throws {
        let fixture = try WebSocketFixture(
            [.established(), .message(.text, [0x61, 0xC0, 0x80]), .text("more")], lendsArrived: lendsArrived)
        let connection = try await fixture.open()
        do {
            if isLent {
                _ = try await connection.withNextMessage { _, _ in Issue.record("it was lent") }
            } else {
                _ = try await connection.receive()
            }
            Issue.record("there is no error")
        } catch let error as WebSocketError {
            #expect(error.tag == "ws.protocol-violation" && error.category == .server && error.shouldReport)
        }
        #expect(fixture.exchange.calls == [.fail(1007)])
    }

    /// A close frame that has arrived behind the message, or was announced to another task, does not hide it.
    @Test(arguments: [false, true])
    func textThatIsNotUTF8FailsAConnectionThatIsClosedBehindIt(programCloses: Bool) async throws {
        let fixture = try WebSocketFixture([
            .established(), .text("one"), .message(.text, [0xFF]), .text("three"), .closed(1000),
        ])
        let connection = try await fixture.open()
        if programCloses { try await connection.close() }
        let (messages, error) = await connection.readToEnd()
        #expect(messages == [.text("one")])
        #expect((error as? WebSocketError)?.tag == "ws.protocol-violation")
        #expect(connection.closed == nil)
        await #expect(throws: WebSocketError.self) { try await connection.receive() }
    }

    private static let faults: [(cause: TransportFailure.Cause, tag: String)] = [
        (.protocolViolation(closeCode: 1002), "ws.protocol-violation"),
        (.protocolViolation(closeCode: 1007), "ws.protocol-violation"),
        (.messageTooLarge(limit: 10), "event.too-large"),
    ]

    /// A fault that is found when its message is read counts, whatever close frame has arrived behind it.
    @Test(arguments: Self.faults, [false, true])
    func invalidMessageBeforeACloseFrameFailsTheConnection(
        fault: (cause: TransportFailure.Cause, tag: String), programCloses: Bool
    ) async throws {
        let fixture = try WebSocketFixture(
            [
                .established(), .text("one"), .ended(.failed(TransportFailure(phase: .stream, cause: fault.cause))),
                .closed(1000),
            ], peerBeganClosing: true)
        let connection = try await fixture.open()
        if programCloses {
            #expect(try await connection.close() == WebSocketClose(code: 1000, initiator: .server))
        }
        let (messages, error) = await connection.readToEnd()
        #expect(messages == [.text("one")])
        #expect((error as? WebSocketError)?.tag == fault.tag)
        #expect(connection.closed == nil)
        #expect(connection.report.outcome == fault.tag)
        await #expect(throws: WebSocketError.self) { try await connection.close() }
    }

    private static let words: [(cause: TransportFailure.Cause, phase: TransportFailure.Phase)] = [
        (.protocolViolation(closeCode: 1002), .stream), (.messageTooLarge(limit: 10), .stream),
        (.peerUnresponsive, .stream), (.timedOut, .connect), (.timedOut, .upgrade), (.connectionLost, .upgrade),
        (.notHTTP, .upgrade), (.openingHandshakeInvalid(.subprotocol), .upgrade),
    ]

    /// The engine's words are about responses and their events.
    @Test(arguments: Self.words)
    func errorDescriptionsDoNotMentionResponsesOrEvents(cause: TransportFailure.Cause, phase: TransportFailure.Phase)
        async throws
    {
        let failure = ScriptedEvent.ended(.failed(TransportFailure(phase: phase, cause: cause)))
        let fixture = try WebSocketFixture(phase == .stream ? [.established(), failure] : [failure])
        var error = phase == .stream ? nil : await fixture.errorOfOpening()
        if phase == .stream { error = try await fixture.open().readToEnd().error as? WebSocketError }
        let description = try #require(error).safeDescription
        for word in ["body", "event", "response", "Use HTTP"] { #expect(!description.contains(word), "\(description)") }
    }

    // MARK: Ends

    private static let ends: [(UInt16, Bool?, WebSocketClose.Initiator, isNormal: Bool)] = [
        (1000, true, .server, true), (1001, true, .server, true), (1005, true, .server, true),
        (1002, true, .server, false), (1008, true, .server, false), (1011, true, .server, false),
        (4000, true, .server, false), (4000, false, .client, true), (1006, nil, .network, false),
    ]

    @Test(arguments: Self.ends)
    func onlyAnAbnormalCloseEndsReceivingWithAnError(
        code: UInt16, peerBegan: Bool?, initiator: WebSocketClose.Initiator, isNormal: Bool
    ) async throws {
        let fixture = try WebSocketFixture(
            [.established(), .text("one"), .closed(code, "why")], peerBeganClosing: peerBegan)
        let connection = try await fixture.open()
        let (messages, error) = await connection.readToEnd()
        #expect(messages == [.text("one")])
        let close = WebSocketClose(code: Int(code), reason: "why", initiator: initiator)
        #expect(connection.closed == close)
        #expect(error as? WebSocketError == (isNormal ? nil : .closed(close)))
        let outcome = isNormal ? "completed" : "ws.close.\(code)"
        #expect(fixture.outcomes == ["connect completed", "connection \(outcome)"])
        #expect(fixture.categories == [nil, isNormal ? nil : WebSocketError.closed(close).category])
        #expect(connection.report.outcome == outcome)
    }

    @Test func theReasonIsWithoutTheSecretsOfTheRequest() async throws {
        var fixture = try WebSocketFixture(
            [.established(), .closed(1008, "bad key sk-secret-1")], peerBeganClosing: true)
        fixture.configuration.additionalFields = [("X-API-Key", "sk-secret-1")]
        let connection = try await fixture.open()
        _ = await connection.readToEnd()
        #expect(connection.closed?.reason == "bad key [redacted]")
        #expect(fixture.lines.withLock { $0.last?.privateMessage } == "bad key [redacted]")
    }

    @Test func afterAnErrorReceivingThrowsItAgain() async throws {
        let failure = TransportFailure(phase: .stream, cause: .messageTooLarge(limit: 10))
        let fixture = try WebSocketFixture([.established(), .ended(.failed(failure))])
        let connection = try await fixture.open()
        var errors: [WebSocketError] = []
        for _ in 0..<2 {
            do { _ = try await connection.receive() } catch let error as WebSocketError { errors.append(error) }
        }
        #expect(errors.map(\.tag) == ["event.too-large", "event.too-large"])
        #expect(errors.first?.safeDescription.contains("limit of 10 bytes") == true)
        // An iterator ends with its first error.
        var iterator = connection.messages.makeAsyncIterator()
        await #expect(throws: WebSocketError.self) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
    }

    // MARK: One receiver, and its cancellation

    @Test func aSecondReceiverIsAnError() async throws {
        let fixture = try WebSocketFixture([.established()])
        let connection = try await fixture.open()
        let first = Task { try await connection.receive() }
        await fixture.exchange.isAwaited()
        await #expect(throws: WebSocketError.alreadyReceiving) { try await connection.receive() }
        await #expect(throws: WebSocketError.alreadyReceiving) { try await connection.withNextMessage { _, _ in } }
        // It leaves the first, and the connection, as they were.
        #expect(fixture.exchange.calls.isEmpty)
        connection.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(WebSocketError.alreadyReceiving.category == .validation)
    }

    @Test func cancellingTheReceivingTaskClosesTheConnection() async throws {
        let fixture = try WebSocketFixture([.established()])
        let connection = try await fixture.open()
        let task = Task { try await connection.receive() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(fixture.exchange.calls == [.cancel])
        #expect(fixture.outcomes == ["connect completed", "connection cancelled"])
        await #expect(throws: WebSocketError.notOpen) { try await connection.send("late") }
    }

    /// Messages that have arrived are not received by a cancelled task.
    @Test(arguments: [false, true])
    func aCancelledTaskReceivesNothing(isLent: Bool) async throws {
        let fixture = try WebSocketFixture([.established(), .text("one"), .text("two")])
        let connection = try await fixture.open()
        let task = Task {
            #expect(try await connection.receive() == .text("one"))
            withUnsafeCurrentTask { $0?.cancel() }
            if isLent {
                _ = try await connection.withNextMessage { _, _ in Issue.record("it was lent") }
            } else {
                _ = try await connection.receive()
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(fixture.exchange.calls == [.cancel])
    }

    /// Messages that have arrived are not received after `cancel()`.
    @Test func cancelledConnectionHasNoMessages() async throws {
        let fixture = try WebSocketFixture([.established(), .text("one"), .text("two")])
        let connection = try await fixture.open()
        #expect(try await connection.receive() == .text("one"))
        connection.cancel()
        await #expect(throws: CancellationError.self) { try await connection.receive() }
        #expect(connection.report.receivedMessageCount == 1)
    }

    @Test func cancelEndsAReceivingTask() async throws {
        let fixture = try WebSocketFixture([.established()])
        let connection = try await fixture.open()
        let task = Task { try await connection.receive() }
        connection.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func droppingTheLastReferenceClosesTheConnection() async throws {
        let fixture = try WebSocketFixture([.established()])
        do { _ = try await fixture.open() }
        #expect(fixture.exchange.calls == [.cancel])
    }
}
