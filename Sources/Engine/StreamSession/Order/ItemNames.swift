/// The names of a response's items, which are the fingerprints of their identifiers, and the places that they stand
/// for; 0 is no name.
///
/// The place of an item is its index. Of items with names that are open at one index at a time, as where a server gives
/// no indices, each has a place of its own, in the order of their announcements.
///
/// It is a part of `ResponseOrder` and belongs to its owner.
struct ItemNames: Sendable {
    /// An item with a name.
    private struct Item {
        let name: UInt64
        /// Indicates whether it was announced under the name as a message; nil when it was not announced under it.
        var isMessage: Bool?
        /// Indicates whether it was announced and has not ended.
        var isOpen = false
        /// Indicates whether its end has the name.
        var isConfirmed = false
    }

    /// The newest item with a name at each place.
    private var items: [Int: Item] = [:]
    /// The names that items had, also those that others have replaced.
    private(set) var all: Set<UInt64> = []
    /// The place of the item with a name: that of its last announcement, or else of its first delta or closing text.
    ///
    /// An item that was only done has none: some servers give all items one identifier.
    private var places: [UInt64: Int] = [:]
    /// The places of items whose index was that of another open one, by this index.
    private var moved: [Int: Int] = [:]

    /// Indicates whether no item has a name.
    var isEmpty: Bool { self.items.isEmpty }

    /// The name of the item at a place; nil when it has none.
    subscript(place: Int) -> UInt64? { self.items[place]?.name }

    /// Returns whether an item has, or had, a name.
    func contains(_ name: UInt64) -> Bool { self.all.contains(name) }

    /// Returns whether an item has a property, by its index and its name.
    func containsItem(where hasProperty: (_ outputIndex: Int, _ name: UInt64) -> Bool) -> Bool {
        self.items.contains { hasProperty($0.key, $0.value.name) }
    }

    /// Returns the place of the item with a name; nil when no item has it, or one that was only done.
    func place(of name: UInt64) -> Int? { self.places[name] }

    /// Returns whether only deltas and closing texts have a name, so that it does not identify their item, while the item
    /// at another place has no name.
    func isBorrowed(_ name: UInt64, at place: Int) -> Bool {
        guard let own = self.places[name], own != place, self.items[place] == nil else { return false }
        return self.items[own].map { $0.isMessage == nil && !$0.isConfirmed } ?? true
    }

    /// Returns whether the item at a place was announced under a name, as one that output of a kind belongs to.
    func isOwner(of kind: ReplaySlot.Kind, at place: Int) -> Bool {
        self.items[place]?.isMessage.map { $0 == (kind == .text || kind == .refusal) } ?? false
    }

    /// Returns the place of the newest item with an index.
    func place(at outputIndex: Int) -> Int { self.moved[outputIndex] ?? outputIndex }

    /// Returns whether the newest item with an index has a name.
    func isAnnounced(_ name: UInt64, at outputIndex: Int) -> Bool {
        name != 0 && self[self.place(at: outputIndex)] == name
    }

    /// Returns whether the item at a place has a name, was announced and has not ended.
    func isOpen(_ place: Int) -> Bool { self.items[place]?.isOpen == true }

    /// Records the announcement of an item at a place, which another one may have had before; `name` is 0 when it has
    /// none.
    mutating func begin(_ name: UInt64, at place: Int, isMessage: Bool) {
        self.items[place] = nil
        self.announce(name, at: place)
        self.items[place]?.isMessage = isMessage
        self.items[place]?.isOpen = true
    }

    /// Records the end of the item at a place; `name` is 0 when the end has none.
    mutating func end(at place: Int, _ name: UInt64) {
        self.items[place]?.isOpen = false
        if self.items[place]?.name == name { self.items[place]?.isConfirmed = true }
    }

    /// Returns the place of another item with an index, from here on: a free one, which may be above all indices.
    mutating func move(from outputIndex: Int, to free: Int) -> Int {
        guard free <= ItemIndexSet.maximumIndex else { return self.place(at: outputIndex) }
        self.moved[outputIndex] = free
        return free
    }

    /// Records the name of an item that is announced, or named by its first output or its end.
    mutating func announce(_ name: UInt64, at place: Int, isDone: Bool = false) {
        guard name != 0 else { return }
        self.items[place] = Item(name: name)
        self.all.insert(name)
        if !isDone { self.places[name] = place }
    }
}
