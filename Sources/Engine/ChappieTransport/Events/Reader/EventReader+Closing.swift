import ResponseEvents
import StreamSession

/// Compares the closing events of a part, of an item and of the response with the deltas.
extension EventReader {
    /// Handles the whole text that closes a slot.
    ///
    /// - Returns: false when that ends the attempt.
    @discardableResult
    mutating func close(_ slot: ReplaySlot, with text: BorrowedText, name: UInt64, attempt: Int) -> Bool {
        // Servers close parts that have text with an empty one (reported: maximhq/bifrost issues 5149 and 5259).
        guard !text.isEmpty, self.machine.delivery.isClosed(slot.outputIndex), self.machine.isReading(attempt)
        else { return self.end == nil }
        let place = unsafe self.machine.delivery.place(of: text.utf8.span, in: slot, name: name)
        // Other output needs no list of its one text.
        let other =
            place == slot && slot.kind.otherReasoning != nil
            ? unsafe self.machine.delivery.closingOther([text.utf8], in: slot, name: name) : nil
        let slot = other?.slot ?? place
        if self.half?.slot == slot { self.half = nil }
        let closing =
            if let other { other.closing } else { unsafe self.machine.delivery.closing(text.utf8.span, in: slot) }
        guard case .rest(let offset) = closing else { return self.follow(closing, at: slot) }
        self.received(text.dropping(first: offset), in: slot, attempt: attempt)
        return self.end == nil
    }

    /// Returns whether a delta is output; one behind the text that has closed its slot is dropped where that text had
    /// it, or waits for the end of the response, and ends the attempt otherwise, before it is delivered.
    mutating func isInTime(_ text: BorrowedText, in slot: ReplaySlot) -> Bool {
        guard self.machine.delivery.isBehindClosing(), !text.isEmpty else { return true }
        switch unsafe self.machine.delivery.late(text.utf8.span, in: slot) {
        case .isNew: return true
        case .delivered, .withheld: return false
        case .contradiction:
            self.fail(.contradictoryEvents(.itemContinued, at: slot))
        case .tooMuch:
            self.fail(.outputTooLarge(limit: self.options.limits.outputByteCount))
        }
        return false
    }

    /// Returns whether an event closes a done item again, under a name that no item has: its whole content is what that
    /// item was closed with.
    mutating func isClosedAgain(_ event: ResponseEvent) -> Bool {
        switch event.kind {
        case .partDone(let kind, let outputIndex, _, let text):
            let slot = ReplaySlot(anyKind: kind, outputIndex: outputIndex, partIndex: 0)
            guard
                let place = self.machine.delivery.doneItem(
                    at: outputIndex, name: event.itemName, kind: slot.kind.item)
            else { return false }
            if let call = kind.callKind {
                let payload = unsafe String(decoding: text.utf8, as: UTF8.self)
                let members = CallMembers(kind: call, name: self.closingName ?? "", payload: payload)
                return self.calls.hasFinished(members, at: place)
            }
            let item = ReplaySlot(slot.kind, outputIndex: place)
            return unsafe self.machine.delivery.isClosed(item, by: [text.utf8], isPart: true)
        case .outputItemDone(let outputIndex, let item):
            guard
                let place = self.machine.delivery.doneItem(
                    at: outputIndex, name: item.fingerprint, kind: item.itemKind)
            else { return false }
            if item.isCall { return self.calls.hasFinished(CallMembers(item), at: place) }
            let texts = Self.outputKinds.map { self.parts(of: item, at: place, ofKind: $0) }.filter { !$0.isEmpty }
            for parts in texts {
                guard
                    unsafe self.machine.delivery.isClosed(
                        parts[0].slot, by: parts.map { unsafe $0.text.utf8 }, isPart: false)
                else { return false }
            }
            return !texts.isEmpty
        case .created, .delta, .outputItemAdded, .completed, .failed, .incomplete, .error, .rateLimits, .metadata,
            .keepalive, .contentFree, .other, .unknown:
            return false
        }
    }

    /// Handles the texts of a finished item, which repeats all its texts: each kind of text is compared as a whole.
    ///
    /// - Returns: false when that ends the attempt.
    mutating func closeParts(of item: ItemSummary, at outputIndex: Int, attempt: Int) -> Bool {
        guard self.machine.delivery.isClosed(outputIndex), self.machine.isReading(attempt) else {
            return self.end == nil
        }
        // The member that has come in deltas is compared first: the other one's text may repeat it.
        let content = item.parts.first { $0.kind == .reasoningText }?.text
        let isContentFirst =
            content.map { unsafe self.machine.delivery.isNewest($0.utf8.span, of: .reasoningText) } ?? false
        for kind in isContentFirst ? Self.outputKinds.reversed() : Self.outputKinds {
            var parts = self.parts(of: item, at: outputIndex, ofKind: kind)
            guard let first = parts.first else { continue }
            let isAlone = !item.parts.contains { $0.kind != kind && !$0.text.isEmpty }
            let place = unsafe self.machine.delivery.place(
                of: first.text.utf8.span, in: first.slot, name: item.fingerprint)
            let texts = unsafe parts.map { unsafe $0.text.utf8 }
            let other =
                place == first.slot
                ? unsafe self.machine.delivery.closingOther(
                    texts, in: place, name: item.fingerprint, isAlone: isAlone) : nil
            let slot = other?.slot ?? place
            if slot != first.slot { parts = parts.map { $0.moved(to: slot.kind, at: slot.outputIndex) } }
            if let half = self.half, half.slot.item == slot.item { self.half = nil }
            let closing =
                if let other { other.closing } else {
                    unsafe self.machine.delivery.closing(texts, ofItem: slot, name: item.fingerprint)
                }
            self.machine.delivery.ended(itemOf: slot)
            guard case .rest(let offset) = closing else {
                guard self.follow(closing, at: slot) else { return false }
                continue
            }
            guard self.deliver(parts, from: offset, attempt: attempt) else { return false }
        }
        return true
    }

    /// Handles a complete response: content of its end beyond the earlier events is output too.
    ///
    /// - Returns: false when that ends the attempt.
    mutating func complete(_ summary: ResponseSummary, attempt: Int) -> Bool {
        guard self.deliverWithheld(summary, attempt: attempt), self.closeOutput(summary, attempt: attempt),
            self.closeCalls(summary)
        else { return false }
        if self.machine.delivery.isOutOfOrder(), summary.output.allSatisfy(\.parts.isEmpty) {
            self.fail(.contradictoryEvents(.outOfOrder))
            return false
        }
        self.deliverHalf(attempt: attempt)
        guard self.end == nil else { return false }
        if summary.output.isEmpty, let place = self.calls.placeOfCutCall {
            // Its arguments may lack their end, so no tool runs with them.
            return self.follow(.differs, at: place)
        }
        if self.findings.hasGap, let place = self.calls.placeOfCallByDeltas(beside: summary.output) {
            // They may lack a piece, where numbers of events are missing.
            return self.follow(.differs, at: place)
        }
        for unfinished in summary.output.isEmpty ? self.calls.unfinished() : [] {
            self.record.finished(
                unfinished.json, at: unfinished.outputIndex, name: unfinished.itemName, call: unfinished.call)
            self.hasWaitingCalls = self.options.runsCalls
            self.receivedUnfinished(unfinished.call, at: unfinished.outputIndex, attempt: attempt) {
                String(decoding: unfinished.json, as: UTF8.self)
            }
            guard self.end == nil else { return false }
        }
        let hasNothing = summary.output.isEmpty && self.record.isEmpty && !self.machine.delivery.hasDelivered
        let calls = self.completed(summary)
        // An end under another identifier is this response's only if it adds nothing, behind some output.
        if !calls.isEmpty || hasNothing, self.machine.delivery.endsUnderAnotherName() {
            self.fail(.contradictoryEvents(.otherResponse))
            return false
        }
        if !calls.isEmpty { self.hasWaitingCalls = self.options.runsCalls }
        for call in calls {
            self.receivedUnfinished(call.call, at: call.outputIndex, attempt: attempt) {
                String(decoding: call.json, as: UTF8.self)
            }
            guard self.end == nil else { return false }
        }
        return true
    }

    /// Delivers output that came behind the end of its item, where the list has an item with exactly all of its text;
    /// returns false when that ends the attempt.
    private mutating func deliverWithheld(_ summary: ResponseSummary, attempt: Int) -> Bool {
        guard let slot = self.machine.delivery.withheldSlot() else { return true }
        let kinds = Self.outputKinds.filter {
            ReplaySlot($0, outputIndex: 0, partIndex: 0)?.kind.isConcatenated(with: slot.kind) ?? false
        }
        // The list of an end under another identifier may be another response's.
        let items = self.machine.delivery.endsUnderAnotherName() ? [] : self.rootItems(of: summary)
        for (_, item) in items {
            for kind in kinds {
                let texts = unsafe self.parts(of: item, at: 0, ofKind: kind).map { unsafe $0.text.utf8 }
                guard let bytes = unsafe self.machine.delivery.release(as: texts) else { continue }
                unsafe bytes.withUnsafeBufferPointer {
                    unsafe self.received(BorrowedText(validatedUTF8: $0), in: slot, attempt: attempt)
                }
                return self.end == nil
            }
        }
        self.fail(.contradictoryEvents(.itemContinued, at: slot))
        return false
    }

    /// Records that the response is complete; returns the calls that have not come before.
    private mutating func completed(_ summary: ResponseSummary) -> [CallStatements.Unfinished] {
        let isPlaceShared = self.machine.delivery.areIndicesShared()
        let calls = self.calls
        let drafts = calls.drafts(in: summary.output)
        return self.record.completed(
            summary, responseID: self.responseID, answered: self.options.answeredCalls, isPlaceShared: isPlaceShared,
            drafts: drafts
        ) { calls.members(completing: $0, at: drafts.outputIndex(of: $1), isPlaceShared: isPlaceShared) }
    }

    /// Compares a complete response, which repeats all texts of all items, if it lists any; some servers omit reasoning.
    ///
    /// Its items may be numbered differently than before, so each kind of text is compared as a whole. Gateways finish
    /// messages with an empty `content` (reported: agentgateway/agentgateway pull request 2281), so a list with such a
    /// message, and without any text of the kind, says nothing about it. Neither does one that omits a message without an end
    /// and lists later calls (`omitsOpenMessage`).
    /// - Returns: false when that ends the attempt.
    private mutating func closeOutput(_ summary: ResponseSummary, attempt: Int) -> Bool {
        let isNamedOtherwise = self.machine.delivery.endsUnderAnotherName()
        let omitsTexts = summary.output.contains(where: \.isEmptyMessage)
        for kind in Self.outputKinds {
            let parts = self.parts(of: summary, ofKind: kind)
            guard parts.isEmpty else {
                guard self.close(parts, of: summary, attempt: attempt) else { return false }
                continue
            }
            let mustBeListed = isNamedOtherwise || !omitsTexts && (kind == .text || kind == .refusal)
            guard mustBeListed, !summary.output.isEmpty,
                let slot = ReplaySlot(kind, outputIndex: 0, partIndex: 0),
                let newest = self.machine.delivery.newestSlot(of: slot.kind),
                isNamedOtherwise || !self.omitsOpenMessage(summary, ofKind: slot.kind)
            else { continue }
            return self.follow(.differs, at: newest)
        }
        return true
    }

    /// Returns whether a list omits only messages that have no end: it has calls, no message, and all its items have come
    /// before, by their identifiers; no number of an event is missing.
    ///
    /// Ollama does so where the model calls a tool behind some text (`buildFinalOutput` in its openai/responses.go).
    private mutating func omitsOpenMessage(_ summary: ResponseSummary, ofKind kind: ReplaySlot.Kind) -> Bool {
        !self.findings.hasGap && summary.output.contains(where: \.isCall)
            && !summary.output.contains { $0.kind == .message }
            && self.machine.delivery.isOpen(outputOf: kind, besides: summary.output.map(\.fingerprint))
    }

    /// The kinds of text that the consumer gets, each of which is a sequence of its own or a part of one.
    private static var outputKinds: [ResponseEvent.DeltaKind] { [.text, .refusal, .reasoningSummary, .reasoningText] }

    /// A text at the end of an item or a response.
    private struct EndPart {
        let slot: ReplaySlot
        let text: BorrowedText

        /// Returns the part as one of another kind or item.
        func moved(to kind: ReplaySlot.Kind, at outputIndex: Int) -> Self {
            let slot = ReplaySlot(kind, outputIndex: outputIndex, partIndex: self.slot.partIndex)
            return Self(slot: slot, text: self.text)
        }
    }

    /// Returns the root's items with their positions in a list, which may leave the agents of the others out.
    private mutating func rootItems(of summary: ResponseSummary) -> [(index: Int, item: ItemSummary)] {
        var items: [(index: Int, item: ItemSummary)] = []
        for (index, item) in summary.output.enumerated()
        where !item.isAside && !self.machine.delivery.isAside(named: item.fingerprint) {
            items.append((index, item))
        }
        return items
    }

    /// Returns the parts of a kind that a list has; those of reasoning that repeat the other member's output are moved there.
    private mutating func parts(of summary: ResponseSummary, ofKind kind: ResponseEvent.DeltaKind) -> [EndPart] {
        let items = self.rootItems(of: summary)
        let parts = items.flatMap { self.parts(of: $0.item, at: $0.index, ofKind: kind) }
        guard kind == .reasoningSummary || kind == .reasoningText, let first = parts.first else { return parts }
        let other: ResponseEvent.DeltaKind = kind == .reasoningText ? .reasoningSummary : .reasoningText
        let isAlone = items.allSatisfy { self.parts(of: $0.item, at: $0.index, ofKind: other).isEmpty }
        let member = unsafe self.machine.delivery.member(
            of: parts.map { unsafe $0.text.utf8 }, ofKind: first.slot.kind, isAlone: isAlone)
        return parts.map { $0.moved(to: member, at: $0.slot.outputIndex) }
    }

    private func parts(
        of item: ItemSummary, at outputIndex: Int, ofKind kind: ResponseEvent.DeltaKind
    ) -> [EndPart] {
        item.parts.compactMap { part in
            guard part.kind == kind, !part.text.isEmpty,
                let slot = ReplaySlot(kind, outputIndex: outputIndex, partIndex: part.index)
            else { return nil }
            return EndPart(slot: slot, text: part.text)
        }
    }

    /// Returns the parts without those of items that the list repeats, under one identifier and with one text.
    private func withoutRepeatedItems(_ parts: [EndPart], of summary: ResponseSummary) -> [EndPart] {
        var named: [UInt64: ItemSummary] = [:]
        var repeated: Set<Int> = []
        for (index, item) in summary.output.enumerated() where !item.isAside && item.fingerprint != 0 {
            guard let first = named[item.fingerprint] else {
                named[item.fingerprint] = item
                continue
            }
            let isSame = first.parts.elementsEqual(item.parts) {
                unsafe $0.kind == $1.kind && $0.index == $1.index && $0.text.utf8.elementsEqual($1.text.utf8)
            }
            if isSame { repeated.insert(index) }
        }
        return parts.filter { !repeated.contains($0.slot.outputIndex) }
    }

    /// Compares the parts with the output; where that leaves a rest or fails, an item that the list repeats is taken
    /// once.
    ///
    /// - Returns: the result, and the parts that it is about.
    private mutating func compare(
        _ parts: [EndPart], of summary: ResponseSummary
    ) -> (closing: ReplayLedger.Closing, parts: [EndPart]) {
        let closing = self.closing(parts)
        if closing == .whole || closing == .rewritten { return (closing, parts) }
        let others = self.withoutRepeatedItems(parts, of: summary)
        guard !others.isEmpty, others.count < parts.count else { return (closing, parts) }
        let other = self.closing(others)
        return other == .differs || other == .outOfPlace ? (closing, parts) : (other, others)
    }

    private mutating func closing(_ parts: [EndPart]) -> ReplayLedger.Closing {
        unsafe self.machine.delivery.closing(parts.map { unsafe $0.text.utf8 }, ofKind: parts[0].slot.kind)
    }

    /// Handles an incomplete response: content of its end beyond the deltas is output like theirs.
    ///
    /// A server may retract content there, so that another text is no contradiction.
    mutating func deliverRest(_ summary: ResponseSummary, attempt: Int) {
        guard !self.machine.delivery.endsUnderAnotherName(), self.deliverWithheld(summary, attempt: attempt) else {
            return
        }
        for kind in Self.outputKinds {
            let parts = self.parts(of: summary, ofKind: kind)
            guard !parts.isEmpty else { continue }
            let (closing, compared) = self.compare(parts, of: summary)
            guard case .rest(let offset) = closing else { continue }
            if self.half?.slot.kind == parts[0].slot.kind { self.half = nil }
            guard self.deliver(compared, from: offset, attempt: attempt) else { return }
        }
        self.deliverHalf(attempt: attempt)
    }

    private mutating func close(_ parts: [EndPart], of summary: ResponseSummary, attempt: Int) -> Bool {
        if self.half?.slot.kind == parts[0].slot.kind { self.half = nil }
        let (closing, compared) = self.compare(parts, of: summary)
        guard case .rest(let offset) = closing else { return self.follow(closing, at: parts[0].slot) }
        if self.machine.delivery.endsUnderAnotherName() {
            self.fail(.contradictoryEvents(.otherResponse, at: parts[0].slot))
            return false
        }
        return self.deliver(compared, from: offset, attempt: attempt)
    }

    /// Delivers the texts from an offset on, which counts from the first byte of the first one; returns false when that
    /// ends the attempt.
    private mutating func deliver(_ parts: [EndPart], from start: Int, attempt: Int) -> Bool {
        var offset = start
        for part in parts {
            defer { offset = max(0, offset - part.text.byteCount) }
            guard offset < part.text.byteCount else { continue }
            // The rest of a part continues the slot of its beginning.
            let slot = offset > 0 ? self.machine.delivery.newestSlot(of: part.slot.kind) ?? part.slot : part.slot
            let rest = part.text.dropping(first: offset)
            self.machine.delivery.supplies(rest.byteCount, to: slot)
            self.received(rest, in: slot, attempt: attempt)
            guard self.end == nil else { return false }
        }
        return true
    }

    /// Handles the result of a comparison without a rest; returns false when that ends the attempt.
    private mutating func follow(_ closing: ReplayLedger.Closing, at slot: ReplaySlot) -> Bool {
        switch closing {
        case .whole, .rest:
            return true
        case .rewritten:
            if !self.findings.isRewritten {
                self.findings.isRewritten = true
                self.report(ChappieDiagnostic(kind: .contentRewritten, transport: self.transport))
            }
            return true
        case .differs, .outOfPlace:
            let word: ResponseOrder.Violation = closing == .differs ? .closingDiffers : .closingOutOfPlace
            let isNamedOtherwise = self.machine.delivery.endsUnderAnotherName()
            self.fail(.contradictoryEvents(isNamedOtherwise ? .otherResponse : word, at: slot))
        }
        return false
    }

    // MARK: Calls

    /// Handles a delta of a call's arguments or input; returns false when that ends the attempt.
    mutating func wroteCall(_ text: BorrowedText, _ event: ResponseEvent, at outputIndex: Int) -> Bool {
        let hasHalves = event.deltaHalves.first != 0 || event.deltaHalves.second != 0
        let verdict = self.calls.wrote(
            text, at: outputIndex, itemName: event.itemName, hasHalves: hasHalves,
            isPlaceShared: self.machine.delivery.areIndicesShared())
        return self.follow(verdict, at: outputIndex)
    }

    /// Handles the beginning of an item; returns false when that ends the attempt.
    mutating func announceCall(_ item: ItemSummary, at outputIndex: Int) -> Bool {
        guard item.isCall else {
            if item.kind == .other { self.calls.tookOther(at: outputIndex) }
            return true
        }
        return self.follow(self.calls.announced(item, at: outputIndex), at: outputIndex)
    }

    /// Handles the whole text that closes a call's deltas; returns false when that ends the attempt.
    mutating func closeCall(
        _ kind: FinishedCall.Kind, with text: BorrowedText, _ event: ResponseEvent, at outputIndex: Int
    ) -> Bool {
        let verdict = self.calls.closed(
            text, kind, at: outputIndex, itemName: event.itemName, name: self.closingName,
            isPlaceShared: self.machine.delivery.areIndicesShared())
        if case .completes(let call, let members) = verdict { self.record.complete(call: call, with: members) }
        return self.follow(verdict, at: outputIndex)
    }

    /// Handles the calls that a complete response lists again; returns false when that ends the attempt.
    private mutating func closeCalls(_ summary: ResponseSummary) -> Bool {
        let place = self.calls.contradiction(
            in: summary.output, isPlaceShared: self.machine.delivery.areIndicesShared())
        return place.map { self.follow(.differs, at: $0) } ?? true
    }

    /// Handles the result of a comparison of calls; returns false when that ends the attempt.
    mutating func follow(_ verdict: CallStatements.Verdict, at outputIndex: Int) -> Bool {
        switch verdict {
        case .same, .completes, .repeated:
            return true
        case .differs:
            self.fail(.contradictoryEvents(.closingDiffers, at: ReplaySlot(.toolCall, outputIndex: outputIndex)))
        case .tooMuch:
            self.fail(.outputTooLarge(limit: self.options.limits.outputByteCount))
        }
        return false
    }
}
