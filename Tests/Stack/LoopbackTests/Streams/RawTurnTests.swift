import ChappieTransport
import Foundation
import StreamTransport
import Testing

/// Whole turns against a server whose bytes the test writes itself.
@Suite(.timeLimit(.minutes(10))) struct RawTurnTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

    private static func transport(
        to server: RawServer, over wire: Wire, _ change: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) -> ChappieStreamingTransport {
        ChappieStreamingTransport(
            configuration: .loopback("http://127.0.0.1:\(server.port)/v1") {
                $0.credential = { _ in ChappieCredential(bearerToken: "secret") }
                $0.policy = ChappieStreamingTransportPolicy(
                    prefersWebSocket: wire == .webSocket, maxWebSocketReconnectionAttempts: 0,
                    fallsBackToHTTPSSE: false)
                $0.maxHTTPRetries = 0
                change(&$0)
            })
    }

    /// Neither the request nor its credential goes anywhere else.
    @Test(arguments: Wire.allCases, [301, 302, 303, 307, 308])
    func aRedirectToAnotherOriginIsRefused(over wire: Wire, statusCode: Int) async throws {
        let (server, elsewhere) = (try RawServer(), try RawServer())
        let transport = Self.transport(to: server, over: wire)
        async let outcome = transport.outcome()
        let peer = try await server.accept()
        #expect(await peer.read(until: "\r\n\r\n").contains("Authorization: Bearer secret\r\n"))
        peer.write(
            "HTTP/1.1 \(statusCode) Moved\r\nLocation: http://127.0.0.1:\(elsewhere.port)/v1/responses\r\n"
                + "Content-Length: 2\r\n\r\nno")
        let target = "http://127.0.0.1:\(elsewhere.port)/v1/responses"
        #expect(await outcome.clientError == .httpError(statusCode, "redirect to \(target)\nno"))
        #expect(!elsewhere.hasConnection)
        #expect(!server.hasConnection)
    }

    @Test(arguments: Wire.allCases)
    func aHeadThatDripsEndsWithItsBudget(over wire: Wire) async throws {
        let server = try RawServer()
        let transport = Self.transport(to: server, over: wire) {
            $0.timeouts.connect = .milliseconds(200)
            $0.timeouts.firstEvent = .milliseconds(200)
        }
        let start = ContinuousClock.now
        let outcome = Task { await transport.outcome() }
        let peer = try await server.accept()
        _ = await peer.read(until: "\r\n\r\n")
        let isOver = LockedValue(false)
        let dripping = Task {
            peer.write("HTTP/1.1 200 OK\r\nX-Drip: ")
            while !isOver.withLock({ $0 }) {
                peer.write("a")
                // The pace is some rounds of the client's own loop.
                try await RawServer.fence()
            }
        }
        #expect(await outcome.value.transportFailure?.code == .timedOut)
        #expect(.now - start >= .milliseconds(200))
        isOver.withLock { $0 = true }
        try await dripping.value
    }

    /// A comment of gzip (RFC 1952 section 2.3) that has no end, and comes faster than it is read.
    @Test func anEndlessCommentOfGzipEndsWithItsBudget() async throws {
        let server = try RawServer()
        let transport = Self.transport(to: server, over: .httpSSE) { $0.timeouts.firstEvent = .milliseconds(500) }
        let outcome = Task { await transport.outcome() }
        let peer = try await server.accept()
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(String(Self.head.dropLast()) + "Content-Encoding: gzip\r\n\r\n")
        peer.write([0x1F, 0x8B, 8, 16, 0, 0, 0, 0, 0, 3])
        let writing = peer.writeInBackground(byteCount: 1 << 40)
        #expect(await outcome.value.transportFailure?.code == .timedOut)
        await writing.value
    }

    /// By the handle that is an error of the stream; by the reading task the loop may also end without one.
    @Test(arguments: [true, false])
    func aCommentOfGzipCanBeCancelled(byHandle: Bool) async throws {
        let server = try RawServer()
        let transport = Self.transport(to: server, over: .httpSSE)
        let handle = transport.streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
        let reading = Task {
            for try await event in handle.events {
                guard case .diagnostic = event else {
                    Issue.record("\(event)")
                    continue
                }
            }
        }
        let peer = try await server.accept()
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(String(Self.head.dropLast()) + "Content-Encoding: gzip\r\n\r\n")
        peer.write([0x1F, 0x8B, 8, 16, 0, 0, 0, 0, 0, 3])
        let writing = peer.writeInBackground(byteCount: 1 << 40)
        if byHandle {
            handle.cancel()
            await #expect(throws: CancellationError.self) { try await reading.value }
        } else {
            reading.cancel()
            if case .failure(let error) = await reading.result { #expect(error is CancellationError) }
        }
        await writing.value
    }

    /// The system asks a peer that is quiet, and gives up one that has gone.
    @Test func anHTTPSocketHasKeepalive() async throws {
        let server = try RawServer()
        let transport = Self.transport(to: server, over: .httpSSE) {
            $0.timeouts.pingInterval = .seconds(17)
            $0.timeouts.pongTimeout = .seconds(6)
        }
        let handle = transport.streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
        let reading = Task {
            for try await _ in handle.events {}
        }
        let peer = try await server.accept()
        _ = await peer.read(until: "\r\n\r\n")
        let descriptor = try #require(Self.socket(to: server.port))
        #expect(Self.option(SOL_SOCKET, SO_KEEPALIVE, of: descriptor) == 1)
        #expect(Self.option(CInt(IPPROTO_TCP), TCP_KEEPIDLE, of: descriptor) == 17)
        #expect(Self.option(CInt(IPPROTO_TCP), TCP_KEEPINTVL, of: descriptor) == 3)
        #expect(Self.option(CInt(IPPROTO_TCP), TCP_USER_TIMEOUT, of: descriptor) == 23_000)
        handle.cancel()
        _ = await reading.result
    }

    /// The client's socket: the one of this process whose peer is the server.
    private static func socket(to port: UInt16) -> CInt? {
        (0..<4_096).first { descriptor in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isNamed = withUnsafeMutableBytes(of: &address) { bytes in
                guard let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
                return getpeername(descriptor, pointer, &length) == 0
            }
            return isNamed && address.sin_family == sa_family_t(AF_INET) && UInt16(bigEndian: address.sin_port) == port
        }
    }

    private static func option(_ level: CInt, _ name: CInt, of descriptor: CInt) -> CInt? {
        var value: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(descriptor, level, name, &value, &length) == 0 ? value : nil
    }

    /// The server learns why (RFC 6455 section 8.1), whichever way the bytes came.
    @Test(arguments: [
        RawPeer.frame(1, [0x7B, 0xFF, 0x7D]), RawPeer.frame(1, [0x7B, 0xFF], isFinal: false),
        RawPeer.frame(1, Array("{\"a\":\"".utf8) + [0xC3] + Array("\"}".utf8)), [0x81, 0x20, 0x7B, 0xFF],
    ])
    func aMessageThatIsNotTextIsAnsweredWith1007(bytes: [UInt8]) async throws {
        let server = try RawServer()
        let transport = Self.transport(to: server, over: .webSocket)
        let outcome = Task { await transport.outcome() }
        let peer = try await server.accept()
        await peer.acceptWebSocket()
        #expect(await peer.readMessage()?.opcode == 1)
        peer.write(bytes)
        #expect(await peer.readCloseCode() == 1007)
        let code = await outcome.value.transportFailure?.code
        #expect(code == .protocolViolation || code == .undecodableEvent)
    }

    /// A long prompt goes out compressed when that was agreed, and as it is otherwise.
    @Test(arguments: [false, true])
    func aLongRequestIsWhatTheServerReads(isAgreed: Bool) async throws {
        let server = try RawServer()
        let transport = Self.transport(to: server, over: .webSocket)
        let prompt = String(repeating: "Write a long story about a bottle. ", count: 4_000)
        let handle = transport.streamHandle(ChappieTransportRequest(prompt: prompt, model: "m"))
        let reading = Task {
            for try await _ in handle.events {}
        }
        let peer = try await server.accept()
        if isAgreed {
            await peer.acceptWebSocket("Sec-WebSocket-Extensions: permessage-deflate")
        } else {
            await peer.acceptWebSocket()
        }
        let message = try #require(await peer.readMessage())
        #expect(message.isCompressed == isAgreed)
        let text = String(decoding: try RawCompression.inflate(message), as: UTF8.self)
        #expect(text.hasPrefix("{"))
        #expect(text.contains(prompt))
        if isAgreed { #expect(message.payload.count < prompt.utf8.count / 10) }
        handle.cancel()
        _ = await reading.result
    }

    @Test(
        arguments: [
            (ChappieWebSocketCompression.enabled, "permessage-deflate; client_max_window_bits"),
            (
                .lowMemory,
                "permessage-deflate; server_no_context_takeover; server_max_window_bits=12; client_max_window_bits"
            ), (.disabled, nil),
        ] as [(ChappieWebSocketCompression, String?)])
    func configuredCompressionIsOffered(_ compression: ChappieWebSocketCompression, value: String?) async throws {
        for offersCompression in [false, true] {
            let server = try RawServer()
            let transport = Self.transport(to: server, over: .webSocket) {
                $0.webSocketCompression = compression
                $0.offersCompression = offersCompression
            }
            let outcome = Task { await transport.outcome() }
            let peer = try await server.accept()
            let lines = await peer.read(until: "\r\n\r\n").split(separator: "\r\n")
            let field = lines.first { $0.hasPrefix("Sec-WebSocket-Extensions: ") }
            #expect(
                field.map(String.init) == (offersCompression ? value.map { "Sec-WebSocket-Extensions: \($0)" } : nil))
            peer.write("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
            #expect(await outcome.value.error != nil)
        }
    }
}
