import ChappieTransport
import StreamTransport
import Testing

/// Whole turns against a server whose bytes the test writes itself.
@Suite(.timeLimit(.minutes(1))) struct RawTurnTests {
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
        #expect(await outcome.clientError == .httpError(statusCode, "no"))
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
    func theConfigurationSaysWhatIsOffered(_ compression: ChappieWebSocketCompression, value: String?) async throws {
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
