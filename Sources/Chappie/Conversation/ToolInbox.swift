import StreamTransport

/// What running tools report to their turn, and the way to wake it.
///
/// Shared by a turn, its tools' tasks and whoever cancels, behind a lock. It outlives the turn in the hands of tools
/// that do not heed their cancellation: what they still say goes nowhere.
final class ToolInbox: Sendable {
    /// Something that happened while the turn waited or worked.
    enum Message: Sendable {
        /// A tool is over.
        case ended(Int, ToolLoopStateMachine.Outcome)
        /// Somebody has answered.
        case answered(Int, ToolLoopStateMachine.Answer)
        /// The turn has taken as long as it may.
        case timeLimitPassed
    }

    private struct State {
        var messages: [Message] = []
        var waiter: CheckedContinuation<Void, Never>?
        var tasks: [Int: @Sendable () -> Void] = [:]
        var isClosed = false
    }

    private let state = LockedValue(State())

    /// Indicates whether the turn still listens.
    var isOpen: Bool { self.state.withLock { !$0.isClosed } }

    /// Says something to the turn.
    func post(_ message: Message) {
        let waiter: CheckedContinuation<Void, Never>? = self.state.withLock { state in
            guard !state.isClosed else { return nil }
            state.messages.append(message)
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// What was said since the last time.
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
                    precondition(state.waiter == nil, "a stream is read by one task at a time")
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

    /// Keeps the way to give up a task, for the end of the turn; of one number the newest.
    func hold(for number: Int, _ giveUp: @escaping @Sendable () -> Void) {
        let isClosed = self.state.withLock { state in
            if !state.isClosed { state.tasks[number] = giveUp }
            return state.isClosed
        }
        if isClosed { giveUp() }
    }

    /// Gives all tasks up; nothing is taken from them any more, and none is waited for.
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
