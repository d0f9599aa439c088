import StreamTransport

/// The room for messages on their way to a peer, and the callers that wait for some of it.
///
/// A lock held for a few lines, and for the queueing of a message or of the end, which may take `ServiceMailbox`'s lock;
/// never the other way round. The service thread gives room back as it writes; any thread asks for it. Callers that
/// wait are resumed when half of the room is free, and not with each write: resuming a task costs more than to send a
/// short message.
final class OutboundRoom: Sendable {
    private struct Sender {
        let number: Int
        let byteCount: Int
        let watermark: Int
        let continuation: CheckedContinuation<SendOutcome, Never>
    }

    private struct State {
        /// The byte count of messages on their way to the socket.
        var byteCount = 0
        /// The callers that wait for room for a message, in order.
        var senders: [Sender] = []
        /// The number of callers that have waited so far.
        var callerCount = 0
        /// Indicates whether messages can no longer be sent.
        var isClosed = false

        /// Reserves room for a message whose caller has no other before it; returns nil when it has to wait.
        mutating func admitInTurn(byteCount: Int, upTo watermark: Int) -> SendOutcome? {
            if self.isClosed { return .ended }
            return self.senders.isEmpty && self.admit(byteCount: byteCount, upTo: watermark) ? .queued : nil
        }

        /// Reserves room for a message; returns false when it would have to wait.
        mutating func admit(byteCount: Int, upTo watermark: Int) -> Bool {
            guard self.byteCount == 0 || byteCount <= watermark - self.byteCount else { return false }
            self.byteCount += byteCount
            return true
        }
    }

    private let state = LockedValue(State())
    private let byteCountLimit: Int

    /// Creates an empty room; `byteCountLimit` is for messages that do not wait.
    init(byteCountLimit: Int) { self.byteCountLimit = byteCountLimit }

    // MARK: Service thread

    /// Records that messages of `byteCount` bytes wait no longer, and resumes the senders for which there is room, once
    /// at most half of the first one's watermark waits.
    ///
    /// When none waits there is room for any message.
    func noteWritten(byteCount: Int) {
        let admitted: [Sender] = self.state.withLock { state in
            state.byteCount -= byteCount
            guard let first = state.senders.first, state.byteCount <= first.watermark / 2 else { return [] }
            let admitted = state.senders.prefix { state.admit(byteCount: $0.byteCount, upTo: $0.watermark) }
            state.senders.removeFirst(admitted.count)
            return Array(admitted)
        }
        for sender in admitted { sender.continuation.resume(returning: .queued) }
    }

    // MARK: Any thread

    /// Ends the wait of all callers, and refuses every later message of a caller that may wait.
    ///
    /// The first call runs `announce` under the lock: behind each message that was queued, and before a caller learns of
    /// the end.
    func close(_ announce: () -> Void = {}) {
        let refused = self.state.withLock { state in
            if !state.isClosed { announce() }
            state.isClosed = true
            return state.senders.take()
        }
        for sender in refused { sender.continuation.resume(returning: .ended) }
    }

    /// Reserves room for a message; returns false when the limit would be exceeded.
    func admit(byteCount: Int) -> Bool {
        self.state.withLock { state in
            guard byteCount <= self.byteCountLimit - state.byteCount else { return false }
            state.byteCount += byteCount
            return true
        }
    }

    /// Reserves room for a message as `admit(byteCount:upTo:_:)` does, and queues it, if that would not suspend; returns
    /// nil otherwise.
    func admitAtOnce(byteCount: Int, upTo watermark: Int, _ queue: () -> Void) -> SendOutcome? {
        self.state.withLock { state in
            let outcome = state.admitInTurn(byteCount: byteCount, upTo: watermark)
            if outcome == .queued { queue() }
            return outcome
        }
    }

    /// Reserves room for a message when it and those before it have at most `watermark` bytes, or none waits; otherwise
    /// suspends until there is room, and at most half of the watermark waits.
    ///
    /// `queue` is called with the outcome `.queued`, and only then. It is called under the lock: a message that is
    /// admitted is queued before the room is closed, or not at all.
    nonisolated(nonsending) func admit(
        byteCount: Int, upTo watermark: Int, _ queue: () -> Void
    ) async -> SendOutcome {
        if let outcome = self.admitAtOnce(byteCount: byteCount, upTo: watermark, queue) { return outcome }
        let outcome = await self.admission(byteCount: byteCount, upTo: watermark)
        guard outcome == .queued else { return outcome }
        return self.state.withLock { state in
            if state.isClosed { return .ended }
            queue()
            return .queued
        }
    }

    /// Waits until there is room for a message, and reserves it.
    nonisolated(nonsending) private func admission(byteCount: Int, upTo watermark: Int) async -> SendOutcome {
        let number = self.state.withLock { state in
            state.callerCount += 1
            return state.callerCount
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome: SendOutcome? = self.state.withLock { state in
                    // Under the lock, so that `cancel` cannot run between this check and the suspension.
                    if Task.isCancelled { return .cancelled }
                    if let outcome = state.admitInTurn(byteCount: byteCount, upTo: watermark) { return outcome }
                    state.senders.append(
                        Sender(number: number, byteCount: byteCount, watermark: watermark, continuation: continuation))
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            self.cancel(number)
        }
    }

    private func cancel(_ number: Int) {
        let sender: Sender? = self.state.withLock { state in
            guard let index = state.senders.firstIndex(where: { $0.number == number }) else { return nil }
            return state.senders.remove(at: index)
        }
        sender?.continuation.resume(returning: .cancelled)
    }
}
