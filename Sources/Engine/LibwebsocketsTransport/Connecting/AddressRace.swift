import StreamTransport

/// Decides which address of a host is tried when (RFC 8305), once the look-up is complete.
///
/// It opens no socket and reads no clock; its owner is the service thread.
///
/// The families take turns, beginning with that of the first address; inside a family the system's order is kept (RFC
/// 6724). The next attempt begins when an attempt has failed or has lasted 250 ms, in which case the two run
/// concurrently. The first attempt that connects wins.
struct AddressRace {
    /// The time before the next attempt begins (RFC 8305 section 5, the Connection Attempt Delay).
    static let attemptDelay: Duration = .milliseconds(250)

    /// The driver's task after one input.
    enum Action: Equatable {
        /// Connect to this address, as the attempt with this number.
        ///
        /// `delayPassed` is due `attemptDelay` later if `hasNext` is true then.
        case start(attempt: Int, address: String)
        /// Wait for the attempts that are under way.
        case wait
        /// Continue with this attempt; every other one is to be closed, and no byte may be sent on it.
        case win(attempt: Int)
        /// No address could be connected to; the cause of the last failure.
        case lose(TransportFailure.Cause)
        /// The input came too late to matter.
        case ignore
    }

    private enum State {
        case running(attempts: Set<Int>)
        case decided
    }

    private var state = State.running(attempts: [])
    private let addresses: [String]
    private var started = 0

    /// Creates a race between numeric addresses, at least one, in the system's order.
    init(addresses: [String]) {
        precondition(!addresses.isEmpty, "a race needs an address")
        self.addresses = Self.interleaved(addresses)
    }

    /// Indicates whether there are addresses that were not tried.
    var hasNext: Bool {
        switch self.state {
        case .running: self.started < self.addresses.count
        case .decided: false
        }
    }

    /// Begins the race, or the next attempt because the newest one has lasted `attemptDelay`.
    mutating func delayPassed() -> Action {
        switch self.state {
        case .running(let attempts):
            return self.next(beside: attempts) ?? .wait
        case .decided:
            // The timer and the winner can come in the same round of the loop.
            return .ignore
        }
    }

    /// Records that an attempt has failed.
    mutating func failed(attempt: Int, _ cause: TransportFailure.Cause) -> Action {
        switch self.state {
        case .running(var attempts):
            // A socket that has failed is reported once as failed and once as gone.
            guard attempts.remove(attempt) != nil else { return .ignore }
            self.state = .running(attempts: attempts)
            if let action = self.next(beside: attempts) { return action }
            guard attempts.isEmpty else { return .wait }
            self.state = .decided
            return .lose(cause)
        case .decided:
            return .ignore
        }
    }

    /// Records that TCP is established.
    mutating func connected(attempt: Int) -> Action {
        switch self.state {
        case .running(let attempts):
            guard attempts.contains(attempt) else { return .ignore }
            self.state = .decided
            return .win(attempt: attempt)
        case .decided:
            return .ignore
        }
    }

    private mutating func next(beside attempts: Set<Int>) -> Action? {
        guard self.hasNext else { return nil }
        let attempt = self.started
        self.started += 1
        self.state = .running(attempts: attempts.union([attempt]))
        return .start(attempt: attempt, address: self.addresses[attempt])
    }

    /// The families by turns, one address each (RFC 8305 section 4, with a First Address Family Count of 1).
    static func interleaved(_ addresses: [String]) -> [String] {
        let first = addresses.filter { Self.isVersion6($0) == Self.isVersion6(addresses[0]) }
        let second = addresses.filter { Self.isVersion6($0) != Self.isVersion6(addresses[0]) }
        let paired = zip(first, second).flatMap { [$0, $1] }
        return paired + first.dropFirst(second.count) + second.dropFirst(first.count)
    }

    private static func isVersion6(_ address: String) -> Bool { address.utf8.contains(UInt8(ascii: ":")) }
}
