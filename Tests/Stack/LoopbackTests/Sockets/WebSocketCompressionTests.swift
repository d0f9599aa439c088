import Deflate
import Foundation
import LibwebsocketsTransport
import StreamTransport
import Testing

/// permessage-deflate on a connection: its negotiation, both directions, and messages that inflate without an end.
@Suite(.timeLimit(.minutes(10))) struct WebSocketCompressionTests {
    private static let field = "Sec-WebSocket-Extensions: "

    private static func offer(_ change: (inout MessageCompressionOffer) -> Void) -> MessageCompressionOffer {
        var offer = MessageCompressionOffer()
        change(&offer)
        return offer
    }

    // MARK: Negotiation

    @Test(arguments: [
        (MessageCompressionOffer(), "permessage-deflate; client_max_window_bits"),
        (
            .lowMemory,
            "permessage-deflate; server_no_context_takeover; server_max_window_bits=12; client_max_window_bits"
        ),
        (
            Self.offer {
                $0.clientNoContextTakeover = true
                $0.clientMaxWindowBits = 10
            }, "permessage-deflate; client_no_context_takeover; client_max_window_bits=10"
        ),
    ])
    func extensionFieldHasTheOfferedParameters(_ offer: MessageCompressionOffer, value: String) async throws {
        let (connection, peer) = try await RawServer().connect(.webSocket(compression: offer))
        let head = await peer.acceptWebSocket()
        #expect(head.contains("\r\n\(Self.field)\(value)\r\n"))
        #expect(await connection.event() == .opened(101))
        connection.cancel()
    }

    @Test func withoutAnOfferThereIsNoField() async throws {
        let (connection, peer) = try await RawServer().connect(.webSocket(compression: nil))
        let head = await peer.acceptWebSocket()
        #expect(!head.lowercased().contains("sec-websocket-extensions"))
        connection.cancel()
    }

    @Test(arguments: [
        (MessageCompressionOffer(), "permessage-deflate; server_max_window_bits=12; client_max_window_bits=9"),
        (MessageCompressionOffer(), "permessage-deflate; server_no_context_takeover; client_no_context_takeover"),
        (MessageCompressionOffer(), "permessage-deflate; client_max_window_bits=8"),
        (.lowMemory, "permessage-deflate; server_no_context_takeover; server_max_window_bits=12"),
        (.lowMemory, "permessage-deflate; server_max_window_bits=9; server_no_context_takeover"),
    ])
    func anAnswerThatFitsTheOfferIsUsed(_ offer: MessageCompressionOffer, answer: String) async throws {
        let echo = try await WebSocketEcho(to: RawServer(), offering: offer, extensions: answer)
        // The smallest window: the same message twice, and the second does not refer to the first.
        let text = Array(String(repeating: "héllo 😀", count: 20).utf8)
        for _ in 0..<2 { echo.peer.write(RawPeer.frame(1, try RawCompression.message(text), reserved: 4)) }
        for _ in 0..<2 { #expect(await echo.peer.readMessage()?.payload == text) }
        // A request of some size, which comes back compressed if the window allows it.
        let long = Array(String(repeating: "{\"type\":\"input_text\",\"text\":\"abc\"},", count: 2_000).utf8)
        echo.peer.write(RawPeer.frame(1, long))
        let frame = try #require(await echo.peer.readMessage())
        let bits =
            answer.contains("client_max_window_bits=8") ? nil : answer.contains("client_max_window_bits=9") ? 9 : 15
        #expect(frame.isCompressed == (bits != nil))
        #expect(try RawCompression.inflate(frame, windowBits: bits ?? 15) == long)
        echo.connection.cancel()
        _ = await echo.reported.value
    }

    @Test(arguments: [
        (MessageCompressionOffer(), "permessage-deflate; server_max_window_bits=16"),
        (MessageCompressionOffer(), "permessage-deflate; server_max_window_bits"),
        (MessageCompressionOffer(), "permessage-deflate; client_max_window_bits"),
        (MessageCompressionOffer(), "permessage-deflate; client_max_window_bits=07"),
        (MessageCompressionOffer(), "permessage-deflate; server_no_context_takeover=1"),
        (MessageCompressionOffer(), "permessage-deflate; x"),
        (MessageCompressionOffer(), "permessage-deflate, permessage-deflate"),
        (.lowMemory, "permessage-deflate"),
        (.lowMemory, "permessage-deflate; server_no_context_takeover"),
        (.lowMemory, "permessage-deflate; server_no_context_takeover; server_max_window_bits=13"),
        (Self.offer { $0.clientMaxWindowBits = 10 }, "permessage-deflate; client_max_window_bits=11"),
        (nil, "permessage-deflate"),
    ])
    func anAnswerThatDoesNotFitTheOfferIsRefused(_ offer: MessageCompressionOffer?, answer: String) async throws {
        let (connection, peer) = try await RawServer().connect(.webSocket(compression: offer))
        await peer.acceptWebSocket(Self.field + answer)
        #expect(await connection.eventsToEnd() == [.failed(.upgrade, .openingHandshakeInvalid(.extensions))])
    }

    // MARK: Messages to the server

    @Test func aLongRequestIsCompressedAndFragmented() async throws {
        let (connection, peer) = try await RawServer().connect(.webSocket(offersCompression: true))
        await peer.acceptWebSocket(Self.field + "permessage-deflate")
        #expect(await connection.event() == .opened(101))
        var text = "["
        var number: UInt64 = 1
        while text.utf8.count < 1_000_000 {
            number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            text += "{\"type\":\"input_text\",\"text\":\"\(number >> 24)\"},"
        }
        let message = Array(text.utf8)
        connection.send(message, as: .text)
        // More than a fragment, so that the mark must be on the first of several.
        let first = try #require(await peer.readFrame())
        #expect(first.isCompressed)
        #expect(!first.isFinal)
        var frame = first
        while !frame.isFinal {
            let next = try #require(await peer.readFrame())
            #expect(next.opcode == 0)
            #expect(!next.isCompressed)
            frame.payload += next.payload
            frame.isFinal = next.isFinal
        }
        #expect(frame.payload.count < message.count / 2)
        #expect(try RawCompression.inflate(frame) == message)
        connection.cancel()
    }

    @Test(arguments: [false, true])
    func aShortRequestIsSentAsItIs(isAgreed: Bool) async throws {
        let (connection, peer) = try await RawServer().connect(.webSocket(offersCompression: true))
        if isAgreed {
            await peer.acceptWebSocket(Self.field + "permessage-deflate")
        } else {
            await peer.acceptWebSocket()
        }
        #expect(await connection.event() == .opened(101))
        let short = Array(String(repeating: "a", count: 4_095).utf8)
        let long = Array(String(repeating: "a", count: 60_000).utf8)
        connection.send(short, as: .text)
        connection.send(long, as: .binary)
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: 1, payload: short))
        let frame = try #require(await peer.readFrame())
        #expect(frame.isCompressed == isAgreed)
        #expect(try RawCompression.inflate(frame) == long)
        connection.cancel()
    }

    // MARK: Bombs

    /// The most memory that the process has had since the last call, in bytes.
    private static func peakMemory() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        let kibibytes = try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        // From here on it is counted anew.
        try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
        return kibibytes << 10
    }

    /// 4 GiB in 4 MB, whole and in fragments of 16 KiB.
    @Test(arguments: [nil, 16 << 10])
    func aMessageOfZerosWithoutEndIsStoppedAtItsLimit(fragmentByteCount: Int?) async throws {
        let limit = 8 << 20
        let bomb = try RawCompression.zeros(mebibytes: 4_096)
        #expect(bomb.count < 5_000_000)
        let (connection, peer) = try await RawServer().connect(.webSocket(offersCompression: true)) {
            $0.limits.messageByteCount = limit
        }
        await peer.acceptWebSocket(Self.field + "permessage-deflate")
        #expect(await connection.event() == .opened(101))
        let size = fragmentByteCount ?? bomb.count
        let frames = stride(from: 0, to: bomb.count, by: size).flatMap { start in
            let end = min(start + size, bomb.count)
            return RawPeer.frame(
                start == 0 ? 1 : 0, Array(bomb[start..<end]), isFinal: end == bomb.count, reserved: start == 0 ? 4 : 0)
        }
        _ = try Self.peakMemory()
        let before = try Self.peakMemory()
        let writing = Task.detached { peer.write(frames) }
        #expect(await connection.eventsToEnd() == [.failed(.stream, .messageTooLarge(limit: limit))])
        #expect(await peer.readCloseCode() == 1009)
        await writing.value
        // What was inflated, twice while its memory grew, and what lay in the arena: 30 MiB, which sanitizers multiply.
        #expect(try Self.peakMemory() - before < 512 << 20)
    }
}
