import StreamTransport
import TransportSurface

/// The questions of a turn to its program: for a credential, for the permission to send a request, for a tool's output.
///
/// A turn that is cancelled, or whose time is over, does not wait for the answer. It belongs to the turn's driver,
/// which asks one question at a time; `giveUp()` may be called from any task.
final class ProgramQuestions: Sendable {
    /// An error for a turn whose time was over before the program had answered.
    struct TotalPassedError: Error {}

    private struct State {
        var isGivenUp = false
        /// Gives up the current question.
        var interrupt: (@Sendable () -> Void)?
    }

    private let clock: ClientClock
    private let state = LockedValue(State())

    /// Creates the value before any question.
    init(clock: ClientClock) { self.clock = clock }

    /// Gives up the current question, and every later one.
    func giveUp() {
        let interrupt = self.state.withLock { state in
            state.isGivenUp = true
            return state.interrupt
        }
        interrupt?()
    }

    /// Waits; returns false when the questions or the waiting task are given up meanwhile.
    func sleep(for duration: Duration) async -> Bool {
        let sleep = self.clock.sleep
        guard case .success = await self.result(of: ProgramTask({ try await sleep(duration) })) else { return false }
        return true
    }

    /// Returns the result of a closure.
    ///
    /// - Parameters:
    ///   - end: the end of the turn's time, on the clock; nil for a turn without a limit.
    ///   - body: the program's closure.
    /// - Returns: the closure's result.
    /// - Throws: the closure's error, `CancellationError` when the turn is given up, and `TotalPassedError`.
    func answer<Value: Sendable>(
        by end: Duration?, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = ProgramTask(body)
        let alarm = end.flatMap { self.alarm(at: $0) { task.giveUp(TotalPassedError()) } }
        defer { alarm?.cancel() }
        let value = try await self.result(of: task).get()
        // The answer may have come at the same moment as the end of the time.
        if let end, self.clock.now() >= end { throw TotalPassedError() }
        return value
    }

    private func result<Value>(of task: ProgramTask<Value>) async -> Result<Value, any Error> {
        let isGivenUp = self.state.withLock { state in
            state.interrupt = { task.giveUp() }
            return state.isGivenUp
        }
        if isGivenUp { task.giveUp() }
        let result = await task.result()
        self.state.withLock { $0.interrupt = nil }
        return result
    }

    /// Runs `body` at a time, unless it is cancelled before; returns nil for a clock without an alarm.
    private func alarm(at end: Duration, _ body: @escaping @Sendable () -> Void) -> Task<Void, Never>? {
        guard let alarm = self.clock.alarm else { return nil }
        let clock = self.clock
        return Task {
            // A cancelled sleep is kept in memory until its time has come. Most answers come at once.
            var slice = Duration.milliseconds(5)
            while clock.now() < end {
                guard (try? await alarm(min(end, clock.now() + slice))) != nil else { return }
                slice = min(slice * 2, .seconds(1))
            }
            body()
        }
    }
}
