// A value that several threads change, and the callers that wait for its milestones.
//
// Owned by the owner of the shared value; one lock guards it.

/// Counts of events, and whether they have reached a milestone.
protocol MilestoneCounting: Sendable {
    /// The type of milestones.
    associatedtype Milestone: Sendable

    /// Returns whether the milestone is reached.
    func reaches(_ milestone: Milestone) -> Bool
}

/// Guards a value and wakes the callers that wait for one of its milestones.
final class MilestoneMonitor<Value: MilestoneCounting>: Sendable {
    private struct Waiter {
        var milestone: Value.Milestone
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var value: Value
        var isStopped = false
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
    }

    private let state: Monitor<State>

    /// Takes the value that it guards.
    init(_ value: Value) { self.state = Monitor(State(value: value)) }

    /// Runs `body` with exclusive access to the value.
    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        self.state.withLock { body(&$0.value) }
    }

    /// Runs `body` as `withLock` does, and wakes the callers whose milestones are reached.
    func change<Result>(_ body: (inout Value) -> Result) -> Result {
        let (result, reached) = self.state.update { state -> (Result, [Waiter]) in
            let result = body(&state.value)
            let reached = state.waiters.filter { state.value.reaches($0.value.milestone) }
            for key in reached.keys { state.waiters[key] = nil }
            return (result, Array(reached.values))
        }
        for waiter in reached { waiter.continuation.resume(returning: true) }
        return result
    }

    /// Resumes every waiting caller, because no more events follow.
    func stop() {
        let waiters = self.state.update { state in
            state.isStopped = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.continuation.resume(returning: false) }
    }

    /// Blocks until the milestone is reached; returns false when it stopped before.
    func waitBlocking(for milestone: Value.Milestone) -> Bool {
        self.state.wait { state in
            if state.value.reaches(milestone) { return true }
            return state.isStopped ? false : nil
        }
    }

    /// Suspends until the milestone is reached; returns false when it stopped or the task was cancelled before.
    func wait(for milestone: Value.Milestone) async -> Bool {
        let key = self.state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = self.state.withLock { state -> Bool? in
                    if state.value.reaches(milestone) { return true }
                    // An earlier cancellation is detected here, a later one by the handler.
                    if state.isStopped || Task.isCancelled { return false }
                    state.waiters[key] = Waiter(milestone: milestone, continuation: continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = self.state.withLock { $0.waiters.removeValue(forKey: key) }
            waiter?.continuation.resume(returning: false)
        }
    }
}
