import ResponseEvents

/// The calls in a complete response's list of items, each paired with the call that came before the end.
///
/// Some servers list a call under another `call_id`; others omit items, which shifts the positions.
struct ListedCalls {
    /// A call that came before the end.
    struct Call {
        /// The call, with what the statements so far say.
        let call: FinishedCall
        /// The item's position in the response's output.
        let outputIndex: Int
        /// The fingerprint of the item's identifier; 0 when it has none.
        let itemName: UInt64
    }

    /// The indices of the paired calls, by the positions of the items in the list.
    private(set) var known: [Int: Int] = [:]
    /// The positions of the items that are paired by an identifier, or in the order of all that are left.
    private var certain: Set<Int> = []

    /// Pairs calls by their `call_id`; then, of the others, by the identifiers of their items, where these differ, by their
    /// content, and last, where the item does not name a call of `drafts`, by their position in the output; in their order
    /// where these are all calls that are left, none of them with arguments, and the names of the tools agree.
    init(_ list: [ItemSummary], among calls: [Call], besides drafts: ListedDrafts) {
        var byCallID: [ExactText: Int] = [:]
        for (index, call) in calls.enumerated() { if let callID = call.call.key { byCallID[callID] = index } }
        var unpaired: [Int] = []
        var listed: Set<ExactText> = []
        for (place, item) in list.enumerated() where item.isCall {
            let callID = item.callID.map(ExactText.init)
            if let callID { listed.insert(callID) }
            if let index = callID.flatMap({ byCallID[$0] }) {
                self.known[place] = index
                self.certain.insert(place)
            } else {
                unpaired.append(place)
            }
        }
        // From the last to the first, as each is taken from the end.
        let others = calls.indices.reversed().filter { calls[$0].call.key.map(listed.contains) != true }
        guard !others.isEmpty, !unpaired.isEmpty else { return }
        var rest = Set(others)
        // Some servers give all calls one identifier.
        let items = Dictionary(grouping: unpaired) { list[$0].fingerprint }
        let own = Dictionary(grouping: others) { calls[$0].itemName }.filter { name, calls in
            name != 0 && calls.count == 1 && items[name]?.count == 1
        }
        self.pair(unpaired, with: own, of: &rest) { list[$0].fingerprint }
        self.certain.formUnion(self.known.keys)
        self.pair(unpaired, with: Dictionary(grouping: others) { calls[$0].call.content }, of: &rest) {
            CallMembers(list[$0]).call.content
        }
        let unnamed = unpaired.filter { self.known[$0] == nil && !drafts.isNamed($0) }
        // A list without other items shifts the positions, and a tool would run with the arguments of another call.
        let left = rest.sorted { (calls[$0].outputIndex, $0) < (calls[$1].outputIndex, $1) }
        let inOrder = zip(unnamed, left)
        let isInOrder =
            unnamed.count == left.count
            && inOrder.allSatisfy { place, index in
                let call = CallMembers(calls[index].call)
                return !call.hasArguments && call.namesAgree(with: CallMembers(list[place]))
            }
        if isInOrder {
            for (place, index) in inOrder { self.known[place] = index }
            self.certain.formUnion(unnamed)
            return
        }
        self.pair(unnamed, with: Dictionary(grouping: others) { calls[$0].outputIndex }, of: &rest) { $0 }
    }

    /// Returns whether an item of the list is paired by more than its content or its position, so that it states the call
    /// where positions are shared, too.
    func isCertain(_ place: Int) -> Bool { self.certain.contains(place) }

    private mutating func pair<Key: Hashable>(
        _ places: [Int], with groups: [Key: [Int]], of rest: inout Set<Int>, by key: (Int) -> Key
    ) {
        var groups = groups
        for place in places where self.known[place] == nil {
            let key = key(place)
            while let index = groups[key]?.popLast() {
                guard rest.remove(index) != nil else { continue }
                self.known[place] = index
                break
            }
        }
    }
}

/// The calls in a complete response's list of items that state a call without a finished item, by the identifiers.
///
/// Positions say less: a list may omit an item, such as reasoning, and begin its count elsewhere.
struct ListedDrafts {
    /// A call without a finished item.
    struct Draft {
        /// The item's position in the response's output.
        let outputIndex: Int
        /// The call's `call_id`; empty when it is not known.
        let callID: String
        /// The fingerprint of the item's identifier; 0 when it has none.
        let itemName: UInt64
    }

    /// The positions in the output, by those in the list.
    private var outputIndices: [Int: Int] = [:]
    /// The positions in the output of calls that the list names.
    private var named: Set<Int> = []

    /// Creates the value where the list names none.
    init() {}

    /// Pairs calls by their `call_id`; then, of the others, by the identifiers of their items.
    init(_ list: [ItemSummary], among drafts: [Draft]) {
        let calls = list.enumerated().filter { $1.isCall }
        self.pair(
            calls.map { ($0, $1.callID.map(ExactText.init)) },
            with: drafts.map { ($0.outputIndex, $0.callID.isEmpty ? nil : ExactText($0.callID)) })
        self.pair(
            calls.map { ($0, $1.fingerprint == 0 ? nil : $1.fingerprint) },
            with: drafts.map { ($0.outputIndex, $0.itemName == 0 ? nil : $0.itemName) })
    }

    private mutating func pair<Name: Hashable>(
        _ listed: [(place: Int, name: Name?)], with drafts: [(outputIndex: Int, name: Name?)]
    ) {
        let indices = Dictionary(
            drafts.compactMap { draft in
                draft.name.flatMap { self.named.contains(draft.outputIndex) ? nil : ($0, draft.outputIndex) }
            }, uniquingKeysWith: { first, _ in first })
        for (place, name) in listed where self.outputIndices[place] == nil {
            guard let outputIndex = name.flatMap({ indices[$0] }) else { continue }
            self.outputIndices[place] = outputIndex
            self.named.insert(outputIndex)
        }
    }

    /// Returns whether an item of the list names a call without a finished item.
    func isNamed(_ place: Int) -> Bool { self.outputIndices[place] != nil }

    /// Returns whether an item of the list names the call without a finished item at a position in the output.
    func names(_ outputIndex: Int) -> Bool { self.named.contains(outputIndex) }

    /// Returns the position of the call that an item of the list states: one that it names, or else the one in its place,
    /// unless another item names that; nil for none.
    func outputIndex(of place: Int) -> Int? {
        self.outputIndices[place] ?? (self.named.contains(place) ? nil : place)
    }
}
