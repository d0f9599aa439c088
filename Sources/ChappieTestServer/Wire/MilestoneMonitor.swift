// A value that several threads change, and those who wait until it has come so far.
//
// Owned by whoever shares the value; one lock guards it.

/// Counts of what has happened, and whether they have reached something that is waited for.
protocol MilestoneCounting: Sendable {
    /// What can be waited for.
    associatedtype Milestone: Sendable

    /// Returns whether the milestone is reached.
    func reaches(_ milestone: Milestone) -> Bool
}

/// Guards a value and wakes those who wait for one of its milestones.
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

    /// Runs `body` with the value; nothing else sees it meanwhile.
    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        self.state.withLock { body(&$0.value) }
    }

    /// As `withLock`, and wakes whoever waits for what is reached then.
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

    /// Lets every waiter go: there will be no more news.
    func stop() {
        let waiters = self.state.update { state in
            state.isStopped = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.continuation.resume(returning: false) }
    }

    /// Blocks until the milestone is reached; false when it stopped before.
    func waitBlocking(for milestone: Value.Milestone) -> Bool {
        self.state.wait { state in
            if state.value.reaches(milestone) { return true }
            return state.isStopped ? false : nil
        }
    }

    /// Suspends until the milestone is reached; false when it stopped or the task was cancelled before.
    func wait(for milestone: Value.Milestone) async -> Bool {
        let key = self.state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = self.state.withLock { state -> Bool? in
                    if state.value.reaches(milestone) { return true }
                    // A cancellation that comes before this point is seen here, a later one by the handler.
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
