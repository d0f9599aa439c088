/// The output of items that a response has not announced, while it has announced others: it may be another response's.
///
/// Alone it is no evidence, since some servers omit announcements or change identifiers. It is a part of `ResponseOrder`
/// and belongs to its owner.
struct StrangeOutput: Sendable {
    /// Indicates whether output, or the end of an item, came at an index or under a name that was not announced.
    private(set) var hasCome = false
    /// Indicates whether it is evidence beside an end that names another response and lists no announced item.
    private(set) var isEvidence = false
    /// The names of the items that were announced with one.
    private var announcedNames: Set<UInt64> = []
    /// The items that have written under the name with which they were announced.
    private var named = ItemIndexSet()
    /// The names of those that have written text or a refusal.
    private var messages: Set<UInt64> = []
    /// The kinds of output that items had which were not announced.
    private var kinds: Set<ReplaySlot.Kind> = []

    /// Records the announcement of an item; `name` is 0 when it has none.
    mutating func announced(_ name: UInt64) { if name != 0 { self.announcedNames.insert(name) } }

    /// Returns whether an item was announced with a name.
    func hasAnnounced(_ name: UInt64) -> Bool { self.announcedNames.contains(name) }

    /// Records an event of an item that was not announced.
    mutating func came() { self.hasCome = true }

    /// Records that a closing event had all of such an item's output of a kind.
    mutating func cameInClosing(_ kind: ReplaySlot.Kind) {
        self.isEvidence = true
        self.mustList(kind)
    }

    /// Records that such an item has output of a kind.
    mutating func mustList(_ kind: ReplaySlot.Kind) { self.kinds.insert(kind) }

    /// Records a delta of an announced item under a name; `known` is the announced one, or else that of the first delta.
    ///
    /// A server that changes identifiers does so from the first delta on.
    mutating func wrote(_ name: UInt64, known: UInt64?, kind: ReplaySlot.Kind, at outputIndex: Int) {
        if name == known, self.announcedNames.contains(name) {
            _ = self.named.insert(outputIndex)
            if kind == .text || kind == .refusal { self.messages.insert(name) }
        } else if self.isReplaced(by: name, known: known, at: outputIndex) {
            self.isEvidence = true
        }
    }

    /// Returns whether a name is another one than that under which the item was announced and has written.
    func isReplaced(by name: UInt64, known: UInt64?, at outputIndex: Int) -> Bool {
        name != 0 && name != known && self.named.contains(outputIndex)
    }

    /// Returns whether a message has written under its announced name that is not in a list of names.
    func hasMessage(beside names: Set<UInt64>) -> Bool { !self.messages.isSubset(of: names) }

    /// Returns whether output of a kind has to be in the response's list of items, if there is one, because an item that
    /// was not announced had some of it.
    ///
    /// Some servers omit reasoning from the list.
    func mustBeListed(_ kind: ReplaySlot.Kind) -> Bool {
        (kind == .text || kind == .refusal) && self.kinds.contains(kind)
    }
}
