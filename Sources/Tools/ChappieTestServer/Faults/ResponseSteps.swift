// A response's events with the faults applied: the steps of an exchange.
//
// Pure: a script and actions in, steps out.

/// One step of an exchange.
enum ResponseStep: Sendable {
    /// Send an event.
    case event(ScriptEvent)
    /// Send an event as a binary message; over HTTP as any other.
    case binary(ScriptEvent)
    /// Send a ping; no effect over HTTP.
    case ping
    /// Send a Close frame and end; over HTTP end the stream.
    case close(code: Int?, reason: String)
    /// End the stream in order.
    case endStream
    /// Write a text that is not an event, in a chunk of its own or outside of the chunks; no effect on a WebSocket.
    case text(String, inChunk: Bool)
    /// End the connection.
    case end(ConnectionEnd)
    /// Send only signs of life for some seconds.
    case pause(seconds: Double)
    /// Send only signs of life from here on.
    case hang

    /// Indicates whether it sends the terminal event.
    var isTerminal: Bool {
        switch self {
        case .event(let event), .binary(let event): event.isTerminal
        default: false
        }
    }
}

/// Applies faults to a script.
struct ResponseSteps {
    private let script: ResponseScript
    private let transport: ChappieTestServer.Transport
    private let earlierID: String?
    private var edits: EventEdits
    private var insertions: [Int: [ResponseStep]] = [:]
    private var binaryEvents: Set<Int> = []
    private var prefix: [ResponseStep] = []
    private var closing: [ResponseStep] = []
    private var appended: [ResponseStep] = []
    /// The number of events that are sent, and the steps after them.
    private var ending: (eventCount: Int, steps: [ResponseStep])?

    /// Returns the steps of a script with actions.
    ///
    /// `earlierID` is the id of the previous response on the same WebSocket.
    static func make(
        _ script: ResponseScript, actions: [ChappieTestServer.Fault.Action],
        transport: ChappieTestServer.Transport, earlierID: String? = nil
    ) -> [ResponseStep] {
        var steps = Self(script: script, transport: transport, earlierID: earlierID)
        for action in actions { steps.apply(action) }
        return steps.list
    }

    private init(script: ResponseScript, transport: ChappieTestServer.Transport, earlierID: String?) {
        self.script = script
        self.transport = transport
        self.earlierID = earlierID
        self.edits = EventEdits(script.events)
    }

    private mutating func apply(_ action: ChappieTestServer.Fault.Action) {
        switch action {
        case .cutAfterEvent(let event, let cut): self.end(after: event, [.end(.cut(cut ?? .end))])
        case .hang(let event): self.end(after: event, [.hang])
        case .closeWebSocket(let code, let reason, let event?):
            if self.transport == .webSocket { self.end(after: event, [.close(code: code, reason: reason ?? "")]) }
        case .closeAfterResponse(let code, let reason):
            if self.transport == .webSocket { self.closing = [.close(code: code, reason: reason ?? "")] }
        case .endWithoutTerminal(let event): self.end(after: event ?? self.eventsBeforeTerminal, [.endStream])
        case .cutBeforeTerminal(let cut): self.end(after: self.eventsBeforeTerminal, [.end(.cut(cut ?? .end))])
        case .cutAfterTerminal(let cut): self.end(after: self.eventsBeforeTerminal + 1, [.end(.cut(cut ?? .end))])
        case .interruptWithText(let text, let event, let inChunk): self.interrupt(text, after: event, inChunk ?? false)
        case .fail, .incomplete, .error: self.applyTerminal(action)
        case .binaryEvent(let event): self.binaryEvents.insert(event)
        case .pause(let event, let seconds): self.insertions[event &+ 1, default: []].append(.pause(seconds: seconds))
        case .insert(let payload, let event): self.insertions[event, default: []].append(self.event(payload))
        case .append(let payload): self.appended.append(self.event(payload))
        case .repeatEvent, .dropEvent, .swapEvents, .changeMember, .renumber: self.edits.apply(action)
        case .pingBeforeEvents: self.prefix.append(.ping)
        case .keepaliveBeforeEvents: self.prefix.append(.event(.keepalive))
        case .cut, .stall, .throttle, .answer, .answerWithoutHTTP, .wrongAcceptKey, .unofferedExtension,
            .unofferedSubprotocol, .largeHeaderSection, .closeWebSocket, .fragment, .divergeText, .shortenText,
            .largeDelta, .truncateContent, .resumeElsewhere:
            // These apply to bytes, to the head or in the model.
            break
        }
    }

    private mutating func interrupt(_ text: String?, after event: Int, _ inChunk: Bool) {
        guard self.transport == .http else { return }
        let step = ResponseStep.text(text ?? ErrorBody.badGatewayAnswer, inChunk: inChunk)
        self.end(after: event, [step, inChunk ? .endStream : .end(.cut(.end))])
    }

    private var eventsBeforeTerminal: Int {
        self.script.events.firstIndex { $0.isTerminal } ?? self.script.events.count
    }

    private func event(_ payload: String) -> ResponseStep {
        let text = payload.replacing("$response", with: self.script.identity.id)
            .replacing("$earlier", with: self.earlierID ?? "resp_earlier")
        return .event(ScriptEvent(recorded: text))
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

    /// Sets the ending, of which the earliest takes precedence.
    private mutating func end(after event: Int, _ steps: [ResponseStep]) {
        guard event >= 0, event <= self.script.events.count, event < self.ending?.eventCount ?? Int.max else { return }
        self.ending = (event, steps)
    }

    private var list: [ResponseStep] {
        var list: [ResponseStep] = []
        let count = self.ending?.eventCount ?? self.script.events.count
        for (index, events) in self.edits.events.prefix(count).enumerated() {
            list += self.prefix
            list += self.insertions[index + 1] ?? []
            list += events.map { self.binaryEvents.contains(index + 1) ? .binary($0) : .event($0) }
        }
        list += self.insertions[count + 1] ?? []
        return list + (self.ending?.steps ?? self.appended + self.closing)
    }
}
