/// The output of items that a response has never announced, while it has announced others: it may be another response's.
///
/// Alone it is no evidence, since some servers omit announcements or change identifiers. It is a part of `ResponseOrder`
/// and belongs to its owner.
struct StrangeOutput: Sendable {
    /// Indicates whether output, or the end of an item, came at an index or under a name that was not announced.
    private(set) var hasCome = false
    /// The kinds of output that only closing events had, of items at an index that was never announced.
    private var closingKinds: Set<ReplaySlot.Kind> = []

    /// Records an event of such an item.
    mutating func came() { self.hasCome = true }

    /// Records that a closing event had all of such an item's output of a kind.
    mutating func cameInClosing(_ kind: ReplaySlot.Kind) { self.closingKinds.insert(kind) }

    /// Indicates whether only closing events had some of it.
    var hasComeInClosing: Bool { !self.closingKinds.isEmpty }

    /// Returns whether output of a kind has to be in the response's list of items, if there is one, because only closing
    /// events had some of it.
    ///
    /// Some servers omit reasoning from the list.
    func mustBeListed(_ kind: ReplaySlot.Kind) -> Bool {
        (kind == .text || kind == .refusal) && self.closingKinds.contains(kind)
    }
}
