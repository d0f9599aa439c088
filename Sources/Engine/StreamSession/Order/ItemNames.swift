/// The kind of an item, and of the output that belongs to it.
package enum ItemKind: Sendable {
    /// A message, with text and refusals.
    case message
    /// Reasoning, with its summaries.
    case reasoning
    /// A call of a tool of the program.
    case call
    /// Any other item, such as the call of a tool that the server runs.
    case other
}

/// The names of a response's items, which are the fingerprints of their identifiers, and the places that they stand
/// for; 0 is no name.
///
/// The place of an item is its index. Of items that are announced under names at one index, as where a server gives no
/// indices, each has a place of its own, in the order of their announcements.
///
/// It is a part of `ResponseOrder` and belongs to its owner.
struct ItemNames: Sendable {
    /// An item that was announced or has a name.
    private struct Item {
        /// Its name; 0 when it has none.
        var name: UInt64
        /// The kind that it was announced as; nil when it was not announced.
        var kind: ItemKind?
        /// Indicates whether it was announced under its name.
        var isAnnounced = false
        /// Indicates whether it was announced under its name and has not ended.
        var isOpen = false
        /// Indicates whether its end has the name.
        var isConfirmed = false
        /// Indicates whether events of text under its name are reasoning.
        var writesReasoning = false
    }

    /// The newest item at each place.
    private var items: [Int: Item] = [:]
    /// The places of the items of each kind, of the root agent, that were announced and have not ended.
    private var open: [ItemKind: Set<Int>] = [:]
    /// The names that items had, also those that others have replaced.
    private(set) var all: Set<UInt64> = []
    /// The place of the item with a name: that of its last announcement, or else of its first delta or closing text.
    ///
    /// An item that was only done has none: some servers give all items one identifier.
    private var places: [UInt64: Int] = [:]
    /// The places of items whose index was that of another one, by this index.
    private var moved: [Int: Int] = [:]

    /// Indicates whether an item was announced as reasoning under a name.
    private(set) var hasReasoning = false

    /// Indicates whether no item has a name.
    var isEmpty: Bool { self.all.isEmpty }

    /// The name of the item at a place; nil when it has none.
    subscript(place: Int) -> UInt64? { self.items[place].flatMap { $0.name == 0 ? nil : $0.name } }

    /// Returns whether an item has, or had, a name.
    func contains(_ name: UInt64) -> Bool { self.all.contains(name) }

    /// Returns the place of the item with a name; nil when no item has it, or one that was only done.
    func place(of name: UInt64) -> Int? { self.places[name] }

    /// Returns whether only deltas and closing texts have a name, so that it does not identify their item, while the item
    /// at another place has no name, or was announced and the name's own item is over.
    func isBorrowed(_ name: UInt64, at place: Int, isOver: Bool) -> Bool {
        guard let own = self.places[name], own != place,
            self[place] == nil || isOver && self.items[place]?.isAnnounced == true
        else { return false }
        return self.items[own].map { !$0.isAnnounced && !$0.isConfirmed } ?? true
    }

    /// Returns whether the item at a place was announced under a name, as one that output of a kind belongs to.
    func isOwner(of kind: ReplaySlot.Kind, at place: Int) -> Bool {
        self.items[place].map { $0.isAnnounced && $0.kind == kind.item } ?? false
    }

    /// Returns whether text under a name is reasoning: that of an item that was announced as reasoning under it, and whose
    /// first output was such text, before its end; `isWritten` tells whether the item at a place has output.
    mutating func takesAsReasoning(_ name: UInt64, isWritten: (Int) -> Bool) -> Bool {
        guard let place = self.places[name], let item = self.items[place], item.name == name else { return false }
        if item.writesReasoning { return true }
        guard item.isOpen, item.kind == .reasoning, !isWritten(place) else { return false }
        self.items[place]?.writesReasoning = true
        return true
    }

    /// Returns the kind that the item at a place was announced as; nil when it was not announced.
    func kind(at place: Int) -> ItemKind? { self.items[place]?.kind }

    /// Returns the place of the only open item of a kind; nil when none or several are open.
    func onlyOpenPlace(of kind: ItemKind) -> Int? {
        self.open[kind].flatMap { $0.count == 1 ? $0.first : nil }
    }

    /// Returns the place of the newest item with an index.
    func place(at outputIndex: Int) -> Int { self.moved[outputIndex] ?? outputIndex }

    /// Returns whether the newest item with an index has a name.
    func isAnnounced(_ name: UInt64, at outputIndex: Int) -> Bool {
        name != 0 && self[self.place(at: outputIndex)] == name
    }

    /// Returns whether the item at a place was announced under its name.
    func isNamed(_ place: Int) -> Bool { self.items[place]?.isAnnounced == true }

    /// Returns whether the item at a place was announced under a name, and has ended since.
    func isOver(_ name: UInt64, at place: Int) -> Bool {
        self.items[place].map { $0.isAnnounced && $0.name == name && !$0.isOpen } ?? false
    }

    /// Records the announcement of an item at a place, which another one may have had before; `name` is 0 when it has
    /// none, and `isRoot` is false when it is another agent's.
    mutating func begin(_ name: UInt64, at place: Int, kind: ItemKind, isRoot: Bool) {
        if let before = self.items[place]?.kind { self.open[before]?.remove(place) }
        self.items[place] = Item(name: name, kind: kind, isAnnounced: name != 0, isOpen: name != 0)
        self.announce(name, at: place)
        if kind == .reasoning, name != 0 { self.hasReasoning = true }
        if isRoot { self.open[kind, default: []].insert(place) }
    }

    /// Records the end of the item at a place; `name` is 0 when the end has none.
    mutating func end(at place: Int, _ name: UInt64) {
        guard let item = self.items[place] else { return }
        if let kind = item.kind { self.open[kind]?.remove(place) }
        self.items[place]?.isOpen = false
        if name != 0, item.name == name { self.items[place]?.isConfirmed = true }
    }

    /// Records that events with an index, and with a name where it is not 0, belong to the item at another place.
    mutating func redirect(_ name: UInt64, at outputIndex: Int, to place: Int) {
        self.moved[outputIndex] = place
        if name != 0 { self.places[name] = place }
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
        if self.items[place]?.name != name { self.items[place] = Item(name: name, kind: self.kind(at: place)) }
        self.all.insert(name)
        if !isDone { self.places[name] = place }
    }
}

extension ReplaySlot.Kind {
    /// The kind of item that the output belongs to.
    package var item: ItemKind {
        switch self {
        case .text, .refusal: .message
        case .reasoningSummary, .reasoningText: .reasoning
        case .toolCall: .call
        }
    }
}
