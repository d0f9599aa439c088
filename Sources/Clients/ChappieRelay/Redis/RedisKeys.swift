/// The names of keys and channels.
///
/// Those of one stream have its identifier in braces, so that a Redis Cluster has them in one slot.
struct RedisKeys: Sendable {
    let prefix: String

    /// The stream's fields.
    func header(_ id: ChappieStreamID) -> String { "\(self.prefix):{\(id)}:meta" }

    /// The stream's records.
    func records(_ id: ChappieStreamID) -> String { "\(self.prefix):{\(id)}:records" }

    /// The channel on which the stream's changes are told.
    func channel(_ id: ChappieStreamID) -> String { "\(self.prefix):{\(id)}" }

    /// The identifier behind a program's name.
    func name(_ key: String) -> String { "\(self.prefix):key:\(key)" }

    /// The streams that are not closed, at the times at which their leases should be checked.
    var open: String { "\(self.prefix):open" }

    /// All streams with their names, at the times at which their existence should be checked.
    var expiries: String { "\(self.prefix):expiries" }

    /// A stream in `expiries`.
    func member(_ id: ChappieStreamID, key: String?) -> String { key.map { "\(id) \($0)" } ?? id.description }

    func stream(ofMember member: String) -> (ChappieStreamID, key: String?)? {
        guard let id = ChappieStreamID(String(member.prefix { $0 != " " })) else { return nil }
        return (id, member.firstIndex(of: " ").map { String(member[member.index(after: $0)...]) })
    }

    func stream(ofChannel channel: String) -> ChappieStreamID? {
        let start = "\(self.prefix):{"
        guard channel.hasPrefix(start), channel.hasSuffix("}") else { return nil }
        return ChappieStreamID(String(channel.dropFirst(start.count).dropLast()))
    }
}
