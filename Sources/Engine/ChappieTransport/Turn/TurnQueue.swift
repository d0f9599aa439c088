import StreamSession
import StreamTransport
import TransportSurface

/// Lets turns of an engine wait for their place.
///
/// It may be used from any task.
final class TurnQueue: Sendable {
    private struct State {
        var limiter: TurnLimiter
        /// The number of the newest turn.
        var newest = 0
        var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
    }

    private let state: LockedValue<State>
    private let clock: ClientClock

    /// Creates a queue without turns.
    init(_ policy: ChappieConcurrencyPolicy, clock: ClientClock) {
        self.state = LockedValue(State(limiter: TurnLimiter(policy)))
        self.clock = clock
    }

    /// Returns the place of a turn, once there is one and no pause is waited for.
    ///
    /// - Throws: `CancellationError`.
    func place() async throws -> TurnPlace {
        let number = self.state.withLock { state in
            state.newest += 1
            return state.newest
        }
        let hasPlace: Bool = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = self.state.withLock { state in
                    if Task.isCancelled { return false }
                    if state.limiter.enter(number) { return true }
                    state.waiting[number] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let continuation = self.state.withLock { state in
                state.limiter.withdraw(number) ? state.waiting.removeValue(forKey: number) : nil
            }
            continuation?.resume(returning: false)
        }
        guard hasPlace else { throw CancellationError() }
        let place = TurnPlace(queue: self)
        while let pause = self.state.withLock({ $0.limiter.remainingPause(now: self.clock.now()) }) {
            try await self.clock.sleep(pause)
        }
        return place
    }

    /// Lets turns that have not begun wait, because the server asks for fewer requests.
    func pause(for duration: Duration) {
        let now = self.clock.now()
        self.state.withLock { $0.limiter.pause(for: duration, now: now) }
    }

    fileprivate func leave() {
        let continuation = self.state.withLock { state in
            state.limiter.leave().flatMap { state.waiting.removeValue(forKey: $0) }
        }
        continuation?.resume(returning: true)
    }
}

/// The place of a turn among those that run at a time, until this is dropped.
final class TurnPlace: Sendable {
    private let queue: TurnQueue

    fileprivate init(queue: TurnQueue) { self.queue = queue }

    deinit { self.queue.leave() }
}
