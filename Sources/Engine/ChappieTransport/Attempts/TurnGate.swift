import StreamTransport

/// Counts the running turns of an engine, and refuses more once it is closed.
///
/// It may be used from any task.
final class TurnGate: Sendable {
    private struct State {
        var isClosed = false
        /// The number of the newest turn, or of the newest task that waits.
        var newest = 0
        /// The closures that end the running turns when the grace period is over.
        var running: [Int: @Sendable () -> Void] = [:]
        /// The tasks that wait for the end of the last turn.
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]

        mutating func takeWaiting() -> [CheckedContinuation<Void, Never>] {
            defer { self.waiting.removeAll() }
            return Array(self.waiting.values)
        }
    }

    private let state = LockedValue(State())

    /// Indicates whether no turn may begin any more.
    var isClosed: Bool { self.state.withLock { $0.isClosed } }

    /// Admits a turn, which `shutDown` ends; nil once the gate is closed.
    func admit(_ shutDown: @escaping @Sendable () -> Void) -> TurnAdmission? {
        let number: Int? = self.state.withLock { state in
            guard !state.isClosed else { return nil }
            state.newest += 1
            state.running[state.newest] = shutDown
            return state.newest
        }
        return number.map { TurnAdmission(gate: self, number: $0) }
    }

    fileprivate func leave(_ number: Int) {
        let waiting = self.state.withLock { state in
            state.running[number] = nil
            return state.running.isEmpty ? state.takeWaiting() : []
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Refuses turns from now on.
    func close() { self.state.withLock { $0.isClosed = true } }

    /// Ends all running turns.
    func endAll() {
        let running = self.state.withLock { Array($0.running.values) }
        for shutDown in running { shutDown() }
    }

    /// Waits until no turn runs, or the task is cancelled.
    func waitUntilEmpty() async {
        let number = self.state.withLock { state in
            state.newest += 1
            return state.newest
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = self.state.withLock { state in
                    guard !state.running.isEmpty, !Task.isCancelled else { return true }
                    state.waiting[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            self.state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
        }
    }
}

/// The right of a turn to run, from its beginning until this is dropped.
package final class TurnAdmission: Sendable {
    private let gate: TurnGate
    private let number: Int

    fileprivate init(gate: TurnGate, number: Int) {
        self.gate = gate
        self.number = number
    }

    deinit { self.gate.leave(self.number) }
}
