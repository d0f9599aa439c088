import ResponseEvents
import StreamSession

/// The statements of a response about its tool calls, each compared with the earlier ones.
///
/// It belongs to the turn's driver, and performs no I/O. A response states a call up to five times: when the item is
/// announced, in deltas, at the end of these, at the end of the item, and at its own end. The name, the namespace and
/// the arguments have to be the same each time, since a program acts on them. Arguments are compared as JSON values, a
/// custom tool's input byte for byte.
///
/// # Ignored statements
///
/// - An announcement without a name, and statements that a server omits.
/// - Deltas of one position under several identifiers, as their item is not known, and deltas that split a character.
/// - Statements by position once positions are shared (`ResponseOrder.areIndicesShared`). By `call_id` the end of the
///   response is compared nevertheless.
///
/// The text of unfinished calls is kept, up to a limit; of a finished call a digest stays.
struct CallStatements {
    /// A call that was announced and written to its end, while its item was never finished.
    struct Unfinished {
        let call: ReplayedToolCall
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
        /// The text of the deltas, or of the event that closes them.
        var text: [UInt8] = []
        /// The fingerprint of the identifier that its deltas have.
        var itemName: UInt64?
        /// Indicates whether the deltas cannot be compared.
        var isMixed = false
        var isClosed = false
    }

    fileprivate struct Announcement {
        let kind: ReplayedToolCall.Kind
        let name: String
        let namespace: String?
        let callID: String?
        let json: [UInt8]
        let isNamed: Bool

        init(_ item: ItemSummary) {
            self.kind = item.replayKind
            self.name = item.name ?? ""
            self.namespace = item.namespace
            self.callID = item.callID.flatMap { $0.isEmpty ? nil : $0 }
            self.json = unsafe Array(item.json.utf8)
            self.isNamed = item.id?.isEmpty == false
        }
    }

    /// A call whose item is finished.
    private struct Finished {
        let callID: ExactText?
        let outputIndex: Int
        /// The fingerprint of the item's identifier; 0 when it has none.
        let itemName: UInt64
        let digest: Int
        /// A number that two calls share only if their arguments are the same.
        let argumentDigest: Int
    }

    private let byteCountLimit: Int
    private var drafts: [Int: Draft] = [:]
    private var byteCount = 0
    private var finishedCalls: [Finished] = []
    private var finishedContents: Set<Content> = []
    private var finishedPlaces: Set<Place> = []
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

    /// Compares the whole text that closes a call's deltas; `itemName` is that of `wrote`.
    mutating func closed(
        _ text: BorrowedText, _ kind: ReplayedToolCall.Kind, at outputIndex: Int, itemName: UInt64, isPlaceShared: Bool
    ) -> Verdict {
        let whole = unsafe Array(text.utf8)
        if self.drafts[outputIndex] == nil, let place = self.indicesByPlace[outputIndex] {
            // The item was finished before its arguments: some servers do not keep to the order. The content of another
            // item at the same place is not known before it is finished.
            let known = self.finishedCalls[place[0]]
            guard itemName != 0, itemName == known.itemName else { return .same }
            let arguments = whole.comparable(as: kind)
            return self.verdict(isPlaceShared || known.argumentDigest == ExactText(arguments).hashValue)
        }
        var isSame = true
        self.update(outputIndex) { draft in
            isSame = isPlaceShared || draft.allows(whole, kind)
            draft.text = whole
            draft.isMixed = false
            draft.isClosed = true
        }
        return self.verdict(isSame)
    }

    /// Records a finished call; `isPlaceShared` says that the position may stand for several items.
    mutating func finished(_ item: ItemSummary, at outputIndex: Int, isPlaceShared: Bool) -> Verdict {
        let draft = self.forgetDraft(at: outputIndex)
        let callID = item.callID.flatMap { $0.isEmpty ? nil : ExactText($0) }
        let place = ItemPlace(itemName: item.fingerprint, outputIndex: outputIndex)
        let isAllowed = isPlaceShared || draft?.allows(item) ?? true
        let digest = item.callDigest
        let announced = draft?.announcement
        if announced?.callID.map(ExactText.init).map({ $0 == callID }) ?? true {
            let content = Content(
                callID: callID, place: callID == nil ? place : nil, digest: digest,
                isIncomplete: item.status == "incomplete")
            // Without a `call_id`, one that was announced is another call.
            let isKnown = !self.finishedContents.insert(content).inserted && (callID != nil || announced == nil)
            // Elsewhere it is another call, of a server that gives several the same `call_id`.
            let isAtItsPlace =
                callID.map { !self.finishedPlaces.insert(Place(callID: $0, outputIndex: outputIndex)).inserted }
                ?? false
            guard !isKnown else { return isAllowed ? .repeated : .differs }
            guard !isAtItsPlace else { return .differs }
        }
        let isFinishedOtherwise = self.isFinished(place, otherwiseThanWith: callID)
        self.indicesByPlace[outputIndex, default: []].append(self.finishedCalls.count)
        self.finishedCalls.append(
            Finished(
                callID: callID, outputIndex: outputIndex, itemName: item.fingerprint, digest: digest,
                argumentDigest: ExactText(item.comparableArguments).hashValue))
        // A new announcement makes it another item.
        return self.verdict(isAllowed && (draft != nil || !isFinishedOtherwise))
    }

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
        guard let finished else { return isPlaceShared || self.drafts[index]?.allows(item) ?? true }
        let hasItsName = finished.callID != nil && finished.callID == item.callID.map(ExactText.init)
        return finished.digest == item.callDigest || isPlaceShared && !hasItsName
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
    /// Returns whether a call was announced, and was not finished elsewhere: some servers finish an item at another
    /// position.
    fileprivate func isLeft(beside finished: Set<ExactText>) -> Bool {
        guard let announcement = self.announcement, let callID = announcement.callID else { return false }
        return !announcement.name.isEmpty && !finished.contains(ExactText(callID))
    }

    /// Returns a closed call as its item would have stated it; nil when it was not announced.
    fileprivate func unfinished(at outputIndex: Int) -> CallStatements.Unfinished? {
        guard let announcement = self.announcement,
            var item = try? JSONObjectText(announcement.json)
        else { return nil }
        let text = String(decoding: self.text, as: UTF8.self)
        let isCustom = announcement.kind == .custom
        item[isCustom ? "input" : "arguments"] = JSONText.string(text)[...]
        item["status"] = nil
        return CallStatements.Unfinished(
            call: ReplayedToolCall(
                announcement.kind, outputIndex: outputIndex, name: announcement.name,
                namespace: announcement.namespace, arguments: isCustom ? text : CanonicalJSON.arguments(text)),
            json: item.json, isNamed: announcement.isNamed)
    }

    /// Returns whether a call matches the announcement and the deltas.
    fileprivate func allows(_ item: ItemSummary) -> Bool {
        self.allows(item.comparableArguments, item.replayKind) && self.announcement?.allows(item) != false
    }

    /// Returns whether a whole text matches the deltas.
    fileprivate func allows(_ whole: [UInt8], _ kind: ReplayedToolCall.Kind) -> Bool {
        self.isMixed || self.text.isEmpty || self.text == whole || self.allows(whole.comparable(as: kind), kind)
    }

    private func allows(_ arguments: String, _ kind: ReplayedToolCall.Kind) -> Bool {
        self.isMixed || self.text.isEmpty || self.text.comparable(as: kind).isExactly(arguments)
    }
}

extension [UInt8] {
    /// Returns the text by which two calls with it as their arguments or input are compared.
    fileprivate func comparable(as kind: ReplayedToolCall.Kind) -> String {
        let text = String(decoding: self, as: UTF8.self)
        return kind == .function ? CanonicalJSON.arguments(text) : text
    }
}

extension CallStatements.Announcement {
    /// Returns whether a call matches the announcement, as far as that identifies one.
    fileprivate func allows(_ item: ItemSummary) -> Bool {
        guard !self.name.isEmpty else { return true }
        let isSameNamespace = self.namespace.map { $0.isExactly(item.namespace ?? "") } ?? true
        return self.kind == item.replayKind && self.name.isExactly(item.name ?? "") && isSameNamespace
    }
}

extension ItemSummary {
    /// The function or tool that a call names.
    var replayKind: ReplayedToolCall.Kind { self.kind == .functionCall ? .function : .custom }

    /// A number that two calls share only if they call the same tool in the same way, apart from their `call_id`.
    ///
    /// It has the process's random seed: a server cannot make two calls collide.
    var callDigest: Int {
        ReplayedToolCall(
            self.replayKind, outputIndex: 0, name: self.name ?? "",
            namespace: self.namespace.flatMap { $0.isEmpty ? nil : $0 }, arguments: self.comparableArguments
        ).hashValue
    }

    /// The arguments by which two calls of a tool are compared: JSON in canonical form, or the unchanged input.
    var comparableArguments: String {
        guard case .functionCall = self.kind else { return self.payload ?? "" }
        return self.payload.map { CanonicalJSON.arguments($0) } ?? "null"
    }
}

extension InputItem.Call {
    /// The digest that the call has as a finished item (`ItemSummary.callDigest`).
    var digest: Int {
        let call = CompletedResponse.Call(self, callID: "").canonical
        return ReplayedToolCall(
            call.isCustom ? .custom : .function, outputIndex: 0, name: call.name, namespace: call.namespace,
            arguments: call.payload
        ).hashValue
    }
}
