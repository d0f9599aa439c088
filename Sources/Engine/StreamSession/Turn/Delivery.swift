/// The response as received so far: its output, the shape of its events and their numbers, over all attempts that read
/// it.
///
/// A value of the turn's state machine. Members that are called for every event are mutating, so that they access the
/// value in place: to read `order` in another module copies it, and Swift 6.3.1 without optimisation destroys that copy
/// incorrectly. So are those with several uses of the value: the compiler takes seconds for each one that is not.
package struct Delivery: ~Copyable, Sendable {
    /// The treatment of an event, by its number.
    enum NumberVerdict {
        /// Read it.
        case read
        /// Read it, and report that numbers are missing before it.
        case readBehindGap
        /// Ignore it: it has come before.
        case skip
        /// It contradicts an earlier event: the turn ends.
        case diverges
        /// The attempt ends.
        case fails(AttemptFailure)
    }

    /// The relation of reasoning to what its item has in the other member.
    enum Mirror {
        /// It is output like any other.
        case own
        /// The item has it.
        case repeated
        /// It differs, and so does what was withheld of the member: that is output before it.
        case differs(withheld: String)
        /// The item has the bytes before the offset; the others are output of the place, with which the members stay
        /// alike.
        case rest(from: Int, of: ReplaySlot)
    }

    /// The end that a delta comes behind.
    private enum EndBefore {
        /// The closing text of its slot.
        case slot
        /// The end of the item that it names.
        case item
    }

    private var ledger: ReplayLedger
    /// The numbers of the response that is read.
    private var tracker: SequenceTracker
    /// The shape and the identity of the response that is read.
    ///
    /// Other modules change it in place.
    package var order = ResponseOrder()
    /// The server's identifier for that response.
    private(set) var responseID: String?
    /// Indicates whether the response is complete and has all of the delivered output, which is final.
    private(set) var isComplete = false
    /// The end that the delta comes behind that was judged last; nil when it is in time.
    private var endBeforeDelta: EndBefore?
    /// Indicates whether the current event has a number.
    private var isEventNumbered = false
    /// Indicates whether output was delivered since the last event with a number.
    private(set) var hasUnnumberedOutput = false
    /// Indicates whether the server was asked for the events behind a number, and has not sent a later number since.
    private var awaitsNumber = false
    /// The number of finished items of the current attempt, counted from the first one without a gap.
    private var finishedItemCount = 0
    /// Indicates whether a call of a broken attempt was run, to be given back with its output.
    private(set) var hasCarriedCall = false
    /// Indicates whether the turn continues a response that another turn has requested.
    let isResumption: Bool
    /// Indicates whether an attempt was begun, and whether another one was.
    private var hasBegun = false
    private var hasBegunAgain = false
    /// The number of bytes of reasoning that were withheld because the item has them in its other member, by the item and
    /// the member (`ReplaySlot.item`); nil once they differ.
    private var mirrored: [ReplaySlot: Int?] = [:]
    /// The number of bytes at the end of a member's reasoning that the other member has brought and the member's own deltas
    /// have not repeated, by the item and the member.
    private var ahead: [ReplaySlot: Int] = [:]
    /// The events that the other turn has delivered; nil when there are none.
    var earlier: EarlierDelivery?

    /// Creates the value before the first event.
    ///
    /// - Parameters:
    ///   - isResumable: whether the server can be asked for the rest of a broken response.
    ///   - outputByteCountLimit: the maximum output of each kind, in bytes.
    ///   - point: the position at which a response is continued that another turn has requested; nil for a request.
    init(isResumable: Bool, outputByteCountLimit: Int, resuming point: ResumeCursor? = nil) {
        self.ledger = ReplayLedger(byteCountLimit: outputByteCountLimit)
        self.tracker = SequenceTracker(isResumable: isResumable)
        self.isResumption = point != nil
        self.responseID = point?.responseID
        self.earlier = point?.lastSequenceNumber.map { EarlierDelivery(upTo: $0) }
        if let point { self.order.expects(responseID: point.responseID) }
    }

    // MARK: The delivered output

    /// Indicates whether output was delivered; raw events do not count.
    package var hasDelivered: Bool { self.ledger.hasDelivered }

    /// The delivered text.
    package var deliveredText: String { self.ledger.deliveredText }

    /// The delivered output, by kind.
    package var deliveredOutput: [(kind: ReplaySlot.Kind, text: String)] { self.ledger.deliveredOutput }

    /// The number of bytes of replayed output that were compared and withheld.
    package var verifiedByteCount: Int { self.ledger.verifiedByteCount }

    /// Indicates whether all delivered output has come in this attempt.
    var isCaughtUp: Bool { self.ledger.isCaughtUp }

    /// Records that the response is complete; returns whether it has all of the delivered output.
    mutating func finish() -> ReplayLedger.Completion {
        let completion = self.ledger.finish()
        self.isComplete = completion == .whole
        return completion
    }

    /// Begins the delivery anew with the answer that has diverged; returns false when that is not possible.
    mutating func restart() -> Bool { !self.isResumption && self.ledger.restart() }

    /// Decides about a delta of output, which must be whole UTF-8.
    @inline(__always)
    mutating func admit(_ bytes: Span<UInt8>, in slot: ReplaySlot) -> ReplayLedger.Admission {
        let admission = self.ledger.admit(bytes, in: slot)
        self.note(admission)
        return admission
    }

    /// Returns whether output continues the slot of the last byte of its channel, as output of that alone.
    @inline(__always)
    mutating func continues(_ slot: ReplaySlot) -> Bool { self.ahead.isEmpty && self.ledger.continues(slot) }

    /// Compares reasoning with what its item has in its other member: servers send each piece in both (reported:
    /// peonist-ai/halogen-flash-server issue 67, chenyme/grok2api pull request 960), and either may be first.
    ///
    /// `mirrored` is called next where there is a rest, when it was admitted.
    @inline(never)
    mutating func mirror(_ bytes: Span<UInt8>, in slot: ReplaySlot) -> Mirror {
        if let lead = self.ahead[slot.item] {
            guard let count = self.ledger.repeatedCount(of: bytes, in: slot, atEnd: lead) else {
                self.ahead[slot.item] = nil
                return .own
            }
            if count < bytes.count { return .rest(from: count, of: slot) }
            self.ahead[slot.item] = lead > count ? lead - count : nil
            return .repeated
        }
        guard let count = self.mirrored[slot.item] ?? 0 else { return .own }
        switch self.ledger.compareReasoning(bytes, in: slot, from: count) {
        case .rest(let offset, let place):
            return .rest(from: offset, of: place)
        case .repeated:
            self.mirrored[slot.item] = count + bytes.count
            return .repeated
        case .differs:
            self.mirrored[slot.item] = .some(nil)
            return count == 0 ? .own : .differs(withheld: self.ledger.otherReasoning(of: slot, upTo: count))
        case nil:
            return .own
        }
    }

    /// Records that the rest was admitted which `mirror` has named.
    mutating func mirrored(_ byteCount: Int, in slot: ReplaySlot, from offset: Int, of place: ReplaySlot) {
        if place == slot {
            self.ahead[slot.item] = nil
        } else {
            self.mirrored[slot.item] = ((self.mirrored[slot.item] ?? 0) ?? 0) + byteCount
            self.ahead[place.item, default: 0] += byteCount - offset
        }
    }

    /// Decides about a finished tool call.
    mutating func admitToolCall(_ content: [UInt8], at outputIndex: Int) -> ReplayLedger.Admission {
        let admission = self.ledger.admitToolCall(content, at: outputIndex)
        self.note(admission)
        return admission
    }

    /// Returns whether an event of the wire is passed on unparsed, because it has not come before.
    mutating func admitRaw(type: String, outputIndex: Int?) -> Bool {
        self.ledger.admitRaw(type: type, outputIndex: outputIndex)
    }

    @inline(__always)
    private mutating func note(_ admission: ReplayLedger.Admission) {
        if case .deliver = admission, !self.isEventNumbered { self.hasUnnumberedOutput = true }
    }

    // MARK: Items

    /// Begins an item: where it has the index of an earlier one, the output of its kind so far belongs to that one.
    mutating func begin(item outputIndex: Int) {
        guard self.order.areIndicesShared, let kind = self.order.kind(at: outputIndex) else { return }
        self.ledger.beginItem(outputIndex, of: kind)
        for member in self.mirrored.keys where member.outputIndex == outputIndex { self.mirrored[member] = nil }
        for member in self.ahead.keys where member.outputIndex == outputIndex { self.ahead[member] = nil }
    }

    /// Records that an item is finished; returns whether it can be given back to the server as input.
    mutating func finished(item outputIndex: Int) -> Bool {
        guard outputIndex == self.finishedItemCount else { return false }
        self.finishedItemCount += 1
        return true
    }

    /// Records that a finished call of the broken attempt is run, to be given back to the server with its output.
    ///
    /// Giving it back again is as safe as the first time. A caller that sends the request anew has it run twice.
    package mutating func callCarried() { self.hasCarriedCall = true }

    /// The number of finished items that can be given back in place of delivered output; 0 when items cannot be told
    /// apart by their indices.
    mutating func carriedItemCount() -> Int {
        // An item that goes on behind its end is not finished.
        let count = min(
            self.finishedItemCount, self.order.finishedItemCount, self.ledger.withheld?.slot.outputIndex ?? .max)
        return self.ledger.canSettle(itemCount: count) ? count : 0
    }

    /// Returns whether an item belongs to an agent other than the root, so that its text is not the response's.
    package mutating func isAside(_ outputIndex: Int) -> Bool { self.order.isAside(outputIndex) }

    /// Returns whether the item with a name belongs to an agent other than the root.
    package mutating func isAside(named name: UInt64) -> Bool { self.order.isAside(named: name) }

    /// Returns whether an item was announced that is not done.
    package mutating func hasOpenItem() -> Bool { self.order.hasOpenItem }

    /// Returns whether an item's closing events are compared with its output: it is the root's, and announced once.
    package mutating func isClosed(_ outputIndex: Int) -> Bool {
        !self.order.isAside(outputIndex) && !self.order.isRepeated(outputIndex)
    }

    /// Returns whether an item has been announced under the same name at the same index.
    package mutating func isAnnounced(_ name: UInt64, at outputIndex: Int) -> Bool {
        self.order.isAnnounced(name, at: outputIndex)
    }

    /// Returns whether one index may stand for several items of the response.
    package mutating func areIndicesShared() -> Bool { self.order.areIndicesShared }

    /// Returns whether text under a name is reasoning (`ResponseOrder.takesAsReasoning`).
    package mutating func takesAsReasoning(_ name: @autoclosure () -> UInt64) -> Bool {
        self.order.takesAsReasoning(name())
    }

    /// Returns the index of the item that an event with this name and index belongs to.
    package mutating func place(of name: UInt64, at outputIndex: Int) -> Int {
        self.order.place(of: name, at: outputIndex)
    }

    // MARK: Closing events

    /// Returns whether the response has ended under another identifier (`ResponseOrder.endsUnderAnotherName`).
    package mutating func endsUnderAnotherName() -> Bool { self.order.endsUnderAnotherName }

    /// Returns the place of the done item whose closing event may come again (`ResponseOrder.doneItem`).
    package mutating func doneItem(at outputIndex: Int, name: UInt64, kind: ItemKind) -> Int? {
        self.order.doneItem(at: outputIndex, name: name, kind: kind)
    }

    /// Returns whether texts are what the item of a slot, or with `isPart` one slot of it, has been closed with
    /// (`ReplayLedger.isClosed`).
    package mutating func isClosed(
        _ slot: ReplaySlot, by texts: [UnsafeBufferPointer<UInt8>], isPart: Bool
    ) -> Bool {
        unsafe self.ledger.isClosed(slot, by: texts, isPart: isPart)
    }

    /// Compares the closing text of a slot with the slot's output.
    ///
    /// A rest is output like any other: `TurnStateMachine.deltaReceived` is called with it next.
    package mutating func closing(_ text: Span<UInt8>, in slot: ReplaySlot) -> ReplayLedger.Closing {
        self.ledger.isCounted = self.tracker.countsByOne
        return self.ledger.close(text, in: slot)
    }

    /// Compares all closing texts of a kind that an item's end has, in order, with the item's output of that kind;
    /// `supplies` is called next with each rest.
    package mutating func closing(
        _ texts: [UnsafeBufferPointer<UInt8>], ofItem slot: ReplaySlot, name: UInt64
    ) -> ReplayLedger.Closing {
        let isKnown = self.order.isKnown(name, at: slot.outputIndex)
        self.ledger.isCounted = self.tracker.countsByOne
        let isAlone = self.ledger.openSlot(of: slot.kind).map { self.order.hasOwner($0) } ?? true
        return unsafe self.ledger.close(texts, ofItem: slot, isKnown: isKnown, isAlone: isAlone)
    }

    /// Records that the end of an item was compared with the output of the slot's item and kind.
    package mutating func ended(itemOf slot: ReplaySlot) { self.ledger.ended(itemOf: slot) }

    /// Records that closing texts bring the next bytes of a slot, which are output like any other.
    package mutating func supplies(_ byteCount: Int, to slot: ReplaySlot) {
        self.ledger.supplies(byteCount, to: slot)
    }

    /// Judges a delta by its slot and its item's name; `shape` is shared by deltas of one slot and one item only, and 0
    /// when it is unknown.
    package mutating func judge(deltaIn slot: ReplaySlot, name: UInt64, shape: UInt = 0) -> ResponseOrder.Verdict {
        let isClosed = !self.ledger.closed.isEmpty && self.ledger.isClosed(self.own(slot, name: name))
        self.endBeforeDelta = isClosed ? .slot : nil
        let verdict = self.order.delta(in: slot, name: name, shape: shape, isBehindClosing: isClosed)
        guard verdict == .violation(.itemContinued), slot.kind != .toolCall else { return verdict }
        // The text of other agents is not compared with a list.
        let own = self.own(slot, name: name)
        guard self.order.hasOwner(own, named: name), !self.order.isAside(own.outputIndex) else { return verdict }
        self.endBeforeDelta = .item
        return .fine
    }

    /// Returns the slot that an event means with a name and an index.
    private mutating func own(_ slot: ReplaySlot, name: UInt64) -> ReplaySlot {
        let place = self.order.place(of: name, at: slot.outputIndex)
        return ReplaySlot(slot.kind, outputIndex: place, partIndex: slot.partIndex)
    }

    /// Returns whether the delta that was judged last is of a slot that a text has closed, or of an item that has ended,
    /// so that it comes too late.
    package mutating func isBehindClosing() -> Bool { self.endBeforeDelta != nil }

    /// Compares such a delta with the text that has closed its slot; one behind the end of its item is withheld.
    ///
    /// Where items share an index, it may be the beginning of the next item.
    package mutating func late(_ text: Span<UInt8>, in slot: ReplaySlot) -> ReplayLedger.Late {
        if self.endBeforeDelta == .item { return self.ledger.withhold(text, in: slot) }
        let late = self.ledger.late(text, in: slot)
        return late == .contradiction && self.order.areIndicesShared ? .isNew : late
    }

    /// Returns the slot of the output that is withheld because it came behind the end of its item; nil for none.
    package mutating func withheldSlot() -> ReplaySlot? { self.ledger.withheld?.slot }

    /// Returns that output if the texts at the end of the response have it (`ReplayLedger.release`).
    package mutating func release(as texts: [UnsafeBufferPointer<UInt8>]) -> [UInt8]? {
        unsafe self.ledger.release(as: texts)
    }

    /// Returns the slot of a closing text whose event names this slot, and optionally the item's name.
    package mutating func place(of text: Span<UInt8>, in slot: ReplaySlot, name: UInt64) -> ReplaySlot {
        // Where both items were announced under names, the names tell them apart.
        if let newest = self.ledger.openSlot(of: slot.kind), self.order.hasOwner(newest),
            self.order.hasOwner(slot, named: name)
        {
            return slot
        }
        let isUnannounced = [slot, self.ledger.openSlot(of: slot.kind) ?? slot].contains(
            where: self.order.isUnannounced)
        return self.ledger.place(
            of: text, in: slot, isKnown: self.order.isKnown(name, at: slot.outputIndex), isUnannounced: isUnannounced)
    }

    /// Compares the closing texts of a slot of reasoning, or of an item and kind from its first slot on, with what the item
    /// has in its other member; the same event has no text of that if `isAlone` is true.
    ///
    /// - Returns: the slot that they close, and the result; nil when they are compared with the output of their own member.
    package mutating func closingOther(
        _ texts: [UnsafeBufferPointer<UInt8>], in slot: ReplaySlot, name: UInt64, isAlone: Bool = true
    ) -> (slot: ReplaySlot, closing: ReplayLedger.Closing)? {
        guard let kind = slot.kind.otherReasoning, let first = unsafe texts.first,
            !self.ledger.hasOutput(ofItemOf: slot)
        else { return nil }
        self.ledger.isCounted = self.tracker.countsByOne
        let other = ReplaySlot(kind, outputIndex: slot.outputIndex, partIndex: slot.partIndex)
        let place = unsafe self.place(of: first.span, in: other, name: name)
        return unsafe self.ledger.closeOther(texts, in: slot, at: place, isAlone: isAlone)
    }

    /// Returns the member whose output the reasoning is that the list at the end of the response has in one member: the
    /// other one, if that has all output, and the list repeats it, or has reasoning in one member alone and begins with it.
    package mutating func member(
        of texts: [UnsafeBufferPointer<UInt8>], ofKind kind: ReplaySlot.Kind, isAlone: Bool
    ) -> ReplaySlot.Kind {
        guard let other = kind.otherReasoning, self.ledger.newestSlot(of: kind) == nil,
            self.ledger.newestSlot(of: other) != nil
        else { return kind }
        switch unsafe self.closing(texts, ofKind: other) {
        case .whole, .rewritten: return other
        case .rest, .outOfPlace: return isAlone ? other : kind
        case .differs: return kind
        }
    }

    /// Compares all closing texts of a kind, in order, with the kind's output.
    package mutating func closing(
        _ texts: [UnsafeBufferPointer<UInt8>], ofKind kind: ReplaySlot.Kind
    ) -> ReplayLedger.Closing {
        self.ledger.isCounted = self.tracker.countsByOne
        return unsafe self.ledger.close(texts, ofKind: kind)
    }

    /// Returns whether a text is all output of the newest item of a kind.
    package mutating func isNewest(_ text: Span<UInt8>, of kind: ReplaySlot.Kind) -> Bool {
        self.ledger.isNewest(text, of: kind)
    }

    /// Returns the slot that more output of a kind continues; nil when the kind has no output.
    package mutating func newestSlot(of kind: ReplaySlot.Kind) -> ReplaySlot? { self.ledger.newestSlot(of: kind) }

    /// Returns whether all output of a kind is of announced items without an end, that no text has closed, and items with
    /// all of these names have come.
    package mutating func isOpen(outputOf kind: ReplaySlot.Kind, besides names: [UInt64]) -> Bool {
        names.allSatisfy(self.order.hasNamed)
            && self.ledger.openSlots(of: kind).map { $0.allSatisfy(self.order.isOpen) } ?? false
    }

    /// Returns whether output has come in another order than its numbers, without a closing text that confirms it.
    package mutating func isOutOfOrder() -> Bool { self.tracker.hasOvertakenOutput && self.ledger.closed.isEmpty }

    // MARK: Numbers

    /// Indicates whether the server can be asked for the rest of a broken response, so that its events' numbers decide.
    package var isResumable: Bool { self.tracker.isResumable }

    /// Returns whether numbers are evaluated; false for a server that does not count.
    package mutating func readsNumbers() -> Bool { !self.tracker.ignoresNumbers }

    /// The highest number that has come; nil when there is none.
    var lastNumber: Int? { self.tracker.last }

    /// Returns whether numbers of a resumable response are missing before this one.
    package mutating func leavesNumbersOut(_ number: Int?) -> Bool { self.tracker.leavesNumbersOut(number) }

    /// Returns whether a delta continues the last one's slot and item, by its shape.
    package mutating func isRunning(_ shape: UInt) -> Bool { self.order.isRunning(shape) }

    /// Returns whether more output of a slot, of an item without a name, continues the last delta.
    package mutating func isRunning(_ slot: ReplaySlot) -> Bool { self.order.isRunning(slot) }

    /// Takes the number of a delta that follows the previous event; returns false when it has to be judged.
    @inline(__always)
    package mutating func takesNext(_ number: Int, fingerprint: UInt64) -> Bool {
        self.tracker.takeNext(number, fingerprint: fingerprint)
    }

    /// Returns whether an event has come before, with the same number.
    package mutating func isRepeated(_ number: Int?, fingerprint: UInt64) -> Bool {
        self.tracker.isRepeated(number, fingerprint: fingerprint)
    }

    /// Returns whether a different event has come with the number before, of a response whose numbers are reliable.
    mutating func isContradicted(by number: Int?, fingerprint: UInt64) -> Bool {
        self.isResumable && !self.maySendUselessNumbers && self.tracker.isTaken(number)
            && !self.tracker.isRepeated(number, fingerprint: fingerprint)
    }

    /// Indicates whether a number that does not rise shows that the server does not count: nothing is repeated yet, and
    /// nothing was delivered that it could contradict.
    private var maySendUselessNumbers: Bool { !self.hasBegunAgain && !self.isResumption && !self.hasDelivered }

    /// Judges an event by its number.
    mutating func judge(_ number: Int?, fingerprint: UInt64, isOutput: Bool) -> NumberVerdict {
        if self.awaitsNumber, let failure = self.judgeRest(number, isOutput: isOutput) { return .fails(failure) }
        if let earlier, self.tracker.last == nil, let fault = earlier.fault(ofFirst: number, isOutput: isOutput) {
            return .fails(fault)
        }
        self.isEventNumbered = number != nil
        let verdict = self.tracker.received(number, fingerprint: fingerprint, isOutput: isOutput)
        switch self.tracker.consequence(of: verdict) {
        case .deliver:
            // Behind a gap, output without a number would be repeated: then the response is read from its beginning.
            if number != nil { self.hasUnnumberedOutput = false }
            return self.afterDelivering(verdict, number: number)
        case .drop:
            return .skip
        case .fail:
            // The missing events are requested, as after a cut.
            if case .gap(let expected, let found) = verdict {
                return .fails(.sequenceGap(expected: expected, found: found))
            }
            guard self.maySendUselessNumbers else { return .diverges }
            self.tracker.giveUp()
            return .read
        }
    }

    /// Judges the first events of a server's answer to a request for the events behind a number.
    ///
    /// Output without a number may have been delivered before; then the response is read from its beginning, and
    /// compared.
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

    /// Returns the treatment of an event whose number does not prevent its reading.
    ///
    /// Where the connection's earlier responses had every number, one that is out of order may be a late event of
    /// theirs.
    private mutating func afterDelivering(_ verdict: SequenceTracker.Verdict, number: Int?) -> NumberVerdict {
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

    /// Records the response's identifier; the first one counts.
    mutating func named(_ responseID: String) { self.responseID = self.responseID ?? responseID }

    /// Records that the response has failed: it cannot be resumed any more.
    mutating func ended() { self.responseID = nil }

    /// Returns the position at which the response is resumed after a failure; nil when the server does not keep it, or
    /// has not named it.
    mutating func cursor(after failure: AttemptFailure) -> ResumeCursor? {
        guard self.isResumable, let responseID = self.responseID else { return nil }
        // Output without a number may have come behind the last number: it would be repeated. After a contradiction the
        // numbers themselves may be those of another response.
        let isUncertain = self.hasUnnumberedOutput || failure.isContradiction
        return ResumeCursor(responseID: responseID, lastSequenceNumber: isUncertain ? nil : self.tracker.last)
    }

    /// The knowledge about the connection's responses that the next one on it gets.
    package var earlierResponses: EarlierResponses { self.order.asEarlier(countsByOne: self.tracker.countsByOne) }

    /// Begins a response on a connection that has carried others.
    mutating func begin(after previousResponseID: String?, earlier: EarlierResponses) {
        self.order = ResponseOrder(previousResponseID: previousResponseID, earlier: earlier)
    }

    /// Resumes the response; without a number of the position, it is read from its beginning.
    mutating func resume(at cursor: ResumeCursor) {
        (self.hasBegun, self.hasBegunAgain) = (true, self.hasBegun)
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

    /// Begins another response, which has to repeat the delivered output, except for items that go back to the server.
    mutating func expectReplay(settling itemCount: Int) {
        let isSettled = self.ledger.beginReplay(settling: itemCount)
        assert(isSettled, "the ledger was asked before whether these items can be settled")
        (self.hasBegun, self.hasBegunAgain) = (true, self.hasBegun)
        self.readsAnother(after: nil, EarlierResponses())
    }

    /// Begins a response that continues this one; returns false when this one is incomplete and cannot be continued.
    mutating func beginSuccessor(after previousResponseID: String?) -> Bool {
        guard self.ledger.beginSuccessor() else { return false }
        self.readsAnother(
            after: previousResponseID, previousResponseID == nil ? EarlierResponses() : self.earlierResponses)
        return true
    }

    /// Forgets what is known of the previous response, as it does not apply to the next one.
    private mutating func readsAnother(after previousResponseID: String?, _ earlier: EarlierResponses) {
        self.order = ResponseOrder(previousResponseID: previousResponseID, earlier: earlier)
        self.tracker = SequenceTracker(isResumable: self.tracker.isResumable)
        self.responseID = nil
        self.hasUnnumberedOutput = false
        self.awaitsNumber = false
        self.mirrored.removeAll()
        self.ahead.removeAll()
        self.finishedItemCount = 0
    }
}

/// The position at which a response that the server keeps is resumed.
package struct ResumeCursor: Equatable, Sendable {
    /// The response's identifier.
    package let responseID: String
    /// The number after which events are requested; nil to read the response from its beginning.
    package let lastSequenceNumber: Int?

    /// Creates a position in a response.
    package init(responseID: String, lastSequenceNumber: Int?) {
        self.responseID = responseID
        self.lastSequenceNumber = lastSequenceNumber
    }
}
