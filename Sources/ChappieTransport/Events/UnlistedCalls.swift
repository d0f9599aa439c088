import ResponseEvents

/// The calls that came one by one and that a complete response does not list under their `call_id`.
///
/// Some servers list a call under another identifier, and some omit items, so that the places of the list are others. A
/// listed call may therefore be one of these: it must not run a second time.
struct UnlistedCalls {
    private var isTaken: [Bool] = []
    private var byContent: [ExactText: [Int]] = [:]
    private var byPlace: [Int: [Int]] = [:]

    /// Collects those calls, each with its JSON and its place, that a list does not have.
    init(_ calls: [(json: [UInt8], outputIndex: Int)], behind list: [ItemSummary]) {
        let listed = Set(list.filter(\.isCall).compactMap { $0.callID.map(ExactText.init) })
        for (json, outputIndex) in calls {
            guard case .call(let call)? = InputItem(json)?.part,
                call.callID.map({ listed.contains(ExactText($0)) }) != true
            else { continue }
            self.byContent[Self.content(of: call), default: []].append(self.isTaken.count)
            self.byPlace[outputIndex, default: []].append(self.isTaken.count)
            self.isTaken.append(false)
        }
    }

    /// Takes the call that a listed one may be: one with the same content, or else one at the same place; returns false
    /// when there is none.
    mutating func take(_ item: ItemSummary, at index: Int) -> Bool {
        guard !self.isTaken.isEmpty, case .call(let call)? = InputItem(unsafe Array(item.json.utf8))?.part else {
            return false
        }
        let content = Self.content(of: call)
        guard
            let taken = self.first(of: &self.byContent[content, default: []])
                ?? self.first(of: &self.byPlace[index, default: []])
        else { return false }
        self.isTaken[taken] = true
        return true
    }

    private func first(of candidates: inout [Int]) -> Int? {
        while let candidate = candidates.popLast() {
            if !self.isTaken[candidate] { return candidate }
        }
        return nil
    }

    /// Returns a text that two calls share only if they call the same tool in the same way, apart from their `call_id`.
    private static func content(of call: InputItem.Call) -> ExactText {
        let call = CompletedResponse.Call(call, callID: "").canonical
        return ExactText(
            [call.name, call.namespace ?? "", call.isCustom ? "custom" : "", call.payload].joined(separator: "\0"))
    }
}
