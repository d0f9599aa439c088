// Counts of raw events, as the ledger's documentation describes them.

/// The number of raw events that were passed on, by type and item.
struct RawEventModel {
    private struct Key: Hashable {
        /// The type's place among all that have a count of their own.
        let type: Int
        let outputIndex: Int?
    }

    private static let maximumTypeCount = 256
    private static let maximumTypeByteCount = 128
    private static let maximumItemCount = 4_096

    private var types: [String: Int] = [:]
    private var delivered: [Key: Int] = [:]
    private var seen: [Key: Int] = [:]
    /// The number of keys with an item.
    private var itemCount = 0

    /// All types without a count of their own.
    private static let others = Key(type: -1, outputIndex: nil)

    mutating func admit(_ type: String, outputIndex: Int?) -> Bool {
        let key = self.key(type, outputIndex)
        self.seen[key, default: 0] += 1
        let isNew = self.seen[key, default: 0] > self.delivered[key, default: 0]
        if isNew { self.delivered[key] = self.seen[key] }
        return isNew
    }

    private mutating func key(_ type: String, _ outputIndex: Int?) -> Key {
        guard let type = self.number(of: type) else { return Self.others }
        let key = Key(type: type, outputIndex: outputIndex)
        guard outputIndex != nil, self.delivered[key] == nil else { return key }
        guard self.itemCount < Self.maximumItemCount else { return Key(type: type, outputIndex: nil) }
        self.itemCount += 1
        return key
    }

    private mutating func number(of type: String) -> Int? {
        if let number = self.types[type] { return number }
        guard self.types.count < Self.maximumTypeCount, type.utf8.count <= Self.maximumTypeByteCount else { return nil }
        self.types[type] = self.types.count
        return self.types.count - 1
    }

    mutating func rewind() { self.seen = [:] }

    /// Forgets the events of some items, and those of no item that is known.
    mutating func settle(_ items: Range<Int>) {
        self.delivered = self.delivered.filter { $0.key.outputIndex.map { !items.contains($0) } ?? false }
        self.itemCount = self.delivered.count
    }
}
