/// Identifiers and habits of the responses that a kept connection has carried, by which their late events are
/// recognised.
///
/// A value of the connection's; the turn that uses the connection has a copy. It performs no I/O.
package struct EarlierResponses: Sendable {
    /// How many items' identifiers are remembered, as fingerprints of eight bytes: the newest ones.
    package static let maximumNameCount = 4_096

    private var names: Set<UInt64> = []
    private var order: [UInt64] = []
    private var oldest = 0

    private var hasResponses = false
    private var hasItems = false
    /// Whether every response with items has announced them, each under one name.
    package private(set) var namesItems = false
    /// Whether every response has numbered its events without a gap.
    package private(set) var countsByOne = false

    /// A connection that has carried no response.
    package init() {}

    /// Whether an item of an earlier response had a name.
    func contains(_ name: UInt64) -> Bool { self.names.contains(name) }

    /// Another response was carried.
    ///
    /// - Parameters:
    ///   - names: the names of its items.
    ///   - namesItems: whether it has announced its items, each under one name; nil when it had none.
    ///   - countsByOne: whether it has numbered its events without a gap.
    mutating func add(_ names: Set<UInt64>, namesItems: Bool?, countsByOne: Bool) {
        if let namesItems {
            self.namesItems = namesItems && (self.namesItems || !self.hasItems)
            self.hasItems = true
        }
        self.countsByOne = countsByOne && (self.countsByOne || !self.hasResponses)
        self.hasResponses = true
        for name in names where self.names.insert(name).inserted {
            guard self.order.count == Self.maximumNameCount else {
                self.order.append(name)
                continue
            }
            self.names.remove(self.order[self.oldest])
            self.order[self.oldest] = name
            self.oldest = (self.oldest + 1) % Self.maximumNameCount
        }
    }
}
