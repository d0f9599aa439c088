// The turns that run at this moment, so that one that hangs is found and named.
//
// Shared by the workers and the monitor; one lock guards it.
import ChappieTransport
import StreamTransport

/// A table of running turns.
final class RunningTurns: Sendable {
    /// The time limit of a run.
    static let limit = Duration.seconds(30)
    /// The time limit for a cancelled run to end.
    static let graceDuration = Duration.seconds(10)

    private struct Turn {
        var name: String
        var start = ContinuousClock.now
        var handle: ChappieStreamHandle?
        var isHanging = false
    }

    private struct State {
        var turns: [Int: Turn] = [:]
        var next = 0
    }

    private let state = LockedValue(State())

    /// Enters a turn.
    func begin(_ name: String) -> Int {
        self.state.withLock { state in
            state.next += 1
            state.turns[state.next] = Turn(name: name)
            return state.next
        }
    }

    /// Notes how a turn is stopped.
    func note(_ handle: ChappieStreamHandle, of number: Int) {
        self.state.withLock { $0.turns[number]?.handle = handle }
    }

    /// Takes a turn out; true when it was hanging.
    func end(_ number: Int) -> Bool {
        self.state.withLock { $0.turns.removeValue(forKey: number)?.isHanging ?? false }
    }

    /// Cancels the turns that take too long, and names those that do not even end then.
    func look() -> [String] {
        let now = ContinuousClock.now
        let (late, stuck) = self.state.withLock { state in
            var late: [ChappieStreamHandle] = []
            var stuck: [String] = []
            for (number, turn) in state.turns where turn.start + Self.limit < now {
                if !turn.isHanging, let handle = turn.handle { late.append(handle) }
                if turn.start + Self.limit + Self.graceDuration < now { stuck.append(turn.name) }
                state.turns[number]?.isHanging = true
            }
            return (late, stuck)
        }
        for handle in late { handle.cancel() }
        return stuck
    }
}
