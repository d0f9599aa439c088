import StreamTransport

/// What was said, and whether a turn is under way.
///
/// Shared by the client and its turns, behind a lock. A turn leaves something here once, when it is over.
final class Conversation: Sendable {
    private struct State {
        var context: ChappieClientContext
        var running: UInt64?
        var turnCount: UInt64 = 0
    }

    private let state: LockedValue<State>
    /// The lane that its requests use.
    let lane: String?
    /// The lane that it was forked from.
    let forkedFrom: String?

    /// A conversation that goes on from a context.
    init(context: ChappieClientContext, lane: String? = nil, forkedFrom: String? = nil) {
        self.state = LockedValue(State(context: context))
        self.lane = lane
        self.forkedFrom = forkedFrom
    }

    /// What was said before the turn that is under way; setting it takes the place of what such a turn would leave.
    var context: ChappieClientContext {
        get { self.state.withLock { $0.context } }
        set {
            self.state.withLock { state in
                state.context = newValue
                // A turn that is under way still keeps others out, but its number is not the one that counts.
                state.turnCount += 1
            }
        }
    }

    /// Indicates whether a turn is under way.
    var isRunning: Bool { self.state.withLock { $0.running != nil } }

    /// The right to have a turn.
    struct Turn: Sendable {
        fileprivate let number: UInt64
        /// What was said before it.
        let context: ChappieClientContext
    }

    /// Begins a turn; throws `alreadyRunning` when there is one.
    func begin() throws(ChappieClientError) -> Turn {
        let turn: Turn? = self.state.withLock { state in
            guard state.running == nil else { return nil }
            state.turnCount += 1
            state.running = state.turnCount
            return Turn(number: state.turnCount, context: state.context)
        }
        guard let turn else { throw .alreadyRunning }
        return turn
    }

    /// Ends a turn, and adds what it leaves.
    func end(_ turn: Turn, adding items: [[UInt8]]) {
        self.state.withLock { state in
            guard state.running == turn.number else { return }
            state.running = nil
            // The conversation may have been cleared in the meantime: then nothing of the turn belongs to it.
            if state.turnCount == turn.number { state.context.itemTexts += items }
        }
    }
}
