/// The delivered finished tool calls, in order, and the number of them that a replay has repeated.
///
/// It is a part of `ReplayLedger` and belongs to its owner. A call is identified by all of its content and by the
/// number of equal ones before it, not by its position alone: some servers give several items of a response the same
/// one.
struct ToolCallChannel: Sendable {
    /// A call, as it is expected again.
    struct Call: Hashable, Sendable {
        /// The tool and its arguments, in a form in which equal calls have the same bytes.
        ///
        /// Identifiers are not included, as a server gives new ones to a repeated request.
        let content: [UInt8]
        /// The item's position in the response's output.
        let outputIndex: Int
    }

    /// The relation of a call that has arrived to those that were delivered.
    enum Match: Equatable {
        /// It was never delivered, or less often.
        case unknown
        /// It is the next expected repetition; from here on it counts as repeated.
        case expected
        /// It comes before others that are expected first.
        case contradiction
    }

    private var calls: [Call] = []
    /// The position of each call, of equal ones that of the last.
    private var lastPositions: [Call: Int] = [:]
    /// The number of calls that are not expected again.
    private var settledCount = 0
    /// The number of calls that the current attempt has repeated or produced, including the settled ones.
    private var cursor = 0

    /// Indicates whether no call was delivered.
    var isEmpty: Bool { self.calls.isEmpty }

    /// Indicates whether every delivered call has been repeated.
    var isCaughtUp: Bool { self.cursor == self.calls.count }

    /// Expects every call again that is not settled.
    mutating func rewind() { self.cursor = self.settledCount }

    /// Records a new call; the channel must be caught up.
    mutating func append(_ call: Call) {
        self.lastPositions[call] = self.calls.count
        self.calls.append(call)
        self.cursor = self.calls.count
    }

    /// Compares a call with those that were delivered.
    mutating func match(_ call: Call) -> Match {
        guard let last = self.lastPositions[call], last >= self.cursor else { return .unknown }
        guard self.calls[self.cursor] == call else { return .contradiction }
        self.cursor += 1
        return .expected
    }

    /// Returns whether the calls of some items have come in this attempt and precede all others.
    func canSettle(_ items: Range<Int>) -> Bool { self.count(behind: items) != nil }

    /// Removes the calls of some items from what is expected; they must be settleable.
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
