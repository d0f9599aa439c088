// A response's events with the faults worked in: what an exchange performs, step by step.
//
// Pure: a script and actions in, steps out.

/// One thing that an exchange does.
enum ResponseStep: Sendable {
    /// Send an event.
    case event(ScriptEvent)
    /// Send an event as a binary message; over HTTP as any other.
    case binary(ScriptEvent)
    /// Send a ping; nothing over HTTP.
    case ping
    /// Send a Close frame and end; over HTTP end the stream.
    case close(code: Int?, reason: String)
    /// End the stream in order.
    case endStream
    /// End the connection.
    case end(ConnectionEnd)
    /// Send nothing more, but answer control frames.
    case hang
}

/// Works faults into a script.
struct ResponseSteps {
    private let script: ResponseScript
    private let transport: ChappieTestServer.Transport
    private var insertions: [Int: [ResponseStep]] = [:]
    private var binaryEvents: Set<Int> = []
    private var prefix: [ResponseStep] = []
    private var closing: [ResponseStep] = []
    /// How many events are sent, and what is done after them.
    private var ending: (eventCount: Int, steps: [ResponseStep])?

    /// The steps of a script with actions.
    static func make(
        _ script: ResponseScript, actions: [ChappieTestServer.Fault.Action], transport: ChappieTestServer.Transport
    ) -> [ResponseStep] {
        var steps = Self(script: script, transport: transport)
        for action in actions { steps.apply(action) }
        return steps.list
    }

    private init(script: ResponseScript, transport: ChappieTestServer.Transport) {
        self.script = script
        self.transport = transport
    }

    private mutating func apply(_ action: ChappieTestServer.Fault.Action) {
        switch action {
        case .cutAfterEvent(let event, let cut): self.end(after: event, [.end(.cut(cut ?? .end))])
        case .hang(let event): self.end(after: event, [.hang])
        case .closeWebSocket(let code, let reason, let event?):
            if self.transport == .webSocket { self.end(after: event, [.close(code: code, reason: reason ?? "")]) }
        case .closeAfterResponse(let code, let reason):
            if self.transport == .webSocket { self.closing = [.close(code: code, reason: reason ?? "")] }
        case .endWithoutTerminal(let event):
            let terminal = self.script.events.firstIndex { $0.isTerminal } ?? self.script.events.count
            self.end(after: event ?? terminal, [.endStream])
        case .fail, .incomplete, .error: self.applyTerminal(action)
        case .binaryEvent(let event): self.binaryEvents.insert(event)
        case .insert(let payload, let event):
            self.insertions[event, default: []].append(.event(ScriptEvent(recorded: payload)))
        case .pingBeforeEvents: self.prefix.append(.ping)
        case .keepaliveBeforeEvents:
            let event = ScriptEvent(type: "keepalive", text: "{\"type\":\"keepalive\"}", isNumbered: false)
            self.prefix.append(.event(event))
        case .cut, .stall, .throttle, .answer, .answerWithoutHTTP, .wrongAcceptKey, .unofferedExtension,
            .unofferedSubprotocol, .largeHeaderSection, .closeWebSocket, .fragment, .divergeText, .shortenText,
            .largeDelta, .truncateContent:
            // These strike at bytes, at the head or in the model.
            break
        }
    }

    private mutating func applyTerminal(_ action: ChappieTestServer.Fault.Action) {
        let identity = self.script.identity
        switch action {
        case .fail(let code, let message, let event):
            let text = JSONValue.quoted(message ?? "The model failed to produce a response.")
            let error = "{\"code\":\(JSONValue.quoted(code)),\"message\":\(text)}"
            let object = identity.object(status: "failed", error: error)
            self.end(after: event, type: "response.failed", "\"response\":\(object)")
        case .incomplete(let reason, let event):
            let details = "{\"reason\":\(JSONValue.quoted(reason))}"
            let object = identity.object(status: "incomplete", incompleteDetails: details)
            self.end(after: event, type: "response.incomplete", "\"response\":\(object)")
        case .error(let error, let event):
            let number = self.sequenceNumber(after: event)
            let script = ScriptEvent(type: "error", text: ErrorBody.event(error, sequenceNumber: number))
            self.end(after: event, [.event(script)])
        default: break
        }
    }

    private func sequenceNumber(after event: Int) -> Int {
        self.script.events.prefix(max(0, event)).count { $0.isNumbered }
    }

    private mutating func end(after event: Int, type: String, _ members: String) {
        let text = ResponseScript.text(type, members, sequenceNumber: self.sequenceNumber(after: event))
        self.end(after: event, [.event(ScriptEvent(type: type, text: text))])
    }

    /// The earliest ending wins.
    private mutating func end(after event: Int, _ steps: [ResponseStep]) {
        guard event >= 0, event <= self.script.events.count, event < self.ending?.eventCount ?? Int.max else { return }
        self.ending = (event, steps)
    }

    private var list: [ResponseStep] {
        var list: [ResponseStep] = []
        let count = self.ending?.eventCount ?? self.script.events.count
        for (index, event) in self.script.events.prefix(count).enumerated() {
            list += self.prefix
            list += self.insertions[index + 1] ?? []
            list.append(self.binaryEvents.contains(index + 1) ? .binary(event) : .event(event))
        }
        return list + (self.ending?.steps ?? self.closing)
    }
}
