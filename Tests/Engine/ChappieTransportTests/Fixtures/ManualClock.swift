// Time that passes only when a caller waits. Shared by a test, its transport and the driver, under a lock.

import Foundation
import StreamTransport
import TransportSurface

@testable import ChappieTransport

/// A clock that advances when the driver sleeps or waits for a connection, and by `tick` whenever the driver reads it.
final class ManualClock: Sendable {
    private struct State {
        var now: Duration
        var sleeps: [Duration] = []
        var hang: Signal?
        var alarms: [(moment: Duration, signal: Signal)] = []
    }

    /// The time of day at the beginning, in seconds since 1970; it advances with the other time.
    static let unixTimeAtStart = 1_795_600_000

    private let state: LockedValue<State>
    private let start: Duration
    private let fraction: Double
    private let tick: Duration

    /// Creates a clock with its first time; `fraction` returns the jitter.
    init(now: Duration = .seconds(1_000), fraction: Double = 0.5, tick: Duration = .zero) {
        self.state = LockedValue(State(now: now))
        self.start = now
        self.fraction = fraction
        self.tick = tick
    }

    /// The time.
    var now: Duration { self.state.withLock { $0.now } }

    /// Every delay that was slept through, in order.
    var sleeps: [Duration] { self.state.withLock { $0.sleeps } }

    /// Advances the time.
    func advance(by duration: Duration) {
        let due = self.state.withLock { state in
            state.now += max(.zero, duration)
            let due = state.alarms.filter { $0.moment <= state.now }
            state.alarms.removeAll { $0.moment <= state.now }
            return due
        }
        for alarm in due { alarm.signal.send() }
    }

    /// Returns once the test has advanced the time to a value.
    private func alarm(at moment: Duration) async throws {
        let signal = Signal()
        let isDue = self.state.withLock { state in
            guard state.now < moment else { return true }
            state.alarms.append((moment, signal))
            return false
        }
        if !isDue { await signal.wait() }
        try Task.checkCancellation()
    }

    /// Makes the next sleep last until its task is cancelled; `signal` reports its beginning.
    func hangInNextSleep(_ signal: Signal) {
        self.state.withLock { $0.hang = signal }
    }

    /// The driver's view of the clock.
    var turnClock: ClientClock {
        ClientClock(
            moment: {
                self.advance(by: self.tick)
                return Moment(nanoseconds: self.now.nanoseconds)
            },
            date: {
                let seconds = Self.unixTimeAtStart + Int((self.now - self.start).components.seconds)
                return Date(timeIntervalSince1970: TimeInterval(seconds))
            },
            fraction: { self.fraction },
            alarm: { try await self.alarm(at: $0) },
            sleep: { try await self.sleep(for: $0) }
        )
    }

    private func sleep(for duration: Duration) async throws {
        let hang = self.state.withLock { state in
            state.sleeps.append(duration)
            return state.hang.take()
        }
        if let hang {
            hang.send()
            await untilCancelled()
        }
        try Task.checkCancellation()
        self.advance(by: duration)
    }
}

/// Resumes one waiting test when an event has occurred.
final class Signal: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (self.stream, self.continuation) = AsyncStream.makeStream()
    }

    /// Signals the event.
    func send() { self.continuation.yield() }

    /// Suspends until the event.
    func wait() async {
        for await _ in self.stream { return }
    }
}

/// Suspends until the task is cancelled.
func untilCancelled() async {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    for await _ in stream {}
    continuation.finish()
}
