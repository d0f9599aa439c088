import StreamTransport
import WebSocketProtocol

/// Everything that has arrived on one connection and was not read yet: the one object that the service thread and the
/// connection's consumer share.
///
/// A lock held for a few lines. The service thread appends; the consumer takes whole buffers by swapping them.
final class InboundArena: Sendable {
    /// What the consumer takes in one go.
    struct Batch {
        /// Indicates whether a held request can be let go, once.
        var isReady = false
        /// The response's head, once.
        var head: ResponseHead?
        /// How the content of the records is coded, with the head.
        var coding: PayloadCoding = .none
        /// Bytes and their boundaries: the first that have come of those that were not taken.
        var buffer: InboundBuffer?
        /// The end; nothing follows it.
        var end: TransportEnd?
        /// Indicates whether reading has stopped, and waits for the consumer.
        var isPaused = false
    }

    private struct Waiter {
        var continuation: CheckedContinuation<TransportWaitOutcome, Never>
        var deadline: ContinuousClock.Instant?
    }

    private struct State {
        var isReady = false
        var head: ResponseHead?
        var coding: PayloadCoding = .none
        /// In the order in which they were filled.
        var buffers: [InboundBuffer] = []
        /// What all of them weigh.
        var weight = 0
        /// The small buffer that is not in use.
        var spare: InboundBuffer?
        var end: TransportEnd?
        var hasEnded = false
        /// The weight of what the consumer has taken, as far as it has said how much of it is left.
        var inHand = 0
        var isPaused = false
        var waiter: Waiter?
        /// The service thread looks at the waiter by then, and not before.
        var watched: ContinuousClock.Instant?
        var statistics = TransportStatistics()
        /// Bytes of messages on their way to the socket.
        var outboundByteCount = 0

        /// The buffer that takes so many bytes; `reserve` is used when no other does.
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
        // Below nothing, reading would pause and never go on.
        self.highWatermark = max(0, limits.highWatermark)
        self.lowWatermark = max(0, min(limits.lowWatermark, limits.highWatermark))
        self.outboundLimit = limits.outboundByteCount
    }

    // MARK: Service thread

    /// Takes a run of a body in, and pauses reading at the high watermark.
    ///
    /// `moment` is the time since the start. `reserve` is a large buffer, which is taken when no other has room. Bytes
    /// that lie in it are copied when another has, and are the arena's otherwise: then the caller is done with them.
    func append(_ bytes: UnsafeRawBufferPointer, at moment: Duration, reserve: inout InboundBuffer?) {
        self.append(bytes.count, at: moment, reserve: &reserve) { $0.append(bytes) }
    }

    /// Takes the pieces of messages in that lie in one read, and pauses reading at the high watermark.
    func append(
        _ records: [InboundBuffer.Record], of bytes: UnsafeRawBufferPointer, at moment: Duration,
        reserve: inout InboundBuffer?
    ) {
        self.append(InboundBuffer.run(of: records).count, at: moment, reserve: &reserve) {
            $0.append(records, of: bytes)
        }
    }

    /// Notes that a ping of the consumer was answered, between the messages before and after it.
    func appendPong() {
        var none: InboundBuffer?
        self.append(0, at: nil, reserve: &none) { $0.appendPong() }
    }

    private func append(
        _ byteCount: Int, at moment: Duration?, reserve: inout InboundBuffer?, _ take: (InboundBuffer) -> Void
    ) {
        self.state.withLock { state in
            if let moment { state.statistics.lastHeard = moment }
            guard !state.hasEnded else { return }
            let buffer = state.buffer(for: byteCount, reserve: &reserve)
            let weight = buffer.weight
            take(buffer)
            state.weight += buffer.weight - weight
            state.isPaused = state.weight + state.inHand >= self.highWatermark
        }
    }

    /// How much may come until reading must wait for the consumer; nothing when it must.
    var room: Int {
        self.state.withLock { $0.isPaused ? 0 : max(1, self.highWatermark - $0.weight - $0.inHand) }
    }

    /// Says that a held request can be let go.
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

    /// Takes the waiter that has something to read now.
    func takeReadyWaiter() -> CheckedContinuation<TransportWaitOutcome, Never>? {
        self.state.withLock { state in
            guard state.waiter != nil, Self.hasNews(state) else { return nil }
            return state.waiter.take()?.continuation
        }
    }

    /// What the service thread has to know when it looks at a connection.
    struct Look: Equatable {
        /// When the waiter's time is over.
        var deadline: ContinuousClock.Instant?
        /// Indicates whether reading waits for the consumer.
        var isPaused: Bool
    }

    /// Resumes a waiter whose time is over; otherwise the service thread comes back at its deadline.
    func expireWaiter(at now: ContinuousClock.Instant) -> Look {
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

    /// Messages of so many bytes are with the socket.
    func noteWritten(byteCount: Int) {
        self.state.withLock { $0.outboundByteCount -= byteCount }
    }

    // MARK: Any thread

    /// Makes room for a message on its way to the socket; false when too much waits there already.
    func admitOutbound(byteCount: Int) -> Bool {
        self.state.withLock { state in
            guard byteCount <= self.outboundLimit - state.outboundByteCount else { return false }
            state.outboundByteCount += byteCount
            return true
        }
    }

    /// Ends the exchange; the first end counts.
    ///
    /// True when this one did.
    @discardableResult
    func finish(_ end: TransportEnd) -> Bool {
        self.state.withLock { state in
            guard !state.hasEnded else { return false }
            state.hasEnded = true
            state.end = end
            return true
        }
    }

    /// Ends the exchange and resumes the waiter at once; what has arrived and was not read is gone.
    func abort(_ end: TransportEnd) {
        let waiter: CheckedContinuation<TransportWaitOutcome, Never>? = self.state.withLock { state in
            if !state.hasEnded {
                state.hasEnded = true
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
    }

    /// Resumes the waiter because its task was cancelled.
    func cancelWaiter() {
        self.state.withLock { $0.waiter.take()?.continuation }?.resume(returning: .cancelled)
    }

    var statistics: TransportStatistics { self.state.withLock { $0.statistics } }

    // MARK: Consumer

    /// Takes what has arrived first; nil when nothing has.
    ///
    /// `spare` is a small buffer that is empty.
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

    /// Called when `weight` bytes are left unread of the batch in hand.
    ///
    /// True, once, when reading must go on.
    func shouldResume(withUnread weight: Int) -> Bool {
        self.state.withLock { state in
            state.inHand = weight
            guard state.isPaused, state.weight + weight <= self.lowWatermark else { return false }
            state.isPaused = false
            return true
        }
    }

    /// Waits for something to read.
    ///
    /// `watch` is called when the service thread would look at the connection too late for the deadline. A consumer
    /// that waits again and again, each time a little later, calls it once.
    func wait(until deadline: ContinuousClock.Instant?, watch: () -> Void) async -> TransportWaitOutcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                var needsWatch = false
                let outcome: TransportWaitOutcome? = self.state.withLock { state in
                    // Under the lock, so that `cancelWaiter` cannot come between this look and the parking.
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

    private static func isNearer(_ deadline: ContinuousClock.Instant?, than other: ContinuousClock.Instant?) -> Bool {
        guard let deadline else { return false }
        return other.map { deadline < $0 } ?? true
    }

    private static func hasNews(_ state: State) -> Bool {
        state.isReady || state.head != nil || state.end != nil || !state.buffers.isEmpty
    }
}
