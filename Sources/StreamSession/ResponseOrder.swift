/// Judges the order of one response's events.
///
/// It belongs to the turn's state machine, and with it to the stream's one consumer. It performs no I/O. One value
/// judges one response, over as many connections as it is fetched with.
///
/// # The order
///
/// A response is created, items are added, written and done, and it ends once. Many servers keep to that loosely, and
/// most of what they do is harmless, because neither identifiers nor announcements decide what is delivered: the
/// replay ledger compares slots and bytes. So little is a violation:
///
/// | what comes | verdict |
/// |---|---|
/// | a response that is created again before it has output | tolerated: a gateway asked another server |
/// | a response that is created again after it has output | violation: its text would follow text of the first |
/// | an index below 0 or above 65,535 | violation: it is no position, and what is remembered is bounded |
/// | output before the response is created, or of items never added | tolerated: some servers announce nothing |
/// | an item added or done twice, and its output after that | tolerated: some servers give several items one index |
/// | output of an item that was added once and is done | violation: it was complete, and someone may have acted on it |
/// | an end with another response identifier, no item open | tolerated, it ends the response: some change identifiers |
/// | such an end in the middle of an item | foreign: the response it names is another one |
/// | output before the response is created, on a connection whose responses were created | foreign |
/// | an end, or news, of the response before on this connection | foreign |
/// | whatever comes after the end: a second end, another response | foreign |
/// | on a connection that goes on with the response: another identifier, while none has changed before | violation |
///
/// A response that is fetched again from where it broke is judged by what came before, too: it is the same value. One
/// that is fetched again from its beginning has to have the same identifier.
///
/// Item identifiers are not looked at. Some servers change them from event to event. Some give every response the same
/// identifier: one that is created with the identifier of the response before is the response that was asked for.
package struct ResponseOrder: Sendable {
    /// What an event is to its response.
    package enum Verdict: Equatable, Sendable {
        /// It is where it belongs.
        case fine
        /// It is read like any other, but worth a diagnostic; each oddity is reported once, then it is fine.
        case tolerated(Oddity)
        /// It is no part of the response that is read, and must be dropped: it does not end it either.
        case foreign
        /// The response cannot be read on.
        case violation(Violation)
    }

    /// What some servers do.
    package enum Oddity: UInt8, Sendable, CaseIterable {
        /// The response was created twice before it had output.
        case createdAgain
        /// Output or an item came before the response was created.
        case notCreated
        /// The response has another identifier than it was created with.
        case responseIDChanged
        /// Output or the end of an item that was never added.
        case itemNotAdded
        /// An item with the same index was added before.
        case itemAddedAgain
        /// An item with the same index was done before.
        case itemDoneAgain
        /// Output of an item that was done.
        case itemContinued
    }

    /// What would break the promise.
    package enum Violation: Hashable, Sendable, CaseIterable {
        /// A position that is none, or too high.
        case indexOutOfRange
        /// Another response, or the same once more, begins where one has output.
        case responseRestarted
        /// Output of an item that is done.
        case itemContinued
        /// The server was asked for the rest of a response, and answers with another one.
        case otherResponse
    }

    private enum Phase {
        /// Nothing has named the response yet.
        case beginning
        case reading
        case ended
    }

    /// The largest output or part index.
    package static let maximumIndex = ItemIndexSet.maximumIndex

    private let previousResponseID: String?
    private var phase: Phase = .beginning
    /// The identifier that the response was created with; nil when the server told none.
    private var responseID: String?
    /// Whether the response is fetched again under its identifier.
    private var isResumed = false
    private var hasOutput = false
    private var added = ItemIndexSet()
    private var done = ItemIndexSet()
    /// The slot of the last input, if that was output and fine: more of it is fine as well, and changes nothing.
    private var running: ReplaySlot?
    /// A bit for each oddity that was seen.
    private var seenOddities: UInt8 = 0

    /// Nothing has come yet.
    ///
    /// - Parameter previousResponseID: the response before on the same connection, which may still have something to
    ///   say.
    package init(previousResponseID: String? = nil) { self.previousResponseID = previousResponseID }

    /// How many items are done, from the first on without a gap.
    ///
    /// It is 0 when items cannot be told apart by their indices, because some share one: such items cannot be given back
    /// to the server in place of the output that was delivered at their indices.
    package var finishedItemCount: Int {
        let ambiguous: [Oddity] = [.itemAddedAgain, .itemDoneAgain, .itemContinued]
        return ambiguous.contains(where: self.hasSeen) ? 0 : self.done.leadingCount
    }

    /// True when the response was odd in this way.
    package func hasSeen(_ oddity: Oddity) -> Bool { self.seenOddities & (1 << oddity.rawValue) != 0 }

    /// The response is fetched again from where it broke, and goes on.
    package mutating func resumed() {
        self.isResumed = true
        self.running = nil
        // An error event, for one, may have ended the attempt; the server still has the response.
        if self.phase == .ended { self.phase = .reading }
    }

    /// The response is fetched again from its beginning: its identifier stays.
    package mutating func restarted() {
        let responseID = self.responseID
        let hasChanged = self.hasSeen(.responseIDChanged)
        self = Self(previousResponseID: nil)
        self.responseID = responseID
        self.isResumed = true
        if hasChanged { _ = self.tolerate(.responseIDChanged) }
    }

    /// The server says that a response begins.
    package mutating func created(responseID: String?) -> Verdict {
        self.running = nil
        switch self.phase {
        case .beginning:
            let verdict = self.judge(responseID)
            if case .violation = verdict { return verdict }
            self.phase = .reading
            self.responseID = responseID ?? self.responseID
            return verdict

        case .reading:
            guard !self.isPrevious(responseID) else { return .foreign }
            if self.isResumed, case .violation(let violation) = self.judge(responseID) { return .violation(violation) }
            guard !self.hasOutput else { return .violation(.responseRestarted) }
            self.responseID = responseID
            return self.tolerate(.createdAgain)

        case .ended:
            return .foreign
        }
    }

    /// Another event, which is neither output nor an end, names its response.
    package mutating func mentioned(responseID: String?) -> Verdict {
        self.running = nil
        guard !self.isPrevious(responseID) else { return .foreign }
        switch self.phase {
        case .beginning: return self.isResumed ? self.judge(responseID) : .fine
        case .reading: return self.judge(responseID)
        case .ended: return .foreign
        }
    }

    /// An item begins.
    package mutating func itemAdded(_ outputIndex: Int) -> Verdict {
        self.judgeOutput(outputIndex) { order in
            order.added.insert(outputIndex) ? .fine : order.tolerate(.itemAddedAgain)
        }
    }

    /// An item is finished.
    package mutating func itemDone(_ outputIndex: Int) -> Verdict {
        self.judgeOutput(outputIndex) { order in
            order.hasOutput = true
            guard order.done.insert(outputIndex) else { return order.tolerate(.itemDoneAgain) }
            return order.added.contains(outputIndex) ? .fine : order.tolerate(.itemNotAdded)
        }
    }

    /// More output of a slot.
    package mutating func delta(in slot: ReplaySlot) -> Verdict {
        if let running = self.running, running == slot { return .fine }
        let verdict = self.judgeOutput(slot.outputIndex, slot.partIndex) { order in
            order.hasOutput = true
            guard !order.done.contains(slot.outputIndex) else { return order.continued() }
            return order.added.contains(slot.outputIndex) ? .fine : order.tolerate(.itemNotAdded)
        }
        if case .fine = verdict { self.running = slot }
        return verdict
    }

    /// The response ends, well or not.
    package mutating func terminal(responseID: String?) -> Verdict {
        self.running = nil
        guard self.phase != .ended, !self.isPrevious(responseID) else { return .foreign }
        let verdict = self.judge(responseID)
        switch verdict {
        case .violation: return verdict
        case .fine: break
        case .tolerated, .foreign: if self.hasOpenItem { return .foreign }
        }
        self.phase = .ended
        return verdict
    }

    /// Whether an item was added that is not done.
    private var hasOpenItem: Bool { self.added.hasIndex(beyond: self.done) }

    /// Whether the identifier is that of the response before, and not also that of the one that is read.
    private func isPrevious(_ responseID: String?) -> Bool {
        guard let responseID, responseID == self.previousResponseID else { return false }
        return self.phase == .beginning || self.responseID != responseID
    }

    /// Output of an item that is done: where indices tell items apart, it cannot be another one's.
    private mutating func continued() -> Verdict {
        let areIndicesShared = [Oddity.itemNotAdded, .itemAddedAgain, .itemDoneAgain].contains(where: self.hasSeen)
        return areIndicesShared ? self.tolerate(.itemContinued) : .violation(.itemContinued)
    }

    private mutating func judge(_ responseID: String?) -> Verdict {
        guard let responseID, let known = self.responseID, responseID != known else { return .fine }
        // A server that changes identifiers does it from the beginning on.
        if self.isResumed, !self.hasSeen(.responseIDChanged) { return .violation(.otherResponse) }
        return self.tolerate(.responseIDChanged)
    }

    private mutating func judgeOutput(
        _ outputIndex: Int, _ partIndex: Int = 0, _ judge: (inout Self) -> Verdict
    ) -> Verdict {
        self.running = nil
        switch self.phase {
        case .ended:
            return .foreign

        case .beginning where self.previousResponseID != nil:
            // This server announces its responses, so it is what is left of the one before.
            return .foreign

        case .beginning, .reading:
            let range = 0...Self.maximumIndex
            guard range.contains(outputIndex), range.contains(partIndex) else { return .violation(.indexOutOfRange) }
            let verdict = judge(&self)
            guard case .beginning = self.phase, case .fine = verdict else { return verdict }
            return self.tolerate(.notCreated)
        }
    }

    private mutating func tolerate(_ oddity: Oddity) -> Verdict {
        guard !self.hasSeen(oddity) else { return .fine }
        self.seenOddities |= 1 << oddity.rawValue
        return .tolerated(oddity)
    }
}
