/// The finished tool calls that were handed over, in order, and how many of them a replay has repeated.
///
/// It is a part of `ReplayLedger` and belongs to its owner.
struct ToolCallChannel: Sendable {
    /// How a call that has arrived relates to those that were handed over.
    enum Match: Equatable {
        /// None was handed over in its place.
        case unknown
        /// It is the next one that had to come again; it counts as repeated from here on.
        case expected
        /// It has come in this attempt already.
        case repeated
        /// Another one was handed over in its place, or it comes too early.
        case contradiction
    }

    private var calls: [ReplayedToolCall] = []
    /// Where the call of an output index stands.
    private var positions: [Int: Int] = [:]
    /// How many calls the attempt that runs has repeated or produced.
    private var cursor = 0

    /// True when no call was handed over.
    var isEmpty: Bool { self.calls.isEmpty }

    /// True when every call that was handed over has come again.
    var isCaughtUp: Bool { self.cursor == self.calls.count }

    /// Expects every call again.
    mutating func rewind() { self.cursor = 0 }

    /// Records a new call; the channel must be caught up.
    mutating func append(_ call: ReplayedToolCall) {
        self.positions[call.outputIndex] = self.calls.count
        self.calls.append(call)
        self.cursor = self.calls.count
    }

    /// Compares a call with those that were handed over.
    mutating func match(_ call: ReplayedToolCall) -> Match {
        guard let position = self.positions[call.outputIndex] else { return .unknown }
        guard position <= self.cursor, self.calls[position] == call else { return .contradiction }
        guard position == self.cursor else { return .repeated }
        self.cursor += 1
        return .expected
    }
}
