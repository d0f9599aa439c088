import StreamTransport

/// The context of a conversation, and its running turn.
///
/// Shared by the client and its turns, behind a lock. A turn adds its items once, when it ends.
final class Conversation: Sendable {
    private struct State {
        var context: ChappieClientContext
        var running: UInt64?
        /// The text of the running turn.
        var text = ""
        var turnCount: UInt64 = 0
    }

    private let state: LockedValue<State>
    /// The lane of its requests.
    let lane: String?
    /// The lane that it was forked from.
    let forkedFrom: String?

    /// Creates a conversation that continues from a context.
    init(context: ChappieClientContext, lane: String? = nil, forkedFrom: String? = nil) {
        self.state = LockedValue(State(context: context))
        self.lane = lane
        self.forkedFrom = forkedFrom
    }

    /// The context before the running turn; setting it discards what that turn would add.
    var context: ChappieClientContext {
        get { self.state.withLock { $0.context } }
        set {
            self.state.withLock { state in
                state.context = newValue
                // A running turn still excludes others, but its number is no longer the current one.
                state.turnCount += 1
            }
        }
    }

    /// Indicates whether a turn is running.
    var isRunning: Bool { self.state.withLock { $0.running != nil } }

    /// The text that the running turn has delivered.
    var textSoFar: String { self.state.withLock { $0.text } }

    /// Adds the text of events that the turn of a number delivers.
    func append(textOf events: some Collection<ChappieStreamEvent>, of number: UInt64) {
        self.state.withLock { state in
            if state.running == number { state.text.append(textOf: events) }
        }
    }

    /// The right to run a turn.
    struct Turn: Sendable {
        let number: UInt64
        /// The context before the turn.
        let context: ChappieClientContext
    }

    /// Begins a turn; throws `alreadyRunning` when one is running.
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

    /// Ends a turn, and adds its items.
    func end(_ turn: Turn, adding items: [[UInt8]]) {
        self.state.withLock { state in
            guard state.running == turn.number else { return }
            state.running = nil
            state.text = ""
            // The context may have been replaced during the turn, whose items are then discarded.
            if state.turnCount == turn.number { state.context.itemTexts += items }
        }
    }
}

extension String {
    /// Adds the text of events of a turn, without text that another answer replaces.
    mutating func append(textOf events: some Collection<ChappieStreamEvent>) {
        for event in events {
            switch event {
            case .textDelta(let delta): self += delta
            case .restarted(let text): self = String(decoding: self.utf8.dropLast(text.utf8.count), as: UTF8.self)
            default: break
            }
        }
    }
}
