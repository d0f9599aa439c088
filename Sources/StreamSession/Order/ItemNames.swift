/// The names of a response's items, which are the fingerprints of their identifiers, and the indices that they stand
/// for; 0 is no name.
///
/// It is a part of `ResponseOrder` and belongs to its owner.
struct ItemNames: Sendable {
    /// The name of each item, by the index at which it was announced.
    private var names: [Int: UInt64] = [:]
    /// The names that items had, also those that others have replaced.
    private(set) var all: Set<UInt64> = []
    /// The index of the item with a name: that of its last announcement, or else of its first delta or closing text.
    ///
    /// An item that was only done has none: some servers give all items one identifier.
    private var places: [UInt64: Int] = [:]

    /// Indicates whether no item has a name.
    var isEmpty: Bool { self.names.isEmpty }

    /// The name of the item at an index; nil when it has none.
    subscript(outputIndex: Int) -> UInt64? { self.names[outputIndex] }

    /// Returns whether an item has, or had, a name.
    func contains(_ name: UInt64) -> Bool { self.all.contains(name) }

    /// Returns whether an item has a property, by its index and its name.
    func containsItem(where hasProperty: (_ outputIndex: Int, _ name: UInt64) -> Bool) -> Bool {
        self.names.contains { hasProperty($0.key, $0.value) }
    }

    /// Returns the index of the item with a name; nil when no item has it, or one that was only done.
    func place(of name: UInt64) -> Int? { self.places[name] }

    /// Records the name of an item that is announced, or named by its first output or its end.
    mutating func announce(_ name: UInt64, at outputIndex: Int, isDone: Bool = false) {
        guard name != 0 else { return }
        self.names[outputIndex] = name
        self.all.insert(name)
        if !isDone { self.places[name] = outputIndex }
    }

    /// Removes the name of the item at an index, which another item has from here on.
    mutating func removeName(at outputIndex: Int) { self.names[outputIndex] = nil }
}
