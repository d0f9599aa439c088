import ResponseEvents
import StreamSession

/// The last step of reading an event: what it says goes to the state machine, into the record and to the consumer.
extension EventReader {
    /// Passes an event on as it is, where the consumer wants every one.
    mutating func passOnBeforehand(_ event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int) {
        if self.options.rawEvents == .all, !event.isFinishedCall {
            unsafe self.passOn(event, json: json, attempt: attempt)
        }
    }

    /// Reads an event of the response that does not end it.
    ///
    /// - Returns: false when it ends the attempt.
    mutating func handle(_ event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int) -> Bool {
        switch event.kind {
        case .delta(let kind, let outputIndex, let partIndex, let text):
            let place = self.machine.place(of: event.itemName, at: outputIndex)
            if kind.replayKind != nil {
                guard self.wroteCall(text, event, at: place) else { return false }
            }
            guard !self.machine.isAside(place), let slot = ReplaySlot(kind, outputIndex: place, partIndex: partIndex)
            else {
                unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
                break
            }
            self.received(text, event.deltaHalves, in: slot, attempt: attempt)
        case .partDone(let kind, let outputIndex, let partIndex, let text):
            let name = event.itemName
            let place = self.machine.place(of: name, at: outputIndex)
            if let slot = ReplaySlot(kind, outputIndex: place, partIndex: partIndex) {
                self.close(slot, with: text, name: name, attempt: attempt)
            } else if let call = kind.replayKind {
                guard self.closeCall(call, with: text, event, at: place) else { return false }
            }
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        case .outputItemAdded(let outputIndex, let item):
            if item.agentName != nil { self.findings.hasAgents = true }
            self.machine.itemBegan(outputIndex, attempt: attempt)
            guard self.announceCall(item, at: outputIndex) else { return false }
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        case .outputItemDone(let outputIndex, let item):
            if item.agentName != nil { self.findings.hasAgents = true }
            if item.isCall { self.findings.hasCalls = true }
            let place = self.machine.place(of: item.fingerprint, at: outputIndex)
            unsafe self.received(item, at: place, event: event, json: json, attempt: attempt)
        case .rateLimits(let snapshot):
            self.merge(snapshot)
        case .unknown:
            self.noteUnknown(event)
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        case .created, .metadata, .other, .keepalive, .contentFree:
            unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        case .completed, .failed, .incomplete, .error:
            preconditionFailure("the driver looks at the end of a response")
        }
        return self.end == nil
    }

    /// An event of an unknown type that is an error, or the beginning of a response of another API, which ends the
    /// attempt; nil for any other.
    func end(_ event: ResponseEvent, json: UnsafeRawBufferPointer) -> UntypedEvent? {
        guard let end = unsafe UntypedEvent(json, ofUnknownType: event.typeName) else { return nil }
        if case .otherAPI = end, self.responseID != nil { return nil }
        return end
    }

    /// Tells of a type of event that is not known here, once.
    private mutating func noteUnknown(_ event: ResponseEvent) {
        guard self.options.reportsDiagnostics else { return }
        let type = unsafe String(decoding: event.typeName.utf8.prefix(64), as: UTF8.self)
        guard self.unknownTypes.count < 64, self.unknownTypes.insert(type).inserted else { return }
        self.report(ChappieDiagnostic(kind: .unknownEvent, transport: self.transport, reason: type))
    }
}

extension ResponseEvent {
    /// Whether the event hands a tool call over, which the ledger decides about.
    fileprivate var isFinishedCall: Bool {
        guard case .outputItemDone(_, let item) = self.kind else { return false }
        return item.isCall
    }
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
