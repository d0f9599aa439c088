// The WebSocket transport, frame by frame.
import Testing

@testable import ChappieTestServer

@Suite struct WebSocketTests {
    private func connected<Result>(
        path: String = "/v1/responses", fields: [String] = [],
        _ configure: (inout ChappieTestServer.Configuration) -> Void = { _ in },
        _ body: (ChappieTestServer, RawClient, AnswerHead) throws -> Result
    ) throws -> Result {
        try withServer(configure) { server in
            let client = try RawClient(port: server.port)
            try client.upgrade(path: path, fields: fields)
            return try body(server, client, client.readHead())
        }
    }

    @Test func theHandshakeIsAcceptedAndTheTextArrives() throws {
        try self.connected { _, client, head in
            #expect(head.status == 101)
            #expect(head.fields["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
            #expect(head.fields["sec-websocket-extensions"] == nil)
            try client.sendText(plainRequest)
            #expect(try text(of: client.readEvents()) == ChappieTestServer.ScriptedModel().fullText)
        }
    }

    @Test func severalRequestsTakeTurnsOnOneSocket() throws {
        try self.connected { server, client, _ in
            try client.sendText(plainRequest.replacing("}", with: #","generate":false}"#))
            let warmUp = try client.readEvents()
            #expect(warmUp.map { $0["type"]?.string } == ["response.created", "response.completed"])
            let id = try #require(warmUp.last?["response"]?["id"]?.string)
            try client.sendText(plainRequest.replacing("}", with: #","previous_response_id":"\#(id)"}"#))
            let events = try client.readEvents()
            #expect(events.last?["response"]?["previous_response_id"]?.string == id)
            #expect(server.log.map(\.attempt) == [1])
            #expect(server.waitBlocking(for: .completedResponses(1)))
        }
    }

    @Test func aContinuationNeedsTheOutputOfItsCalls() throws {
        try self.connected { _, client, _ in
            try client.sendText(toolRequest)
            let first = try client.readEvents()
            let id = try #require(first.last?["response"]?["id"]?.string)
            let call = try #require(first.last?["response"]?["output"]?.elements.last?["call_id"]?.string)
            let head = #"{"type":"response.create","previous_response_id":"\#(id)","input":["#
            let whole = head + #"{"type":"function_call_output","call_id":"\#(call)","output":"1"}]}"#
            try client.sendText(
                head.replacing("response.create\"", with: "response.create\",\"stream_id\":\"fork\"") + "]}")
            #expect(try client.readEvents().last?["error"]?["message"]?.string?.contains(call) == true)
            // A fork that fails leaves the response that it would have continued.
            try client.sendText(whole)
            let second = try client.readEvents()
            #expect(text(of: second) == ChappieTestServer.ScriptedModel().fullText)
            let next = try #require(second.last?["response"]?["id"]?.string)
            let failing =
                #"{"type":"response.create","previous_response_id":"\#(next)","input":"#
                + #"[{"type":"function_call","call_id":"call_x","name":"n","arguments":""}]}"#
            for code in [nil, "previous_response_not_found"] {
                try client.sendText(failing)
                #expect(try client.readEvents().last?["error"]?["code"]?.string == code)
            }
        }
    }

    @Test(arguments: [
        (#"{"type":"response.create","previous_response_id":"resp_x"}"#, "previous_response_not_found"),
        (#"{"type":"response.create","stream_id":""}"#, "invalid_stream_id"),
        (#"{"type":"response.create","stream_id":"a b"}"#, "invalid_stream_id"),
        (#"{"type":"response.create","background":true}"#, nil), (#"{"type":"unknown"}"#, nil), ("not JSON", nil),
    ])
    func badRequestsGetAnErrorFrame(_ message: String, _ code: String?) throws {
        try self.connected { _, client, _ in
            try client.sendText(message)
            let event = try client.readEvents().last
            #expect(event?["status"] == .number("400"))
            #expect(event?["error"]?["code"]?.string == code)
            try client.sendText(plainRequest)
            #expect(try client.readEvents().last?["type"]?.string == "response.completed")
        }
    }

    @Test func namedLanesEchoTheirNameAndAreLimited() throws {
        try self.connected({ $0.model = .scripted(.init(seed: 1, textByteCount: 1)) }) { _, client, _ in
            for lane in 1...33 {
                try client.sendText(#"{"type":"response.create","stream_id":"lane-\#(lane)"}"#)
                let event = try client.readEvents().last
                if lane <= 32 {
                    #expect(event?["stream_id"]?.string == "lane-\(lane)")
                } else {
                    #expect(event?["error"]?["code"]?.string == "websocket_stream_limit_reached")
                }
            }
        }
    }

    @Test func limitsAndMetadataPrecedeAResponseOnTheChatGPTPath() throws {
        try self.connected(path: "/backend-api/codex/responses") { _, client, _ in
            try client.sendText(plainRequest)
            #expect(try client.readEvents().last?["error"]?["message"]?.string == "Store must be set to false")
            try client.sendText(plainRequest.replacing("}", with: #","store":false}"#))
            let types = try client.readEvents().prefix(3).map { $0["type"]?.string }
            #expect(types == ["codex.rate_limits", "response.metadata", "response.created"])
        }
    }

    @Test func pingsAreAnsweredAndCloseIsEchoed() throws {
        try self.connected { server, client, _ in
            try client.sendFrame(9, [1, 2, 3])
            #expect(
                try client.readFrame() == .init(opcode: 10, isFinal: true, isCompressed: false, payload: [1, 2, 3]))
            try client.sendFrame(10, [])
            try client.sendFrame(8, [0x03, 0xE8] + Array("bye".utf8))
            #expect(try client.readFrame().closeCode == 1000)
            #expect(client.readToEnd().end == .endOfStream)
            #expect(server.waitBlocking(for: .finishedAttempts(1)))
            let record = try #require(server.log.first)
            #expect(record.pingCount == 1)
            #expect(record.pongCount == 1)
            #expect(record.closeCode == 1000)
            #expect(record.closeReason == "bye")
        }
    }

    @Test func pingsAreAnsweredBetweenPacedEvents() throws {
        try self.connected({ $0.eventsPerSecond = 0.01 }) { _, client, _ in
            try client.sendText(plainRequest)
            try client.sendFrame(9, [7])
            #expect(try client.readFrame().payload == [7])
        }
    }

    /// Frames that violate a rule, and the resulting close code.
    static let violations: [([UInt8], Int)] = [
        ([0x82, 0x80, 0, 0, 0, 0], 1003), ([0x81, 0x00], 1002), ([0xC1, 0x80, 0, 0, 0, 0], 1002),
        ([0x83, 0x80, 0, 0, 0, 0], 1002), ([0x80, 0x80, 0, 0, 0, 0], 1002), ([0x09, 0x80, 0, 0, 0, 0], 1002),
        ([0x89, 0xFE, 0, 126], 1002), ([0x81, 0xFE, 0, 125, 0, 0, 0, 0], 1002), ([0x81, 0x81, 0, 0, 0, 0, 0xFF], 1007),
        ([0x81, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0], 1002), ([0x81, 0xFF, 0x7F, 0xFF, 0, 0, 0, 0, 0, 0], 1009),
    ]

    @Test(arguments: Self.violations)
    func violationsAreClosedWithTheirCode(_ bytes: [UInt8], _ code: Int) throws {
        try self.connected { _, client, _ in
            try client.send(bytes)
            #expect(try client.readFrame().closeCode == code)
        }
    }

    @Test(arguments: [(99, false), (100, false), (101, true)])
    func messagesPastTheLimitAreClosedWith1009(_ byteCount: Int, _ isTooBig: Bool) throws {
        try self.connected({ $0.maximumMessageByteCount = 100 }) { _, client, _ in
            let payload = [UInt8](repeating: 0x20, count: byteCount)
            try client.sendFrame(1, Array(payload.prefix(50)), isFinal: false)
            try client.sendFrame(0, Array(payload.dropFirst(50)))
            #expect(try client.readFrame().closeCode == 1009 || !isTooBig)
        }
    }

    /// The client's unread bytes reset the connection when it closes its socket, while the server is still writing.
    @Test func closeFrameBeforeAResetIsInTheLog() throws {
        try withServer({ $0.faults = [.init(action: .largeDelta(byteCount: 16 << 20))] }) { server in
            do {
                let client = try RawClient(port: server.port)
                try client.upgrade()
                _ = try client.readHead()
                try client.sendText(plainRequest)
                _ = try client.read(100_000)
                try client.sendFrame(8, [0x03, 0xE9])
            }
            #expect(server.waitBlocking(for: .finishedAttempts(1)))
            #expect(server.log.map(\.closeCode) == [1001])
        }
    }

    @Test func expiredConnectionIsRefusedAndClosed() throws {
        try self.connected({ $0.connectionLifetime = .zero }) { _, client, _ in
            try client.sendText(plainRequest)
            let event = try client.readEvents().last
            #expect(event?["error"]?["code"]?.string == "websocket_connection_limit_reached")
            #expect(try client.readFrame().closeCode == 1000)
        }
    }

    @Test(arguments: [
        ("permessage-deflate", false, 15), ("permessage-deflate; client_max_window_bits", false, 15),
        ("permessage-deflate; server_no_context_takeover", true, 15),
        ("permessage-deflate; server_max_window_bits=9", false, 9),
    ])
    func messagesAreCompressedBothWays(_ offer: String, _ resets: Bool, _ bits: Int) throws {
        var parameters = ChappieTestServer.DeflateParameters()
        parameters.clientMaxWindowBits = 12
        try self.connected(
            fields: ["Sec-WebSocket-Extensions: \(offer)"],
            {
                $0.messageCompression = .deflate(parameters)
            }
        ) { server, client, head in
            let answer = try #require(head.fields["sec-websocket-extensions"])
            #expect(answer.contains("client_max_window_bits=12") == offer.contains("client_max_window_bits"))
            #expect(answer.contains("server_no_context_takeover") == resets)
            let compressor = Compressor(.raw(windowBits: 12))
            let decompressor = Decompressor(.raw(windowBits: bits))
            for _ in 1...2 {
                try client.sendFrame(1, compressor.compress(Array(plainRequest.utf8)).dropLast(4), isCompressed: true)
                var received: [JSONValue] = []
                while received.last.map(isTerminal) != true {
                    let frame = try client.readFrame()
                    #expect(frame.isCompressed)
                    if resets { decompressor.reset() }
                    let bytes = decompressor.decompress(frame.payload + [0, 0, 0xFF, 0xFF], limit: 1_000_000)
                    received.append(try #require(bytes.flatMap { JSONValue($0) }))
                }
                #expect(text(of: received) == ChappieTestServer.ScriptedModel().fullText)
            }
            #expect(server.log.first?.bodies == [plainRequest, plainRequest])
        }
    }

    @Test(arguments: [
        "permessage-deflate; server_max_window_bits=8", "permessage-deflate; unknown", "x-webkit-deflate-frame",
    ])
    func offersThatCannotBeHonouredAreDeclined(_ offer: String) throws {
        try self.connected(
            fields: ["Sec-WebSocket-Extensions: \(offer)"],
            {
                $0.messageCompression = .deflate(.init())
            }
        ) { _, _, head in
            #expect(head.status == 101)
            #expect(head.fields["sec-websocket-extensions"] == nil)
        }
    }
}
