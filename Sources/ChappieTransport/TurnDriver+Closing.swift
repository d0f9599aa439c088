import ResponseEvents
import StreamSession

/// Compares the closing events of a part, of an item and of the response with the deltas.
extension TurnDriver {
    /// A slot is closed with its whole text.
    ///
    /// - Returns: false when that ends the attempt.
    @discardableResult
    func close(_ slot: ReplaySlot, with text: BorrowedText, attempt: Int) -> Bool {
        guard self.machine.isClosed(slot.outputIndex), self.machine.isReading(attempt) else {
            return self.action == nil
        }
        if self.half?.slot == slot { self.half = nil }
        let closing = unsafe self.machine.closing(text.utf8.span, in: slot)
        guard case .rest(let offset) = closing else { return self.follow(closing, at: slot) }
        self.received(text.dropping(first: offset), in: slot, attempt: attempt)
        return self.action == nil
    }

    /// An item is finished: it has all its texts.
    ///
    /// - Returns: false when that ends the attempt.
    func closeParts(of item: ItemSummary, at outputIndex: Int, attempt: Int) -> Bool {
        for part in item.parts {
            guard let slot = ReplaySlot(part.kind, outputIndex: outputIndex, partIndex: part.index) else { continue }
            guard self.close(slot, with: part.text, attempt: attempt) else { return false }
        }
        return true
    }

    /// The response is complete, and has all texts of all items once more.
    ///
    /// Where its items stand may be counted otherwise than before, so each kind of text is compared as a whole.
    /// - Returns: false when that ends the attempt.
    func closeOutput(_ summary: ResponseSummary, attempt: Int) -> Bool {
        for kind in [ResponseEvent.DeltaKind.text, .refusal, .reasoningSummary, .reasoningText] {
            var parts: [(slot: ReplaySlot, text: BorrowedText)] = []
            for (index, item) in summary.output.enumerated() where !item.isAside {
                for part in item.parts where part.kind == kind && !part.text.isEmpty {
                    guard let slot = ReplaySlot(kind, outputIndex: index, partIndex: part.index) else { continue }
                    parts.append((slot, part.text))
                }
            }
            guard parts.isEmpty || self.close(parts, of: summary, attempt: attempt) else { return false }
        }
        return true
    }

    private func close(
        _ parts: [(slot: ReplaySlot, text: BorrowedText)], of summary: ResponseSummary, attempt: Int
    ) -> Bool {
        if self.half?.slot.kind == parts[0].slot.kind { self.half = nil }
        let closing = unsafe self.machine.closing(
            parts.map { unsafe $0.text.utf8 }, ofKind: parts[0].slot.kind, itemCount: summary.output.count)
        guard case .rest(var offset) = closing else { return self.follow(closing, at: parts[0].slot) }
        for part in parts {
            defer { offset = max(0, offset - part.text.byteCount) }
            guard offset < part.text.byteCount else { continue }
            // The rest of a part continues the slot of its beginning.
            let slot = offset > 0 ? self.machine.newestSlot(of: part.slot.kind) ?? part.slot : part.slot
            self.received(part.text.dropping(first: offset), in: slot, attempt: attempt)
            guard self.action == nil else { return false }
        }
        return true
    }

    /// Does what a comparison asks for that has found no rest; false when that ends the attempt.
    private func follow(_ closing: ReplayLedger.Closing, at slot: ReplaySlot) -> Bool {
        switch closing {
        case .whole, .rest:
            return true
        case .rewritten:
            if self.attempt?.isRewritten == false {
                self.attempt?.isRewritten = true
                self.report(ChappieDiagnostic(kind: .contentRewritten, transport: self.attempt?.transport))
            }
            return true
        case .differs:
            self.failed(.contradictoryEvents(.closingDiffers, at: slot))
        case .outOfPlace:
            self.failed(.contradictoryEvents(.closingOutOfPlace, at: slot))
        }
        return false
    }

    // MARK: Calls

    /// A delta of a call's arguments or input; false when that ends the attempt.
    func wroteCall(_ text: BorrowedText, _ event: ResponseEvent, at outputIndex: Int) -> Bool {
        let hasHalves = event.deltaHalves.first != 0 || event.deltaHalves.second != 0
        let verdict = self.calls.wrote(text, at: outputIndex, itemName: event.itemName, hasHalves: hasHalves)
        return self.follow(verdict, at: outputIndex)
    }

    /// An item begins; false when that ends the attempt.
    func announceCall(_ item: ItemSummary, at outputIndex: Int) -> Bool {
        !item.isCall || self.follow(self.calls.announced(item, at: outputIndex), at: outputIndex)
    }

    /// The deltas of a call are closed with the whole text; false when that ends the attempt.
    func closeCall(
        _ kind: ReplayedToolCall.Kind, with text: BorrowedText, _ event: ResponseEvent, at outputIndex: Int
    ) -> Bool {
        let verdict = self.calls.closed(
            text, kind, at: outputIndex, itemName: event.itemName, isPlaceShared: self.machine.areIndicesShared())
        return self.follow(verdict, at: outputIndex)
    }

    /// An item is finished; false when that ends the attempt.
    func finishCall(_ item: ItemSummary, at outputIndex: Int) -> Bool {
        guard item.isCall else { return true }
        let isPlaceShared = self.machine.areIndicesShared()
        return self.follow(
            self.calls.finished(item, at: outputIndex, isPlaceShared: isPlaceShared), at: outputIndex)
    }

    /// The response is complete, and lists its calls once more; false when that ends the attempt.
    func closeCalls(_ summary: ResponseSummary) -> Bool {
        let place = self.calls.contradiction(in: summary.output, isPlaceShared: self.machine.areIndicesShared())
        return place.map { self.follow(.differs, at: $0) } ?? true
    }

    private func follow(_ verdict: CallStatements.Verdict, at outputIndex: Int) -> Bool {
        switch verdict {
        case .same:
            return true
        case .differs:
            self.failed(.contradictoryEvents(.closingDiffers, at: ReplaySlot(.toolCall, outputIndex: outputIndex)))
        case .tooMuch:
            self.failed(.outputTooLarge(limit: self.engine.configuration.limits.outputByteCount))
        }
        return false
    }
}
