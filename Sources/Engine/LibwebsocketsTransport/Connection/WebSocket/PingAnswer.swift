import StreamTransport

/// The answer to a ping, which one task waits for.
///
/// A lock held for a few lines. Only the first value counts.
final class PingAnswer: Sendable {
    private enum State {
        case sent
        case awaited(CheckedContinuation<RoundTrip, Never>)
        case known(RoundTrip)
    }

    private let state = LockedValue(State.sent)

    /// Sets the value.
    func resolve(_ value: RoundTrip) {
        let waiter: CheckedContinuation<RoundTrip, Never>? = self.state.withLock { state in
            switch state {
            case .known: return nil
            case .sent:
                state = .known(value)
                return nil
            case .awaited(let continuation):
                state = .known(value)
                return continuation
            }
        }
        waiter?.resume(returning: value)
    }

    /// Suspends until the value is set; `.ended` also when the task is cancelled.
    func value() async -> RoundTrip {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known: RoundTrip? = self.state.withLock { state in
                    if case .known(let value) = state { return value }
                    state = .awaited(continuation)
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            self.resolve(.ended)
        }
    }
}

/// A ping on its way: when it is dropped without an answer, the waiting task is told.
final class PingTicket: Sendable {
    private let answer: PingAnswer
    private let start = ContinuousClock.now

    init(_ answer: PingAnswer) { self.answer = answer }

    deinit {
        self.answer.resolve(.ended)
    }

    /// Reports that no answer is waited for any more.
    func forgotten() { self.answer.resolve(.timedOut) }

    /// Reports the answer, which has arrived now.
    func answered() { self.answer.resolve(.measured(.now - self.start)) }
}
