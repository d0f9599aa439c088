/// The finished tool calls that were handed over, in order, and how many of them a replay has repeated.
///
/// It is a part of `ReplayLedger` and belongs to its owner. A call is known by all that it consists of, not by its
/// position alone: some servers give several items of a response the same one.
struct ToolCallChannel: Sendable {
    /// How a call that has arrived relates to those that were handed over.
    enum Match: Equatable {
        /// It was never handed over.
        case unknown
        /// It is the next one that had to come again; it counts as repeated from here on.
        case expected
        /// It has come in this attempt already.
        case repeated
        /// It comes before others that must come first.
        case contradiction
    }

    private var calls: [ReplayedToolCall] = []
    /// Where a call stands.
    private var positions: [ReplayedToolCall: Int] = [:]
    /// How many calls are not expected again.
    private var settledCount = 0
    /// How many calls the attempt that runs has repeated or produced, the settled ones among them.
    private var cursor = 0

    /// Indicates whether no call was handed over.
    var isEmpty: Bool { self.calls.isEmpty }

    /// Indicates whether every call that was handed over has come again.
    var isCaughtUp: Bool { self.cursor == self.calls.count }

    /// Expects every call again that is not settled.
    mutating func rewind() { self.cursor = self.settledCount }

    /// Records a new call; the channel must be caught up.
    mutating func append(_ call: ReplayedToolCall) {
        self.positions[call] = self.calls.count
        self.calls.append(call)
        self.cursor = self.calls.count
    }

    /// Compares a call with those that were handed over.
    mutating func match(_ call: ReplayedToolCall) -> Match {
        guard let position = self.positions[call] else { return .unknown }
        guard position <= self.cursor else { return .contradiction }
        guard position == self.cursor else { return .repeated }
        self.cursor += 1
        return .expected
    }

    /// Returns whether the calls of some items have come in this attempt and stand before all others.
    func canSettle(_ items: Range<Int>) -> Bool { self.count(behind: items) != nil }

    /// Expects the calls of some items no more; they must be such that can be settled.
    mutating func settle(_ items: Range<Int>) {
        guard let count = self.count(behind: items) else { preconditionFailure("the calls cannot be settled") }
        self.settledCount = count
    }

    private func count(behind items: Range<Int>) -> Int? {
        let open = self.calls[self.settledCount...]
        let count = self.settledCount + open.prefix { items.contains($0.outputIndex) }.count
        let others = self.calls[count...]
        guard count <= self.cursor, !others.contains(where: { items.contains($0.outputIndex) }) else { return nil }
        return count
    }
}
