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
/// | event | verdict |
/// |---|---|
/// | a response that is created again before it has items or output | tolerated: a gateway asked another server |
/// | a response that is created again after it has either | violation: items of both would be mixed |
/// | news that the answer begins anew, before and after it has output | the same |
/// | an event that begins the response or an open item again by its number, then another event under an old number | the same |
/// | more deltas of an open item with output that was announced again under its name, with a number of its own or none | the same |
/// | news that name another response for the first time, after it has output | the same |
/// | an index below 0 or above 65,535 | violation: it is no position, and what is remembered is bounded |
/// | output before the response is created, or of items never added | tolerated: some servers send no announcements |
/// | an item added or done twice, and its output after that | tolerated: some servers give several items one index |
/// | output of an item that was added once and is done, under its name or none | violation: it was complete, and may have been acted on; text under its name may be withheld (`Delivery`) |
/// | a delta of a slot that a text has closed | as any other: the ledger knows whether the text had it |
/// | deltas of text of two named items of one index alternately | violation: two answers are written at once |
/// | an item with output is said to be another agent's | violation: its text was taken for the root's |
/// | an end with another response identifier, while none has changed before | tolerated: its list has to be what came |
/// | such an end without a list, in the middle of an item that was added | foreign: the response it names is another one |
/// | the same, while an item with output, which was never added, is not done | violation: it may be another one's |
/// | output before the response is created, on a connection whose responses were created | foreign |
/// | an end, or news, of the previous response on this connection | foreign |
/// | any event after the end: a second end, another response | foreign |
/// | on a connection that resumes the response: another identifier, while none has changed before | violation |
/// | there: an item is named differently than before, while none has changed before | the same |
/// | there: such an event whose number has come before | the same |
///
/// A response that is resumed is judged by its earlier events, too: it is the same value. One that is fetched again
/// from its beginning has to have the same identifier.
///
/// # Items' identifiers
///
/// An item's identifier has precedence over its index where both are given: an event that names an item belongs to that
/// item, at any index (`place`). Of items that are announced under names at one index each is read at a place of its
/// own. An item that is announced again at another index is another one from there on. An index is no evidence where an
/// item of another kind has it. A closing event under the index of a done item, and under a name that no item has, is
/// that of the open item, unless it repeats what the done one was closed with (`doneItem`). Some servers change
/// identifiers from event to event: a new one in place of a known one is no evidence. Later, on a connection whose
/// responses named each item once (`EarlierResponses`), they identify late events of an earlier response:
///
/// | event on such a connection | verdict |
/// |---|---|
/// | output, or the end, of an item that an earlier response had and this one has not announced | foreign |
/// | the same without a name, of an item that has one or was not announced | foreign |
/// | the end of a response without output of its own names, after such output | violation: it may have been its own |
///
/// On a connection whose responses announced their items, with names or without:
///
/// | event on such a connection | verdict |
/// |---|---|
/// | output, or the end, of an item that this response has not announced, while it has announced others | foreign |
/// | the same of text with a name that no response had, where the earlier ones named their items | as any other |
/// | the end of a response that lists no items, after such output | violation: it may have been its own |
///
/// Some servers give every response the same identifier: a response created with the identifier of the previous one is
/// the requested one, and so is an item that is announced again. Where the request has the outputs of calls of the
/// previous response, and this one has no identifier of its own, it is that response again if it has its items again: those
/// are foreign, and so is its end, if it lists them. An end with the previous identifier behind other output is a violation.
///
/// # Other agents
///
/// Items of agents other than the root are part of the response, but not of its text.
package struct ResponseOrder: Sendable {
    private enum Phase {
        /// No event has named the response yet.
        case beginning
        case reading
        case ended
    }

    /// The largest output or part index.
    package static let maximumIndex = ItemIndexSet.maximumIndex

    private let previousResponseID: String?
    /// The responses before on the same connection.
    let earlier: EarlierResponses
    private var phase: Phase = .beginning
    /// The identifier that the response was created with; nil when the server sent none.
    private var responseID: String?
    /// The identifier that other events had last before it was created.
    private var mentionedID: String?
    /// Indicates whether the response is fetched again under its identifier.
    private var isResumed = false
    private var hasOutput = false
    /// Indicates whether the beginning of a response or item with output has come again, under its number.
    private var isRewound = false
    private var added = ItemIndexSet()
    /// Indicates whether an item of the root agent was announced.
    private var hasAnnounced = false
    private var done = ItemIndexSet()
    /// The number of items that were added and are not done.
    private var openItemCount = 0
    /// The items that have deltas or closing texts.
    private var written = ItemIndexSet()
    /// Open items with output that were announced again: more deltas of theirs would belong to an answer that begins
    /// anew.
    private var begunAgain = ItemIndexSet()
    /// The slot of the last input, if that was output with the verdict `fine`: more of it is fine and changes no state.
    private var running: ReplaySlot?
    /// The fingerprint of its item's identifier; 0 when it has none.
    private var runningName: UInt64 = 0
    /// The shape of the last delta, which other deltas of the slot and the item share; 0 when it has none.
    private var runningShape: UInt = 0
    private var itemNames = ItemNames()
    /// Indicates whether output was this response's own: where items are named, output with a name that no earlier
    /// response had.
    private var hasOwnOutput = false
    /// Indicates whether output was taken for that of an earlier response.
    private var hasDroppedOutput = false
    /// Indicates whether such output may have been this response's: only a list at the end can show that it was not.
    private var hasDroppedUnknown = false
    /// Indicates whether the response was created before all its other events.
    private var wasCreated = false
    /// The identifier at the response's end.
    private var endID: String?
    private var writers = ItemWriters()
    /// Items of agents other than the root.
    private var asides = ItemIndexSet()
    /// Items that have the name of another one.
    private var repeats = ItemIndexSet()
    /// Indicates whether the response has ended under an identifier that no event before had, where identifiers do not
    /// change: only what the end lists can show that it is this response's.
    package private(set) var endsUnderAnotherName = false
    /// The oddities that were seen, one bit each.
    private var seenOddities: UInt8 = 0

    /// Creates the value before the first event.
    ///
    /// - Parameters:
    ///   - previousResponseID: the previous response on the same connection, whose late events may still arrive.
    ///   - earlier: the knowledge about the earlier responses on it.
    package init(previousResponseID: String? = nil, earlier: EarlierResponses = EarlierResponses()) {
        self.previousResponseID = previousResponseID
        self.earlier = earlier
    }

    /// Returns the knowledge about this response and earlier ones for the next one on the connection; `countsByOne`
    /// says whether its events were numbered without a gap.
    package func asEarlier(countsByOne: Bool) -> EarlierResponses {
        // A successor that was awaited and has not come has no habits.
        guard self.phase != .beginning else { return self.earlier }
        let announcesItems = !self.added.isEmpty && !self.hasSeen(.itemNotAdded)
        let namesItems = !self.itemNames.isEmpty && announcesItems && !self.hasSeen(.itemIDChanged)
        let habits = EarlierResponses.Habits(
            announcesItems: self.hasOutput ? announcesItems : nil, namesItems: self.hasOutput ? namesItems : nil,
            countsByOne: countsByOne, createsResponses: self.wasCreated)
        var earlier = self.earlier
        earlier.add(self.itemNames.all, habits: habits, endID: self.endID)
        return earlier
    }

    /// Returns whether an item has been announced under the same name at another index.
    package func isRepeated(_ outputIndex: Int) -> Bool { self.repeats.contains(outputIndex) }

    /// Returns whether an item has been announced under the same name at the same index.
    func isAnnounced(_ name: UInt64, at index: Int) -> Bool { self.itemNames.isAnnounced(name, at: index) }

    /// Returns the place of the item that an event with this name and index belongs to.
    ///
    /// A name that only deltas have does not identify an item: gateways give the deltas of all items one identifier
    /// (reported: databricks/unity-gateway issue 99). The index does, where an item without a name was announced at it,
    /// or the item that had the name so far is done.
    package func place(of name: UInt64, at outputIndex: Int) -> Int {
        guard outputIndex >= 0 else { return outputIndex }
        guard name != 0, let place = self.itemNames.place(of: name) else {
            return self.itemNames.place(at: outputIndex)
        }
        guard place != outputIndex else { return place }
        let indexed = self.itemNames.place(at: outputIndex)
        guard self.added.contains(indexed) || self.done.contains(place) else { return place }
        return self.itemNames.isBorrowed(name, at: indexed, isOver: self.done.contains(place)) ? indexed : place
    }

    /// Returns whether an event's item is known to be the one at a place: by an announcement, or by its name where the
    /// server announces none.
    package func isKnown(_ name: UInt64, at outputIndex: Int) -> Bool {
        self.added.contains(outputIndex) || name != 0 && !self.hasAnnounced
    }

    /// Returns the kind that the item at a place was announced as; nil when it was not announced.
    package func kind(at outputIndex: Int) -> ItemKind? { self.itemNames.kind(at: outputIndex) }

    /// Returns whether the server has announced items, and none that the output of a slot can belong to.
    package func isUnannounced(_ slot: ReplaySlot) -> Bool {
        self.hasAnnounced && self.kind(at: slot.outputIndex) != slot.kind.item
    }

    /// Returns whether the output of a slot belongs to an item that was announced under a name, or under the given one.
    package func hasOwner(_ slot: ReplaySlot, named name: UInt64? = nil) -> Bool {
        guard self.itemNames.isOwner(of: slot.kind, at: slot.outputIndex) else { return false }
        return name.map { self.itemNames[slot.outputIndex] == $0 } ?? true
    }

    /// Returns whether the output of a slot belongs to an item that was announced under a name, and has no end.
    package func isOpen(_ slot: ReplaySlot) -> Bool {
        self.hasOwner(slot) && !self.done.contains(slot.outputIndex)
    }

    /// Returns whether an item of the response has a name.
    package func hasNamed(_ name: UInt64) -> Bool { name != 0 && self.itemNames.contains(name) }

    /// Returns whether text under a name is reasoning, because its item was announced as reasoning and has no output of
    /// other events: LocalAI writes reasoning so (reported: mudler/LocalAI issue 9658).
    package mutating func takesAsReasoning(_ name: @autoclosure () -> UInt64) -> Bool {
        // Most responses have no such item, and each delta asks.
        guard self.itemNames.hasReasoning else { return false }
        let name = name()
        return name != 0 && self.itemNames.takesAsReasoning(name) { self.written.contains($0) }
    }

    /// Returns whether an item belongs to an agent other than the root.
    package func isAside(_ outputIndex: Int) -> Bool { self.asides.contains(outputIndex) }

    /// Returns whether the item with a name belongs to an agent other than the root.
    package func isAside(named name: UInt64) -> Bool {
        self.itemNames.place(of: name).map { self.asides.contains($0) } ?? false
    }

    /// The number of items that are done, from the first on without a gap.
    ///
    /// It is 0 when items cannot be told apart by their indices, because some share one: such items cannot be given
    /// back to the server in place of the output that was delivered at their indices.
    package var finishedItemCount: Int {
        self.areIndicesShared ? 0 : self.done.leadingCount
    }

    /// Returns whether the response had this oddity.
    package func hasSeen(_ oddity: Oddity) -> Bool { self.seenOddities & (1 << oddity.rawValue) != 0 }

    /// Indicates whether the response has begun: mutating so that other modules access the value in place.
    package var hasBegun: Bool { mutating get { self.phase != .beginning } }

    /// Begins a response that is fetched by its identifier.
    mutating func expects(responseID: String) { self.responseID = responseID }

    /// Continues the response, which is resumed where it broke.
    package mutating func resumed() {
        self.isResumed = true
        self.stopRunning()
        // An error event, for example, may have ended the attempt; the server still has the response.
        if self.phase == .ended { self.phase = .reading }
        self.endsUnderAnotherName = false
    }

    /// Begins the response again, which is fetched from its beginning: its identifier stays.
    package mutating func restarted() {
        let responseID = self.responseID
        let hasChanged = self.hasSeen(.responseIDChanged)
        self = Self(previousResponseID: nil)
        self.responseID = responseID
        self.isResumed = true
        if hasChanged { _ = self.tolerate(.responseIDChanged) }
    }

    /// Judges the beginning of a response.
    package mutating func created(responseID: String?) -> Verdict {
        self.stopRunning()
        switch self.phase {
        case .beginning:
            guard self.mayBeMentioned(responseID) else { return .violation(.responseRestarted) }
            let verdict = self.judge(responseID)
            if case .violation = verdict { return verdict }
            self.phase = .reading
            self.wasCreated = !self.hasOutput && !self.hasSeen(.notCreated)
            self.responseID = responseID ?? self.responseID
            return verdict

        case .reading:
            guard !self.isPrevious(responseID) else { return .foreign }
            if self.isResumed, case .violation(let violation) = self.judge(responseID) { return .violation(violation) }
            guard !self.hasOutput, self.added.isEmpty else { return .violation(.responseRestarted) }
            self.responseID = responseID
            return self.tolerate(.createdAgain)

        case .ended:
            return .foreign
        }
    }

    /// Returns whether an event of a resumed response names it differently than before the break.
    ///
    /// The number alone does not prove that an event has come before, where the server creates its events anew.
    ///
    /// Mutating so that other modules access the value in place.
    package mutating func isOther(responseID: String?) -> Bool {
        guard self.isResumed, let responseID, let known = self.responseID else { return false }
        return !responseID.utf8.elementsEqual(known.utf8) && !self.hasSeen(.responseIDChanged)
    }

    /// Returns whether an event of a resumed response names an item differently than before the break.
    package mutating func isOther(_ name: UInt64, at outputIndex: Int) -> Bool {
        let outputIndex = self.place(of: name, at: outputIndex)
        guard self.isResumed, name != 0, let known = self.itemNames[outputIndex], known != name,
            ![known, name].contains(self.responseName)
        else { return false }
        return !self.areIndicesShared && !self.hasSeen(.itemIDChanged)
    }

    /// Returns whether an identifier may be that of a response that was not created: once the response has output, only the
    /// one that was mentioned last.
    private func mayBeMentioned(_ responseID: String?) -> Bool {
        guard self.hasOutput, let responseID, let mentionedID else { return true }
        return responseID.utf8.elementsEqual(mentionedID.utf8)
    }

    /// Judges an event that is neither output nor an end, and names its response.
    package mutating func mentioned(responseID: String?) -> Verdict {
        self.stopRunning()
        guard !self.isPrevious(responseID) else { return .foreign }
        switch self.phase {
        case .beginning:
            if self.isResumed { return self.judge(responseID) }
            guard self.mayBeMentioned(responseID) else { return .violation(.responseRestarted) }
            self.mentionedID = responseID ?? self.mentionedID
            return .fine
        case .reading:
            let verdict = self.judge(responseID)
            // A server that changes identifiers does so from the beginning on.
            if self.hasOutput, case .tolerated(.responseIDChanged) = verdict { return .violation(.responseRestarted) }
            return verdict
        case .ended: return .foreign
        }
    }

    /// Records that the response, or an item of it, was begun again under its number: the events from there on are sent
    /// again, or the answer begins anew.
    package mutating func rewound(to outputIndex: Int? = nil) {
        let hasOutput = outputIndex.map { self.written.contains($0) } ?? self.hasOutput
        self.isRewound = self.isRewound || hasOutput
    }

    /// Indicates whether an event that contradicts an earlier one of its number shows that the answer has begun anew.
    package var hasRestarted: Bool { self.isRewound }

    /// Judges the server's announcement that another answer replaces the one that it has begun.
    package mutating func restartAnnounced() -> Verdict {
        let verdict = self.mentioned(responseID: nil)
        return verdict == .fine && self.hasOutput ? .violation(.responseRestarted) : verdict
    }

    /// Judges the beginning of an item; `name` is the fingerprint of its identifier, 0 when it has none.
    package mutating func itemAdded(
        _ outputIndex: Int, name: UInt64 = 0, isAside: Bool = false, kind: ItemKind = .message
    ) -> Verdict {
        self.judgeOutput(outputIndex) { order in
            if order.dropsAgain(name) { return .foreign }
            var place = order.itemNames.place(at: outputIndex)
            let known = order.itemNames[place]
            if isAside {
                let isKnown = known == nil ? !order.added.contains(place) : known == name
                if isKnown, order.hasRootOutput(at: place) { return .violation(.agentChanged) }
            } else {
                order.hasAnnounced = true
            }
            let isAgain = order.added.contains(place)
            if isAgain {
                if order.isOther(name, at: outputIndex) { return .violation(.otherResponse) }
                if order.isWritten(name, at: place) { _ = order.begunAgain.insert(place) }
                // Events of the item whose index it was may still come: names say what belongs to which.
                if name != 0, known != name, order.itemNames.isNamed(place) {
                    place = order.itemNames.move(from: outputIndex, to: order.freePlace(isAside: isAside))
                }
            }
            // Recorded of a server: a finished message is announced and finished once more, at another index.
            if name != 0, order.itemNames.contains(name), order.itemNames[place] != name {
                _ = order.repeats.insert(place)
            }
            if isAside { _ = order.asides.insert(place) }
            if order.added.insert(place), !order.done.contains(place) { order.openItemCount += 1 }
            let isRoot = !isAside && !order.repeats.contains(place)
            order.itemNames.begin(name, at: place, kind: kind, isRoot: isRoot)
            return isAgain ? order.tolerate(.itemAddedAgain) : .fine
        }
    }

    /// Returns the place of the done item that a closing event has the index of, under a name that no item has, while
    /// another item of its kind is open; nil for any other event.
    ///
    /// It is the done item's event if its content is what that was closed with: a server that gives each event another
    /// identifier may repeat it. Then it says nothing of the open item.
    func doneItem(at outputIndex: Int, name: UInt64, kind: ItemKind) -> Int? {
        // Gateways that give events the response's identifier give them one index as well.
        guard !self.isResumed, name != 0, name != self.responseName, !self.itemNames.contains(name),
            self.itemNames.place(of: name) == nil, self.itemNames.onlyOpenPlace(of: kind) != nil
        else { return nil }
        let place = self.place(of: name, at: outputIndex)
        guard self.done.contains(place), self.itemNames.kind(at: place) ?? kind == kind else { return nil }
        return place
    }

    /// Judges the end of an item; with `isAgain` it repeats that of a done item.
    package mutating func itemDone(
        _ outputIndex: Int, name: UInt64 = 0, isAside: Bool = false, kind: ItemKind = .message, isAgain: Bool = false
    ) -> Verdict {
        let outputIndex =
            isAgain ? self.place(of: name, at: outputIndex) : self.place(of: name, at: outputIndex, ofKind: kind)
        return self.judgeOutput(outputIndex) { order in
            if let verdict = order.judge(name, at: outputIndex, isDone: true, isCall: kind == .call) { return verdict }
            if isAside {
                let isKnown = name == 0 ? !order.areIndicesShared : order.itemNames[outputIndex] == name
                if isKnown, order.hasRootOutput(at: outputIndex) { return .violation(.agentChanged) }
                _ = order.asides.insert(outputIndex)
            }
            order.hasOutput = true
            // It is no sign that several items have the index.
            guard !isAgain else { return .fine }
            order.itemNames.end(at: outputIndex, name)
            guard order.done.insert(outputIndex) else { return order.tolerate(.itemDoneAgain) }
            guard order.added.contains(outputIndex) else { return order.tolerate(.itemNotAdded) }
            order.openItemCount -= 1
            return .fine
        }
    }

    /// Returns whether a delta continues the last one's slot and item.
    @inline(__always)
    package func isRunning(_ shape: UInt) -> Bool { shape != 0 && shape == self.runningShape }

    /// Returns whether a delta of a slot, of an item without a name, continues the last one's.
    package func isRunning(_ slot: ReplaySlot) -> Bool { self.running == slot && self.runningName == 0 }

    /// Judges a delta; `shape` is shared by deltas of one slot and one item only, and 0 when it is unknown.
    ///
    /// With `isBehindClosing` a text has closed its slot before, so that more of it is judged one by one.
    package mutating func delta(
        in slot: ReplaySlot, name: UInt64 = 0, shape: UInt = 0, isBehindClosing: Bool = false
    ) -> Verdict {
        if let running = self.running, running == slot, name == self.runningName {
            self.runningShape = shape
            return .fine
        }
        let place = self.place(of: name, at: slot.outputIndex, ofKind: slot.kind.item, isDelta: true)
        let verdict = self.judgeOutput(place, slot.partIndex) { order in
            if let verdict = order.judge(name, at: place, isCall: slot.kind == .toolCall) { return verdict }
            order.hasOutput = true
            _ = order.written.insert(place)
            guard !order.takesTurns(name, in: slot, at: place) else { return .violation(.itemsInterleaved) }
            guard !order.begunAgain.contains(place) else { return .violation(.responseRestarted) }
            guard !order.done.contains(place) else { return order.continued(place, name) }
            return order.added.contains(place) ? .fine : order.tolerate(.itemNotAdded)
        }
        if case .fine = verdict, place == slot.outputIndex, !self.isAside(place), !isBehindClosing {
            self.running = slot
            self.runningName = name
            self.runningShape = shape
        }
        return verdict
    }

    /// Judges a closing event of a slot, which the item's end may follow or precede; with `isAgain` it repeats one of a
    /// done item.
    package mutating func closing(of slot: ReplaySlot, name: UInt64 = 0, isAgain: Bool = false) -> Verdict {
        let place =
            isAgain
            ? self.place(of: name, at: slot.outputIndex)
            : self.place(of: name, at: slot.outputIndex, ofKind: slot.kind.item)
        return self.judgeOutput(place, slot.partIndex) { order in
            if let verdict = order.judge(name, at: place, isCall: slot.kind == .toolCall) { return verdict }
            // The content beyond the deltas is output like theirs.
            order.hasOutput = true
            _ = order.written.insert(place)
            return .fine
        }
    }

    /// Judges the end of the response, of any kind.
    ///
    /// `end` has the details that matter here.
    package mutating func terminal(responseID: String?, _ end: End) -> Verdict {
        self.stopRunning()
        guard self.phase != .ended, !self.isPrevious(responseID) else { return .foreign }
        if case .complete(let names) = end {
            // This server creates its responses: the event is a late one of the previous response.
            if self.phase == .beginning, responseID == nil, self.earlier.createsResponses { return .foreign }
            if self.isPreviousEnd(responseID, names) {
                self.hasDroppedUnknown = false
                return .foreign
            }
            // Without any other identifier, its calls may be those that were answered.
            if self.earlier.areCallsAnswered, self.hasOutput, self.responseID == nil, let responseID,
                self.earlier.lastEndID.map({ $0.utf8.elementsEqual(responseID.utf8) }) ?? false
            {
                return .violation(.otherResponse)
            }
            if !self.hasOwnOutput, names.contains(where: self.isAgainOfPrevious) {
                // The requested response may still come.
                (self.phase, self.responseID) = (.beginning, nil)
                (self.hasDroppedOutput, self.hasDroppedUnknown) = (false, false)
                return .foreign
            }
        }
        let isError = end == .error
        let oddities = self.seenOddities
        let verdict = self.judge(responseID)
        switch verdict {
        case .violation: return verdict
        case .fine:
            // On a connection that has carried others, the end of a response that was named names it as well.
            if responseID == nil, !isError, self.responseID != nil, self.earlier.namesItems, self.hasOpenItem {
                return .foreign
            }
        case .tolerated, .foreign:
            // It is no evidence that this response's identifiers change.
            self.seenOddities = oddities
            let hasNoList = end == .complete(names: [])
            if self.hasOpenItem, hasNoList || end == .failure { return .foreign }
            if hasNoList, self.written.end(besides: self.done) > 0 { return .violation(.otherResponse) }
            self.endsUnderAnotherName = true
        }
        if self.hasDroppedOutput, !self.hasOwnOutput, !isError { return .violation(.itemUnknown) }
        if self.hasDroppedUnknown, end == .complete(names: []) { return .violation(.itemUnknown) }
        self.phase = .ended
        self.endID = responseID
        return verdict
    }

    /// Indicates whether an item was added that is not done.
    var hasOpenItem: Bool { self.openItemCount > 0 }

    /// Returns whether the identifier is the previous response's, and not also that of the one that is read.
    private func isPrevious(_ responseID: String?) -> Bool {
        guard let responseID, let previous = self.previousResponseID, responseID.utf8.elementsEqual(previous.utf8)
        else {
            return false
        }
        return self.phase == .beginning || self.responseID?.utf8.elementsEqual(previous.utf8) != true
    }

    /// Returns whether the end of the previous response, perhaps unannounced, comes again: it lists its items.
    private func isPreviousEnd(_ responseID: String?, _ names: [UInt64]) -> Bool {
        guard let responseID, let previous = self.earlier.lastEndID, responseID.utf8.elementsEqual(previous.utf8),
            // Some servers give every response the same identifier.
            self.responseID.map({ !$0.utf8.elementsEqual(previous.utf8) }) ?? !self.hasOutput
        else { return false }
        return names.contains { $0 != 0 && self.earlier.contains($0) && !self.itemNames.contains($0) }
    }

    /// Returns whether an item is one of the previous response that comes again: the request has the outputs of its calls,
    /// and this response has no other identifier.
    private func isAgainOfPrevious(_ name: UInt64) -> Bool {
        guard self.earlier.areCallsAnswered, self.earlier.contains(name), !self.itemNames.contains(name) else {
            return false
        }
        guard let responseID = self.responseID else { return true }
        return self.previousResponseID.map { $0.utf8.elementsEqual(responseID.utf8) } ?? false
    }

    /// Returns whether an event of an item is dropped, because the item is one of the previous response, unless servers give
    /// the items of all responses the same names.
    private mutating func dropsAgain(_ name: UInt64) -> Bool {
        guard self.isAgainOfPrevious(name) else { return false }
        self.hasDroppedOutput = true
        self.hasDroppedUnknown = true
        return true
    }

    /// Returns whether output of the root agent has come at an index.
    private func hasRootOutput(at outputIndex: Int) -> Bool {
        self.written.contains(outputIndex) && !self.asides.contains(outputIndex)
    }

    /// Returns whether another item has written at the index of a delta since the delta's item last did.
    ///
    /// Identifiers that were not announced are no evidence: some servers change them from event to event.
    private mutating func takesTurns(_ name: UInt64, in slot: ReplaySlot, at place: Int) -> Bool {
        // Each call has a place and arguments of its own; text is one sequence for a consumer.
        guard slot.kind != .toolCall, self.itemNames.contains(name), !self.asides.contains(place) else { return false }
        return self.writers.takesTurns(name, kind: slot.kind, at: slot.outputIndex)
    }

    /// Returns the place of output, or of an item's end, before it is judged; `place(of:at:)` returns it from then on.
    ///
    /// The item at the index may be over or of another kind: then the event belongs to the only open item of its kind, as
    /// gateways give the events of all items one identifier or index (reported: databricks/unity-gateway issue 99). Without
    /// one, a delta begins an item that is not announced, as a message behind announced reasoning may be (reported:
    /// BerriAI/litellm issue 41185); where names change, it may be late output of the done item.
    private mutating func place(
        of name: UInt64, at outputIndex: Int, ofKind kind: ItemKind, isDelta: Bool = false
    ) -> Int {
        let place = self.place(of: name, at: outputIndex)
        guard !self.isResumed, name == 0 || self.itemNames[place] != name else { return place }
        let isOtherKind = self.itemNames.kind(at: place).map { $0 != kind } ?? false
        let isOther = name != 0 && self.itemNames[place] != nil
        guard isOtherKind || isOther && self.done.contains(place) else { return place }
        // On a connection that has carried others, it may be a late event of an earlier response.
        let isOurs =
            !self.earlier.hasResponses || self.isNew(name) || name != 0 && name == self.responseName
        if isOurs, let open = self.itemNames.onlyOpenPlace(of: kind) {
            self.itemNames.redirect(name, at: outputIndex, to: open)
            return open
        }
        let isUnannounced =
            isOther && self.itemNames.place(of: name) == nil && !self.hasSeen(.itemIDChanged)
            && (!self.earlier.announcesItems || self.isNew(name))
        guard isDelta, self.done.contains(place), isOurs && isOtherKind && kind != .call || isUnannounced else {
            return place
        }
        let own = self.itemNames.move(from: outputIndex, to: self.freePlace())
        self.itemNames.announce(name, at: own)
        return own
    }

    /// Returns a place that no item has.
    ///
    /// The place of a root's item depends on the root's items alone, because a replay may have those of other agents
    /// elsewhere. An item of another agent is placed behind the indices that servers use.
    private func freePlace(isAside: Bool = false) -> Int {
        if isAside { return max(Self.maximumIndex / 2, self.added.end()) }
        var place = [self.added, self.done, self.written].map { $0.end(besides: self.asides) }.max() ?? 0
        while self.asides.contains(place) { place += 1 }
        return place
    }

    /// The fingerprint of the response's identifier, which gateways give items (reported: databricks/unity-gateway issue
    /// 99); 0 when it has none.
    private var responseName: UInt64 { EventFingerprint.of(identifier: self.responseID) }

    /// Returns whether no earlier response had an item with a name, on a connection whose responses named their items.
    private func isNew(_ name: UInt64) -> Bool {
        name != 0 && self.earlier.namesItems && !self.earlier.contains(name)
    }

    /// Judges output of an item that is done: where items are added, and indices or names identify them, it cannot be
    /// another one's.
    private mutating func continued(_ outputIndex: Int, _ name: UInt64) -> Verdict {
        let areIndicesShared = self.hasSeen(.itemAddedAgain) || self.hasSeen(.itemDoneAgain)
        let mayBeAnother =
            areIndicesShared && !self.itemNames.isOver(name, at: outputIndex)
            || !self.added.contains(outputIndex)
        return mayBeAnother ? self.tolerate(.itemContinued) : .violation(.itemContinued)
    }

    private mutating func stopRunning() {
        self.running = nil
        self.runningShape = 0
    }

    /// Returns whether an item that is announced is open and has output.
    ///
    /// A resumed response may announce its items again.
    private func isWritten(_ name: UInt64, at outputIndex: Int) -> Bool {
        !self.isResumed && name != 0 && self.itemNames[outputIndex] == name
            && self.written.contains(outputIndex) && !self.done.contains(outputIndex)
    }

    /// Returns a verdict for output that does not belong to this response; nil when there is no evidence of that.
    ///
    /// A response that ends without output under its own names may have had output that was dropped here.
    ///
    /// A call that was not announced may belong to an earlier response, whatever its name is, and must not run twice. Text
    /// with a name that no response has had belongs to this one.
    private mutating func judge(
        _ name: UInt64, at outputIndex: Int, isDone: Bool = false, isCall: Bool
    ) -> Verdict? {
        if self.dropsAgain(name) { return .foreign }
        let known = self.itemNames[outputIndex]
        let isUnknown =
            name == 0
            ? known != nil || !self.added.contains(outputIndex)
            : self.earlier.contains(name) && !self.itemNames.contains(name)
        // A response without any announcement may be one of a server that announces none.
        let isUnannounced =
            self.hasAnnounced && !self.added.contains(outputIndex) && (name == 0 || !self.itemNames.contains(name))
            && (isCall || !self.isNew(name))
        if self.earlier.namesItems && isUnknown || self.earlier.announcesItems && isUnannounced {
            self.hasDroppedOutput = true
            if !isUnknown || name == 0 && !self.earlier.namesItems { self.hasDroppedUnknown = true }
            return .foreign
        }
        self.hasOwnOutput = self.hasOwnOutput || name != 0 || !self.earlier.namesItems
        guard name != 0 else { return nil }
        if known == nil {
            self.itemNames.announce(name, at: outputIndex, isDone: isDone)
        } else if known != name {
            // A server that changes identifiers does so from the beginning on.
            if self.isOther(name, at: outputIndex) { return .violation(.otherResponse) }
            _ = self.tolerate(.itemIDChanged)
        }
        return nil
    }

    private mutating func judge(_ responseID: String?) -> Verdict {
        guard let responseID, let known = self.responseID, !responseID.utf8.elementsEqual(known.utf8) else {
            return .fine
        }
        // A server that changes identifiers does so from the beginning on.
        if self.isOther(responseID: responseID) { return .violation(.otherResponse) }
        return self.tolerate(.responseIDChanged)
    }

    private mutating func judgeOutput(
        _ outputIndex: Int, _ partIndex: Int = 0, _ judge: (inout Self) -> Verdict
    ) -> Verdict {
        self.stopRunning()
        switch self.phase {
        case .ended:
            return .foreign

        case .beginning where self.previousResponseID != nil || self.earlier.createsResponses:
            // This server announces its responses, so the event is a late one of the previous response.
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
