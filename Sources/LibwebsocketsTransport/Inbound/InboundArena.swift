import StreamTransport
import WebSocketProtocol

/// The bytes and events that have arrived on one connection and were not read yet.
///
/// It is the only object that the service thread and the connection's consumer share.
///
/// A lock held for a few lines. The service thread appends; the consumer takes whole buffers by swapping them.
final class InboundArena: Sendable {
    /// The events and bytes that the consumer takes in one call.
    struct Batch {
        /// Indicates, once, whether a held request can be released.
        var isReady = false
        /// The response's head, once.
        var head: ResponseHead?
        /// The coding of the records' content, set with the head.
        var coding: PayloadCoding = .none
        /// The first bytes that were not taken yet, with their boundaries.
        var buffer: InboundBuffer?
        /// The end, which is the last event.
        var end: TransportEnd?
        /// Indicates whether reading is suspended until the consumer has caught up.
        var isPaused = false
    }

    private struct Waiter {
        var continuation: CheckedContinuation<TransportWaitOutcome, Never>
        var deadline: Moment?
    }

    private struct Sender {
        let number: Int
        let byteCount: Int
        let watermark: Int
        let continuation: CheckedContinuation<SendOutcome, Never>
    }

    private struct State {
        var isReady = false
        var head: ResponseHead?
        var coding: PayloadCoding = .none
        /// The filled buffers, oldest first.
        var buffers: [InboundBuffer] = []
        /// The weight of all buffers.
        var weight = 0
        /// The unused small buffer.
        var spare: InboundBuffer?
        var end: TransportEnd?
        var hasEnded = false
        /// The weight of the batch in the consumer's hands, as of its last report.
        var inHand = 0
        var isPaused = false
        /// Indicates whether what arrives above the high watermark is dropped, instead of left in the socket.
        var dropsOverflow = false
        var waiter: Waiter?
        /// The deadline at which the service thread looks at the waiter.
        var watched: Moment?
        var statistics = TransportStatistics()
        /// The byte count of messages on their way to the socket.
        var outboundByteCount = 0
        /// The callers that wait for room for a message, in order.
        var senders: [Sender] = []
        /// The number of callers that have waited so far.
        var callerCount = 0
        /// The end, which stays known when the consumer has taken it.
        var announcedEnd: TransportEnd?
        /// The callers that wait for the end, by their numbers.
        var watchers: [Int: CheckedContinuation<TransportEnd?, Never>] = [:]
        /// Indicates whether messages to the peer can no longer be sent.
        var refusesOutbound = false

        /// Reserves room for a message; returns false when it would have to wait.
        mutating func admitOutbound(byteCount: Int, upTo watermark: Int) -> Bool {
            guard self.outboundByteCount == 0 || byteCount <= watermark - self.outboundByteCount else { return false }
            self.outboundByteCount += byteCount
            return true
        }

        /// Notes the end; returns the callers that wait for it.
        mutating func announce(_ end: TransportEnd) -> [CheckedContinuation<TransportEnd?, Never>] {
            self.hasEnded = true
            self.announcedEnd = end
            defer { self.watchers = [:] }
            return Array(self.watchers.values)
        }

        /// Takes no more messages; returns the callers that wait.
        mutating func refuseOutbound() -> [Sender] {
            self.refusesOutbound = true
            return self.senders.take()
        }

        /// Returns a buffer with room for `byteCount` bytes; `reserve` is used when no other has room.
        mutating func buffer(for byteCount: Int, reserve: inout InboundBuffer?) -> InboundBuffer {
            if let last = self.buffers.last, last.hasRoom(for: byteCount) { return last }
            let isFew = self.buffers.isEmpty && byteCount <= InboundBuffer.smallByteCount
            let buffer =
                isFew
                ? self.spare.take() ?? InboundBuffer()
                : reserve.take() ?? InboundBuffer(byteCount: InboundBuffer.largeByteCount)
            self.buffers.append(buffer)
            return buffer
        }
    }

    private let state: LockedValue<State>
    private let highWatermark: Int
    private let lowWatermark: Int
    private let outboundLimit: Int

    init(limits: TransportLimits) {
        self.state = LockedValue(State())
        // With a negative mark, reading would pause and never continue.
        self.highWatermark = max(0, limits.highWatermark)
        self.lowWatermark = max(0, min(limits.lowWatermark, limits.highWatermark))
        self.outboundLimit = limits.outboundByteCount
    }

    // MARK: Service thread

    /// Appends a run of a body, and pauses reading at the high watermark.
    ///
    /// `moment` is the time since the start. `reserve` is a large buffer, which is taken when no other has room. Bytes
    /// that lie in it are copied when another buffer has room; otherwise they become the arena's, and the caller must
    /// not use them again.
    func append(_ bytes: UnsafeRawBufferPointer, at moment: Duration, reserve: inout InboundBuffer?) {
        self.append(bytes.count, at: moment, reserve: &reserve) { $0.append(bytes) }
    }

    /// Appends the pieces of messages of one read, and pauses reading at the high watermark.
    func append(
        _ records: [InboundBuffer.Record], of bytes: UnsafeRawBufferPointer, at moment: Duration,
        reserve: inout InboundBuffer?
    ) {
        self.append(InboundBuffer.run(of: records).count, at: moment, reserve: &reserve) {
            $0.append(records, of: bytes)
        }
    }

    /// Records that a ping of the consumer was answered, between the messages before and after the pong.
    func appendPong() {
        var none: InboundBuffer?
        self.append(0, at: nil, reserve: &none) { $0.appendPong() }
    }

    private func append(
        _ byteCount: Int, at moment: Duration?, reserve: inout InboundBuffer?, _ take: (InboundBuffer) -> Void
    ) {
        self.state.withLock { state in
            if let moment { state.statistics.lastHeard = moment }
            guard !state.hasEnded, !(state.isPaused && state.dropsOverflow) else { return }
            let buffer = state.buffer(for: byteCount, reserve: &reserve)
            let weight = buffer.weight
            take(buffer)
            state.weight += buffer.weight - weight
            state.isPaused = state.weight + state.inHand >= self.highWatermark
        }
    }

    /// The number of bytes that may arrive before reading must pause; 0 when it must.
    var room: Int {
        self.state.withLock {
            $0.isPaused && !$0.dropsOverflow ? 0 : max(1, self.highWatermark - $0.weight - $0.inHand)
        }
    }

    /// Lets reading continue whatever the consumer has read: from the high watermark on, everything is dropped.
    func dropOverflow() { self.state.withLock { $0.dropsOverflow = true } }

    /// Announces that a held request can be released.
    func announceReady() {
        self.state.withLock { state in
            if !state.hasEnded { state.isReady = true }
        }
    }

    func open(_ head: ResponseHead, coding: PayloadCoding) {
        self.state.withLock { state in
            guard !state.hasEnded else { return }
            state.head = head
            state.coding = coding
        }
    }

    /// Takes the waiter if it has an event to read.
    func takeReadyWaiter() -> CheckedContinuation<TransportWaitOutcome, Never>? {
        self.state.withLock { state in
            guard state.waiter != nil, Self.hasNews(state) else { return nil }
            return state.waiter.take()?.continuation
        }
    }

    /// The state that the service thread needs when it examines a connection.
    struct Look: Equatable {
        /// The deadline of the waiter.
        var deadline: Moment?
        /// Indicates whether reading waits for the consumer.
        var isPaused: Bool
    }

    /// Resumes a waiter whose deadline has passed; for any other the service thread returns at its deadline.
    func expireWaiter(at now: Moment) -> Look {
        var expired: CheckedContinuation<TransportWaitOutcome, Never>?
        let look = self.state.withLock { state in
            if let deadline = state.waiter?.deadline, deadline <= now { expired = state.waiter.take()?.continuation }
            state.watched = state.waiter?.deadline
            return Look(deadline: state.watched, isPaused: state.isPaused)
        }
        expired?.resume(returning: .deadlinePassed)
        return look
    }

    func updateStatistics(_ update: (inout TransportStatistics) -> Void) {
        self.state.withLock { update(&$0.statistics) }
    }

    /// Records that the socket has taken messages of `byteCount` bytes, and resumes the senders for which there is room.
    func noteWritten(byteCount: Int) {
        let admitted: [Sender] = self.state.withLock { state in
            state.outboundByteCount -= byteCount
            let waiting = state.senders
            guard !waiting.isEmpty else { return [] }
            let admitted = waiting.prefix { state.admitOutbound(byteCount: $0.byteCount, upTo: $0.watermark) }
            state.senders.removeFirst(admitted.count)
            return Array(admitted)
        }
        for sender in admitted { sender.continuation.resume(returning: .queued) }
    }

    /// Resumes the callers that wait for room, and admits no more: nothing can be sent any more.
    func refuseOutbound() {
        let refused = self.state.withLock { $0.refuseOutbound() }
        for sender in refused { sender.continuation.resume(returning: .ended) }
    }

    // MARK: Any thread

    /// Reserves room for a message on its way to the socket; returns false when the limit would be exceeded.
    func admitOutbound(byteCount: Int) -> Bool {
        self.state.withLock { state in
            guard byteCount <= self.outboundLimit - state.outboundByteCount else { return false }
            state.outboundByteCount += byteCount
            return true
        }
    }

    /// Reserves room for a message when it and those before it have at most `watermark` bytes, or none waits; suspends
    /// until then.
    func admitOutbound(byteCount: Int, upTo watermark: Int) async -> SendOutcome {
        let (number, known): (Int, SendOutcome?) = self.state.withLock { state in
            state.callerCount += 1
            if state.refusesOutbound { return (state.callerCount, .ended) }
            let isAdmitted = state.senders.isEmpty && state.admitOutbound(byteCount: byteCount, upTo: watermark)
            return (state.callerCount, isAdmitted ? .queued : nil)
        }
        if let known { return known }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcome: SendOutcome? = self.state.withLock { state in
                    // Under the lock, so that `cancelSender` cannot run between this check and the suspension.
                    if Task.isCancelled { return .cancelled }
                    if state.refusesOutbound { return .ended }
                    if state.senders.isEmpty, state.admitOutbound(byteCount: byteCount, upTo: watermark) {
                        return .queued
                    }
                    state.senders.append(
                        Sender(number: number, byteCount: byteCount, watermark: watermark, continuation: continuation))
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            self.cancelSender(number)
        }
    }

    private func cancelSender(_ number: Int) {
        let sender: Sender? = self.state.withLock { state in
            guard let index = state.senders.firstIndex(where: { $0.number == number }) else { return nil }
            return state.senders.remove(at: index)
        }
        sender?.continuation.resume(returning: .cancelled)
    }

    /// Suspends until the exchange has ended; nil when the task is cancelled before.
    ///
    /// Events before the end may still be unread.
    func announcedEnd() async -> TransportEnd? {
        let number = self.state.withLock { state in
            state.callerCount += 1
            return state.callerCount
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isKnown: Bool
                let end: TransportEnd?
                (isKnown, end) = self.state.withLock { state in
                    if let end = state.announcedEnd { return (true, end) }
                    // Under the lock, so that the handler below cannot run between this check and the suspension.
                    if Task.isCancelled { return (true, nil) }
                    state.watchers[number] = continuation
                    return (false, nil)
                }
                if isKnown { continuation.resume(returning: end) }
            }
        } onCancel: {
            self.state.withLock { $0.watchers.removeValue(forKey: number) }?.resume(returning: nil)
        }
    }

    /// Ends the exchange; only the first end counts.
    ///
    /// Returns true when this was the first.
    @discardableResult
    func finish(_ end: TransportEnd) -> Bool {
        var refused: [Sender] = []
        var watchers: [CheckedContinuation<TransportEnd?, Never>] = []
        let isFirst = self.state.withLock { state in
            guard !state.hasEnded else { return false }
            state.end = end
            watchers = state.announce(end)
            // Answers to the messages before a violation can still be sent.
            if !end.isViolation { refused = state.refuseOutbound() }
            return true
        }
        for sender in refused { sender.continuation.resume(returning: .ended) }
        for watcher in watchers { watcher.resume(returning: end) }
        return isFirst
    }

    /// Ends the exchange and resumes the waiter at once; unread events are discarded.
    func abort(_ end: TransportEnd) {
        var refused: [Sender] = []
        var watchers: [CheckedContinuation<TransportEnd?, Never>] = []
        let waiter: CheckedContinuation<TransportWaitOutcome, Never>? = self.state.withLock { state in
            refused = state.refuseOutbound()
            if !state.hasEnded {
                watchers = state.announce(end)
                state.end = end
                state.isReady = false
                state.buffers = []
                state.weight = 0
            }
            // Bytes that arrive after the end are dropped, and have to be read for that.
            state.isPaused = false
            return state.waiter.take()?.continuation
        }
        waiter?.resume(returning: .ready)
        for sender in refused { sender.continuation.resume(returning: .ended) }
        for watcher in watchers { watcher.resume(returning: end) }
    }

    /// Resumes the waiter because its task was cancelled.
    func cancelWaiter() {
        self.state.withLock { $0.waiter.take()?.continuation }?.resume(returning: .cancelled)
    }

    var statistics: TransportStatistics { self.state.withLock { $0.statistics } }

    // MARK: Consumer

    /// Takes the oldest batch; nil when there is none.
    ///
    /// `spare` is an empty small buffer.
    func take(giving spare: InboundBuffer?) -> Batch? {
        self.state.withLock { state in
            if state.spare == nil { state.spare = spare }
            guard Self.hasNews(state) else { return nil }
            let buffer = state.buffers.isEmpty ? nil : state.buffers.removeFirst()
            let batch = Batch(
                isReady: state.isReady, head: state.head.take(), coding: state.coding, buffer: buffer,
                end: state.buffers.isEmpty ? state.end.take() : nil, isPaused: state.isPaused)
            state.isReady = false
            state.inHand = buffer?.weight ?? 0
            state.weight -= state.inHand
            return batch
        }
    }

    /// Reports that `weight` bytes of the current batch are left unread.
    ///
    /// Returns true, once, when reading must continue.
    func shouldResume(withUnread weight: Int) -> Bool {
        self.state.withLock { state in
            state.inHand = weight
            // Behind a gap nothing is appended.
            guard state.isPaused, !state.dropsOverflow, state.weight + weight <= self.lowWatermark else { return false }
            state.isPaused = false
            return true
        }
    }

    /// Waits for an event to read.
    ///
    /// `watch` is called when the service thread would examine the connection too late for the deadline. A consumer
    /// that waits repeatedly, each time a little longer, calls it once.
    func wait(until deadline: Moment?, watch: () -> Void) async -> TransportWaitOutcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                var needsWatch = false
                let outcome: TransportWaitOutcome? = self.state.withLock { state in
                    // Under the lock, so that `cancelWaiter` cannot run between this check and the suspension.
                    if Task.isCancelled { return .cancelled }
                    if Self.hasNews(state) || state.hasEnded { return .ready }
                    state.waiter = Waiter(continuation: continuation, deadline: deadline)
                    needsWatch = Self.isNearer(deadline, than: state.watched)
                    if needsWatch { state.watched = deadline }
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
                if needsWatch { watch() }
            }
        } onCancel: {
            self.cancelWaiter()
        }
    }

    private static func isNearer(_ deadline: Moment?, than other: Moment?) -> Bool {
        guard let deadline else { return false }
        return other.map { deadline < $0 } ?? true
    }

    private static func hasNews(_ state: State) -> Bool {
        state.isReady || state.head != nil || state.end != nil || !state.buffers.isEmpty
    }
}

extension TransportEnd {
    /// Indicates whether the peer broke a rule, which it is told when everything before is read.
    fileprivate var isViolation: Bool {
        guard case .failed(let failure) = self else { return false }
        switch failure.cause {
        case .protocolViolation, .messageTooLarge: return true
        default: return false
        }
    }
}
