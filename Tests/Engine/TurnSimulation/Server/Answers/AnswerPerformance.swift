// An answer on its way to the engine: cut, delayed, and ended in one way or another.

import StreamTransport

/// Schedules the events of one answer on a connection.
struct AnswerPerformance {
    private let answer: SimulatedServer.Answer
    private let connection: SimulatedConnection
    private let world: SimulatedWorld
    private var moment: Duration
    /// The pause before each piece, at most.
    private let pace: Duration
    private var tail: AnswerTail?
    private var events: ArraySlice<WireEvent>

    init(
        _ answer: SimulatedServer.Answer, on connection: SimulatedConnection, world: SimulatedWorld, at moment: Duration
    ) {
        self.answer = answer
        self.connection = connection
        self.world = world
        self.moment = moment
        self.pace = world.random.pick([.zero, .zero, .milliseconds(2), .milliseconds(60), .milliseconds(1_500)])
        self.events = answer.events[...]
    }

    /// Schedules everything.
    mutating func run() {
        self.drawTail()
        if self.connection.isWebSocket {
            self.runMessages()
        } else {
            self.runEventStream()
        }
        self.finish()
    }

    /// Decides where the answer is cut, and what comes then.
    private mutating func drawTail() {
        guard self.world.random.chance(self.world.settings.faultPercent) else { return }
        let isOfResponses = self.answer.finishIndex == nil
        let facts =
            self.connection.isWebSocket
            ? AnswerTail.ofWebSocket : isOfResponses ? AnswerTail.ofEventStream : AnswerTail.ofOtherAPI
        let fact = self.world.random.pick(facts)
        let count = self.world.random.below(self.events.count + 1)
        // A cut behind the last event has no effect.
        let cut = min(count, self.answer.finishIndex ?? max(0, self.events.count - 1))
        guard self.allows(fact, afterEvents: cut) else { return }
        self.events = self.events.prefix(cut)
        self.tail = AnswerTail.tail(of: fact, responseID: self.answer.responseID, &self.world.random)
        if self.answer.isLeft, case .event(let json, let hints) = self.tail {
            // It may be abandoned before the event, for a reason that implies no delay.
            self.tail = .event(json, hints: hints + [DelayRules.Hint()])
        }
        self.world.note(fact)
        // It is an end all the same, and so another answer than a longer one.
        if fact == .responseIncomplete { self.world.checker.varied() }
        // It has a delta for an item that may be done.
        if fact == .chatter { self.world.checker.doubted() }
    }

    private func allows(_ fact: SimulatedFact, afterEvents count: Int) -> Bool {
        let settings = self.world.settings
        guard self.world.options.allows(fact) else { return false }
        let isBudgeted = settings.allowsSilentStart && settings.allowsSilentMiddle
        switch fact {
        case .stallWithPongs: return isBudgeted
        case .stallOfDeadPeer:
            return isBudgeted
                || self.connection.isWebSocket && self.connection.request.timeouts.pingInterval != nil
        case .oversizeEvent:
            return settings.hasSmallEventLimit
        case .endlessComments:
            return settings.liePercent > 0 && settings.allowsEndlessReading
        case .chatter, .errorWithoutType:
            return settings.liePercent > 0
        default: return true
        }
    }

    // MARK: Messages

    private mutating func runMessages() {
        for event in self.events {
            self.pause()
            self.schedule(self.answer.bytes[event.range], as: .text, event)
        }
        guard case .event(let json, let hints) = self.tail else { return }
        defer { self.sendEventsAfterFault() }
        self.pause()
        let limit = self.connection.request.limits.messageByteCount
        guard json.count <= limit else {
            let failure = TransportFailure(phase: .stream, cause: .messageTooLarge(limit: limit))
            return self.connection.schedule(.ended(.failed(failure)), at: self.moment)
        }
        self.connection.schedule(
            .payload(TimelineItem.Payload(kind: .text, bytes: json[...])), at: self.moment, hints: hints)
    }

    private func schedule(_ bytes: ArraySlice<UInt8>, as kind: InboundPayload.Kind, _ event: WireEvent?) {
        let payload = TimelineItem.Payload(
            kind: kind, bytes: bytes, size: event?.size, isCompletion: event?.isCompletion ?? false,
            refutation: event?.refutation)
        self.connection.schedule(.payload(payload), at: self.moment)
    }

    // MARK: An event stream

    private mutating func runEventStream() {
        var writer = EventStreamWriter(random: SimulatedRandom(seed: self.world.random.next()))
        for event in self.events { writer.append(self.answer.bytes[event.range]) }
        var hints: [DelayRules.Hint]?
        var endOfTail = 0
        if case .event(let json, let hintsOfTail) = self.tail {
            writer.append(json[...])
            hints = hintsOfTail
            endOfTail = writer.bytes.count
            if self.world.random.chance(50) { self.appendEventsAfterFault(to: &writer) }
        }
        if self.tail == nil, self.world.random.chance(20) {
            writer.append(Array("[DONE]".utf8)[...])
            self.world.note(.doneSentinel)
        }
        if self.tail == nil, self.world.random.chance(10) {
            writer.append(Self.lateEvents[self.world.random.below(Self.lateEvents.count)][...])
            self.world.note(.eventAfterTerminal)
        }
        for piece in writer.pieces() {
            self.pause()
            let event = self.lastEvent(in: piece)
            let payload = TimelineItem.Payload(
                kind: .body, bytes: writer.bytes[piece.range], size: event?.size ?? self.answer.sizeBefore,
                isCompletion: event?.isCompletion ?? false, refutation: event?.refutation)
            self.connection.schedule(
                .payload(payload), at: self.moment, hints: piece.range.upperBound >= endOfTail ? hints : nil)
        }
        for fact in writer.facts { self.world.note(fact) }
    }

    /// The events that must not follow the end of a response.
    private static let lateEvents = [
        #"{"type":"keepalive"}"#, #"{"type":"response.output_text.delta","output_index":0,"delta":"late"}"#,
        #"{"type":"response.completed","response":{"id":"late"}}"#, #"{"type":"error","status":500}"#,
    ].map { Array($0.utf8) }

    /// Continues after a failed answer, like a server that has not noticed it; the further events are ignored.
    private mutating func appendEventsAfterFault(to writer: inout EventStreamWriter) {
        self.world.note(.eventsAfterFault)
        for event in self.eventsAfterTail { writer.append(self.answer.bytes[event.range]) }
    }

    /// The same on a WebSocket.
    private mutating func sendEventsAfterFault() {
        guard self.world.random.chance(50) else { return }
        for event in self.eventsAfterTail {
            let payload = TimelineItem.Payload(kind: .text, bytes: self.answer.bytes[event.range])
            self.connection.schedule(.payload(payload), at: self.moment)
        }
    }

    private var eventsAfterTail: ArraySlice<WireEvent> { self.answer.events[self.events.endIndex...] }

    /// The newest event of the answer that is whole with a piece.
    private func lastEvent(in piece: EventStreamWriter.Piece) -> WireEvent? {
        let index = self.events.startIndex + min(piece.event, self.events.count - 1)
        return index < self.events.startIndex ? nil : self.events[index]
    }

    // MARK: Time

    private mutating func pause() {
        guard self.world.random.chance(2) else {
            self.moment += self.world.random.duration(upTo: self.pace)
            return
        }
        // Longer than some budgets, and shorter than others.
        self.moment += self.world.random.pick([.seconds(4), .seconds(11), .seconds(70), .seconds(400)])
        self.world.note(.longPause)
    }

    // MARK: The end

    private mutating func finish() {
        self.moment += self.world.random.duration(upTo: self.pace)
        switch self.tail {
        case .end(let end): self.connection.schedule(.ended(end), at: self.moment)
        case .binary:
            self.connection.schedule(
                .payload(TimelineItem.Payload(kind: .binary, bytes: [1, 2, 3])), at: self.moment)
        case .silence(isDead: true): self.connection.die(at: self.moment)
        case .silence(isDead: false): break
        case .chatter(let interval): self.chatter(every: interval)
        case .endless: self.connection.neverPauses(from: self.moment)
        case .event: self.finishAfterEvent()
        case nil: self.finishWhole()
        }
    }

    /// Keeps a connection alive without events of its response, until it is lost.
    private mutating func chatter(every interval: Duration) {
        for _ in 0..<40 {
            self.moment += interval
            let json = self.world.random.pick(AnswerTail.chatter)
            let payload =
                self.connection.isWebSocket
                ? TimelineItem.Payload(kind: .text, bytes: Array(json.utf8)[...])
                : TimelineItem.Payload(kind: .body, bytes: Array("data: \(json)\n\n".utf8)[...])
            self.connection.schedule(.payload(payload), at: self.moment)
        }
        let failure = TransportFailure(phase: .stream, cause: .connectionLost)
        self.connection.schedule(.ended(.failed(failure)), at: self.moment + interval)
    }

    /// Some servers close after an error, some do not.
    private func finishAfterEvent() {
        if self.connection.isWebSocket {
            guard self.world.random.chance(30) else { return }
            self.connection.schedule(.ended(.closed(code: 1000, reason: "")), at: self.moment)
        } else {
            self.connection.schedule(.ended(.complete), at: self.moment)
        }
    }

    private func finishWhole() {
        if self.connection.isWebSocket {
            guard self.world.random.chance(5) else { return }
            // No event of the response, but after its end.
            self.world.note(.eventAfterTerminal)
            self.connection.schedule(
                .payload(TimelineItem.Payload(kind: .text, bytes: Array(#"{"type":"keepalive"}"#.utf8)[...])),
                at: self.moment)
        } else if self.world.random.chance(80) {
            self.connection.schedule(.ended(.complete), at: self.moment)
        }
    }
}

extension SimulatedConnection {
    /// Makes the peer silent from a moment on, without even pongs.
    func die(at moment: Duration) {
        self.peerIsDead = true
        self.loseDeadPeer(since: moment)
    }

    /// The transport finds out about a dead peer, if it looks.
    func loseDeadPeer(since moment: Duration? = nil) {
        guard self.isWebSocket, let interval = self.request.timeouts.pingInterval else { return }
        let end = (moment ?? self.world.now) + interval + self.request.timeouts.pongTimeout
        self.schedule(.ended(.failed(TransportFailure(phase: .stream, cause: .peerUnresponsive))), at: end)
    }
}
