import ResponseEvents

/// The statements of a response about its tool calls, each compared with the earlier ones.
///
/// It belongs to the turn's driver, and performs no I/O. A response states a call up to five times: when the item is
/// announced, in deltas, at the end of these, at the end of the item, and at its own end. The name, the namespace and
/// the arguments have to be the same each time, since a program acts on them. Arguments are compared as JSON values, a
/// custom tool's input byte for byte.
///
/// A statement that leaves a member out, or has `null` or an empty text, says nothing about it: another one completes
/// it. Arguments that stop early in the deltas are completed by a closing event that begins with them, as text is; those
/// of a finished item are whole.
///
/// # Ignored statements
///
/// - Deltas of one position under several identifiers, as their item is not known, and deltas that split a character.
/// - Statements by position once positions are shared (`ResponseOrder.areIndicesShared`). By `call_id` the end of the
///   response is compared nevertheless.
///
/// Calls are kept up to a limit.
struct CallStatements {
    /// A call whose item had no end of its own.
    struct Unfinished {
        /// The call, with what all statements say.
        let call: FinishedCall
        /// The item's position in the response's output.
        let outputIndex: Int
        /// The item as it would have been sent at its end.
        let json: [UInt8]
        /// The fingerprint of the item's identifier; 0 when it has none.
        let itemName: UInt64
    }

    /// A finished call's `call_id` or, without one, the fingerprint of its item's identifier; and its position.
    private enum Place: Hashable {
        case callID(ExactText, outputIndex: Int)
        case item(UInt64, outputIndex: Int)
    }

    /// The relation of a statement to the earlier ones.
    enum Verdict {
        /// It is the same.
        case same
        /// It is the same, and leaves out what earlier statements say, or says what earlier ones leave out: these members
        /// complete the item of the finished call with this number.
        case completes(call: Int, CallMembers)
        /// A finished call is finished again, under the same `call_id`, or without one at the same position.
        case repeated
        /// It differs.
        case differs
        /// The calls exceed the limit.
        case tooMuch
    }

    /// The known parts of the call at one position, before its item is finished.
    fileprivate struct Draft {
        /// The members in the announcement, and the name in the event that closes the deltas.
        var members: CallMembers
        /// The item as it was announced; nil without an announcement.
        var json: [UInt8]?
        /// The fingerprint of the identifier in the announcement, and of that in the deltas.
        var itemName: UInt64 = 0
        var writer: UInt64?
        /// The text of the deltas, or of the event that closes them.
        var text: [UInt8] = []
        /// The number of bytes of the closing event's text that deltas have brought.
        var writtenCount = 0
        /// Indicates whether the deltas cannot be compared.
        var isMixed = false
        /// Indicates whether the announcement has the whole call.
        var isAnnouncedWhole = false
        /// Indicates whether an event has closed the deltas, and whether it had their text.
        var isClosed = false
        var hasClosingText = false
    }

    /// A call whose item is finished.
    fileprivate struct Finished {
        var call: FinishedCall
        let outputIndex: Int
        /// The fingerprint of the item's identifier; 0 when it has none.
        let itemName: UInt64
        /// The payload while only deltas have it, empty while no statement has: a closing event may have more; nil
        /// behind one.
        var openPayload: [UInt8]?
    }

    private let byteCountLimit: Int
    private var drafts: [Int: Draft] = [:]
    /// Calls that were announced and not finished before another one was announced at their position.
    private var earlierDrafts: [(outputIndex: Int, draft: Draft)] = []
    /// The positions of items of other types, such as calls of tools that the server runs itself.
    private var otherPlaces: Set<Int> = []
    private var byteCount = 0
    private var finishedCalls: [Finished] = []
    /// The numbers of the finished calls that have a `call_id`, and those of all by their places.
    private var numbersByCall: [FinishedCall: Int] = [:]
    private var numbersByPlace: [Place: Int] = [:]
    /// The numbers of the finished calls whose items have identifiers, by the fingerprints of these.
    private var numbersByItem: [UInt64: Int] = [:]
    /// The numbers of the finished calls at each position.
    private var numbersByPosition: [Int: [Int]] = [:]

    /// Creates the value before any statement; calls take at most `byteCountLimit` bytes.
    init(byteCountLimit: Int) { self.byteCountLimit = byteCountLimit }

    /// Forgets all statements, as another response is read.
    mutating func restart() { self = Self(byteCountLimit: self.byteCountLimit) }

    // MARK: Statements

    /// Records the announcement of a call.
    mutating func announced(_ item: ItemSummary, at outputIndex: Int) -> Verdict {
        if let earlier = self.forgetDraft(at: outputIndex), earlier.json != nil,
            earlier.members.callID.isEmpty ? earlier.hasArguments : !earlier.members.callID.isExactly(item.callID ?? "")
        {
            self.earlierDrafts.append((outputIndex, earlier))
            self.byteCount += earlier.byteCount
        }
        let json = item.typedJSON
        self.byteCount += json.count
        self.drafts[outputIndex] = Draft(
            members: CallMembers(item), json: json, itemName: item.fingerprint, isAnnouncedWhole: item.isWhole)
        return self.verdict(true)
    }

    /// Records an item that is neither a call nor text: arguments at its position are its own.
    mutating func tookOther(at outputIndex: Int) { self.otherPlaces.insert(outputIndex) }

    /// Records a delta of a call's arguments or input; `itemName` is the fingerprint of its item's identifier, 0 when
    /// it has none.
    mutating func wrote(
        _ text: BorrowedText, at outputIndex: Int, itemName: UInt64, hasHalves: Bool, isPlaceShared: Bool
    ) -> Verdict {
        guard !text.isEmpty else { return .same }
        var isSame = true
        self.update(outputIndex) { draft in
            draft.isMixed = draft.isMixed || hasHalves || draft.writer.map { $0 != itemName } ?? false
            draft.writer = itemName
            if draft.hasClosingText, !draft.isMixed, !isPlaceShared {
                // No tool may run with more than the event has that closes the deltas.
                isSame = unsafe draft.text.dropFirst(draft.writtenCount).starts(with: text.utf8)
                draft.writtenCount += text.byteCount
            } else {
                unsafe draft.text.append(contentsOf: text.utf8)
            }
        }
        return self.verdict(isSame)
    }

    /// Compares the whole text that closes a call's deltas; `itemName` is that of `wrote`, and `name` the call's name in
    /// the event.
    mutating func closed(
        _ text: BorrowedText, _ kind: FinishedCall.Kind, at outputIndex: Int, itemName: UInt64, name: String?,
        isPlaceShared: Bool
    ) -> Verdict {
        let whole = unsafe Array(text.utf8)
        if self.drafts[outputIndex] == nil, let numbers = self.numbersByPosition[outputIndex] {
            // The item was finished before its arguments: some servers do not keep to the order.
            let members = CallMembers(
                kind: kind, name: name ?? "", payload: String(decoding: whole, as: UTF8.self))
            if let number = self.numbersByItem[itemName], self.finishedCalls[number].outputIndex == outputIndex {
                return self.finished(number, isStatedBy: members, isPlaceShared: isPlaceShared)
            }
            // The arguments of an item that is not finished yet, or of this call: the end of the response contradicts
            // arguments of no call.
            if members.hasArguments, !self.isFinished(numbers, withPayloadOf: members) {
                self.update(outputIndex) { draft in
                    draft = Draft(
                        members: CallMembers(kind: kind, name: name ?? ""), writer: itemName == 0 ? nil : itemName,
                        text: whole, isClosed: true, hasClosingText: true)
                }
            }
            return self.verdict(true)
        }
        var isSame = true
        self.update(outputIndex) { draft in
            let members = CallMembers(kind: draft.members.kind, name: name ?? "")
            isSame = isPlaceShared || draft.allows(whole, kind) && draft.members.namesAgree(with: members)
            draft.members = draft.members.completed(by: members)
            if !whole.isEmpty {
                if !draft.hasClosingText {
                    draft.writtenCount = draft.text.count
                } else if draft.text != whole {
                    draft.writtenCount = 0
                }
                draft.text = whole
            }
            if itemName != 0 { draft.writer = draft.writer ?? itemName }
            draft.isMixed = draft.isMixed && whole.isEmpty
            draft.isClosed = true
            draft.hasClosingText = draft.hasClosingText || !whole.isEmpty
        }
        return self.verdict(isSame)
    }

    /// Returns whether one of the finished calls with these numbers has the payload of a statement.
    ///
    /// The others than the first and the last one are not compared: there may be thousands at one position.
    private func isFinished(_ numbers: [Int], withPayloadOf members: CallMembers) -> Bool {
        let content = members.kind.content(of: members.payload)
        return [numbers.first, numbers.last].compactMap(\.self).contains {
            members.kind.content(of: self.finishedCalls[$0].call.payload) == content
        }
    }

    /// Returns whether a statement repeats the newest finished call at a position, and says no more: it has the call's
    /// payload, or none and its `call_id`.
    func hasFinished(_ members: CallMembers, at outputIndex: Int) -> Bool {
        guard let number = self.numbersByPosition[outputIndex]?.last else { return false }
        let call = self.finishedCalls[number].call
        guard self.finishedCalls[number].agrees(with: members), !CallMembers(call).isCompleted(by: members) else {
            return false
        }
        if !members.callID.isEmpty {
            guard call.callID.isExactly(members.callID), call.isIncomplete == members.isIncomplete else { return false }
            if members.payload.isEmpty { return true }
        }
        return self.isFinished([number], withPayloadOf: members)
    }

    /// Compares a late statement with a finished call.
    private mutating func finished(_ number: Int, isStatedBy members: CallMembers, isPlaceShared: Bool) -> Verdict {
        guard self.finishedCalls[number].agrees(with: members) else { return self.verdict(isPlaceShared) }
        guard self.finishedCalls[number].take(members) else { return .same }
        self.byteCount += members.payload.utf8.count
        let call = self.finishedCalls[number].call
        if call.key != nil { self.numbersByCall[call] = number }
        return .completes(call: number, members)
    }

    /// Records a finished call; `isPlaceShared` says that the position may stand for several items.
    mutating func finished(_ item: ItemSummary, at outputIndex: Int, isPlaceShared: Bool) -> Verdict {
        let draft = self.forgetDraft(at: outputIndex)
        let own = CallMembers(item)
        let known = draft.flatMap { $0.completes(item, isPlaceShared: isPlaceShared) ? $0.whole : nil }
        let members = own.completed(by: known)
        // Arguments were written at its position, and no evidence says for which call.
        let areUnclear = members.payload.isEmpty && draft?.hasArguments == true
        let isAllowed = !areUnclear && (isPlaceShared || draft?.allows(own) ?? true)
        let call = members.call
        let place =
            call.key.map { Place.callID($0, outputIndex: outputIndex) }
            ?? .item(item.fingerprint, outputIndex: outputIndex)
        // Elsewhere one with other content is another call, of a server that gives several the same `call_id`; so is one
        // that was announced, without a `call_id`.
        let isOther = call.key == nil && draft?.json != nil
        if !isOther, let number = self.numbersByCall[call] ?? self.numbersByPlace[place] {
            guard isAllowed, self.finishedCalls[number].call.isIncomplete == call.isIncomplete else {
                return .differs
            }
            let verdict = self.finished(number, isStatedBy: members, isPlaceShared: false)
            guard case .same = verdict else { return verdict }
            return .repeated
        }
        let number = self.finishedCalls.count
        if call.key != nil { self.numbersByCall[call] = number }
        self.numbersByPlace[place] = number
        if item.fingerprint != 0 { self.numbersByItem[item.fingerprint] = number }
        self.numbersByPosition[outputIndex, default: []].append(number)
        let isOpen = members.payload.isEmpty || own.payload.isEmpty && draft?.hasClosingText != true
        self.finishedCalls.append(
            Finished(
                call: call, outputIndex: outputIndex, itemName: item.fingerprint,
                openPayload: isOpen ? Array(members.payload.utf8) : nil))
        self.byteCount += members.payload.utf8.count
        let verdict = self.verdict(isAllowed)
        guard case .same = verdict, let known, own.isCompleted(by: known) else { return verdict }
        return .completes(call: number, members)
    }

    /// The number of finished calls, which is that of the next one.
    var finishedCount: Int { self.finishedCalls.count }

    /// Returns a finished call, by its number.
    func finishedCall(_ number: Int) -> FinishedCall { self.finishedCalls[number].call }

    /// Compares the calls at the end of a complete response.
    ///
    /// - Returns: the position of a call that the response's list of items contradicts; nil when there is none.
    func contradiction(in list: [ItemSummary], isPlaceShared: Bool) -> Int? {
        guard !list.isEmpty else { return nil }
        let listed = Set(list.filter(\.isCall).compactMap { $0.callID.map(ExactText.init) })
        let drafts = self.drafts(in: list)
        let pairs = ListedCalls(
            list,
            among: self.finishedCalls.map { .init(call: $0.call, outputIndex: $0.outputIndex, itemName: $0.itemName) },
            besides: drafts)
        var stated: Set<Int> = []
        for (index, item) in list.enumerated() where item.isCall {
            let finished = pairs.known[index].map { self.finishedCalls[$0] }
            let place = finished == nil ? drafts.outputIndex(of: index) : nil
            if let place { stated.insert(place) }
            let draft = place.flatMap { self.drafts[$0] }
            let isPlaceShared = isPlaceShared && !pairs.isCertain(index)
            guard self.allows(item, finished, draft, isPlaceShared: isPlaceShared) else { return index }
        }
        return self.placeWithOtherCalls(than: listed) ?? self.draftLeftOut(of: list, listed, drafts)
            ?? self.placeOfLostCall(except: stated.union(list.indices.filter { list[$0].kind == .other }), beside: list)
    }

    /// The position of a call whose end, or whose arguments, nothing has shown, in a response that lists no items; nil
    /// when there is none.
    var placeOfCutCall: Int? {
        let finished = self.finishedCallIDs
        let cut = self.allDrafts.filter { !$1.isWhole && $1.isLeft(beside: finished) }.map(\.outputIndex).min()
        return cut ?? self.placeOfLostCall(except: [])
    }

    /// Returns the calls without a finished item that the list of an end names.
    func drafts(in list: [ItemSummary]) -> ListedDrafts {
        let finished = self.finishedCallIDs
        let finishedItems = Set(self.finishedCalls.map(\.itemName))
        return ListedDrafts(
            list,
            among: self.drafts.sorted { $0.key < $1.key }.compactMap { outputIndex, draft in
                // Some servers finish an item at another position.
                let callID = ExactText(draft.members.callID)
                let itemName = draft.json == nil ? draft.writer ?? 0 : draft.itemName
                guard !finished.contains(callID), itemName == 0 || !finishedItems.contains(itemName) else { return nil }
                return .init(outputIndex: outputIndex, callID: draft.members.callID, itemName: itemName)
            })
    }

    /// Returns the position of a call whose arguments only deltas have, so that nothing shows whether one was lost; nil
    /// when there is none.
    func placeOfCallByDeltas(beside list: [ItemSummary]) -> Int? {
        let listed = Set(
            list.filter { $0.isCall && $0.payload?.isEmpty == false }.compactMap { $0.callID.map(ExactText.init) })
        let finished = self.finishedCalls.filter {
            $0.openPayload?.isEmpty == false && !($0.call.key.map(listed.contains) ?? false)
        }
        let names = self.finishedCallIDs
        let drafts = self.allDrafts.filter { _, draft in
            draft.isLeft(beside: names) && !draft.text.isEmpty && !draft.hasClosingText
                && !listed.contains(ExactText(draft.members.callID))
        }
        return (finished.map(\.outputIndex) + drafts.map(\.outputIndex)).min()
    }

    /// Returns the calls without a finished item: each was announced, and whole then, or its arguments were closed.
    func unfinished() -> [Unfinished] {
        let finished = self.finishedCallIDs
        return self.allDrafts.compactMap { outputIndex, draft in
            draft.isFinished && draft.isLeft(beside: finished) ? draft.unfinished(at: outputIndex) : nil
        }
    }

    // MARK: Comparing

    private func verdict(_ isSame: Bool) -> Verdict {
        guard isSame else { return .differs }
        return self.byteCount <= self.byteCountLimit ? .same : .tooMuch
    }

    /// Returns whether a listed call agrees with the earlier statements: with the finished call that it is paired with,
    /// or else with the draft that it states.
    private func allows(_ item: ItemSummary, _ finished: Finished?, _ draft: Draft?, isPlaceShared: Bool) -> Bool {
        let members = CallMembers(item)
        guard let finished else {
            guard let draft else { return true }
            let isWhole = !members.payload.isEmpty || draft.text.isEmpty
            guard isWhole || !draft.isMixed && draft.completes(item, isPlaceShared: isPlaceShared) else { return false }
            return isPlaceShared || draft.allows(members)
        }
        return finished.agrees(with: members) || isPlaceShared
    }

    /// Returns the members that complete a call that only the end of the response lists, by the position of the draft
    /// that it states; nil when nothing else is known of it.
    func members(completing item: ItemSummary, at outputIndex: Int?, isPlaceShared: Bool) -> CallMembers? {
        let own = CallMembers(item)
        guard let draft = outputIndex.flatMap({ self.drafts[$0] }),
            draft.completes(item, isPlaceShared: isPlaceShared),
            own.isCompleted(by: draft.whole)
        else { return nil }
        return own.completed(by: draft.whole)
    }

    /// Returns a position with several finished calls of which the response lists only some; nil when there is none.
    private func placeWithOtherCalls(than listed: Set<ExactText>) -> Int? {
        self.numbersByPosition.filter { _, numbers in
            let callIDs = Set(numbers.compactMap { self.finishedCalls[$0].call.key })
            return !callIDs.isSubset(of: listed) && !callIDs.isDisjoint(with: listed)
        }.keys.min()
    }

    /// Returns the position of an announced call without a finished item that the list omits; nil when there is none.
    private func draftLeftOut(of list: [ItemSummary], _ listed: Set<ExactText>, _ drafts: ListedDrafts) -> Int? {
        let finished = self.finishedCallIDs
        let known = finished.union(self.earlierDrafts.map { ExactText($0.draft.members.callID) })
        return self.allDrafts.filter { outputIndex, draft in
            guard draft.isLeft(beside: finished) else { return false }
            let newest = self.drafts[outputIndex]?.members.callID
            if drafts.names(outputIndex), newest?.isExactly(draft.members.callID) == true { return false }
            // The call in its place is the same one under another `call_id`, unless that one was known before.
            let isInPlace =
                list.indices.contains(outputIndex) && list[outputIndex].isCall && !drafts.isNamed(outputIndex)
                && list[outputIndex].callID.map { !known.contains(ExactText($0)) } ?? true
            return !isInPlace && !listed.contains(ExactText(draft.members.callID))
        }.map(\.outputIndex).min()
    }

    /// Returns the position of a call that cannot run, as no statement has its `call_id` and its name, and that may not be
    /// a finished one or one at the given positions; nil when there is none.
    private func placeOfLostCall(except stated: Set<Int>, beside list: [ItemSummary] = []) -> Int? {
        let others = self.otherPlaces.union(stated)
        // A statement at the position is about the newest call there.
        let lost =
            self.earlierDrafts.filter { $0.draft.isUnnamed }
            + self.drafts.filter { $1.isUnnamed && !others.contains($0) }.map { (outputIndex: $0, draft: $1) }
        guard !lost.isEmpty, !self.finishedCalls.isEmpty else { return lost.map(\.outputIndex).min() }
        let names = Set(self.finishedCalls.map(\.itemName))
        let calls = self.finishedCalls.map(\.call) + list.filter(\.isCall).map { CallMembers($0).call }
        let payloads = Set(calls.map { $0.kind.content(of: $0.payload) })
        return lost.filter { _, draft in
            if draft.isMixed || draft.text.isEmpty { return false }
            if [draft.itemName, draft.writer ?? 0].contains(where: { $0 != 0 && names.contains($0) }) { return false }
            return !payloads.contains(draft.members.kind.content(of: String(decoding: draft.text, as: UTF8.self)))
        }.map(\.outputIndex).min()
    }

    /// The calls without a finished item, in the order of their positions and, at one position, of their announcements.
    private var allDrafts: [(outputIndex: Int, draft: Draft)] {
        let all = self.earlierDrafts + self.drafts.map { (outputIndex: $0.key, draft: $0.value) }
        let places = all.indices.sorted { (all[$0].outputIndex, $0) < (all[$1].outputIndex, $1) }
        return places.map { all[$0] }
    }

    private var finishedCallIDs: Set<ExactText> { Set(self.finishedCalls.compactMap(\.call.key)) }

    // MARK: Drafts

    private mutating func update(_ outputIndex: Int, _ change: (inout Draft) -> Void) {
        // The draft is removed so that its text is not copied.
        var draft = self.drafts.removeValue(forKey: outputIndex) ?? Draft(members: CallMembers(kind: .function))
        self.byteCount -= draft.text.count
        change(&draft)
        self.byteCount += draft.text.count
        self.drafts[outputIndex] = draft
    }

    @discardableResult
    private mutating func forgetDraft(at outputIndex: Int) -> Draft? {
        guard let draft = self.drafts.removeValue(forKey: outputIndex) else { return nil }
        self.byteCount -= draft.byteCount
        return draft
    }
}

extension CallStatements.Draft {
    /// Indicates whether an event has closed the call, or its announcement has the whole of it, without deltas.
    fileprivate var isFinished: Bool { self.isClosed || self.isAnnouncedWhole && self.text.isEmpty }

    /// Indicates whether no statement has the `call_id`, or none the name.
    fileprivate var isUnnamed: Bool { self.members.callID.isEmpty || self.members.name.isEmpty }

    /// Indicates whether the call is finished, and its deltas, if it has any, are comparable.
    fileprivate var isWhole: Bool { self.isFinished && (!self.isMixed || self.text.isEmpty) }

    /// Indicates whether the deltas, or the announcement, have arguments or input.
    fileprivate var hasArguments: Bool {
        !self.text.isEmpty || self.members.hasArguments
    }

    /// The size of what is kept of the call.
    fileprivate var byteCount: Int { self.text.count + (self.json?.count ?? 0) }

    /// The members of the call that are known, the deltas included.
    fileprivate var whole: CallMembers {
        guard !self.text.isEmpty, !self.isMixed else { return self.members }
        var whole = self.members
        whole.payload = String(decoding: self.text, as: UTF8.self)
        return whole
    }

    /// Returns whether what is known completes an item at the same position.
    fileprivate func completes(_ item: ItemSummary, isPlaceShared: Bool) -> Bool {
        guard self.json != nil else { return item.fingerprint != 0 && self.writer == item.fingerprint }
        guard self.members.kind == item.callKind else { return false }
        return !isPlaceShared || self.itemName != 0 && self.itemName == item.fingerprint
    }

    /// Returns whether a call was announced, and was not finished elsewhere: some servers finish an item at another
    /// position.
    fileprivate func isLeft(beside finished: Set<ExactText>) -> Bool {
        !self.isUnnamed && !finished.contains(ExactText(self.members.callID))
    }

    /// Returns a closed call as its item would have stated it; nil when it was not announced.
    fileprivate func unfinished(at outputIndex: Int) -> CallStatements.Unfinished? {
        guard let json = self.json, var item = try? JSONObjectText(json) else { return nil }
        item["status"] = nil
        var whole = self.whole
        (whole.isIncomplete, whole.isInProgress) = (false, false)
        return CallStatements.Unfinished(
            call: whole.call, outputIndex: outputIndex, json: whole.completing(item.json), itemName: self.itemName)
    }

    /// Returns whether a call matches the announcement and the deltas.
    fileprivate func allows(_ members: CallMembers) -> Bool {
        // The deltas alone do not say which kind of tool is called.
        let isOfKind = self.json == nil || self.members.kind == members.kind
        return isOfKind && self.members.namesAgree(with: members)
            && self.allows(Array(members.payload.utf8), members.kind)
    }

    /// Returns whether a whole text matches the announcement and the deltas.
    fileprivate func allows(_ whole: [UInt8], _ kind: FinishedCall.Kind) -> Bool {
        // A text that says nothing leaves the deltas, which the announcement may contradict.
        let whole = whole.isEmpty && !self.isMixed ? self.text : whole
        guard !whole.isEmpty else { return true }
        // Announced arguments that are an empty object are none, as the deltas have them.
        let announced = self.members.hasArguments ? Array(self.members.payload.utf8) : []
        return (self.isMixed || self.text.isCompleted(by: whole, as: kind, isClosed: self.hasClosingText))
            && announced.isCompleted(by: whole, as: kind, isClosed: false)
    }
}

extension CallStatements.Finished {
    /// Returns whether a statement agrees with the call, in what both say.
    fileprivate func agrees(with members: CallMembers) -> Bool {
        var known = CallMembers(self.call)
        guard known.kind == members.kind, known.namesAgree(with: members) else { return false }
        guard !members.payload.isEmpty else { return true }
        if let openPayload {
            return openPayload.isCompleted(by: Array(members.payload.utf8), as: known.kind, isClosed: false)
        }
        if known.payload.isExactly(members.payload) { return true }
        known.payload = members.payload
        return known.call.content == self.call.content
    }

    /// Takes what a statement says, which must agree with the call; returns whether that is more than was known.
    fileprivate mutating func take(_ members: CallMembers) -> Bool {
        var known = CallMembers(self.call)
        let hasPayload = !members.payload.isEmpty
        if hasPayload, self.openPayload != nil { known.payload = "" }
        guard known.isCompleted(by: members) else { return false }
        self.call = known.completed(by: members).call
        if hasPayload, self.openPayload != Array(members.payload.utf8) { self.openPayload = nil }
        return true
    }
}

extension FinishedCall.Kind {
    /// Returns what of a payload is compared.
    fileprivate func content(of payload: String) -> [UInt8] {
        FinishedCall(self, name: "", payload: payload).content
    }
}

extension ItemSummary {
    /// Indicates whether the item is a finished call: its status says so, and it has arguments that are an object, or
    /// input.
    fileprivate var isWhole: Bool {
        guard self.status == "completed", let payload, !payload.isEmpty else { return false }
        return self.kind == .customToolCall || (try? JSONObjectText(Array(payload.utf8))) != nil
    }
}

extension [UInt8] {
    /// Returns whether a closing text has the same arguments or input, or more where the text so far stops early.
    ///
    /// A function's arguments stop early where they are no object yet. A custom tool's input is any text, so that only
    /// deltas can; `isClosed` says that the text so far is a closing event's.
    fileprivate func isCompleted(by whole: [UInt8], as kind: FinishedCall.Kind, isClosed: Bool) -> Bool {
        if self.isEmpty || self == whole { return true }
        let isLonger = whole.starts(with: self)
        if isLonger, kind == .custom { return !isClosed }
        if isLonger, (try? JSONObjectText(self)) == nil { return true }
        let contents = [self, whole].map { kind.content(of: String(decoding: $0, as: UTF8.self)) }
        return contents[0] == contents[1]
    }
}
