// Faults that strike at an event, in the head, or in the model.
import Testing

@testable import ChappieTestServer

@Suite struct EventFaultTests {
    typealias Action = ChappieTestServer.Fault.Action

    private func configuration(_ actions: [Action]) -> ChappieTestServer.Configuration {
        ChappieTestServer.Configuration(
            model: .scripted(.init(seed: 2, textByteCount: 200)), faults: actions.map { .init(action: $0) })
    }

    private func post(_ actions: [Action]) throws -> (head: AnswerHead, body: String) {
        let server = try ChappieTestServer(configuration: self.configuration(actions))
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.post(plainRequest)
        let head = try client.readHead()
        return (head, try String(decoding: client.readBody(head), as: UTF8.self))
    }

    private func upgraded<Result>(
        _ actions: [Action], _ body: (ChappieTestServer, RawClient, AnswerHead) throws -> Result
    ) throws -> Result {
        let server = try ChappieTestServer(configuration: self.configuration(actions))
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.upgrade()
        return try body(server, client, client.readHead())
    }

    /// Every frame up to the end of the connection, after one request.
    private func frames(_ actions: [Action]) throws -> [RawClient.Frame] {
        try self.upgraded(actions) { _, client, _ in
            try client.sendText(plainRequest)
            var frames: [RawClient.Frame] = []
            while let frame = try? client.readFrame() {
                frames.append(frame)
                if frame.opcode == 8 { try client.sendFrame(8, frame.payload) }
            }
            return frames
        }
    }

    // MARK: The head

    @Test(arguments: [401, 403, 426, 429, 500, 503])
    func anAnswerTakesThePlaceOfTheScript(_ status: Int) throws {
        let fields = [ChappieTestServer.Field(name: "retry-after", value: "2")]
        let (head, body) = try self.post([.answer(status: status, fields: fields)])
        #expect(head.status == status)
        #expect(head.fields["retry-after"] == "2")
        #expect(JSONValue(Array(body.utf8))?["error"] != nil)
        try self.upgraded([.answer(status: status, body: "<html>")]) { _, client, head in
            #expect(head.status == status)
            #expect(head.fields["content-type"] == "text/html; charset=utf-8")
            let page = try client.readBody(head)
            #expect(page == Array("<html>".utf8))
        }
    }

    @Test func theHandshakeCanBeWrong() throws {
        try self.upgraded([.wrongAcceptKey]) { _, _, head in
            #expect(head.fields["sec-websocket-accept"] != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        }
        try self.upgraded([.unofferedExtension(value: "x"), .unofferedSubprotocol()]) { _, _, head in
            #expect(head.fields["sec-websocket-extensions"] == "x")
            #expect(head.fields["sec-websocket-protocol"] == "unheard-of")
        }
        try self.upgraded([.largeHeaderSection(byteCount: 100_000)]) { _, _, head in
            #expect(head.byteCount > 100_000)
        }
    }

    @Test func answerFaultCanSendTextThatIsNotHTTP() throws {
        try withServer({ $0.faults = [.init(action: .answerWithoutHTTP(text: "hello\r\n"))] }) { server in
            let client = try RawClient(port: server.port)
            try client.upgrade()
            let result = client.readToEnd()
            #expect(result.bytes == Array("hello\r\n".utf8))
            #expect(result.end == .endOfStream)
        }
    }

    // MARK: Events

    @Test func aWebSocketClosesWithACodeAfterAnEvent() throws {
        let frames = try self.frames([.closeWebSocket(code: 1012, reason: "restart", afterEvent: 6)])
        #expect(frames.count == 7)
        #expect(frames.last?.closeCode == 1012)
        #expect(frames.last.map { Array($0.payload.dropFirst(2)) } == Array("restart".utf8))
    }

    @Test func aWebSocketClosesRightAfterTheHandshake() throws {
        let server = try ChappieTestServer(configuration: self.configuration([.closeWebSocket(code: 1008)]))
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        // The server waits two seconds for the Close frame, which is sent with the handshake so that it is never late.
        // It has another code (1000), so that an echo of it is not taken for the server's own.
        try client.upgrade(followedBy: RawClient.maskedFrame(8, [0x03, 0xE8]))
        #expect(try client.readHead().status == 101)
        #expect(try client.readFrame().closeCode == 1008)
        server.waitBlocking(for: .finishedAttempts(1))
        #expect(server.log.first?.closeCode == 1000)
    }

    @Test func aCloseFrameMayBeEmptyOrFollowTheResponse() throws {
        #expect(try self.frames([.closeWebSocket(afterEvent: 0)]).map(\.payload) == [[]])
        let frames = try self.frames([.closeAfterResponse(code: 1000)])
        #expect(frames.last?.closeCode == 1000)
        #expect(frames.dropLast().last?.text.hasPrefix(#"{"type":"response.completed""#) == true)
    }

    @Test(arguments: [0, 1, 6])
    func aConnectionIsCutAfterAnEvent(_ count: Int) throws {
        #expect(try self.frames([.cutAfterEvent(event: count)]).count == count)
        try withServer({ $0.faults = [.init(action: .cutAfterEvent(event: count, with: .reset))] }) { server in
            let client = try RawClient(port: server.port)
            try client.post(plainRequest)
            let result = client.readToEnd()
            #expect(result.end == .reset)
            #expect(events(inStream: String(decoding: result.bytes, as: UTF8.self)).count == count)
        }
    }

    @Test func aTerminalEventTakesThePlaceOfTheRest() throws {
        let failed = events(inStream: try self.post([.fail(code: "server_error", afterEvent: 4)]).body)
        #expect(failed.count == 5)
        #expect(failed.last?["response"]?["error"]?["code"]?.string == "server_error")
        #expect(failed.last?["sequence_number"] == .number("4"))
        let incomplete = events(inStream: try self.post([.incomplete(reason: "content_filter", afterEvent: 2)]).body)
        #expect(incomplete.last?["response"]?["incomplete_details"]?["reason"]?.string == "content_filter")
    }

    @Test func errorEventsHaveBothShapes() throws {
        let flat = ChappieTestServer.Fault.ErrorEvent(shape: .flat, code: "c", message: "m")
        let flatEvent = try events(inStream: self.post([.error(event: flat, afterEvent: 3)]).body).last
        #expect(flatEvent?["code"]?.string == "c")
        #expect(flatEvent?["sequence_number"] == .number("3"))
        let nested = ChappieTestServer.Fault.ErrorEvent(
            shape: .nested, status: 429, statusName: "status_code", type: "usage_limit_reached",
            fields: [.init(name: "retry-after", value: "1")])
        let frame = try self.upgraded([.error(event: nested, afterEvent: 0)]) { _, client, _ in
            try client.sendText(plainRequest)
            return try client.readEvents()
        }
        #expect(frame.count == 1)
        #expect(frame.last?["status_code"] == .number("429"))
        #expect(frame.last?["error"]?["plan_type"]?.string == "plus")
        #expect(frame.last?["headers"]?["retry-after"]?.string == "1")
    }

    @Test func aStreamCanEndWithoutATerminalEvent() throws {
        let received = events(inStream: try self.post([.endWithoutTerminal()]).body)
        #expect(received.last?["type"]?.string == "response.output_item.done")
        #expect(try self.frames([.endWithoutTerminal(afterEvent: 2)]).map(\.opcode) == [1, 1, 8])
    }

    @Test func payloadsOfAnyKindCanBeInserted() throws {
        let received = try self.post([.insert(payload: "[DONE]", beforeEvent: 1)]).body
        #expect(received.hasPrefix("data: [DONE]\n\nevent: response.created\n"))
        let frames = try self.frames([.insert(payload: "nonsense", beforeEvent: 2), .closeWebSocket(afterEvent: 2)])
        #expect(frames.dropFirst().first?.text == "nonsense")
    }

    @Test func keepalivesAndPingsPrecedeEvents() throws {
        let received = events(inStream: try self.post([.keepaliveBeforeEvents]).body)
        #expect(received.count { $0["type"]?.string == "keepalive" } * 2 == received.count)
        let frames = try self.frames([.pingBeforeEvents, .closeAfterResponse(code: 1000)])
        #expect(frames.count { $0.opcode == 9 } == frames.count { $0.opcode == 1 })
    }

    @Test func anEventCanBeBinary() throws {
        let frames = try self.frames([.binaryEvent(event: 1), .closeWebSocket(afterEvent: 2)])
        #expect(frames.map(\.opcode) == [2, 1, 8])
    }

    @Test func messagesAreFragmentedWithPingsBetween() throws {
        let whole = try self.frames([.closeWebSocket(afterEvent: 1)])
        let frames = try self.frames([.fragment(byteCount: 7, pingsBetween: true), .closeWebSocket(afterEvent: 1)])
        #expect(frames.first.map { $0.isFinal } == false)
        #expect(frames.filter { $0.opcode < 8 }.flatMap(\.payload) == whole.first?.payload)
        let dataCount = frames.count { $0.opcode < 8 }
        #expect(frames.count { $0.opcode == 9 } == dataCount - 1)
    }

    @Test func aHungServerStillAnswersPings() throws {
        try self.upgraded([.hang(afterEvent: 1)]) { server, client, _ in
            try client.sendText(plainRequest)
            _ = try client.readFrame()
            try client.sendFrame(9, [5])
            #expect(try client.readFrame().payload == [5])
            #expect(server.waitBlocking(for: .pings(1)))
        }
    }

    // MARK: The model

    @Test func aReplayDivergesOrEndsEarly() throws {
        let whole = ChappieTestServer.ScriptedModel(seed: 2, textByteCount: 200).fullText
        let diverged = text(of: events(inStream: try self.post([.divergeText(fromScalar: 5)]).body))
        #expect(diverged.unicodeScalars.prefix(5).elementsEqual(whole.unicodeScalars.prefix(5)))
        #expect(Array(diverged.unicodeScalars)[5] != Array(whole.unicodeScalars)[5])
        let short = text(of: events(inStream: try self.post([.shortenText(toScalar: 3)]).body))
        #expect(short.unicodeScalars.elementsEqual(whole.unicodeScalars.prefix(3)))
    }

    @Test func oneDeltaCanBeLarge() throws {
        let received = events(inStream: try self.post([.largeDelta(byteCount: 1_000_000)]).body)
        #expect(received.contains { ($0["delta"]?.string?.utf8.count ?? 0) == 1_000_000 })
    }

    @Test func faultsCountTheResponsesOfASocket() throws {
        var configuration = self.configuration([])
        configuration.faults = [.init(.fail(code: "x", afterEvent: 0), response: 2)]
        let server = try ChappieTestServer(configuration: configuration)
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.upgrade()
        _ = try client.readHead()
        let types = try (1...3).map { _ in
            try client.sendText(plainRequest)
            return try client.readEvents().last?["type"]?.string
        }
        #expect(types == ["response.completed", "response.failed", "response.completed"])
    }
}
