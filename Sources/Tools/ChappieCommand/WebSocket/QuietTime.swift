// The time for which a server has sent no message.
import Synchronization

/// The time since the last message was printed.
///
/// The task that prints and the one that waits share it, behind a lock. While a message is printed no time passes: the
/// reader of the output may be slow, and the next message waits for it.
final class QuietTime: Sendable {
    /// A moment, by a clock that goes on while the process is stopped.
    typealias Instant = ContinuousClock.Instant

    private enum State {
        case printing
        case quiet(since: Instant)
    }

    private let state: Mutex<State>

    /// Creates a time that begins now.
    init(now: Instant) { self.state = Mutex(.quiet(since: now)) }

    /// Begins the time again, unless a message is being printed.
    func restart(now: Instant) {
        self.state.withLock { state in
            if case .quiet = state { state = .quiet(since: now) }
        }
    }

    /// Marks that a message has come.
    func messageCame() { self.state.withLock { $0 = .printing } }

    /// Marks that it is printed.
    func messagePrinted(now: Instant) { self.state.withLock { $0 = .quiet(since: now) } }

    /// Returns the least time until there has been no message for a duration; zero or less when there has been none.
    func remaining(of duration: Duration, now: Instant) -> Duration {
        switch self.state.withLock({ $0 }) {
        case .printing: duration
        case .quiet(let since): duration - (now - since)
        }
    }
}
