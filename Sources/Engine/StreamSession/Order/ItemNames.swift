/// The names of a response's items, which are the fingerprints of their identifiers, and the places that they stand
/// for; 0 is no name.
///
/// The place of an item is its index. Of items with names that are open at one index at a time, as where a server gives
/// no indices, each has a place of its own, in the order of their announcements.
///
/// It is a part of `ResponseOrder` and belongs to its owner.
struct ItemNames: Sendable {
    /// The name of each item, by the place at which it was announced.
    private var names: [Int: UInt64] = [:]
    /// The names that items had, also those that others have replaced.
    private(set) var all: Set<UInt64> = []
    /// The place of the item with a name: that of its last announcement, or else of its first delta or closing text.
    ///
    /// An item that was only done has none: some servers give all items one identifier.
    private var places: [UInt64: Int] = [:]
    /// The places of items that were announced and have not ended.
    private var open: Set<Int> = []
    /// The places of items whose index was that of another open one, by this index.
    private var moved: [Int: Int] = [:]
    /// The lowest index above those of all items.
    private var nextPlace = 0

    /// Indicates whether no item has a name.
    var isEmpty: Bool { self.names.isEmpty }

    /// Indicates whether an item has a place that is not its index.
    var haveMoved: Bool { !self.moved.isEmpty }

    /// The name of the item at a place; nil when it has none.
    subscript(outputIndex: Int) -> UInt64? { self.names[outputIndex] }

    /// The name of the newest item with an index; nil when it has none.
    subscript(at outputIndex: Int) -> UInt64? { self.names[self.place(at: outputIndex)] }

    /// Returns whether an item has, or had, a name.
    func contains(_ name: UInt64) -> Bool { self.all.contains(name) }

    /// Returns whether an item has a property, by its index and its name.
    func containsItem(where hasProperty: (_ outputIndex: Int, _ name: UInt64) -> Bool) -> Bool {
        self.names.contains { hasProperty($0.key, $0.value) }
    }

    /// Returns the place of the item with a name; nil when no item has it, or one that was only done.
    func place(of name: UInt64) -> Int? { self.places[name] }

    /// Returns the place of the newest item with an index.
    func place(at outputIndex: Int) -> Int { self.moved[outputIndex] ?? outputIndex }

    /// Returns whether the newest item at a place was announced, and has not ended.
    func isOpen(_ place: Int) -> Bool { self.open.contains(place) }

    /// Records the announcement of an item at a place, which another one may have had before; `name` is 0 when it has
    /// none.
    mutating func begin(_ name: UInt64, at place: Int) {
        self.names[place] = nil
        self.announce(name, at: place)
        self.open.insert(place)
    }

    /// Records the end of the item at a place.
    mutating func end(at place: Int) { self.open.remove(place) }

    /// Records that another item with a name has an index from here on, and returns its place: behind all others.
    mutating func move(from outputIndex: Int) -> Int {
        guard self.nextPlace <= ItemIndexSet.maximumIndex else { return self.place(at: outputIndex) }
        self.moved[outputIndex] = self.nextPlace
        return self.nextPlace
    }

    /// Records the name of an item that is announced, or named by its first output or its end; `name` is 0 when it has
    /// none.
    mutating func announce(_ name: UInt64, at outputIndex: Int, isDone: Bool = false) {
        self.nextPlace = max(self.nextPlace, outputIndex + 1)
        guard name != 0 else { return }
        self.names[outputIndex] = name
        self.all.insert(name)
        if !isDone { self.places[name] = outputIndex }
    }
}
