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
                unsafe UntypedEvent.with(type, addedTo: json, { unsafe self.receivedEvent($0, attempt: attempt) })
            {
                return
            }
            unsafe self.failed(toDecode: error, json, named: type, attempt: attempt)
        }
    }

    /// Handles a message, and those behind it as long as they are only output and the batch may take more.
    func receivedMessages(_ first: InboundPayload, attempt: Int) {
        var message = first
        var allowance = BatchMeter.Allowance(hasTotalBudget: self.deadlines.end != nil)
        do throws(ResponseEventError) {
            while true {
                let reading = unsafe try self.reader.read(message.bytes, attempt: attempt)
                guard case .queued = reading else {
                    return unsafe try self.follow(reading, of: message.bytes, attempt: attempt)
                }
                guard unsafe allowance.takesMore(after: message.bytes.count),
                    let next = self.attempts.current?.nextMessage()
                else { return }
                message = next
            }
        } catch {
            unsafe self.failed(toDecode: error, message.bytes, attempt: attempt)
        }
    }

    private func follow(
        _ reading: EventReader.Reading, of json: UnsafeRawBufferPointer, attempt: Int
    ) throws(ResponseEventError) {
        switch reading {
        case .queued, .dropped: break
        case .scanned: unsafe try self.received(self.reader.scannedEvent(json), json: json, attempt: attempt)
        case .action(let action): self.action = action
        }
    }

    func failed(
        toDecode error: ResponseEventError, _ json: UnsafeRawBufferPointer, named type: UnsafeRawBufferPointer? = nil,
        attempt: Int
    ) {
        switch error {
        case .missingType:
            // An empty object is padding.
            if let event = unsafe UntypedEvent(json, named: type) {
                unsafe self.received(event, json: json, attempt: attempt)
            }
            return
        case .invalidField:
            // A gateway may put its error under the type of the event that it could not send.
            if case .error(let error)? = unsafe UntypedEvent(json) {
                return unsafe self.received(.error(error), json: json, attempt: attempt)
            }
        case .notJSON, .notObject:
            if unsafe SignOfLifeText.isOne(json, named: type) { return }
            if case .error(let error)? = unsafe UntypedEvent(json, named: type) {
                return unsafe self.received(.error(error), json: json, attempt: attempt)
            }
        case .invalidUTF8: self.attempts.current?.refusesText()
        case .tooDeep, .tooLarge, .tooManyItems, .outOfMemory: break
        }
        self.failed(AttemptFailure(error, byteCountLimit: self.engine.configuration.limits.eventByteCount))
    }

    /// Handles an event of another API, or an error that is no event of the response.
    func received(_ event: UntypedEvent, json: UnsafeRawBufferPointer, attempt: Int) {
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
        guard self.reader.machine.isReading(attempt) else { return }
        let isNew =
            reading.isBehindGap
            || self.reader.isNew(event, fingerprint: reading.fingerprint, attempt: attempt)
        self.followEnd()
        // A repeated event is no progress, with any number of repetitions.
        if reading.isProgress, self.reader.machine.isReading(attempt) {
            self.noteSignOfLife(isProgress: isNew, attempt: attempt)
        }
        guard isNew, self.reader.machine.isReading(attempt) else { return }
        unsafe self.handle(event, json: json, attempt: attempt)
    }

    private func handle(_ event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int) {
        guard let sender = self.sender else { return }
        if !event.kind.isContentFree, !event.kind.isTerminal {
            self.ticket.serverAnswered()
            self.attempts.current?.hasContent = true
        }
        if self.reader.steeredEnd != nil, event.kind.isOfSuccessor {
            self.reader.beginSuccessor(attempt: attempt)
            self.attempts.current?.steeredAt = nil
        }
        if let responseID = self.reader.newName(in: event) {
            self.reader.named(responseID, canResume: sender.canResume(responseID), attempt: attempt)
        }
        let outcome = unsafe self.reader.handle(
            event, json: json, attempt: attempt, behind: sender.outgoing.carriedItems)
        if case .steered = outcome { self.attempts.current?.steeredAt = self.reader.meter.time.sinceZero }
        sender.learn(from: event, outcome, &self.reader, attempt: attempt)
        if let byteCount = self.reader.verifiedByteCount.take() {
            self.recorder.replayed(byteCount, in: self.attempts.current)
        }
        if self.reader.isKept {
            let (position, waitingCount) = (self.reader.position(behind: event), self.reader.queue.count)
            self.shared.withLock { $0.note(position, waitingCount: waitingCount) }
        }
        self.followEnd()
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

    /// Records that the batch was read to its end.
    func endBatch() {
        self.noteProgressOfQueued()
        self.reader.meter.end()
    }

    /// Records the deltas that the reader has handled.
    private func noteProgressOfQueued() {
        guard self.reader.meter.takeProgress() else { return }
        self.attempts.current?.progressed(at: self.reader.meter.time)
        self.attempts.current?.hasContent = true
    }

    /// Counts the last event of a batch as read when the consumer has taken it, because its time is not the server's.
    ///
    /// It returns the present time, if that was needed. It is a separate function, because its caller runs for every
    /// event.
    @inline(never)
    @discardableResult
    func tookLastOfBatch() -> Moment? {
        guard self.reader.meter.takesLast() else { return nil }
        let now = self.moment
        self.attempts.current?.progressed(at: now)
        self.reader.meter.taken(at: now)
        return now
    }

    func noteSignOfLife(isProgress: Bool, attempt: Int) {
        let now = self.reader.meter.time
        if self.attempts.current?.hasEvents == false {
            if let attempt = self.attempts.current { self.recorder.firstEvent(of: attempt, at: now.sinceZero) }
            self.reader.machine.eventReceived(attempt: attempt)
        }
        self.attempts.current?.lastEvent = now
        guard isProgress else { return self.checkProgress() }
        self.attempts.current?.progressed(at: now)
    }
}

extension ResponseEvent.Kind {
    /// Indicates whether an event behind the end of a steered response belongs to the response that follows it.
    fileprivate var isOfSuccessor: Bool {
        switch self {
        case .created, .delta, .partDone, .outputItemAdded, .outputItemDone, .completed, .incomplete: true
        case .failed, .error, .rateLimits, .metadata, .keepalive, .contentFree, .other, .unknown: false
        }
    }
}
