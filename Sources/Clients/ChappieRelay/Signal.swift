import StreamTransport

/// Wakes the one task that waits: a signal is kept until it is taken.
///
/// May be signalled from any task.
final class Signal: Sendable {
    private enum State {
        case idle, signalled
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = LockedValue(State.idle)

    /// Wakes the task that waits, or the next one that will.
    func signal() {
        let waiting = self.state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard case .waiting(let continuation) = state else {
                state = .signalled
                return nil
            }
            state = .idle
            return continuation
        }
        waiting?.resume()
    }

    /// Waits for a signal, or until the task is cancelled.
    func next() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isSignalled = self.state.withLock { state in
                    if case .signalled = state {
                        state = .idle
                        return true
                    }
                    state = .waiting(continuation)
                    return false
                }
                if isSignalled { continuation.resume() }
            }
        } onCancel: {
            self.signal()
        }
    }

    /// Waits for a signal, until a time, or until the task is cancelled.
    func next(until end: ContinuousClock.Instant) async {
        let timer = Task {
            try await Task.sleep(until: end, clock: .continuous)
            self.signal()
        }
        await self.next()
        timer.cancel()
    }
}
