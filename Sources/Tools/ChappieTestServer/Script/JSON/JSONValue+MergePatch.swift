// Merge patches of JSON values (RFC 7396).
//
// Pure.

extension JSONValue {
    /// Returns this value changed by a merge patch (RFC 7396).
    ///
    /// Objects are merged member by member, and null removes a member. Any other value, an array among them, replaces
    /// what was there.
    func merging(_ patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [Member] = []
        if case .object(let own) = self { members = own }
        for change in changes {
            let target = members.last { $0.name == change.name }?.value ?? .null
            members.removeAll { $0.name == change.name }
            guard change.value != .null else { continue }
            members.append(Member(name: change.name, value: target.merging(change.value)))
        }
        return .object(members)
    }
}
