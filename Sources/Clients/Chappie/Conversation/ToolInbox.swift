import StreamTransport

/// The reports of running tools to their turn, and the means to wake it.
///
/// Shared by a turn, its tools' tasks and cancelling tasks, behind a lock. It outlives the turn in tools that ignore
/// their cancellation: their later reports are discarded.
final class ToolInbox: Sendable {
    /// An event that occurred while the turn waited or worked.
    enum Message: Sendable {
        /// A tool has ended.
        case ended(Int, ToolLoopStateMachine.Outcome)
        /// An approval was answered.
        case answered(Int, ToolLoopStateMachine.Answer)
        /// The turn has exceeded its time limit.
        case timeLimitPassed
    }

    private struct State {
        var messages: [Message] = []
        var waiter: CheckedContinuation<Void, Never>?
        var tasks: [Int: @Sendable () -> Void] = [:]
        var isClosed = false
    }

    private let state = LockedValue(State())

    /// Indicates whether the turn still accepts messages.
    var isOpen: Bool { self.state.withLock { !$0.isClosed } }

    /// Posts a message to the turn.
    func post(_ message: Message) {
        let waiter: CheckedContinuation<Void, Never>? = self.state.withLock { state in
            guard !state.isClosed else { return nil }
            state.messages.append(message)
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Takes the messages since the last call.
    func take() -> [Message] {
        self.state.withLock { state in
            defer { state.messages.removeAll() }
            return state.messages
        }
    }

    /// Suspends until there is a message, or the inbox is closed.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = self.state.withLock { state in
                    precondition(state.waiter == nil, "a turn waits in one task at a time")
                    if state.isClosed || !state.messages.isEmpty || Task.isCancelled { return true }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            self.wake()
        }
    }

    /// Keeps the closure that cancels a task, for the end of the turn; for one number the newest.
    func hold(for number: Int, _ giveUp: @escaping @Sendable () -> Void) {
        let isClosed = self.state.withLock { state in
            if !state.isClosed { state.tasks[number] = giveUp }
            return state.isClosed
        }
        if isClosed { giveUp() }
    }

    /// Cancels all tasks, without waiting for them; later messages are discarded.
    func close() {
        let (waiter, tasks) = self.state.withLock { state in
            state.isClosed = true
            state.messages.removeAll()
            defer { state.tasks.removeAll() }
            return (state.waiter.take(), state.tasks)
        }
        for giveUp in tasks.values { giveUp() }
        waiter?.resume()
    }

    private func wake() {
        self.state.withLock { $0.waiter.take() }?.resume()
    }
}
