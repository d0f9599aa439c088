import ResponseEvents
import StreamSession

/// The last step of reading an event, which passes it to the state machine, the record and the consumer.
extension EventReader {
    /// The state of the attempt behind an event.
    enum Outcome {
        /// The response continues.
        case goesOn
        /// The event repeats a finished call, and is dropped.
        case dropped
        /// The attempt has ended, as `end` says.
        case ended
        /// The response has ended, and a successor may follow, because it was steered.
        case steered
    }

    /// Returns the response's name in an event that names it; nil in any other.
    ///
    /// Only the first of `response.queued` and `response.in_progress` does, where no `response.created` comes before it
    /// (recorded: OpenAI's background responses begin with `response.queued`).
    mutating func newName(in event: ResponseEvent) -> String? {
        switch event.kind {
        case .created(let responseID): responseID
        case .contentFree(let responseID): self.responseID == nil ? responseID : nil
        case .delta, .partDone, .outputItemAdded, .outputItemDone, .completed, .failed, .incomplete, .error,
            .rateLimits, .metadata, .keepalive, .other, .unknown:
            nil
        }
    }

    /// Records the response's name, by which the rest is requested if `canResume` says so.
    ///
    /// Without a name the response is requested again as a whole, and compared.
    mutating func named(_ responseID: String, canResume: @autoclosure () -> Bool, attempt: Int) {
        self.responseID = responseID
        if !self.machine.delivery.isResumable || canResume() {
            self.machine.responseNamed(responseID, attempt: attempt)
        }
        self.steering.named(responseID)
    }

    /// Returns the position behind an event that was read.
    ///
    /// A half of a surrogate pair that waits was not passed on. While a call, or output behind the end of its item, waits
    /// for the response's end the position stays before it, because a turn that continued behind it would skip it. Behind
    /// `response.completed` there is no position: the caller runs the call.
    mutating func position(behind event: ResponseEvent) -> Delivery.Position {
        self.isWithheld = false
        self.machine.delivery.read(event.sequenceNumber)
        if self.hasWaitingCalls {
            if case .completed = event.kind { return .unknown }
            return .held
        }
        if self.machine.delivery.withheldSlot() != nil { return .held }
        return self.half == nil ? self.machine.delivery.position() : .unchanged
    }

    /// Reads an event of the response; `carriedItems` are the finished items of broken attempts.
    ///
    /// Events that another turn has delivered are read and not passed on. Where the consumer wants every event, it gets
    /// this one unchanged first.
    mutating func handle(
        _ event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int,
        behind carriedItems: @autoclosure () -> [[UInt8]]
    ) -> Outcome {
        if self.isKept { self.isWithheld = self.machine.delivery.wasDelivered(event.sequenceNumber) }
        if !event.kind.isContentFree { self.machine.contentReceived(attempt: attempt) }
        if self.options.rawEvents == .all, !event.isFinishedCall {
            unsafe self.passOn(event, json: json, attempt: attempt)
        }
        return unsafe self.pass(event, json: json, attempt: attempt, behind: carriedItems())
    }

    private mutating func pass(
        _ event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int,
        behind carriedItems: @autoclosure () -> [[UInt8]]
    ) -> Outcome {
        if self.closesAgain {
            if event.isFinishedCall { return .dropped }
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
            return .goesOn
        }
        switch event.kind {
        case .completed(let summary):
            return self.ended(summary, behind: carriedItems(), attempt: attempt)
        case .failed(let summary):
            return self.failed(summary, attempt: attempt)
        case .incomplete(let summary):
            return self.incomplete(summary, attempt: attempt)
        case .error(let error):
            return unsafe self.received(error, json: json)
        case .delta(let kind, let outputIndex, let partIndex, let text):
            let place = self.machine.delivery.place(of: event.itemName, at: outputIndex)
            if kind.callKind != nil {
                guard self.wroteCall(text, event, at: place) else { return .ended }
            }
            guard !self.machine.delivery.isAside(place),
                let slot = ReplaySlot(kind, outputIndex: place, partIndex: partIndex)
            else {
                unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
                break
            }
            guard self.isInTime(text, in: slot) else { break }
            self.received(text, event.deltaHalves, in: slot, attempt: attempt)
        case .partDone(let kind, let outputIndex, let partIndex, let text):
            let name = event.itemName
            let place = self.machine.delivery.place(of: name, at: outputIndex)
            if let slot = ReplaySlot(kind, outputIndex: place, partIndex: partIndex) {
                self.close(slot, with: text, name: name, attempt: attempt)
            } else if let call = kind.callKind {
                guard self.closeCall(call, with: text, event, at: place) else { return .ended }
            }
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        case .outputItemAdded(let outputIndex, let item):
            if item.agentName != nil { self.findings.hasAgents = true }
            let place = self.machine.delivery.place(of: item.fingerprint, at: outputIndex)
            self.machine.itemBegan(place, attempt: attempt)
            guard self.announceCall(item, at: place) else { return .ended }
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        case .outputItemDone(let outputIndex, let item):
            if item.agentName != nil { self.findings.hasAgents = true }
            if item.isCall {
                self.findings.hasCalls = true
                self.hasWaitingCalls = self.options.runsCalls
            }
            let place = self.machine.delivery.place(of: item.fingerprint, at: outputIndex)
            return unsafe self.received(item, at: place, event: event, json: json, attempt: attempt)
        case .rateLimits(let snapshot):
            self.merge(snapshot)
        case .unknown:
            if let end = unsafe UntypedEvent(json, ofUnknownType: event.typeName), self.isEnd(end) {
                unsafe self.received(end, json: json, attempt: attempt)
                return .ended
            }
            self.noteUnknown(event)
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        case .other:
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
            unsafe self.noteSteering(event, json: json, attempt: attempt)
        case .created, .metadata, .keepalive, .contentFree:
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        }
        return self.end == nil ? .goesOn : .ended
    }

    /// Reports an unknown type of event, once.
    private mutating func noteUnknown(_ event: ResponseEvent) {
        guard self.options.reportsDiagnostics else { return }
        let type = unsafe String(decoding: event.typeName.utf8.prefix(64), as: UTF8.self)
        guard self.unknownTypes.count < 64, self.unknownTypes.insert(type).inserted else { return }
        self.report(ChappieDiagnostic(kind: .unknownEvent, transport: self.transport, reason: type))
    }
}

extension ResponseEvent {
    /// Indicates whether the event finishes a tool call, which the ledger decides about.
    fileprivate var isFinishedCall: Bool {
        guard case .outputItemDone(_, let item) = self.kind else { return false }
        return item.isCall
    }
}

extension ResponseEvent.DeltaKind {
    /// The function or tool of the call whose arguments or input the text is; nil for any other text.
    var callKind: FinishedCall.Kind? {
        switch self {
        case .functionArguments: .function
        case .customInput: .custom
        case .text, .refusal, .reasoningSummary, .reasoningText: nil
        }
    }
}
