import StreamTransport
import TransportSurface

/// A lock for tasks, which get it in the order in which they asked.
///
/// Its state is behind a lock of threads.
final class FairLock: Sendable {
    private struct State {
        var isHeld = false
        var waiters: [SharedOutcome<Void>] = []

        /// Removes and returns the longest waiting caller; without one the lock is free.
        mutating func next() -> SharedOutcome<Void>? {
            if self.waiters.isEmpty {
                self.isHeld = false
                return nil
            }
            return self.waiters.removeFirst()
        }
    }

    private let state = LockedValue(State())
    private let clock: ClientClock

    /// Creates a free lock.
    init(clock: ClientClock) { self.clock = clock }

    /// Waits until the caller holds the lock.
    ///
    /// Throws `expired` after the timeout, and `CancellationError`.
    func lock(timeout: Duration, expired: ChappieCredentialStorageError) async throws {
        let turn = SharedOutcome<Void>()
        let isFree = self.state.withLock { state in
            if !state.isHeld {
                state.isHeld = true
                return true
            }
            state.waiters.append(turn)
            return false
        }
        if isFree { return }
        let timer = Task { [clock] in
            try await clock.sleep(timeout.bounded)
            turn.settle(.failure(expired))
        }
        defer { timer.cancel() }
        do {
            try await turn.value()
        } catch {
            turn.settle(.failure(error))
            // The lock may have been passed to this task when it was cancelled.
            if case .success = turn.result { self.unlock() }
            throw error
        }
    }

    /// Passes the lock to the next caller.
    func unlock() {
        while let next = self.state.withLock({ $0.next() }) {
            if next.settle(.success(())) { return }
        }
    }
}
