// The wait of one task for a callback.
// The state is behind a lock.

import StreamTransport

/// A wait that a callback ends, or the cancellation of the task, whichever comes first.
final class WaitTicket: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Void, Never>?
        var isResumed = false
        var isCancelled = false
    }

    private let state = LockedValue(State())

    /// Keeps the continuation; resumes it at once when a callback came before.
    func wait(with continuation: CheckedContinuation<Void, Never>) {
        let isOver = self.state.withLock { state in
            let isOver = state.isResumed || state.isCancelled
            state.isResumed = false
            if !isOver { state.continuation = continuation }
            return isOver
        }
        if isOver { continuation.resume() }
    }

    /// Ends the wait, or the next one.
    func resume() {
        let continuation = self.state.withLock { state in
            let waiting = state.continuation
            state.continuation = nil
            state.isResumed = waiting == nil
            return waiting
        }
        continuation?.resume()
    }

    /// Ends the wait, and every later one.
    func cancel() {
        self.state.withLock { $0.isCancelled = true }
        self.resume()
    }
}
