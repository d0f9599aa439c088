import ResponseEvents

/// The calls in a complete response's list of items, each paired with the call that came before the end.
///
/// Some servers list a call under another `call_id`; others omit items, which shifts the positions.
struct ListedCalls {
    /// The indices of the paired calls, by the positions of the items in the list.
    private(set) var known: [Int: Int] = [:]

    /// Pairs calls by their `call_id`; then, of the others, by their content, and last by their position in the output.
    init(_ list: [ItemSummary], among calls: [(call: FinishedCall, outputIndex: Int)]) {
        var byCallID: [ExactText: Int] = [:]
        for (index, call) in calls.enumerated() { if let callID = call.call.key { byCallID[callID] = index } }
        var unpaired: [Int] = []
        var listed: Set<ExactText> = []
        for (place, item) in list.enumerated() where item.isCall {
            let callID = item.callID.map(ExactText.init)
            if let callID { listed.insert(callID) }
            if let index = callID.flatMap({ byCallID[$0] }) {
                self.known[place] = index
            } else {
                unpaired.append(place)
            }
        }
        // From the last to the first, as each is taken from the end.
        let others = calls.indices.reversed().filter { calls[$0].call.key.map(listed.contains) != true }
        guard !others.isEmpty, !unpaired.isEmpty else { return }
        var rest = Set(others)
        self.pair(unpaired, with: Dictionary(grouping: others) { calls[$0].call.content }, of: &rest) {
            CallMembers(list[$0]).call.content
        }
        self.pair(unpaired, with: Dictionary(grouping: others) { calls[$0].outputIndex }, of: &rest) { $0 }
    }

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
