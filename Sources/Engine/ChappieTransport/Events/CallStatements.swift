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
/// The text of unfinished calls is kept, up to a limit; of a finished call a digest stays.
struct CallStatements {
    /// A call that was announced and written to its end, while its item was never finished.
    struct Unfinished {
        let call: FinishedCall
        /// The item's position in the response's output.
        let outputIndex: Int
        /// The item as it would have been sent at its end.
        let json: [UInt8]
        let isNamed: Bool
    }

    /// The content and status by which a repeated end of a call is recognised: under its `call_id`, or as the same item
    /// if it has none.
    private struct Content: Hashable {
        let callID: ExactText?
        /// The item of a call without a `call_id`.
        let place: ItemPlace?
        let digest: Int
        let isIncomplete: Bool
    }

    /// An item at a position; `itemName` is the fingerprint of its identifier, 0 when it has none.
    private struct ItemPlace: Hashable {
        let itemName: UInt64
        let outputIndex: Int
    }

    /// A `call_id` at a position.
    private struct Place: Hashable {
        let callID: ExactText
        let outputIndex: Int
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
        /// The text of unfinished calls exceeds the limit.
        case tooMuch
    }

    /// The known parts of the call at one position, before its item is finished.
    fileprivate struct Draft {
        /// The item as it was announced; nil without an announcement.
        var announcement: Announcement?
        /// The name in the event that closes the deltas.
        var closingName: String?
        /// The text of the deltas, or of the event that closes them.
        var text: [UInt8] = []
        /// The fingerprint of the identifier that its deltas have.
        var itemName: UInt64?
        /// Indicates whether the deltas cannot be compared.
        var isMixed = false
        /// Indicates whether an event has closed the deltas, and whether it had their text.
        var isClosed = false
        var hasClosingText = false
    }

    fileprivate struct Announcement {
        let kind: FinishedCall.Kind
        let name: String?
        let namespace: String?
        let callID: String?
        /// The arguments or the input; an empty object counts as none, as the deltas have the arguments.
        let payload: [UInt8]
        let json: [UInt8]
        let itemName: UInt64

        init(_ item: ItemSummary) {
            self.kind = item.callKind
            self.name = item.name
            self.namespace = item.namespace
            self.callID = item.callID
            self.payload = item.payload.map { Array($0.utf8) } ?? []
            self.json = unsafe Array(item.json.utf8)
            self.itemName = item.fingerprint
        }
    }

    /// The arguments or the input of a finished call.
    fileprivate enum Payload {
        /// No statement has any.
        case absent
        /// No closing event has any: a later one may have more.
        case open([UInt8])
        /// A closing event has them: a number that two texts share only if they are the same.
        case whole(Int)
    }

    /// A call whose item is finished.
    fileprivate struct Finished {
        let callID: ExactText?
        let outputIndex: Int
        /// The fingerprint of the item's identifier; 0 when it has none.
        let itemName: UInt64
        let digest: Int
        let kind: FinishedCall.Kind
        let isIncomplete: Bool
        /// Numbers that two names share only if they are the same; nil when no statement has one.
        var nameDigest: Int?
        var namespaceDigest: Int?
        var payload: Payload
    }

    private let byteCountLimit: Int
    private var drafts: [Int: Draft] = [:]
    private var byteCount = 0
    private var finishedCalls: [Finished] = []
    private var finishedContents: Set<Content> = []
    /// The numbers of the finished calls that have a `call_id`.
    private var finishedPlaces: [Place: Int] = [:]
    /// The `call_id`s with which each item that has an identifier was finished; nil stands for none.
    private var callIDsByItem: [ItemPlace: Set<ExactText?>] = [:]
    /// The indices of the finished calls at each position.
    private var indicesByPlace: [Int: [Int]] = [:]

    /// Creates the value before any statement; unfinished calls take at most `byteCountLimit` bytes.
    init(byteCountLimit: Int) { self.byteCountLimit = byteCountLimit }

    /// Forgets all statements, as another response is read.
    mutating func restart() { self = Self(byteCountLimit: self.byteCountLimit) }

    // MARK: Statements

    /// Records the announcement of a call.
    mutating func announced(_ item: ItemSummary, at outputIndex: Int) -> Verdict {
        self.forgetDraft(at: outputIndex)
        let announcement = Announcement(item)
        self.byteCount += announcement.json.count
        self.drafts[outputIndex] = Draft(announcement: announcement)
        return self.verdict(true)
    }

    /// Records a delta of a call's arguments or input; `itemName` is the fingerprint of its item's identifier, 0 when
    /// it has none.
    mutating func wrote(_ text: BorrowedText, at outputIndex: Int, itemName: UInt64, hasHalves: Bool) -> Verdict {
        guard !text.isEmpty else { return .same }
        self.update(outputIndex) { draft in
            draft.isMixed = draft.isMixed || hasHalves || draft.itemName.map { $0 != itemName } ?? false
            draft.itemName = itemName
            unsafe draft.text.append(contentsOf: text.utf8)
        }
        return self.verdict(true)
    }

    /// Compares the whole text that closes a call's deltas; `itemName` is that of `wrote`, and `name` the call's name in
    /// the event.
    mutating func closed(
        _ text: BorrowedText, _ kind: FinishedCall.Kind, at outputIndex: Int, itemName: UInt64, name: String?,
        isPlaceShared: Bool
    ) -> Verdict {
        let whole = unsafe Array(text.utf8)
        if self.drafts[outputIndex] == nil, let number = self.indicesByPlace[outputIndex]?[0] {
            // The item was finished before its arguments: some servers do not keep to the order. The content of another
            // item at the same place is not known before it is finished.
            guard itemName != 0, itemName == self.finishedCalls[number].itemName else { return .same }
            let members = CallMembers(name: name, payload: String(decoding: whole, as: UTF8.self), kind: kind)
            return self.finished(number, isStatedBy: members, isPlaceShared: isPlaceShared)
        }
        var isSame = true
        self.update(outputIndex) { draft in
            isSame = isPlaceShared || draft.allows(whole, kind) && name.agrees(with: draft.name)
            if !whole.isEmpty { draft.text = whole }
            draft.closingName = name ?? draft.closingName
            draft.isMixed = draft.isMixed && whole.isEmpty
            draft.isClosed = true
            draft.hasClosingText = draft.hasClosingText || !whole.isEmpty
        }
        return self.verdict(isSame)
    }

    /// Compares a late statement with a finished call.
    private mutating func finished(_ number: Int, isStatedBy members: CallMembers, isPlaceShared: Bool) -> Verdict {
        var call = self.finishedCalls[number]
        guard call.agrees(with: members) else { return self.verdict(isPlaceShared) }
        let isNew = call.nameDigest == nil && members.name != nil || call.isOpen(to: members)
        call.take(members)
        self.finishedCalls[number] = call
        return isNew ? .completes(call: number, members) : .same
    }

    /// Records a finished call; `isPlaceShared` says that the position may stand for several items.
    mutating func finished(_ item: ItemSummary, at outputIndex: Int, isPlaceShared: Bool) -> Verdict {
        let draft = self.forgetDraft(at: outputIndex)
        let known = draft.flatMap { $0.completes(item, isPlaceShared: isPlaceShared) ? $0.members : nil }
        let members = CallMembers(item).completed(by: known)
        let callID = members.callID.map(ExactText.init)
        let place = ItemPlace(itemName: item.fingerprint, outputIndex: outputIndex)
        let isAllowed = isPlaceShared || draft?.allows(CallMembers(item)) ?? true
        let digest = members.digest
        let isIncomplete = item.status == "incomplete"
        let announced = draft?.announcement
        if announced?.callID.map(ExactText.init).map({ $0 == callID }) ?? true {
            let content = Content(
                callID: callID, place: callID == nil ? place : nil, digest: digest, isIncomplete: isIncomplete)
            // Without a `call_id`, one that was announced is another call.
            let isKnown = !self.finishedContents.insert(content).inserted && (callID != nil || announced == nil)
            // Elsewhere it is another call, of a server that gives several the same `call_id`.
            let numberAtItsPlace = callID.flatMap { self.finishedPlaces[Place(callID: $0, outputIndex: outputIndex)] }
            guard !isKnown else { return isAllowed ? .repeated : .differs }
            if let number = numberAtItsPlace {
                guard isAllowed, self.finishedCalls[number].isIncomplete == isIncomplete else { return .differs }
                let verdict = self.finished(number, isStatedBy: members, isPlaceShared: false)
                if case .same = verdict { return .repeated }
                return verdict
            }
        }
        let isFinishedOtherwise = self.isFinished(place, otherwiseThanWith: callID)
        let number = self.finishedCalls.count
        self.indicesByPlace[outputIndex, default: []].append(number)
        if let callID { self.finishedPlaces[Place(callID: callID, outputIndex: outputIndex)] = number }
        var call = Finished(
            callID: callID, outputIndex: outputIndex, itemName: item.fingerprint, digest: digest, kind: members.kind,
            isIncomplete: isIncomplete, payload: .absent)
        if let draft, known != nil, item.payload?.isEmpty ?? true, !draft.hasClosingText, let payload = members.payload
        {
            call.payload = .open(Array(payload.utf8))
            self.byteCount += payload.utf8.count
        }
        call.take(members)
        self.finishedCalls.append(call)
        // A new announcement makes it another item.
        let verdict = self.verdict(isAllowed && (draft != nil || !isFinishedOtherwise))
        guard case .same = verdict, let known, CallMembers(item).isCompleted(by: known) else { return verdict }
        return .completes(call: number, members)
    }

    /// The number of the call that was finished last; nil before the first.
    var newestCall: Int? { self.finishedCalls.indices.last }

    /// Records the `call_id` of a finished item; returns whether the item was finished with another one before, or, for
    /// a call without one, with other content.
    private mutating func isFinished(_ place: ItemPlace, otherwiseThanWith callID: ExactText?) -> Bool {
        guard place.itemName != 0 else { return false }
        let isFirst = self.callIDsByItem[place] == nil
        self.callIDsByItem[place, default: []].insert(callID)
        guard callID != nil, let callIDs = self.callIDsByItem[place] else { return !isFirst }
        return callIDs.count > (callIDs.contains(nil) ? 2 : 1)
    }

    /// Compares the calls at the end of a complete response.
    ///
    /// - Returns: the position of a call that the response's list of items contradicts; nil when there is none.
    func contradiction(in list: [ItemSummary], isPlaceShared: Bool) -> Int? {
        guard !list.isEmpty else { return nil }
        let listed = Set(list.filter(\.isCall).compactMap { $0.callID.map(ExactText.init) })
        let known = self.finishedCalls.map { ListedCalls.Known(callID: $0.callID, outputIndex: $0.outputIndex) }
        let pairs = ListedCalls(list, among: known) { self.finishedCalls[$0].digest }
        for (index, item) in list.enumerated() where item.isCall {
            let finished = pairs.known[index].map { self.finishedCalls[$0] }
            guard self.allows(item, at: index, finished, isPlaceShared: isPlaceShared) else { return index }
        }
        return self.placeWithOtherCalls(than: listed) ?? self.draftLeftOut(of: list, listed)
    }

    /// The position of a call that was announced and whose end nothing has shown; nil when there is none.
    var placeOfCutCall: Int? {
        let finished = self.finishedCallIDs
        return self.drafts.filter { !$1.isClosed && $1.isLeft(beside: finished) }.keys.min()
    }

    /// Returns the position of a call whose arguments only deltas have, so that nothing shows whether one was lost; nil
    /// when there is none.
    func placeOfCallByDeltas(beside list: [ItemSummary]) -> Int? {
        let listed = Set(
            list.filter { $0.isCall && $0.payload?.isEmpty == false }.compactMap { $0.callID.map(ExactText.init) })
        let finished = self.finishedCalls.filter { call in
            guard case .open = call.payload else { return false }
            return !(call.callID.map(listed.contains) ?? false)
        }
        let names = self.finishedCallIDs
        let drafts = self.drafts.filter { _, draft in
            guard let callID = draft.announcement?.callID, draft.isLeft(beside: names) else { return false }
            return !draft.text.isEmpty && !draft.hasClosingText && !listed.contains(ExactText(callID))
        }
        return (finished.map(\.outputIndex) + drafts.keys).min()
    }

    /// Returns the calls without a finished item: each was announced, and its arguments were closed.
    func unfinished() -> [Unfinished] {
        let finished = self.finishedCallIDs
        return self.drafts.sorted { $0.key < $1.key }.compactMap { outputIndex, draft in
            draft.isClosed && draft.isLeft(beside: finished) ? draft.unfinished(at: outputIndex) : nil
        }
    }

    // MARK: Comparing

    private func verdict(_ isSame: Bool) -> Verdict {
        guard isSame else { return .differs }
        return self.byteCount <= self.byteCountLimit ? .same : .tooMuch
    }

    /// Returns whether a listed call agrees with the earlier statements: with the finished call that it is paired with,
    /// or else with the draft at its position.
    private func allows(_ item: ItemSummary, at index: Int, _ finished: Finished?, isPlaceShared: Bool) -> Bool {
        let members = CallMembers(item)
        guard let finished else { return isPlaceShared || self.drafts[index]?.allows(members) ?? true }
        let hasItsName = finished.callID != nil && finished.callID == item.callID.map(ExactText.init)
        return finished.agrees(with: members) || isPlaceShared && !hasItsName
    }

    /// Returns the members that complete a call that only the end of the response lists, at its position there; nil when
    /// nothing else is known of it.
    func members(completing item: ItemSummary, at index: Int, isPlaceShared: Bool) -> CallMembers? {
        guard let draft = self.drafts[index], draft.completes(item, isPlaceShared: isPlaceShared),
            CallMembers(item).isCompleted(by: draft.members)
        else { return nil }
        return CallMembers(item).completed(by: draft.members)
    }

    /// Returns a position with several finished calls of which the response lists only some; nil when there is none.
    private func placeWithOtherCalls(than listed: Set<ExactText>) -> Int? {
        self.indicesByPlace.filter { _, indices in
            let callIDs = Set(indices.compactMap { self.finishedCalls[$0].callID })
            return !callIDs.isSubset(of: listed) && !callIDs.isDisjoint(with: listed)
        }.keys.min()
    }

    /// Returns the position of an announced call without a finished item that the list omits; nil when there is none.
    private func draftLeftOut(of list: [ItemSummary], _ listed: Set<ExactText>) -> Int? {
        let finished = self.finishedCallIDs
        return self.drafts.filter { outputIndex, draft in
            guard draft.isLeft(beside: finished), let callID = draft.announcement?.callID else { return false }
            // The call in its place is the same one under another `call_id`, unless that one was finished elsewhere.
            let isInPlace =
                list.indices.contains(outputIndex) && list[outputIndex].isCall
                && list[outputIndex].callID.map { !finished.contains(ExactText($0)) } ?? true
            return !isInPlace && !listed.contains(ExactText(callID))
        }.keys.min()
    }

    private var finishedCallIDs: Set<ExactText> { Set(self.finishedCalls.compactMap(\.callID)) }

    // MARK: Drafts

    private mutating func update(_ outputIndex: Int, _ change: (inout Draft) -> Void) {
        // The draft is removed so that its text is not copied.
        var draft = self.drafts.removeValue(forKey: outputIndex) ?? Draft()
        self.byteCount -= draft.text.count
        change(&draft)
        self.byteCount += draft.text.count
        self.drafts[outputIndex] = draft
    }

    @discardableResult
    private mutating func forgetDraft(at outputIndex: Int) -> Draft? {
        guard let draft = self.drafts.removeValue(forKey: outputIndex) else { return nil }
        self.byteCount -= draft.text.count + (draft.announcement?.json.count ?? 0)
        return draft
    }
}

extension CallStatements.Draft {
    /// The name of the call, from its announcement or from the event that closes its arguments.
    fileprivate var name: String? { self.announcement?.name ?? self.closingName }

    /// The members of the call that are known.
    fileprivate var members: CallMembers {
        let payload = self.text.isEmpty || self.isMixed ? self.announcement?.payload ?? [] : self.text
        return CallMembers(
            callID: self.announcement?.callID, name: self.name, namespace: self.announcement?.namespace,
            payload: String(decoding: payload, as: UTF8.self), kind: self.announcement?.kind ?? .function)
    }

    /// Returns whether what is known completes an item at the same position.
    fileprivate func completes(_ item: ItemSummary, isPlaceShared: Bool) -> Bool {
        guard let announcement = self.announcement, announcement.kind == item.callKind else { return false }
        return !isPlaceShared || announcement.itemName != 0 && announcement.itemName == item.fingerprint
    }

    /// Returns whether a call was announced, and was not finished elsewhere: some servers finish an item at another
    /// position.
    fileprivate func isLeft(beside finished: Set<ExactText>) -> Bool {
        guard let callID = self.announcement?.callID, self.name != nil else { return false }
        return !finished.contains(ExactText(callID))
    }

    /// Returns a closed call as its item would have stated it; nil when it was not announced.
    fileprivate func unfinished(at outputIndex: Int) -> CallStatements.Unfinished? {
        guard let announcement = self.announcement, var item = try? JSONObjectText(announcement.json) else {
            return nil
        }
        item["status"] = nil
        let members = self.members
        return CallStatements.Unfinished(
            call: members.call, outputIndex: outputIndex, json: members.completing(item.json),
            isNamed: announcement.itemName != 0)
    }

    /// Returns whether a call matches the announcement and the deltas.
    fileprivate func allows(_ members: CallMembers) -> Bool {
        if let announcement = self.announcement {
            guard announcement.kind == members.kind, announcement.name.agrees(with: members.name),
                announcement.namespace.agrees(with: members.namespace)
            else { return false }
        }
        return self.closingName.agrees(with: members.name)
            && self.allows(members.payload.map { Array($0.utf8) } ?? [], members.kind)
    }

    /// Returns whether a whole text matches the announcement and the deltas.
    fileprivate func allows(_ whole: [UInt8], _ kind: FinishedCall.Kind) -> Bool {
        guard !whole.isEmpty else { return true }
        let announced = self.announcement?.payload ?? []
        return (self.isMixed || self.text.isCompleted(by: whole, as: kind, isClosed: self.hasClosingText))
            && (announced == Array("{}".utf8) || announced.isCompleted(by: whole, as: kind, isClosed: false))
    }
}

extension CallStatements.Finished {
    /// Returns whether a statement agrees with the call, in what both say.
    fileprivate func agrees(with members: CallMembers) -> Bool {
        guard self.kind == members.kind, self.nameDigest.agrees(with: members.name.digest),
            self.namespaceDigest.agrees(with: members.namespace.digest)
        else { return false }
        guard let payload = members.payload else { return true }
        return switch self.payload {
        case .absent: true
        case .open(let text): text.isCompleted(by: Array(payload.utf8), as: self.kind, isClosed: false)
        case .whole(let digest): digest == Optional(payload.comparable(as: self.kind)).digest
        }
    }

    /// Returns whether a statement has arguments that no closing event had.
    fileprivate func isOpen(to members: CallMembers) -> Bool {
        guard members.payload != nil else { return false }
        return switch self.payload {
        case .absent, .open: true
        case .whole: false
        }
    }

    /// Takes what a statement says; it must agree with the call.
    fileprivate mutating func take(_ members: CallMembers) {
        self.nameDigest = self.nameDigest ?? members.name.digest
        self.namespaceDigest = self.namespaceDigest ?? members.namespace.digest
        guard let payload = members.payload else { return }
        if case .open(let text) = self.payload, text == Array(payload.utf8) { return }
        self.payload = .whole(Optional(payload.comparable(as: self.kind)).digest ?? 0)
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
        return String(decoding: self, as: UTF8.self).comparable(as: kind).isExactly(
            String(decoding: whole, as: UTF8.self).comparable(as: kind))
    }
}

extension Optional where Wrapped == String {
    /// Returns whether two statements agree: one of them says nothing, or both say the same.
    fileprivate func agrees(with other: String?) -> Bool { self.digest.agrees(with: other.digest) }

    /// A number that two texts share only if they are the same; nil for none.
    fileprivate var digest: Int? { self.map { ExactText($0).hashValue } }
}

extension Optional where Wrapped == Int {
    fileprivate func agrees(with other: Int?) -> Bool { self == nil || other == nil || self == other }
}
