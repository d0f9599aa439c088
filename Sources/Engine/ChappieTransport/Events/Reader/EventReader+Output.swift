import ResponseEvents
import StreamSession
import StreamTransport

/// The delivery of the response's output to the consumer.
extension EventReader {
    mutating func received(_ text: BorrowedText, in slot: ReplaySlot, attempt: Int) {
        guard !text.isEmpty else { return }
        let wasVerified = self.machine.isReplayVerified()
        let action = self.machine.deltaReceived(unsafe text.utf8.span, in: slot, attempt: attempt)
        if !wasVerified, self.machine.isReplayVerified() {
            if case .restart = action {} else { self.replayVerified() }
        }
        self.admitted(action, text, in: slot, attempt: attempt)
    }

    /// Follows the state machine's action for output.
    mutating func admitted(
        _ action: TurnStateMachine.Action, _ text: BorrowedText, in slot: ReplaySlot, attempt: Int
    ) {
        switch action {
        case .deliver(let offset):
            if self.isWithheld { return }
            self.queue.append(text.dropping(first: offset), of: slot.kind)
            self.meter.delivered()
        case .ignore:
            return
        case .restart(let deliveredText):
            self.restart(deliveredText: deliveredText)
            self.received(text, in: slot, attempt: attempt)
        case .deliverWithheld(var withheld):
            withheld.withUTF8 { utf8 in
                unsafe self.received(BorrowedText(validatedUTF8: utf8), in: slot, attempt: attempt)
            }
            self.received(text, in: slot, attempt: attempt)
        case .open, .openHedge, .release, .park, .send, .receive, .wait, .refreshCredential, .finish, .fail:
            self.end = .decided(action, after: nil)
        }
    }

    /// Tells the consumer that another answer replaces the delivered one, and delivers what of it has come.
    mutating func restart(deliveredText: String) {
        self.deliver(.restarted(deliveredText: deliveredText))
        for (kind, text) in self.machine.delivery.deliveredOutput { self.queue.append(text, of: kind) }
        self.meter.delivered()
    }

    private mutating func replayVerified() {
        let byteCount = self.machine.delivery.verifiedByteCount
        self.verifiedByteCount = byteCount
        guard byteCount > 0 else { return }
        self.report(ChappieDiagnostic(kind: .replayVerified, transport: self.transport, byteCount: byteCount))
    }

    /// Handles a finished item.
    ///
    /// A tool call that is delivered is verified, because the program may act on it: the ledger decides about it,
    /// independently of other items.
    mutating func received(
        _ item: ItemSummary,
        at outputIndex: Int,
        event: ResponseEvent,
        json: UnsafeRawBufferPointer,
        attempt: Int
    ) -> Outcome {
        guard self.closeParts(of: item, at: outputIndex, attempt: attempt) else { return .ended }
        if item.isCall {
            return unsafe self.finishCall(item, at: outputIndex, event: event, json: json, attempt: attempt)
        }
        if item.kind == .other { self.calls.tookOther(at: outputIndex) }
        self.record.finished(item.typedJSON, at: outputIndex, name: item.fingerprint)
        unsafe self.passOnUnsurfaced(event, json: json, attempt: attempt)
        return self.end == nil ? .goesOn : .ended
    }

    /// Handles the end of a call: one of a call that was finished before is dropped, and what it leaves out is known from
    /// the statements before it.
    private mutating func finishCall(
        _ item: ItemSummary, at outputIndex: Int, event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int
    ) -> Outcome {
        let isPlaceShared = self.machine.delivery.areIndicesShared()
        let number = self.calls.finishedCount
        let verdict = self.calls.finished(item, at: outputIndex, isPlaceShared: isPlaceShared)
        if case .repeated = verdict { return .dropped }
        guard self.follow(verdict, at: outputIndex) else { return .ended }
        var itemJSON = item.typedJSON
        var isCompleted = item.typeName.isEmpty
        if case .completes(let known, let whole) = verdict {
            guard known == number else {
                self.record.complete(call: known, with: whole)
                return .dropped
            }
            (itemJSON, isCompleted) = (whole.completing(itemJSON), true)
        }
        let call = self.calls.finishedCall(number)
        self.record.finished(itemJSON, at: outputIndex, name: item.fingerprint, call: call, number: number)
        if isCompleted {
            self.receivedUnfinished(call, at: outputIndex, attempt: attempt) {
                String(decoding: itemJSON, as: UTF8.self)
            }
        } else if self.options.handsOverCalls {
            self.handOver(call, at: outputIndex, type: String(event.typeName), attempt: attempt) {
                unsafe String(decoding: json, as: UTF8.self)
            }
        }
        return self.end == nil ? .goesOn : .ended
    }

    /// Handles a call whose item has no end, or leaves members out: it is delivered as if it had them.
    mutating func receivedUnfinished(_ call: FinishedCall, at outputIndex: Int, attempt: Int, json: () -> String) {
        guard self.options.handsOverCalls else { return }
        let type = "response.output_item.done"
        self.handOver(call, at: outputIndex, type: type, attempt: attempt) {
            #"{"type":"\#(type)","output_index":\#(outputIndex),"item":\#(json())}"#
        }
    }

    private mutating func handOver(
        _ call: FinishedCall, at outputIndex: Int, type: String, attempt: Int, payload: () -> String
    ) {
        let wasVerified = self.machine.isReplayVerified()
        let action = self.machine.toolCallReceived(call.content, at: outputIndex, attempt: attempt)
        if !wasVerified, self.machine.isReplayVerified() { self.replayVerified() }
        switch action {
        case .deliver:
            _ = self.machine.rawReceived(type: type, outputIndex: outputIndex, attempt: attempt)
            self.deliver(.raw(type: type, payload: payload()))
        case .ignore:
            return
        case .restart(let deliveredText):
            self.restart(deliveredText: deliveredText)
            self.handOver(call, at: outputIndex, type: type, attempt: attempt, payload: payload)
        case .deliverWithheld, .open, .openHedge, .release, .park, .send, .receive, .wait, .refreshCredential, .finish,
            .fail:
            self.end = .decided(action, after: nil)
        }
    }

    mutating func passOnUnsurfaced(_ event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int) {
        guard self.options.rawEvents == .unsurfaced, self.end == nil else { return }
        unsafe self.passOn(event, json: json, attempt: attempt)
    }

    mutating func passOn(_ event: ResponseEvent, json: UnsafeRawBufferPointer, attempt: Int) {
        let type = String(event.typeName)
        guard !self.isTranslated,
            case .deliver = self.machine.rawReceived(
                type: type, outputIndex: event.kind.outputIndex, attempt: attempt)
        else { return }
        self.deliver(.raw(type: type, payload: unsafe String(decoding: json, as: UTF8.self)))
    }
}

extension ItemSummary {
    /// The fingerprint of the item's identifier; 0 when it has none.
    var fingerprint: UInt64 { EventFingerprint.of(identifier: self.id) }

    /// The kind of the item, and of the output that belongs to it.
    var itemKind: ItemKind {
        switch self.kind {
        case .message: .message
        case .reasoning: .reasoning
        case .functionCall, .customToolCall: .call
        case .other: .other
        }
    }

    /// The item's JSON, with the type that its members show if it has none: readers of raw events recognise it by that.
    var typedJSON: [UInt8] {
        let json = unsafe Array(self.json.utf8)
        guard self.typeName.isEmpty, let type = self.kind.typeName, var item = try? JSONObjectText(json) else {
            return json
        }
        item["type"] = JSONText.string(type)[...]
        return item.json
    }

    /// Indicates whether the item is no part of the answer for the user: another agent's than the root's, or an item of
    /// the request that the server repeats.
    var isAside: Bool {
        if self.kind == .message, let role, !role.utf8.elementsEqual("assistant".utf8) { return true }
        return self.agentName.map { !$0.utf8.elementsEqual("/root".utf8) } ?? false
    }

    /// Indicates whether the item is a message of the answer without any text.
    var isEmptyMessage: Bool { self.kind == .message && !self.isAside && self.parts.allSatisfy(\.text.isEmpty) }

    /// Indicates whether the item is a call, on which the program may act.
    var isCall: Bool { self.kind == .functionCall || self.kind == .customToolCall }
}
