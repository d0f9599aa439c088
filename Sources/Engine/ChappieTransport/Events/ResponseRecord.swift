import ResponseEvents

/// The result of a response for the turn after it: its finished items, and its end.
///
/// It belongs to the turn's driver.
struct ResponseRecord {
    /// One finished item, as it was sent.
    private struct Item {
        var outputIndex: Int
        var json: [UInt8]
        /// The fingerprint of its identifier; 0 when it has none.
        let name: UInt64
        /// The call that the item is; nil for any other item.
        var call: FinishedCall?

        /// Completes the item of a call with members that a statement has.
        mutating func complete(with members: CallMembers) {
            let json = members.completing(self.json)
            guard json != self.json else { return }
            self.json = json
            self.call = InputItem(json)?.call
        }
    }

    private let byteCountLimit: Int
    /// Items of the responses that this one continues, and the input that was added in between.
    private var earlierItems: [[UInt8]] = []
    private var items: [Item] = []
    /// The indices of the items of finished calls, by the calls' numbers in `CallStatements`.
    private var indicesByCall: [Int: Int] = [:]
    /// The items so far, by their positions; those with an identifier are at -1.
    private var seen: [Int: Set<[UInt8]>] = [:]
    /// The added input that no response has answered.
    private var laterItems: [[UInt8]] = []
    /// Indicates whether that input needs another request, as the server does not wait for one.
    private var needsAnswer = false
    private var byteCount = 0
    /// The response's identifier, from its end.
    private(set) var responseID: String?
    private var model: String?
    private var serviceTier: String?
    private var usage: ChappieTokenUsage?
    /// The usage of each response that this one continues.
    private var earlierUsages: [ChappieTokenUsage] = []
    private var endsTurn = true
    /// Indicates whether the response is complete.
    private(set) var isComplete = false

    /// Creates an empty record; items take at most `byteCountLimit` bytes.
    init(byteCountLimit: Int) { self.byteCountLimit = byteCountLimit }

    /// Indicates whether the items exceed the limit.
    var isTooLarge: Bool { self.byteCount > self.byteCountLimit }

    /// Indicates whether there is no item.
    var isEmpty: Bool { self.byteCount == 0 }

    /// Forgets the record, as the response is made again.
    mutating func restart() { self = Self(byteCountLimit: self.byteCountLimit) }

    /// Records a finished item; `name` is the fingerprint of its identifier, 0 when it has none.
    ///
    /// An item that has come before is omitted: one with an identifier at any position, one without at the same
    /// position. Beyond the limit no item is kept: a part of them would be another response. `call` is the call that the
    /// item is, and `number` its number in `CallStatements`.
    mutating func finished(
        _ json: [UInt8], at outputIndex: Int, name: UInt64, call: FinishedCall? = nil, number: Int? = nil
    ) {
        guard self.seen[name != 0 ? -1 : outputIndex, default: []].insert(json).inserted else { return }
        guard self.takes(json) else { return }
        if let number { self.indicesByCall[number] = self.items.count }
        self.items.append(Item(outputIndex: outputIndex, json: json, name: name, call: call))
    }

    /// Completes the item of a finished call, by its number, with members that a later statement has.
    mutating func complete(call: Int, with members: CallMembers) {
        guard let index = self.indicesByCall[call] else { return }
        self.byteCount -= self.items[index].json.count
        self.items[index].complete(with: members)
        self.byteCount += self.items[index].json.count
    }

    private mutating func takes(_ json: [UInt8]) -> Bool {
        let (sum, hasOverflown) = self.byteCount.addingReportingOverflow(json.count)
        self.byteCount = hasOverflown ? Int.max : sum
        guard self.isTooLarge else { return true }
        self.earlierItems.removeAll()
        self.removeItems()
        self.laterItems.removeAll()
        return false
    }

    /// Records that the response is complete.
    ///
    /// Its items are those that the end lists, if it lists any: items that came one by one may have copies that a
    /// server made by mistake. Calls are the exception, since they may have been acted on: those that came one by one
    /// stay, and the end adds only calls that are paired with none of them (`ListedCalls`). One that was answered in an
    /// earlier response, and that the end omits, is a late one of that response.
    ///
    /// `isPlaceShared` says that a position may stand for several items, `drafts` are the calls without a finished item
    /// that the list names, and `members` returns what completes a call that only the list has, at its position there.
    /// - Returns: the calls that have not come before, with their positions.
    mutating func completed(
        _ summary: ResponseSummary, responseID: String?, answered: [FinishedCall] = [],
        isPlaceShared: Bool = false, drafts: ListedDrafts = ListedDrafts(),
        members: (ItemSummary, Int) -> CallMembers? = { _, _ in nil }
    ) -> [CallStatements.Unfinished] {
        self.isComplete = true
        self.responseID = summary.id ?? responseID
        self.model = summary.model
        self.serviceTier = summary.serviceTier
        self.usage = summary.usage
        self.endsTurn = summary.endsTurn ?? true
        guard !self.isTooLarge, !summary.output.isEmpty else { return [] }
        return self.replaceItems(
            by: summary.output, answered: answered, isPlaceShared: isPlaceShared, drafts: drafts, members: members)
    }

    /// Replaces the items by those of a list; for calls that came before, only their positions are taken from the list,
    /// and members that they leave out.
    private mutating func replaceItems(
        by list: [ItemSummary], answered: [FinishedCall], isPlaceShared: Bool, drafts: ListedDrafts,
        members: (ItemSummary, Int) -> CallMembers?
    ) -> [CallStatements.Unfinished] {
        let parsed = self.items.compactMap { item in item.call.map { (item: item, call: $0) } }
        var calls = parsed.map(\.item)
        let pairs = ListedCalls(
            list, among: parsed.map { .init(call: $0.call, outputIndex: $0.item.outputIndex, itemName: $0.item.name) },
            besides: drafts)
        self.removeItems()
        let answeredCalls = Set(answered)
        let canTellLeftOver = !answered.isEmpty && list.allSatisfy { !$0.isCall || $0.callID != nil }
        let repeated = Self.repeatedCalls(in: list)
        var listed: Set<Int> = []
        var newCalls: [CallStatements.Unfinished] = []
        for (index, item) in list.enumerated() {
            guard !repeated.contains(index) else { continue }
            var json = item.typedJSON
            var call: FinishedCall?
            if item.isCall {
                if let place = pairs.known[index] {
                    calls[place].outputIndex = index
                    if !isPlaceShared || pairs.isCertain(index) { calls[place].complete(with: CallMembers(item)) }
                    // A call that the end marks as unfinished does not run.
                    if item.status == "incomplete" {
                        calls[place].json = json
                        calls[place].call = CallMembers(item).call
                    }
                    listed.insert(place)
                    continue
                }
                let known = members(item, index)
                json = known?.completing(json) ?? json
                let whole = (known ?? CallMembers(item)).call
                // Without a `call_id` it may be one of those that came.
                guard whole.key != nil || parsed.isEmpty else { continue }
                newCalls.append(.init(call: whole, outputIndex: index, json: json, itemName: item.fingerprint))
                call = whole
            }
            self.finished(json, at: index, name: item.fingerprint, call: call)
        }
        for (place, call) in calls.enumerated() {
            let isLeftOver =
                canTellLeftOver && !listed.contains(place) && call.call.map(answeredCalls.contains) == true
            if !isLeftOver, self.takes(call.json) { self.items.append(call) }
        }
        return newCalls
    }

    /// Returns the positions of calls that a list repeats under one identifier of the item, with one `call_id` and content.
    private static func repeatedCalls(in list: [ItemSummary]) -> Set<Int> {
        var first: [UInt64: Int] = [:]
        var repeated: Set<Int> = []
        for (index, item) in list.enumerated() where item.isCall && item.fingerprint != 0 {
            guard let known = first[item.fingerprint] else {
                first[item.fingerprint] = index
                continue
            }
            if CallMembers(list[known]).call == CallMembers(item).call { repeated.insert(index) }
        }
        return repeated
    }

    /// Returns whether the list of an end has a call that was answered in an earlier response, and that has not come in
    /// this one: it is the end of the earlier one.
    func isLeftOver(_ list: [ItemSummary], answered: [FinishedCall]) -> Bool {
        guard !answered.isEmpty else { return false }
        // Of each there may be thousands.
        let answered = Set(answered)
        let own = Set(self.items.compactMap(\.call))
        return list.contains { item in
            guard item.isCall else { return false }
            let call = CallMembers(item).call
            return answered.contains(call) && !own.contains(call)
        }
    }

    private mutating func removeItems() {
        if !self.isTooLarge { self.byteCount -= self.items.reduce(0) { $0 + $1.json.count } }
        self.items.removeAll()
        self.indicesByCall.removeAll()
        self.seen.removeAll()
    }

    /// Records that the response has ended early because it was steered.
    ///
    /// An unfinished item at that point is in the list of the end, if anywhere.
    mutating func steered(_ summary: ResponseSummary) {
        _ = self.completed(summary, responseID: nil)
        self.isComplete = false
    }

    /// Records that another response continues this one, with items of added input in between.
    mutating func continues(with items: [[UInt8]]) {
        self.isComplete = false
        if let usage = self.usage.take() { self.earlierUsages.append(usage) }
        let own = self.outputItems.map(\.json)
        self.removeItems()
        for item in own + items where self.takes(item) { self.earlierItems.append(item) }
    }

    /// Indicates whether the server keeps added input for the request that continues the response.
    var hasPendingInput: Bool { !self.laterItems.isEmpty && !self.needsAnswer }

    /// Records the added input that no response has answered: it follows the items.
    mutating func leaves(_ remains: Steering.Remains) {
        self.needsAnswer = !remains.unanswered.isEmpty
        for item in remains.pending + remains.unanswered where self.takes(item) { self.laterItems.append(item) }
    }

    private var totalUsage: ChappieTokenUsage? { self.earlierUsages.reduce(self.usage) { $1.adding($0) } }

    /// All items, as they were sent; those of the responses that this one continues come first.
    var allItems: [[UInt8]] { self.earlierItems + self.outputItems.map(\.json) + self.laterItems }

    /// The items in the order of their positions.
    private var outputItems: [Item] {
        // Some servers give several items one position: those keep the order in which they came.
        self.items.indices
            .sorted { (self.items[$0].outputIndex, $0) < (self.items[$1].outputIndex, $1) }
            .map { self.items[$0] }
    }

    /// Returns the response as the server described it at its end, without its text; nil when it is not complete.
    func response(requestID: String?) -> ChappieResponse? {
        guard self.isComplete else { return nil }
        var response = ChappieResponse(id: self.responseID, status: "completed")
        response.model = self.model
        response.serviceTier = self.serviceTier
        response.usage = self.totalUsage
        response.requestID = requestID
        return response
    }

    /// Returns the result of the response, with items before its own; nil when it is not complete, or too large.
    func completedResponse(behind carried: [[UInt8]]) -> CompletedResponse? {
        guard self.isComplete, !self.isTooLarge else { return nil }
        var response = CompletedResponse()
        response.id = self.responseID
        response.model = self.model
        response.serviceTier = self.serviceTier
        response.usage = self.totalUsage
        response.endsTurn = self.endsTurn && !self.needsAnswer
        let items = self.outputItems.compactMap { InputItem($0.json, call: $0.call) }
        response.setItems(
            (carried + self.earlierItems).compactMap { InputItem($0) } + items
                + self.laterItems.compactMap { InputItem($0) })
        return response
    }
}

extension CompletedResponse {
    /// Stores the items: of several calls with one `call_id` the first one counts.
    fileprivate mutating func setItems(_ items: [InputItem]) {
        var calls: [ExactText: FinishedCall] = [:]
        var answered: Set<ExactText> = []
        for item in items {
            switch item.part {
            case .call(let call):
                guard let key = call.key else {
                    self.hasAmbiguousCalls = true
                    break
                }
                if let known = calls[key] {
                    if known != call { self.hasAmbiguousCalls = true }
                    continue
                }
                calls[key] = call
                self.calls.append(call)
            case .output(let callID):
                answered.insert(ExactText(callID))
            case .other:
                break
            }
            self.items.append(item.json)
        }
        self.calls.removeAll { answered.contains(ExactText($0.callID)) }
    }
}
