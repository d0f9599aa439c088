/// Decides when a turn of an instance may begin: as many as the policy allows at a time, in the order of their arrival.
///
/// It performs no I/O and reads no clock: `now` is the time since any fixed moment. An owner that shares one between
/// turns guards it with a lock.
package struct TurnLimiter: Sendable {
    private let policy: ChappieConcurrencyPolicy
    private var runningCount = 0
    /// The turns that wait for a place, by their numbers, the first one at the front.
    private var waiting: [Int] = []
    private var pauseEnd: Duration?

    /// Creates a limiter without turns.
    package init(_ policy: ChappieConcurrencyPolicy) { self.policy = policy }

    /// Asks for a place for a turn; returns whether it has one, or waits for it.
    package mutating func enter(_ turn: Int) -> Bool {
        guard let maximum = self.policy.maximumTurnCount, self.runningCount >= maximum || !self.waiting.isEmpty else {
            self.runningCount += 1
            return true
        }
        self.waiting.append(turn)
        return false
    }

    /// Gives a place back; returns the turn that has it from now on, if one waits.
    package mutating func leave() -> Int? {
        guard !self.waiting.isEmpty else {
            self.runningCount -= 1
            return nil
        }
        return self.waiting.removeFirst()
    }

    /// Records that a turn does not wait any longer; returns false when it has a place meanwhile.
    package mutating func withdraw(_ turn: Int) -> Bool {
        guard let index = self.waiting.firstIndex(of: turn) else { return false }
        self.waiting.remove(at: index)
        return true
    }

    /// Records that the server asks for fewer requests for a time.
    ///
    /// A shorter time than is waited for already changes nothing.
    package mutating func pause(for duration: Duration, now: Duration) {
        guard self.policy.sharesRateLimitWaits else { return }
        self.pauseEnd = max(self.pauseEnd ?? .zero, now + duration)
    }

    /// Returns the time until a turn with a place may begin; nil when it may at once.
    package mutating func remainingPause(now: Duration) -> Duration? {
        guard let end = self.pauseEnd else { return nil }
        if now < end { return end - now }
        self.pauseEnd = nil
        return nil
    }
}
