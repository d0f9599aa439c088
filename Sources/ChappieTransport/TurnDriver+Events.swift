import ResponseEvents
import StreamSession
import StreamTransport

/// Decoded events, turned into inputs of the state machine and into what the consumer gets.
extension TurnDriver {
    /// Handles the JSON of one event; over HTTP `type` is the event's type as the event stream has it.
    func receivedEvent(_ json: UnsafeRawBufferPointer, named type: UnsafeRawBufferPointer? = nil, attempt: Int) {
        do throws(ResponseEventError) {
            let reading = unsafe try self.reader.read(json, attempt: attempt)
            // Nearly every event: nothing is called for it.
            if case .queued = reading { return }
            unsafe try self.follow(reading, of: json, attempt: attempt)
        } catch {
            if case .missingType = error, let type = unsafe type,
                unsafe self.receivedEvent(json, addingType: type, attempt: attempt)
            {
                return
            }
            unsafe self.failed(toDecode: error, json, attempt: attempt)
        }
    }

    /// Handles a message, and those behind it that are nothing but output.
    func receivedMessages(_ first: InboundPayload, from connection: any TransportConnection, attempt: Int) {
        var messages = ResponseReader.Messages(connection: connection, payload: first)
        // The total budget is looked at before each message: how long the consumer takes counts as well.
        if self.engine.configuration.timeouts.total != nil { messages.remainingByteCount = 0 }
        do throws(ResponseEventError) {
            let reading = try self.reader.read(&messages, attempt: attempt)
            if let event = messages.unhandled { self.attempt?.unhandled = event }
            unsafe try self.follow(reading, of: messages.payload.bytes, attempt: attempt)
        } catch {
            unsafe self.failed(toDecode: error, messages.payload.bytes, attempt: attempt)
        }
    }

    private func follow(
        _ reading: ResponseReader.Reading, of json: UnsafeRawBufferPointer, attempt: Int
    ) throws(ResponseEventError) {
        switch reading {
        case .queued, .dropped:
            break
        case .scanned:
            unsafe try self.received(self.reader.scannedEvent(json), json: json, attempt: attempt)
        case .action(let action):
            self.action = action
        }
    }

    private func failed(toDecode error: ResponseEventError, _ json: UnsafeRawBufferPointer, attempt: Int) {
        switch error {
        case .missingType:
            unsafe self.receivedUntyped(json, attempt: attempt)
        case .notJSON, .notObject, .invalidField, .tooDeep, .outOfMemory:
            self.failed(.undecodableEvent)
        case .tooLarge:
            self.failed(.eventTooLarge(limit: self.engine.configuration.limits.eventByteCount))
        case .invalidUTF8:
            // RFC 6455 section 8.1: a text message that is not UTF-8 fails the connection.
            if self.attempt?.transport == .webSocket {
                self.attempt?.connection.fail(code: 1007)
                self.attempt?.closesByItself = true
            }
            self.failed(.undecodableEvent)
        }
    }

    private func received(_ event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int) {
        // The deltas before it came first.
        self.noteProgressOfQueued()
        let fingerprint = unsafe self.fingerprint(of: event, json: json)
        guard self.isOnOurLane(event) else { return }
        if self.machine.isRepeated(event.sequenceNumber, fingerprint: fingerprint) { return self.repeated(event) }
        if let end = self.machine.contradiction(of: event.sequenceNumber, fingerprint: fingerprint, attempt: attempt) {
            return self.action = end
        }
        // An event behind a gap may not be taken in, and then the order of events must not hear of it: it comes again.
        let isBehindGap = self.machine.leavesNumbersOut(event.sequenceNumber)
        if isBehindGap { guard self.isNew(event, fingerprint: fingerprint, attempt: attempt) else { return } }
        let isProgress = event.isProgress && !self.isAnnouncedAgain(event)
        guard self.belongs(event) else { return }
        if !isProgress { self.noteSignOfLife(isProgress: false, attempt: attempt) }
        // An event without progress may have found that the time for it is over.
        guard self.machine.isReadingInPlace(attempt) else { return }
        let isNew = isBehindGap || self.isNew(event, fingerprint: fingerprint, attempt: attempt)
        // What has come before is no progress, however often it comes again.
        if isProgress, self.machine.isReadingInPlace(attempt) {
            self.noteSignOfLife(isProgress: isNew, attempt: attempt)
        }
        guard isNew, self.machine.isReadingInPlace(attempt) else { return }
        unsafe self.handle(event, json: json, attempt: attempt)
    }

    /// An event has come before, by its number: it is dropped, unless it shows that another response is read.
    private func repeated(_ event: ResponseEvent) {
        if self.machine.order.isOther(event) { return self.failed(.contradictoryEvents(.otherResponse)) }
        switch event.kind {
        case .created: self.machine.order.rewound()
        case .outputItemAdded(let outputIndex, _): self.machine.order.rewound(to: outputIndex)
        case .delta, .partDone, .outputItemDone, .completed, .failed, .incomplete, .error, .rateLimits, .metadata,
            .keepalive, .contentFree, .other, .unknown:
            return
        }
    }

    // MARK: Progress

    /// Prepares for a batch of events that has come by now.
    ///
    /// One look at the clock is enough for all of them: nothing is waited for in between.
    func beginBatch(of attempt: Attempt) {
        self.meter.begin(at: self.engine.clock.now())
        self.reader.beginBatch(
            wantsOutputOnly: self.half == nil && !self.engine.configuration.reportsDiagnostics
                && self.engine.configuration.rawEvents != .all,
            attempt: attempt.number)
    }

    /// Notes the deltas that the reader has dealt with.
    func noteProgressOfQueued() {
        guard self.reader.takeHasQueued() else { return }
        self.meter.queued()
        self.noteOutput(at: self.meter.time)
    }

    private func noteOutput(at time: Duration) {
        self.attempt?.lastEvent = time
        self.attempt?.lastProgress = time
        self.attempt?.isKnownToStall = false
    }

    /// The consumer has taken the last event of a batch, after whatever time it has had for those before.
    ///
    /// None of that time is the server's: it is as if the event had been read at this moment. It is no part of its
    /// caller, which is on the way of every event.
    @inline(never)
    func tookLastOfBatch() {
        guard self.meter.takesLast() else { return }
        let now = self.engine.clock.now()
        self.noteOutput(at: now)
        self.meter.taken(at: now)
    }

    private func noteSignOfLife(isProgress: Bool, attempt: Int) {
        let now = self.meter.time
        if self.attempt?.hasEvents == false {
            if let attempt = self.attempt { self.recorder.firstEvent(of: attempt, at: now) }
            self.machine.eventReceived(attempt: attempt)
        }
        self.attempt?.lastEvent = now
        guard isProgress else { return self.checkProgress() }
        self.attempt?.lastProgress = now
        self.attempt?.isKnownToStall = false
    }

    /// Signs of life do not excuse a model that says nothing.
    func checkProgress() {
        guard let deadline = self.nearestDeadline(), deadline.remaining <= .zero else { return }
        switch deadline.kind {
        case .budget(let budget):
            self.timedOut(budget)
        case .stall:
            self.passed(.stall)
            // A budget may have run out behind it.
            self.checkProgress()
        case .hedge:
            // Only an upgrade has one.
            return
        }
    }

    /// Whether an event announces an item that was announced: nothing has got on by it.
    private func isAnnouncedAgain(_ event: ResponseEvent) -> Bool {
        guard case .outputItemAdded(let outputIndex, let item) = event.kind else { return false }
        return self.machine.isAnnounced(item.fingerprint, at: outputIndex)
    }

    /// Whether an event belongs to the response: one that does not is no sign that the response goes on.
    private func belongs(_ event: ResponseEvent) -> Bool {
        if case .completed(let summary) = event.kind, self.isLeftOver(summary) { return false }
        switch self.machine.order.judge(event) {
        case .fine, .tolerated:
            return true
        case .foreign:
            return false
        case .violation(let violation):
            self.failed(.contradictoryEvents(violation))
            return false
        }
    }

    /// Whether an event is to be read, by its number.
    private func isNew(_ event: ResponseEvent, fingerprint: UInt64, attempt: Int) -> Bool {
        let verdict = self.machine.numbered(
            event.sequenceNumber, fingerprint: fingerprint, isOutput: event.kind.isOutput, attempt: attempt)
        switch verdict {
        case .read:
            return true
        case .readBehindGap:
            self.noteGap()
            return true
        case .skip:
            return false
        case .end(let failure, let action):
            if let failure { self.follow(action, after: failure) } else { self.action = action }
            return false
        }
    }

    /// A number that two different events of the response hardly share; 0 for an event that has no number.
    ///
    /// Of a delta it is made of the slot and the text, as padding may differ when it is sent again. Of another event it is
    /// made of its type and place where the server makes it anew for each connection, and of its bytes elsewhere.
    private func fingerprint(of event: ResponseEvent, json: UnsafeRawBufferPointer) -> UInt64 {
        guard event.sequenceNumber != nil, self.machine.readsNumbers() else { return 0 }
        if case .delta(let kind, let outputIndex, let partIndex, let text) = event.kind {
            return unsafe EventFingerprint.of(
                delta: text.utf8.span,
                in: ReplaySlot(anyKind: kind, outputIndex: outputIndex, partIndex: partIndex))
        }
        let type = unsafe event.typeName.utf8.span
        guard self.machine.isResumable else {
            return EventFingerprint.of(type: type, content: unsafe Span(_unsafeBytes: json))
        }
        // An odd number without a pattern keeps places apart.
        let place = UInt64(truncatingIfNeeded: event.kind.outputIndex ?? 0) &* 0x9E37_79B9_7F4A_7C15
        return EventFingerprint.of(type: type, content: type.extracting(..<0)) ^ place
    }

    /// Whether the event is not one of another lane of the same WebSocket.
    private func isOnOurLane(_ event: ResponseEvent) -> Bool {
        guard let streamID = event.streamID, !streamID.isEmpty else { return true }
        return self.outgoing?.isOnLane(streamID) ?? false
    }

    /// Tells of missing numbers, once in an attempt.
    private func noteGap() {
        guard self.attempt?.hasGap == false else { return }
        self.attempt?.hasGap = true
        self.report(ChappieDiagnostic(kind: .sequenceGap, transport: self.attempt?.transport))
    }

    private func handle(_ event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int) {
        if !event.kind.isContentFree { self.contentReceived(event, attempt: attempt) }
        if self.engine.configuration.rawEvents == .all, !event.isFinishedCall {
            unsafe self.passOn(event, json: json, attempt: attempt)
        }
        switch event.kind {
        case .delta(let kind, let outputIndex, let partIndex, let text):
            let place = self.machine.place(of: event.itemName, at: outputIndex)
            if kind.replayKind != nil {
                guard self.wroteCall(text, event, at: place) else { return }
            }
            guard !self.machine.isAside(place), let slot = ReplaySlot(kind, outputIndex: place, partIndex: partIndex)
            else { return unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt) }
            self.received(text, event.deltaHalves, in: slot, attempt: attempt)
        case .partDone(let kind, let outputIndex, let partIndex, let text):
            let name = event.itemName
            let place = self.machine.place(of: name, at: outputIndex)
            if let slot = ReplaySlot(kind, outputIndex: place, partIndex: partIndex) {
                self.close(slot, with: text, name: name, attempt: attempt)
            } else if let call = kind.replayKind {
                guard self.closeCall(call, with: text, event, at: place) else { return }
            }
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        case .outputItemDone(let outputIndex, let item):
            self.noteAgent(of: item)
            if item.isCall { self.attempt?.hasCalls = true }
            let place = self.machine.place(of: item.fingerprint, at: outputIndex)
            unsafe self.received(item, at: place, event: event, json: json, attempt: attempt)
        case .completed(let summary):
            self.responseEnded(summary, attempt: attempt)
        case .failed(let summary):
            self.responseFailed(summary, attempt: attempt)
        case .incomplete(let summary):
            self.responseIncomplete(summary, attempt: attempt)
        case .error(let error):
            unsafe self.receivedError(error, json: json)
        case .rateLimits(let snapshot):
            self.merge(snapshot)
        case .created(let responseID):
            self.named(responseID, attempt: attempt)
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        case .unknown:
            if unsafe self.isEnd(event, json: json, attempt: attempt) { return }
            self.noteUnknown(event)
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        case .metadata(let turnState, _):
            // Over HTTP it is a field of the answer.
            if self.attempt?.transport == .webSocket { self.outgoing?.learn(turnState: turnState) }
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        case .other:
            unsafe self.noteSteering(event, json: json)
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        case .outputItemAdded(let outputIndex, let item):
            self.noteAgent(of: item)
            self.machine.itemBegan(outputIndex, attempt: attempt)
            guard self.announceCall(item, at: outputIndex) else { return }
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        case .keepalive, .contentFree:
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        }
    }

    private func noteAgent(of item: ItemSummary) {
        if item.agentName != nil { self.attempt?.hasAgents = true }
    }

    private func contentReceived(_ event: ResponseEvent, attempt: Int) {
        _ = self.machine.contentReceived(attempt: attempt)
        if !event.kind.isTerminal { self.serverAnswered() }
    }

    private func named(_ responseID: String?, attempt: Int) {
        guard let responseID else { return }
        self.responseID = responseID
        // Without a name for it the response is asked for again as a whole, and compared.
        if !self.machine.isResumable || self.canResume(responseID) {
            self.machine.responseNamed(responseID, attempt: attempt)
        }
        self.noteSteerable(responseID)
    }

    /// Tells of a type of event that is not known here, once.
    private func noteUnknown(_ event: ResponseEvent) {
        guard self.engine.configuration.reportsDiagnostics else { return }
        let type = unsafe String(decoding: event.typeName.utf8.prefix(64), as: UTF8.self)
        guard self.unknownTypes.count < 64, self.unknownTypes.insert(type).inserted else { return }
        self.report(ChappieDiagnostic(kind: .unknownEvent, transport: self.attempt?.transport, reason: type))
    }

    // MARK: Limits and errors

    func merge(_ snapshot: UsageLimitSnapshot) {
        guard snapshot.limitID == UsageLimitSnapshot.defaultLimitID, !snapshot.isEmpty else { return }
        self.usageLimits.merge(snapshot)
        guard let known = self.usageLimits[snapshot.limitID].flatMap(ChappieUsageLimitSnapshot.init) else { return }
        self.deliver(.usageLimits(known))
    }
}

extension ResponseOrder {
    /// Whether the event names another response than the one that goes on, or names an item of it otherwise.
    fileprivate mutating func isOther(_ event: ResponseEvent) -> Bool {
        switch event.kind {
        case .created(let responseID), .contentFree(let responseID): self.isOther(responseID: responseID)
        case .completed(let summary), .failed(let summary), .incomplete(let summary):
            self.isOther(responseID: summary.id)
        case .outputItemAdded(let outputIndex, let item), .outputItemDone(let outputIndex, let item):
            self.isOther(item.fingerprint, at: outputIndex)
        case .delta(_, let outputIndex, _, _), .partDone(_, let outputIndex, _, _):
            self.isOther(event.itemName, at: outputIndex)
        case .error, .rateLimits, .metadata, .keepalive, .other, .unknown: false
        }
    }

    /// What the event is to the response that is read.
    fileprivate mutating func judge(_ event: ResponseEvent) -> Verdict {
        switch event.kind {
        case .created(let responseID): self.created(responseID: responseID)
        case .delta(let kind, let outputIndex, let partIndex, _):
            self.delta(
                in: ReplaySlot(anyKind: kind, outputIndex: outputIndex, partIndex: partIndex), name: event.itemName)
        case .partDone(let kind, let outputIndex, let partIndex, _):
            self.closing(
                of: ReplaySlot(anyKind: kind, outputIndex: outputIndex, partIndex: partIndex), name: event.itemName)
        case .outputItemAdded(let outputIndex, let item):
            self.itemAdded(outputIndex, name: item.fingerprint, isAside: item.isAside)
        case .outputItemDone(let outputIndex, let item):
            self.itemDone(outputIndex, name: item.fingerprint, isAside: item.isAside)
        case .completed(let summary), .incomplete(let summary):
            self.terminal(responseID: summary.id, .complete(names: summary.output.map(\.fingerprint)))
        case .failed(let summary): self.terminal(responseID: summary.id, .failure)
        case .error: self.terminal(responseID: nil, .error)
        case .contentFree(let responseID): self.mentioned(responseID: responseID)
        case .unknown where event.announcesRestart: self.restartAnnounced()
        case .other, .unknown: self.mentioned(responseID: nil)
        // They are about the connection and the account, not about a response.
        case .rateLimits, .metadata, .keepalive: .fine
        }
    }
}

extension ResponseEvent {
    /// Whether the event hands a tool call over, which the ledger decides about.
    fileprivate var isFinishedCall: Bool {
        guard case .outputItemDone(_, let item) = self.kind else { return false }
        return item.isCall
    }
}

extension ResponseEvent {
    /// Whether an event of an unknown type says that the answer begins anew, such as `fallback_restart` of gateways.
    fileprivate var announcesRestart: Bool {
        let words = unsafe String(decoding: self.typeName.utf8.prefix(64), as: UTF8.self)
            .split { !$0.isLetter }.map { $0.lowercased() }
        return !Set(words).isDisjoint(with: ["restart", "restarted", "fallback", "rollback", "rewind"])
    }

    /// The fingerprint of the identifier of the item that a delta or its end belongs to; 0 when it has none.
    var itemName: UInt64 { self.itemID.map { unsafe EventFingerprint.of(name: $0.utf8.span) } ?? 0 }
}

extension ResponseEvent.DeltaKind {
    /// The function or tool of the call whose arguments or input the text is; nil for any other text.
    fileprivate var replayKind: ReplayedToolCall.Kind? {
        switch self {
        case .functionArguments: .function
        case .customInput: .custom
        case .text, .refusal, .reasoningSummary, .reasoningText: nil
        }
    }
}

extension ResponseEvent.Kind {
    /// Whether it is a piece of the response's output.
    fileprivate var isOutput: Bool {
        switch self {
        // An end may be all that says that there is no more output.
        case .delta, .partDone, .outputItemDone, .completed: true
        case .created, .outputItemAdded, .failed, .incomplete, .error, .rateLimits, .metadata, .keepalive,
            .contentFree, .other, .unknown:
            false
        }
    }

    /// The place of the item that the event belongs to, where it says so.
    var outputIndex: Int? {
        switch self {
        case .delta(_, let outputIndex, _, _), .partDone(_, let outputIndex, _, _),
            .outputItemAdded(let outputIndex, _), .outputItemDone(let outputIndex, _):
            outputIndex
        case .created, .completed, .failed, .incomplete, .error, .rateLimits, .metadata, .keepalive, .contentFree,
            .other, .unknown:
            nil
        }
    }
}
