// Answers the requests that were sent.

import StreamTransport

extension SimulatedWorld {
    /// A message has arrived on a WebSocket.
    func answer(_ message: [UInt8], on connection: SimulatedConnection) {
        if connection.peerIsDead { return connection.loseDeadPeer() }
        if let fate = connection.fate {
            connection.fate = nil
            if fate == .saysLateEvents { self.sayLateEvents(on: connection) }
            if self.apply(fate, to: connection) { return }
        }
        var answer = self.newAnswer(to: message, isKept: false)
        if let earlier = connection.lastResponse, self.random.chance(self.settings.liePercent),
            self.options.allows(.lateEventsInside)
        {
            answer.addLateEvents(of: earlier, isNumbered: !ResumeTarget.asksForBackground(message), &self.random)
        }
        self.play(answer, on: connection, at: self.now + self.latency())
    }

    /// A held request is whole.
    func answerReleased(_ connection: SimulatedConnection) {
        let moment = connection.lastMoment + self.latency()
        if let (status, body) = connection.refusalOfHeld {
            return connection.refused(status: status, body, at: moment)
        }
        self.answerRequest(of: connection, at: moment)
    }

    /// A request over HTTP is whole.
    func answerRequest(of connection: SimulatedConnection, at moment: Duration) {
        if self.settings.allowsSilentStart, self.random.chance(self.settings.faultPercent / 25) {
            return self.note(.noAnswer)
        }
        if self.random.chance(self.settings.faultPercent / 25) {
            self.note(.wrongContentType)
            return connection.refused(status: 200, self.answerOfOtherContent(), at: moment)
        }
        switch connection.request.exchange {
        case .webSocket: return
        case .post(let body):
            let isKept = ResumeTarget.asksForBackground(body)
            self.open(connection, at: moment)
            self.play(self.newAnswer(to: body, isKept: isKept), on: connection, at: moment)
        case .get: self.resume(connection, at: moment)
        }
    }

    /// An answer that is no event stream.
    private func answerOfOtherContent() -> RefusalBody {
        let (type, text) = self.random.pick([
            ("text/html", "<html><title>Sign in</title></html>"), ("application/json", #"{"detail":"Not Found"}"#),
            ("application/json", #"{"object":"response","output":[]}"#), ("text/plain", ""), ("image/png", "x"),
        ])
        var body = RefusalBody(fields: [HTTPField("content-type", type)], bytes: Array(text.utf8))
        // Without budgets such an answer that does not end would be waited for without end.
        let ends: [TransportEnd?] = [.complete, .failed(TransportFailure(phase: .stream, cause: .connectionLost)), nil]
        body.end = self.random.pick(self.settings.allowsSilentStart ? ends : ends.dropLast())
        return body
    }

    private func open(_ connection: SimulatedConnection, at moment: Duration) {
        let types = ["text/event-stream", "text/event-stream; charset=utf-8", "Text/Event-Stream", ""]
        let type = self.random.pick(types)
        let fields = type.isEmpty ? [] : [HTTPField("content-type", type)]
        connection.schedule(.opened(ResponseHead(statusCode: 200, fields: fields)), at: moment)
    }

    private func resume(_ connection: SimulatedConnection, at moment: Duration) {
        let target = ResumeTarget(connection.request.endpoint.target)
        let resumption = self.server.resume(
            target.responseID, after: target.number, settings: self.settings, options: self.options, &self.random)
        switch resumption {
        case .gone(let status):
            self.note(status == 400 ? .resumeExpired400 : .resumeExpired404)
            connection.refused(
                status: status,
                RefusalBody(bytes: Array(#"{"error":{"type":"invalid_request_error","message":"gone"}}"#.utf8)),
                at: moment)
        case .answer(let answer):
            if answer.isContradictory { self.checker.contradicted() }
            self.open(connection, at: moment)
            self.play(answer, on: connection, at: moment)
        }
    }

    private func newAnswer(to body: [UInt8], isKept: Bool) -> SimulatedServer.Answer {
        self.server.answer(
            carrying: ResumeTarget.carriedItemCount(body), isKept: isKept,
            settings: self.settings, options: self.options, &self.random)
    }

    func latency() -> Duration {
        self.random.duration(upTo: self.random.pick([.zero, .milliseconds(5), .milliseconds(300)]))
    }

    // MARK: Playing

    private func play(_ answer: SimulatedServer.Answer, on connection: SimulatedConnection, at moment: Duration) {
        var answer = answer
        // Behind responses whose numbers count, an event with an odd number may be a late one of theirs.
        if connection.lastResponse != nil, answer.facts.contains(where: { $0 == .numbersOdd || $0 == .numbersRepeated })
        {
            answer.events.doubt()
        }
        for fact in answer.facts { self.note(fact) }
        if answer.isVaried { self.checker.varied() }
        if answer.isLeft || answer.facts.contains(.lateEventsInside) { self.checker.doubted() }
        self.checker.answerBegan(on: connection.id, content: answer.content, from: answer.sizeBefore)
        connection.lastResponse = answer.carried?.following(connection.lastResponse)
        self.calls = answer.heldCalls.mapValues { [$0[...]] }
        for event in answer.events {
            if let call = event.call { self.calls[call, default: []].append(answer.bytes[event.range]) }
        }
        var performance = AnswerPerformance(answer, on: connection, world: self, at: moment)
        performance.run()
    }

    /// Sends remaining events of the previous response when the next one is requested.
    private func sayLateEvents(on connection: SimulatedConnection) {
        guard let id = connection.lastResponse?.responseID else { return }
        self.note(.keptSaidLateEvents)
        let events = [
            #"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"late"}"#,
            #"{"type":"response.completed","response":{"id":"\#(id)","status":"completed"}}"#,
            #"{"type":"response.in_progress","sequence_number":9,"response":{"id":"\#(id)"}}"#,
            #"{"type":"response.failed","response":{"id":"\#(id)","error":{"code":"server_error"}}}"#,
            #"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"i","#
                + #""call_id":"call_0","name":"late","arguments":"{}"}}"#,
        ]
        for _ in 0...self.random.below(3) {
            let bytes = Array(self.random.pick(events).utf8)[...]
            connection.schedule(.payload(TimelineItem.Payload(kind: .text, bytes: bytes)), at: self.now)
        }
    }

    /// Applies the fate of a kept connection; returns false when the request is answered nevertheless.
    private func apply(_ fate: KeptFate, to connection: SimulatedConnection) -> Bool {
        switch fate {
        case .reachesLimit:
            self.note(.keptReachedLimit)
            let json = #"{"type":"error","status":400,"error":{"code":"websocket_connection_limit_reached"}}"#
            connection.schedule(
                .payload(TimelineItem.Payload(kind: .text, bytes: Array(json.utf8)[...])), at: self.now, hints: [])
            connection.schedule(.ended(.closed(code: 1000, reason: "")), at: self.now)
        case .saysLateEvents:
            return false
        case .closesOnRequest:
            self.note(.keptClosedByRequest)
            connection.schedule(.ended(.closed(code: 1001, reason: "")), at: self.now + self.latency())
        }
        return true
    }
}

/// The behaviour of a kept connection at the next request.
enum KeptFate: CaseIterable {
    case reachesLimit, closesOnRequest, saysLateEvents
}

/// The references of a request to earlier responses.
struct ResumeTarget {
    let responseID: String
    let number: Int?

    /// Reads `…/{id}?stream=true&starting_after=N`.
    init(_ target: String) {
        let parts = target.split(separator: "?", maxSplits: 1)
        self.responseID = parts.first?.split(separator: "/").last.map(String.init) ?? ""
        let parameters = parts.count > 1 ? parts[1].split(separator: "&") : []
        self.number = parameters.first { $0.hasPrefix("starting_after=") }
            .flatMap { Int($0.dropFirst("starting_after=".count)) }
    }

    /// Returns whether a body asks for a response that is made in background and kept.
    static func asksForBackground(_ body: [UInt8]) -> Bool {
        String(decoding: body, as: UTF8.self).contains("\"background\":true")
    }

    /// Returns the number of items behind the first in the request's input; outputs of tools are not the answer's.
    static func carriedItemCount(_ body: [UInt8]) -> Int {
        var depth = 0
        var count = 0
        var isInString = false
        var isEscaped = false
        guard let start = String(decoding: body, as: UTF8.self).utf8Offset(behind: "\"input\":[") else { return 0 }
        var itemStart = start
        for (index, byte) in zip(start..., body[start...]) {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if depth == 0 { itemStart = index }
                depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return max(0, count - 1) }
                depth -= 1
                if depth == 0, !Self.isToolOutput(body[itemStart...index]) { count += 1 }
            default: break
            }
        }
        return 0
    }
}

extension ResumeTarget {
    /// Returns whether an item of a request's input is what a tool has answered, as the simulation writes it.
    fileprivate static func isToolOutput(_ item: ArraySlice<UInt8>) -> Bool {
        item.starts(with: #"{"type":"function_call_output""#.utf8)
    }
}

extension String {
    /// Returns the offset of the text behind a word; nil when it does not contain it.
    func utf8Offset(behind word: String) -> Int? {
        let bytes = Array(self.utf8)
        let wanted = Array(word.utf8)
        guard bytes.count >= wanted.count else { return nil }
        let start = (0...(bytes.count - wanted.count)).first { bytes[$0...].starts(with: wanted) }
        return start.map { $0 + wanted.count }
    }
}
