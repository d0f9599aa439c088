import ResponseEvents
import StreamSession
import StreamTransport

/// The passing of events to the reader, and the consequences of its findings.
extension TurnDriver {
    /// Handles the JSON of one event; over HTTP `type` is the event's type in the event stream.
    func receivedEvent(_ json: UnsafeRawBufferPointer, named type: UnsafeRawBufferPointer? = nil, attempt: Int) {
        do throws(ResponseEventError) {
            let reading = unsafe try self.reader.read(json, attempt: attempt)
            // This is nearly every event: no function is called for it.
            if case .queued = reading { return }
            unsafe try self.follow(reading, of: json, attempt: attempt)
        } catch {
            if case .missingType = error, let type = unsafe type,
                let event = unsafe UntypedEvent.adding(type: type, to: json)
            {
                return unsafe event.withUnsafeBytes { bytes in
                    let count = bytes.count - ResponseEventDecoder.paddingByteCount
                    unsafe self.receivedEvent(UnsafeRawBufferPointer(rebasing: bytes[..<count]), attempt: attempt)
                }
            }
            unsafe self.failed(toDecode: error, json, attempt: attempt)
        }
    }

    /// Handles the data of a server-sent event whose event type is `error`.
    func receivedNamedError(_ data: UnsafeRawBufferPointer, attempt: Int) {
        if let event = unsafe UntypedEvent(dataOfError: data) {
            unsafe self.received(event, json: data, attempt: attempt)
        } else {
            unsafe self.receivedEvent(data, attempt: attempt)
        }
    }

    /// Handles a message, and those behind it that are only output.
    func receivedMessages(_ first: InboundPayload, attempt: Int) {
        guard let connection = self.attempts.current?.connection else { return }
        var messages = EventReader.Messages(connection: connection, payload: first)
        // The total budget is checked before each message: the consumer's time counts as well.
        if self.deadlines.end != nil { messages.remainingByteCount = 0 }
        do throws(ResponseEventError) {
            let reading = try self.reader.read(&messages, attempt: attempt)
            if let event = messages.unhandled { self.attempts.current?.unhandled = event }
            unsafe try self.follow(reading, of: messages.payload.bytes, attempt: attempt)
        } catch {
            unsafe self.failed(toDecode: error, messages.payload.bytes, attempt: attempt)
        }
    }

    private func follow(
        _ reading: EventReader.Reading, of json: UnsafeRawBufferPointer, attempt: Int
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
            // An empty object is padding.
            if let event = unsafe UntypedEvent(json) { unsafe self.received(event, json: json, attempt: attempt) }
        case .notJSON, .notObject, .invalidField, .tooDeep, .outOfMemory:
            self.failed(.undecodableEvent)
        case .tooLarge:
            self.failed(.eventTooLarge(limit: self.engine.configuration.limits.eventByteCount))
        case .invalidUTF8:
            // RFC 6455 section 8.1: a text message that is not UTF-8 fails the connection.
            if self.attempts.current?.transport == .webSocket {
                self.attempts.current?.connection.fail(code: 1007)
                self.attempts.current?.closesByItself = true
            }
            self.failed(.undecodableEvent)
        }
    }

    private func received(_ event: UntypedEvent, json: UnsafeRawBufferPointer, attempt: Int) {
        // The deltas before it come first.
        self.noteProgressOfQueued()
        unsafe self.reader.received(event, json: json, attempt: attempt)
        self.followEnd()
    }

    private func received(_ event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int) {
        // The deltas before it come first.
        self.noteProgressOfQueued()
        let judgement = unsafe self.reader.judge(event, json: json, attempt: attempt)
        self.followEnd()
        guard case .read(let reading) = judgement else { return }
        if !reading.isProgress { self.noteSignOfLife(isProgress: false, attempt: attempt) }
        // The check for an event without progress may have found that its time is over.
        guard self.reader.machine.isReadingInPlace(attempt) else { return }
        let isNew =
            reading.isBehindGap
            || self.reader.isNew(event, fingerprint: reading.fingerprint, attempt: attempt)
        self.followEnd()
        // A repeated event is no progress, with any number of repetitions.
        if reading.isProgress, self.reader.machine.isReadingInPlace(attempt) {
            self.noteSignOfLife(isProgress: isNew, attempt: attempt)
        }
        guard isNew, self.reader.machine.isReadingInPlace(attempt) else { return }
        unsafe self.handle(event, json: json, attempt: attempt)
    }

    private func handle(_ event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int) {
        if self.isKept { self.reader.begin(event) }
        if !event.kind.isContentFree {
            self.reader.machine.contentReceived(attempt: attempt)
            if !event.kind.isTerminal { self.ticket.serverAnswered() }
        }
        unsafe self.reader.passOnBeforehand(event, json: json, attempt: attempt)
        switch event.kind {
        case .created(let responseID?):
            self.named(responseID, attempt: attempt)
        case .metadata(let turnState, _) where self.transport == .webSocket:
            // Over HTTP it is a field of the answer.
            self.sender?.outgoing.learn(turnState: turnState)
        default:
            break
        }
        let outcome = unsafe self.reader.handle(
            event, json: json, attempt: attempt, behind: self.sender?.outgoing.carriedItems ?? [])
        switch outcome {
        case .goesOn, .dropped:
            if case .outputItemDone(let outputIndex, let item) = event.kind {
                self.finished(item, at: outputIndex, isRepeated: outcome == .dropped, attempt: attempt)
            }
        case .steered: self.sender?.outgoing.dropFinishedItems()
        case .ended: break
        }
        if let byteCount = self.reader.verifiedByteCount.take() {
            self.recorder.replayed(byteCount, in: self.attempts.current)
        }
        if self.isKept { self.notePosition(behind: event) }
        self.followEnd()
    }

    /// Records the position behind an event of a response that can be resumed.
    private func notePosition(behind event: ResponseEvent) {
        let waitingCount = self.reader.queue.count
        switch self.reader.position(behind: event) {
        case .unchanged: return
        case .unknown: self.note(nil, waitingCount)
        case .known(let cursor): self.note(cursor, waitingCount)
        }
    }

    private func note(_ cursor: ResumeCursor?, _ waitingCount: Int) {
        self.shared.withLock {
            $0.points.note(cursor, waitingCount: waitingCount, readyCount: $0.ready.count)
        }
    }

    private func named(_ responseID: String, attempt: Int) {
        self.reader.responseID = responseID
        // Without an identifier the response is requested again as a whole, and compared.
        if !self.reader.machine.delivery.isResumable || self.sender?.canResume(responseID) == true {
            self.reader.machine.responseNamed(responseID, attempt: attempt)
        }
        guard let attempt = self.attempts.current, attempt.transport == .webSocket else { return }
        self.control.steering.named(responseID, on: attempt.connection)
    }

    /// Stores a finished item, to give it back if the response breaks; a repeated call occupies its position, and is not
    /// carried.
    private func finished(_ item: ItemSummary, at outputIndex: Int, isRepeated: Bool, attempt: Int) {
        guard let sender = self.sender, sender.carriesItems else { return }
        let json = unsafe Array(item.json.utf8)
        guard sender.canCarry(json, isCall: item.isCall) else { return }
        let place = self.reader.machine.delivery.place(of: item.fingerprint, at: outputIndex)
        guard self.reader.machine.itemFinished(outputIndex: place, attempt: attempt), !isRepeated else { return }
        sender.outgoing.finished(json, isCall: item.isCall)
    }

    /// Handles the end of the attempt that the reader has found, if there is one.
    private func followEnd() {
        switch self.reader.end.take() {
        case .failed(let failure): self.failed(failure)
        case .decided(let action, let failure?): self.follow(action, after: failure)
        case .decided(let action, nil): self.action = action
        case nil: return
        }
    }

    // MARK: Progress

    /// Prepares for a batch of events that has come by now.
    ///
    /// One reading of the clock is enough for all of them, as there are no waits in between.
    func beginBatch(of attempt: Int) {
        self.meter.begin(at: self.engine.clock.now())
        self.reader.beginBatch(attempt: attempt)
    }

    /// Records that the batch was read to its end.
    func endBatch() {
        self.noteProgressOfQueued()
        if self.reader.takeHasDelivered() { self.meter.delivered() }
        self.meter.end()
    }

    /// Records the deltas that the reader has handled.
    private func noteProgressOfQueued() {
        guard self.reader.takeHasQueued() else { return }
        self.meter.queued()
        self.attempts.current?.progressed(at: self.meter.time)
    }

    /// Records that the consumer has taken the last event of a batch, after any time for the earlier ones.
    ///
    /// None of that time is the server's: it counts as if the event had been read at this time. It is a separate
    /// function, because its caller runs for every event.
    @inline(never)
    func tookLastOfBatch() {
        guard self.meter.takesLast() else { return }
        let now = self.engine.clock.now()
        self.attempts.current?.progressed(at: now)
        self.meter.taken(at: now)
    }

    private func noteSignOfLife(isProgress: Bool, attempt: Int) {
        let now = self.meter.time
        if self.attempts.current?.hasEvents == false {
            if let attempt = self.attempts.current { self.recorder.firstEvent(of: attempt, at: now) }
            self.reader.machine.eventReceived(attempt: attempt)
        }
        self.attempts.current?.lastEvent = now
        guard isProgress else { return self.checkProgress() }
        self.attempts.current?.progressed(at: now)
    }
}
