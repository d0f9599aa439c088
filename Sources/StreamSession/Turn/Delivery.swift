/// The response as far as it has come: its output, the shape of its events and their numbers, over all attempts that
/// read it.
///
/// A value of the turn's state machine. Members that are asked with every event are mutating, so that they look at the
/// value where it lies: one that is only looked at is copied first, and Swift 6.3.1 without optimisation destroys that
/// copy wrongly.
package struct Delivery: ~Copyable, Sendable {
    /// What to do with an event, by its number.
    enum NumberVerdict {
        /// Read it.
        case read
        /// Read it, and tell that numbers are missing before it.
        case readBehindGap
        /// Nothing: it has come before.
        case skip
        /// It contradicts an event that has come: the turn ends.
        case diverges
        /// The attempt ends.
        case fails(AttemptFailure)
    }

    private var ledger: ReplayLedger
    /// The numbers of the response that is read.
    private var tracker: SequenceTracker
    /// The shape and the identity of the response that is read.
    ///
    /// Other modules change it in place.
    package var order = ResponseOrder()
    /// The server's name for that response.
    private var responseID: String?
    /// Indicates whether the event at hand has a number.
    private var isEventNumbered = false
    /// Indicates whether output was delivered since the last event with a number.
    private var hasUnnumberedOutput = false
    /// Indicates whether the server was asked for what is behind a number, and has not sent a number behind it since.
    private var awaitsNumber = false
    /// Finished items of the attempt that runs, counted from the first one without a gap.
    private var finishedItemCount = 0
    /// Indicates whether a call of a broken attempt was run, to be given back with its output.
    private(set) var hasCarriedCall = false

    /// Nothing has come.
    ///
    /// - Parameters:
    ///   - isResumable: whether the server can be asked for the rest of a broken response.
    ///   - outputByteCountLimit: the most output of each kind, in bytes.
    init(isResumable: Bool, outputByteCountLimit: Int) {
        self.ledger = ReplayLedger(byteCountLimit: outputByteCountLimit)
        self.tracker = SequenceTracker(isResumable: isResumable)
    }

    // MARK: What the consumer has

    /// Indicates whether output was delivered; raw events are none.
    package var hasDelivered: Bool { self.ledger.hasDelivered }

    /// The text that was delivered.
    package var deliveredText: String { self.ledger.deliveredText }

    /// How many bytes of replayed output were compared and withheld.
    package var verifiedByteCount: Int { self.ledger.verifiedByteCount }

    /// Indicates whether everything that was delivered has come in this attempt.
    var isCaughtUp: Bool { self.ledger.isCaughtUp }

    /// The response is complete: whether it has everything that was delivered.
    mutating func finish() -> ReplayLedger.Completion { self.ledger.finish() }

    /// A delta of output: whole UTF-8.
    @inline(__always)
    mutating func admit(_ bytes: Span<UInt8>, in slot: ReplaySlot) -> ReplayLedger.Admission {
        let admission = self.ledger.admit(bytes, in: slot)
        self.note(admission)
        return admission
    }

    /// A finished tool call that is to be handed over.
    mutating func admit(_ call: ReplayedToolCall) -> ReplayLedger.Admission {
        let admission = self.ledger.admitToolCall(call)
        self.note(admission)
        return admission
    }

    /// Returns whether an event of the wire is passed on unparsed: it has not come before.
    mutating func admitRaw(type: String, outputIndex: Int?) -> Bool {
        self.ledger.admitRaw(type: type, outputIndex: outputIndex)
    }

    @inline(__always)
    private mutating func note(_ admission: ReplayLedger.Admission) {
        if case .deliver = admission, !self.isEventNumbered { self.hasUnnumberedOutput = true }
    }

    // MARK: Items

    /// An item begins: where it has the index of an earlier one, what came there belongs to that one.
    mutating func begin(item outputIndex: Int) {
        if self.order.areIndicesShared { self.ledger.beginItem(outputIndex) }
    }

    /// An item is finished: whether it can be given back to the server as input.
    mutating func finished(item outputIndex: Int) -> Bool {
        guard outputIndex == self.finishedItemCount else { return false }
        self.finishedItemCount += 1
        return true
    }

    /// A finished call of the attempt that broke is run, to be given back to the server with its output.
    ///
    /// It may be given back again, which is as safe as before. A caller that sends the request anew has it run twice.
    package mutating func callCarried() { self.hasCarriedCall = true }

    /// How many finished items can be given back in place of what was delivered: items that cannot be told apart by
    /// their indices cannot.
    var carriedItemCount: Int {
        let count = min(self.finishedItemCount, self.order.finishedItemCount)
        return self.ledger.canSettle(itemCount: count) ? count : 0
    }

    /// Returns whether an item belongs to an agent other than the root, so that its text is not the response's.
    package mutating func isAside(_ outputIndex: Int) -> Bool { self.order.isAside(outputIndex) }

    /// Returns whether an item was announced that is not done.
    package mutating func hasOpenItem() -> Bool { self.order.hasOpenItem }

    /// Returns whether the closing events of an item are held against its output: it is the root's, and announced once.
    package mutating func isClosed(_ outputIndex: Int) -> Bool {
        !self.order.isAside(outputIndex) && !self.order.isRepeated(outputIndex)
    }

    /// Returns whether an item has been announced under the same name at the same index.
    package mutating func isAnnounced(_ name: UInt64, at outputIndex: Int) -> Bool {
        self.order.isAnnounced(name, at: outputIndex)
    }

    /// Returns whether one index may stand for several items of the response.
    package mutating func areIndicesShared() -> Bool { self.order.areIndicesShared }

    /// The index of the item that an event with this name and index belongs to.
    package mutating func place(of name: UInt64, at outputIndex: Int) -> Int {
        self.order.place(of: name, at: outputIndex)
    }

    // MARK: Closing events

    /// Returns whether what the end of the response has beyond the events before it may be another response's.
    package mutating func endsUnderAnotherName() -> Bool { self.order.endsUnderAnotherName }

    /// Holds the text that a slot is closed with against what has come of it.
    ///
    /// A rest is output like any other: `TurnStateMachine.deltaReceived` is told of it next.
    package mutating func closing(_ text: Span<UInt8>, in slot: ReplaySlot) -> ReplayLedger.Closing {
        self.ledger.close(text, in: slot)
    }

    /// The slot that a closing text belongs to, of which an event says this slot, and the item's name or none.
    package mutating func place(of text: Span<UInt8>, in slot: ReplaySlot, name: UInt64) -> ReplaySlot {
        let mayBeElsewhere = self.order.isUnannounced(name, at: slot.outputIndex)
        return self.ledger.place(of: text, in: slot, mayBeElsewhere: mayBeElsewhere)
    }

    /// Holds all texts of a kind that the response is closed with, in order, against what has come of that kind.
    package mutating func closing(
        _ texts: [UnsafeBufferPointer<UInt8>], ofKind kind: ReplaySlot.Kind, itemCount: Int
    ) -> ReplayLedger.Closing {
        // An item that was announced at two indices is one that the end may list once, and one that is open may be an
        // earlier response's: none is left out then.
        let isListed = self.order.hasRepeats || self.order.mayHaveLateItem
        return unsafe self.ledger.close(texts, ofKind: kind, itemCount: isListed ? .max : itemCount)
    }

    /// The slot that more output of a kind continues; nil when nothing has come of the kind.
    package mutating func newestSlot(of kind: ReplaySlot.Kind) -> ReplaySlot? { self.ledger.newestSlot(of: kind) }

    /// Returns whether output has come in another order than its numbers, and no closing text has shown that it is
    /// right.
    package mutating func isOutOfOrder() -> Bool { self.tracker.hasOvertakenOutput && self.ledger.closed.isEmpty }

    // MARK: Numbers

    /// Indicates whether the server can be asked for the rest of a broken response, so that its events' numbers decide.
    package var isResumable: Bool { self.tracker.isResumable }

    /// Returns whether numbers are looked at: not those of a server that does not count.
    package mutating func readsNumbers() -> Bool { !self.tracker.ignoresNumbers }

    /// Returns whether numbers of a response that can be fetched again are missing before this one.
    package mutating func leavesNumbersOut(_ number: Int?) -> Bool { self.tracker.leavesNumbersOut(number) }

    /// Returns whether a delta is more output of the slot and the item that the last one was output of, by its shape.
    package mutating func isRunning(_ shape: UInt) -> Bool { self.order.isRunning(shape) }

    /// Takes the number of a delta that follows the event before; false when it has to be judged.
    @inline(__always)
    package mutating func takesNext(_ number: Int, fingerprint: UInt64) -> Bool {
        self.tracker.takeNext(number, fingerprint: fingerprint)
    }

    /// Returns whether an event has come before, with the same number.
    package mutating func isRepeated(_ number: Int?, fingerprint: UInt64) -> Bool {
        self.tracker.isRepeated(number, fingerprint: fingerprint)
    }

    /// Returns whether another event has come with the number before, of a response whose numbers are believed.
    mutating func isContradicted(by number: Int?, fingerprint: UInt64) -> Bool {
        self.isResumable && self.tracker.isTaken(number)
            && !self.tracker.isRepeated(number, fingerprint: fingerprint)
    }

    /// Judges an event by its number.
    mutating func judge(_ number: Int?, fingerprint: UInt64, isOutput: Bool) -> NumberVerdict {
        if self.awaitsNumber, let failure = self.judgeRest(number, isOutput: isOutput) { return .fails(failure) }
        self.isEventNumbered = number != nil
        let verdict = self.tracker.received(number, fingerprint: fingerprint, isOutput: isOutput)
        switch self.tracker.consequence(of: verdict) {
        case .deliver:
            // Behind a gap the output without a number would come again: then the response is read from its beginning.
            if number != nil { self.hasUnnumberedOutput = false }
            return self.afterDelivering(verdict, number: number)
        case .drop:
            return .skip
        case .fail:
            // The missing events are asked for, as after a cut.
            guard case .gap(let expected, let found) = verdict else { return .diverges }
            return .fails(.sequenceGap(expected: expected, found: found))
        }
    }

    /// Looks at the beginning of what a server has sent in answer to a request for the events behind a number.
    ///
    /// Output without a number may be output that was delivered, so that the response is read from its beginning then,
    /// and compared.
    private mutating func judgeRest(_ number: Int?, isOutput: Bool) -> AttemptFailure? {
        guard let last = self.tracker.last else {
            self.awaitsNumber = false
            return nil
        }
        if let number {
            if number > last { self.awaitsNumber = false }
            return nil
        }
        guard isOutput else { return nil }
        self.hasUnnumberedOutput = true
        return .sequenceGap(expected: last + 1, found: nil)
    }

    /// The treatment of an event whose number does not forbid to read it.
    ///
    /// Where the connection's responses before had every number, one that is out of order may be a late event of
    /// theirs.
    private func afterDelivering(_ verdict: SequenceTracker.Verdict, number: Int?) -> NumberVerdict {
        switch verdict {
        case .inOrder, .untracked, .duplicate, .forgotten:
            return .read
        case .contradiction where self.order.hasRestarted:
            return .fails(.contradictoryEvents(.responseRestarted))
        case .gap, .late, .contradiction:
            guard let number, self.order.expectsEveryNumber, !self.isResumable else {
                guard case .gap = verdict else { return .read }
                return .readBehindGap
            }
            return .fails(.sequenceGap(expected: (self.tracker.last ?? -1) + 1, found: number))
        }
    }

    // MARK: The next response, or the rest of this one

    /// The server has named the response; the first name counts.
    mutating func named(_ responseID: String) { self.responseID = self.responseID ?? responseID }

    /// The server says that the response has failed: nothing of it can be asked for any more.
    mutating func ended() { self.responseID = nil }

    /// Where the response can be taken up again; nil when the server does not keep it, or has not named it.
    var cursor: ResumeCursor? {
        guard self.isResumable, let responseID = self.responseID else { return nil }
        // Behind the last number, output may have come that has none: it would come again.
        let last = self.hasUnnumberedOutput ? nil : self.tracker.last
        return ResumeCursor(responseID: responseID, lastSequenceNumber: last)
    }

    /// The knowledge about the connection's responses that the next one on it gets.
    package var earlierResponses: EarlierResponses { self.order.asEarlier(countsByOne: self.tracker.countsByOne) }

    /// The response comes on a connection that has carried others.
    mutating func begin(after previousResponseID: String?, earlier: EarlierResponses) {
        self.order = ResponseOrder(previousResponseID: previousResponseID, earlier: earlier)
    }

    /// The rest of the response is asked for; without a number that says where it broke, it comes from its beginning.
    mutating func resume(at cursor: ResumeCursor) {
        if cursor.lastSequenceNumber == nil {
            let name = self.responseID
            var order = self.order
            order.restarted()
            self.expectReplay(settling: 0)
            self.responseID = name
            self.order = order
        } else {
            self.order.resumed()
        }
        self.awaitsNumber = cursor.lastSequenceNumber != nil
    }

    /// Another response follows: it has to begin with what was delivered of those before, but for items that go back to
    /// the server.
    mutating func expectReplay(settling itemCount: Int) {
        let isSettled = self.ledger.beginReplay(settling: itemCount)
        assert(isSettled, "the ledger was asked before whether these items can be settled")
        self.readsAnother(after: nil, EarlierResponses())
    }

    /// Another response follows that goes on from this one; false when it cannot, because this one is not all there.
    mutating func beginSuccessor(after previousResponseID: String?) -> Bool {
        guard self.ledger.beginSuccessor() else { return false }
        self.readsAnother(
            after: previousResponseID, previousResponseID == nil ? EarlierResponses() : self.earlierResponses)
        return true
    }

    /// Whatever is known of the response that was read says nothing about the one that follows.
    private mutating func readsAnother(after previousResponseID: String?, _ earlier: EarlierResponses) {
        self.order = ResponseOrder(previousResponseID: previousResponseID, earlier: earlier)
        self.tracker = SequenceTracker(isResumable: self.tracker.isResumable)
        self.responseID = nil
        self.hasUnnumberedOutput = false
        self.awaitsNumber = false
        self.finishedItemCount = 0
    }
}

/// Where to go on in a response that the server keeps.
package struct ResumeCursor: Equatable, Sendable {
    /// The response's identifier.
    package let responseID: String
    /// The number of the newest event that came; nil when none had one.
    package let lastSequenceNumber: Int?

    /// A place in a response.
    package init(responseID: String, lastSequenceNumber: Int?) {
        self.responseID = responseID
        self.lastSequenceNumber = lastSequenceNumber
    }
}
