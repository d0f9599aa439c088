// Messages of the client over real sockets: both ways, in fragments, compressed, and broken.

import Foundation
import StreamTransport
import Testing
import WebSocketClient

@Suite(.timeLimit(.minutes(10))) struct WebSocketMessageTests {
    @Test func messagesGoBothWays() async throws {
        let opened = try await OpenedWebSocket(to: RawServer())
        let echo = Task { await opened.echo() }
        let messages: [WebSocketMessage] = [.text("one"), .binary([0, 255]), .text(""), .text("zwölf 😀")]
        for message in messages {
            try await opened.connection.send(message)
            #expect(try await opened.connection.receive() == message)
        }
        let report = opened.connection.report
        #expect(report.sentMessageCount == 4 && report.receivedMessageCount == 4)
        let times = [report.resolved, report.tcpConnected, report.connected, report.opened, report.firstMessage]
        let known = times.compactMap(\.self)
        #expect(known.count == 5 && known == known.sorted(), "\(times)")
        #expect(try await opened.connection.close() == WebSocketClose(code: 1000, initiator: .client))
        await echo.value
    }

    @Test func theOpeningHandshakeHasWhatWasConfigured() async throws {
        let opened = try await OpenedWebSocket(
            to: RawServer(), answering: ["Sec-WebSocket-Protocol: v1.chat", "X-Node: n1"]
        ) { configuration in
            configuration.additionalFields = [("Authorization", "Bearer secret"), ("Origin", "https://o.example")]
            configuration.subprotocols = ["v2.chat", "v1.chat"]
            configuration.capturedFieldNames = ["X-Node"]
        }
        let lines = opened.head.components(separatedBy: "\r\n")
        #expect(lines.first == "GET /chat?room=1 HTTP/1.1")
        for line in [
            "Authorization: Bearer secret", "Origin: https://o.example", "Sec-WebSocket-Protocol: v2.chat, v1.chat",
            "Sec-WebSocket-Version: 13", "Upgrade: websocket",
        ] { #expect(lines.contains(line), "\(line)") }
        #expect(!opened.head.contains("Extensions"))
        #expect(opened.connection.subprotocol == "v1.chat" && !opened.connection.isCompressed)
        #expect(opened.connection.fields.map(\.value) == ["n1"])
        opened.connection.cancel()
    }

    /// A message arrives whole, whatever its fragments and the control frames between them (RFC 6455 section 5.4).
    @Test func fragmentsAreOneMessage() async throws {
        let opened = try await OpenedWebSocket(to: RawServer())
        opened.peer.write(
            RawPeer.frame(1, Array("fra".utf8), isFinal: false) + RawPeer.frame(9, [7])
                + RawPeer.frame(0, Array("gmen".utf8), isFinal: false) + RawPeer.frame(0, Array("ts".utf8))
                + RawPeer.frame(2, [1, 2, 3]))
        #expect(try await opened.connection.receive() == .text("fragments"))
        let sum = try await opened.connection.withNextMessage { kind, bytes in
            bytes.withUnsafeBytes { $0.reduce(0) { $0 + Int($1) } } + (kind == .binary ? 100 : 0)
        }
        #expect(sum == 106)
        #expect(await opened.peer.readFrame() == RawPeer.Frame(opcode: 10, payload: [7]))
        opened.connection.cancel()
    }

    @Test func aLongMessageIsSentInFragments() async throws {
        let opened = try await OpenedWebSocket(to: RawServer())
        let payload = [UInt8].counting(300_000)
        let read = Task { await opened.peer.readMessage() }
        try await opened.connection.send(payload)
        #expect(await read.value == RawPeer.Frame(opcode: 2, payload: payload))
        opened.connection.cancel()
    }

    @Test func compressedMessagesAreReadAndSent() async throws {
        let opened = try await OpenedWebSocket(
            to: RawServer(), answering: ["Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover"]
        ) { $0.compression = .enabled }
        #expect(opened.head.contains("Sec-WebSocket-Extensions: permessage-deflate"))
        #expect(opened.connection.isCompressed)
        let text = String(repeating: "compress me ", count: 1_000)
        opened.peer.write(RawPeer.frame(1, try RawCompression.message(Array(text.utf8)), reserved: 4))
        #expect(try await opened.connection.receive() == .text(text))
        try await opened.connection.send(text)
        let frame = try #require(await opened.peer.readFrame())
        #expect(frame.isCompressed && frame.payload.count < text.utf8.count)
        #expect(try RawCompression.inflate(frame) == Array(text.utf8))
        let report = opened.connection.report
        #expect(try #require(report.inflatedByteCount) > report.receivedByteCount)
        opened.connection.cancel()
    }

    // MARK: Two tasks at once

    /// One task receives while others send and ping.
    @Test func tasksReceiveAndSendAtOnce() async throws {
        let opened = try await OpenedWebSocket(to: RawServer())
        let count = 600
        let echo = Task { await opened.echo() }
        let connection = opened.connection
        let receiving = Task {
            var texts: [String] = []
            for try await message in connection.messages {
                if case .text(let text) = message { texts.append(text) }
                if texts.count == count { break }
            }
            return texts
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sender in 0..<3 {
                group.addTask {
                    for number in 0..<count / 3 { try await connection.send("\(sender) \(number)") }
                }
            }
            group.addTask { for _ in 0..<10 { try await connection.ping() } }
            try await group.waitForAll()
        }
        let texts = try await receiving.value
        // The messages of each task are in its order.
        for sender in 0..<3 {
            #expect(texts.filter { $0.hasPrefix("\(sender) ") } == (0..<count / 3).map { "\(sender) \($0)" })
        }
        connection.cancel()
        await echo.value
    }

    @Test func aPingReturnsWithItsPong() async throws {
        let opened = try await OpenedWebSocket(to: RawServer())
        let connection = opened.connection
        let ping = Task { try await connection.ping() }
        let frame = try #require(await opened.peer.readFrame())
        #expect(frame.opcode == 9)
        // An unsolicited one does not answer it.
        opened.peer.write(RawPeer.frame(10, [1]) + RawPeer.frame(10, frame.payload))
        #expect(try await ping.value > .zero)
        // It is not a message.
        opened.peer.writeText("next")
        #expect(try await connection.receive() == .text("next"))
        connection.cancel()
    }

    @Test func aPingEndsWithTheConnection() async throws {
        let opened = try await OpenedWebSocket(to: RawServer())
        let connection = opened.connection
        let ping = Task { try await connection.ping() }
        _ = await opened.peer.readFrame()
        opened.peer.reset()
        await #expect(throws: WebSocketError.notOpen) { try await ping.value }
    }

    // MARK: Bad data

    /// A message of the limit, which is 1,000 bytes, and a longer one, which may have no end.
    struct LimitedMessage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var isCompressed = false
        let allowed: [UInt8]
        let excessive: [UInt8]
    }

    private static let byteLimit = 1_000

    /// A binary message of zeros in fragments of these lengths, with control frames between them.
    private static func fragments(_ counts: [Int], isEnded: Bool, between: [UInt8] = []) -> [UInt8] {
        counts.enumerated().flatMap { index, count in
            RawPeer.frame(
                index == 0 ? 2 : 0, [UInt8](repeating: 0, count: count), isFinal: isEnded && index == counts.count - 1)
                + between
        }
    }

    /// A compressed message in fragments of `size` bytes.
    private static func compressed(_ payload: [UInt8], size: Int, isEnded: Bool) -> [UInt8] {
        stride(from: 0, to: payload.count, by: size).flatMap { start in
            let end = min(payload.count, start + size)
            return RawPeer.frame(
                start == 0 ? 2 : 0, Array(payload[start..<end]), isFinal: isEnded && end == payload.count,
                reserved: start == 0 ? 4 : 0)
        }
    }

    static func limitedMessages() throws -> [LimitedMessage] {
        let single = [Int](repeating: 1, count: Self.byteLimit)
        let endless = [Int](repeating: 1, count: 20 * Self.byteLimit)
        let empty = [Int](repeating: 0, count: 20_000)
        let ping = RawPeer.frame(9, [1])
        return [
            LimitedMessage(
                testDescription: "one frame", allowed: Self.fragments([Self.byteLimit], isEnded: true),
                excessive: Self.fragments([Self.byteLimit + 1], isEnded: true)),
            LimitedMessage(
                testDescription: "two fragments", allowed: Self.fragments([Self.byteLimit - 1, 1], isEnded: true),
                excessive: Self.fragments([Self.byteLimit - 1, 2], isEnded: true)),
            LimitedMessage(
                testDescription: "endless fragments", allowed: Self.fragments(single, isEnded: true),
                excessive: Self.fragments(endless, isEnded: false)),
            LimitedMessage(
                testDescription: "endless fragments around pings",
                allowed: Self.fragments(single, isEnded: true, between: ping),
                excessive: Self.fragments(endless, isEnded: false, between: ping)),
            LimitedMessage(
                testDescription: "empty fragments, whose number has no limit",
                allowed: Self.fragments(empty + [Self.byteLimit], isEnded: true),
                excessive: Self.fragments(empty + [Self.byteLimit + 1], isEnded: true)),
            LimitedMessage(
                testDescription: "endless compressed fragments", isCompressed: true,
                allowed: Self.compressed(
                    try RawCompression.message([UInt8](repeating: 0, count: Self.byteLimit)), size: 1, isEnded: true),
                excessive: Self.compressed(try RawCompression.zeros(mebibytes: 4), size: 10, isEnded: false)),
        ]
    }

    /// The limit is that of a message, inflated, whatever its fragments are, and before its end has come.
    @Test(arguments: try Self.limitedMessages(), [false, true])
    func aMessageOverTheLimitFailsTheConnection(message: LimitedMessage, isLent: Bool) async throws {
        let opened = try await OpenedWebSocket(
            to: RawServer(), answering: message.isCompressed ? ["Sec-WebSocket-Extensions: permessage-deflate"] : []
        ) { configuration in
            configuration.compression = message.isCompressed ? .enabled : .disabled
            configuration.limits.messageByteCount = Self.byteLimit
        }
        let connection = opened.connection
        opened.peer.write(message.allowed)
        #expect(try await connection.receive() == .binary([UInt8](repeating: 0, count: Self.byteLimit)))
        opened.peer.write(message.excessive)
        let error = await #expect(throws: WebSocketError.self) {
            if isLent {
                _ = try await connection.withNextMessage { $1.byteCount }
            } else {
                _ = try await connection.receive()
            }
        }
        guard case .transport(let failure) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure.tag == "event.too-large" && failure.details.limit == Self.byteLimit)
        #expect(await opened.peer.readCloseCode() == 1009)
        #expect(connection.closed == nil && connection.report.receivedMessageCount == 1)
    }

    /// Some kilobytes that inflate to 64 MiB are given up at the limit.
    @Test func aDeflateBombFailsTheConnection() async throws {
        let opened = try await OpenedWebSocket(
            to: RawServer(), answering: ["Sec-WebSocket-Extensions: permessage-deflate"]
        ) { configuration in
            configuration.compression = .enabled
            configuration.limits.messageByteCount = 1 << 20
        }
        opened.peer.write(RawPeer.frame(2, try RawCompression.zeros(mebibytes: 64), reserved: 4))
        let (messages, error) = await opened.connection.messagesToEnd()
        #expect(messages.isEmpty)
        #expect((error as? WebSocketError)?.tag == "event.too-large")
        #expect(await opened.peer.readCloseCode() == 1009)
    }

    /// The messages before the fault are received, then the fault, and not the close frame that came in the same read.
    @Test(arguments: [false, true])
    func aDeflateBombInFrontOfACloseFrameFailsTheConnection(programCloses: Bool) async throws {
        let opened = try await OpenedWebSocket(
            to: RawServer(), answering: ["Sec-WebSocket-Extensions: permessage-deflate"]
        ) { configuration in
            configuration.compression = .enabled
            configuration.limits.messageByteCount = 1 << 20
        }
        opened.peer.write(
            RawPeer.frame(1, Array("before".utf8))
                + RawPeer.frame(2, try RawCompression.zeros(mebibytes: 2), reserved: 4)
                + RawPeer.frame(8, [0x03, 0xE8]))
        // The close frame is answered when it has come, whether the messages were received or not.
        #expect(await opened.peer.readCloseCode() == 1000)
        if programCloses { #expect(try await opened.connection.close().code == 1000) }
        let (messages, error) = await opened.connection.messagesToEnd()
        #expect(messages == [.text("before")])
        #expect((error as? WebSocketError)?.tag == "event.too-large")
        #expect(opened.connection.closed == nil)
    }
}
