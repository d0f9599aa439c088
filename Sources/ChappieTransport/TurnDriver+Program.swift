import StreamSession
import StreamTransport

/// Asking the program: for a credential, whether a request may go out, for a tool's output.
///
/// A turn that is cancelled, or whose time is over, does not wait for the answer.
extension TurnDriver {
    /// The turn's time was over before the program had answered.
    struct TotalPassedError: Error {}

    /// The closure's result.
    ///
    /// Throws what it throws, `CancellationError` when the turn is given up, and `TotalPassedError`.
    func answer<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = ProgramTask(body)
        let alarm = self.alarm { task.giveUp(TotalPassedError()) }
        defer { alarm?.cancel() }
        let value = try await self.result(of: task).get()
        // The answer may have come at the same moment as the end of the time.
        if self.isTotalSpent { throw TotalPassedError() }
        return value
    }

    /// The result of a closure, which is given up when the turn is cancelled, by the handle or with the consumer's
    /// task.
    func result<Value>(of task: ProgramTask<Value>) async -> Result<Value, any Error> {
        let isCancelled = self.shared.withLock { shared in
            shared.interrupt = { task.giveUp() }
            return shared.isCancelled
        }
        if isCancelled { task.giveUp() }
        let result = await task.result()
        self.shared.withLock { $0.interrupt = nil }
        return result
    }

    /// Ends the turn because the program has not answered what was asked: with its error, as cancelled, or late.
    func endUnanswered(_ error: any Error) {
        if self.isGivenUp { return self.stop() }
        guard error is TotalPassedError else {
            self.closeAttempt(outcome: "cancelled")
            return self.end(.failed(error))
        }
        let failure = AttemptFailure.timeout(.total)
        let late = self.redaction.error(self.error(for: failure))
        // The program was slow, and not the server.
        self.abandonTicket()
        self.closeAttempt(outcome: failure.tag)
        self.end(.failed(late))
    }

    /// Does something when the turn's time is over, unless it is cancelled before; nil for a turn without a limit.
    private func alarm(_ body: @escaping @Sendable () -> Void) -> Task<Void, Never>? {
        guard let remaining = self.remainingTotal, let alarm = self.engine.clock.alarm else { return nil }
        let clock = self.engine.clock
        let end = clock.now() + remaining
        return Task {
            // A sleep that is cancelled is kept in memory until its time has come. Most answers come at once.
            var slice = Duration.milliseconds(5)
            while clock.now() < end {
                guard (try? await alarm(min(end, clock.now() + slice))) != nil else { return }
                slice = min(slice * 2, .seconds(1))
            }
            body()
        }
    }
}
