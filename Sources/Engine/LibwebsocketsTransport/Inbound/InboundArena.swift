import StreamTransport
import Synchronization
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

    /// The continuation of a consumer that waits.
    ///
    /// It is resumed once: the thread that takes it out of the state resumes it.
    #if DEBUG
        // It is checked there, and the thread sanitizer sees what orders it.
        typealias Waiter = CheckedContinuation<TransportWaitOutcome, Never>
    #else
        typealias Waiter = UnsafeContinuation<TransportWaitOutcome, Never>
    #endif

    /// A read of the socket, until the arena has counted it.
    struct Arrival {
        /// The time of the read.
        let moment: Moment
        /// The number of bytes that the arena has not counted yet.
        var byteCount: Int
        /// The number of bytes that may be unread, if the watermarks allow more (`InboundMemory.share`).
        var share = Int.max
    }

    /// The service thread's knowledge after it has appended something.
    struct Appended {
        /// The consumer that waited, which has an event to read now; it is resumed when the round ends.
        var waiter: Waiter?
        /// The number of bytes that may arrive before reading must pause; 0 when it must.
        ///
        /// Only an append lowers it, so that it is a lower bound until the next one.
        var room = 0
    }

    /// The parts that an event touches come first, so that they lie together.
    private struct State {
        var waiter: Waiter?
        var deadline: Moment?
        /// The deadline at which the service thread looks at the waiter.
        var watched: Moment?
        /// The oldest filled buffer.
        var oldest: InboundBuffer?
        /// The filled buffers behind it, oldest first; few streams ever have one.
        var later: [InboundBuffer] = []
        /// The unused small buffer.
        var spare: InboundBuffer?
        var backPressure: ReadBackPressure
        var receivedByteCount = 0
        /// The time of the newest byte.
        var lastReceived: Moment?
        /// The time of the newest byte that the peer sent unprompted.
        var lastHeard: Moment?
        var isReady = false
        var hasEnded = false
        var head: ResponseHead?
        var end: TransportEnd?
        var coding: PayloadCoding = .none
        /// The other counters and times.
        var statistics = TransportStatistics()
        /// The end for callers other than the consumer.
        var announced = AnnouncedEnd()

        /// Indicates whether the consumer has something to take.
        var hasNews: Bool { self.oldest != nil || self.hasEdge || self.end != nil }

        /// Indicates whether events stand before the oldest buffer.
        var hasEdge: Bool { self.isReady || self.head != nil }

        /// Takes the waiter out; the caller resumes it.
        mutating func takeWaiter() -> Waiter? {
            self.deadline = nil
            return self.waiter.take()
        }

        /// Counts what a read has brought.
        mutating func count(_ arrival: inout Arrival) {
            guard arrival.byteCount > 0 else { return }
            self.receivedByteCount += arrival.byteCount
            self.lastReceived = arrival.moment
            arrival.byteCount = 0
        }

        /// Notes the end; returns the callers that wait for it.
        mutating func announce(_ end: TransportEnd) -> [AnnouncedEnd.Watcher] {
            self.hasEnded = true
            return self.announced.announce(end)
        }

        /// Returns a buffer with room for `byteCount` bytes; `reserve` is used when no other has room.
        mutating func buffer(for byteCount: Int, reserve: inout InboundBuffer?) -> InboundBuffer {
            guard let oldest = self.oldest else {
                let buffer =
                    byteCount <= InboundBuffer.smallByteCount
                    ? self.small(for: byteCount) : self.large(from: &reserve, for: byteCount)
                self.oldest = buffer
                return buffer
            }
            let last = self.later.last ?? oldest
            if last.hasRoom(for: byteCount) { return last }
            let buffer = self.large(from: &reserve, for: byteCount)
            self.later.append(buffer)
            return buffer
        }

        /// Returns the spare buffer, or another one where it is too small.
        private mutating func small(for byteCount: Int) -> InboundBuffer {
            if let spare = self.spare.take(), spare.hasRoom(for: byteCount) { return spare }
            return byteCount <= InboundBuffer.leastByteCount
                ? InboundBuffer() : InboundBuffer(byteCount: InboundBuffer.smallByteCount)
        }

        /// Returns a buffer for a whole read, or, while memory is scarce, for this one.
        private func large(from reserve: inout InboundBuffer?, for byteCount: Int) -> InboundBuffer {
            if let reserve = reserve.take() { return reserve }
            let sufficient = max(byteCount, InboundBuffer.smallByteCount)
            return InboundBuffer(
                byteCount: self.backPressure.isMemoryScarce ? sufficient : InboundBuffer.largeByteCount)
        }

        /// Takes the oldest buffer out.
        mutating func takeOldest() -> InboundBuffer? {
            let buffer = self.oldest.take()
            if !self.later.isEmpty { self.oldest = self.later.removeFirst() }
            return buffer
        }
    }

    private let state: LockedValue<State>
    /// Indicates whether the consumer may have something to take.
    ///
    /// A hint that is set under the lock and read without it: a consumer that finds nothing to take waits next, and
    /// waiting looks under the lock.
    private let mayHaveNews = Atomic(false)
    /// The room for messages to the peer.
    let outbound: OutboundRoom
    /// The time from which the statistics count.
    private let started: Moment

    init(limits: TransportLimits, started: Moment) {
        self.started = started
        self.state = LockedValue(State(backPressure: ReadBackPressure(limits: limits)))
        self.outbound = OutboundRoom(byteCountLimit: limits.outboundByteCount)
    }

    // MARK: Service thread

    /// Appends a run of a body, counts the read that it belongs to, and pauses reading at the high watermark.
    ///
    /// One lock serves the whole read. `reserve` is a large buffer, which is taken when no other has room. Bytes that
    /// lie in it are copied when another buffer has room; otherwise they become the arena's, and the caller must not
    /// use them again.
    func append(
        _ bytes: UnsafeRawBufferPointer, of arrival: inout Arrival, reserve: inout InboundBuffer?
    ) -> Appended {
        self.append(bytes.count, of: &arrival, reserve: &reserve) { $0.append(bytes) }
    }

    /// Appends the pieces of messages of one read, which lie in `bytes`, like a run of a body.
    func append(
        _ records: [InboundBuffer.Record], in bytes: UnsafeRawBufferPointer, of arrival: inout Arrival,
        reserve: inout InboundBuffer?
    ) -> Appended {
        self.append(InboundBuffer.run(of: records).count, of: &arrival, reserve: &reserve) {
            $0.append(records, of: bytes)
        }
    }

    /// Appends the one message of a read, like the pieces of several.
    func append(
        _ record: InboundBuffer.Record, in bytes: UnsafeRawBufferPointer, of arrival: inout Arrival,
        reserve: inout InboundBuffer?
    ) -> Appended {
        self.append(record.count, of: &arrival, reserve: &reserve) { $0.append(record, of: bytes) }
    }

    private func append(
        _ byteCount: Int, of arrival: inout Arrival, reserve: inout InboundBuffer?, _ take: (InboundBuffer) -> Void
    ) -> Appended {
        self.state.withLock { state in
            state.count(&arrival)
            state.backPressure.share(arrival.share)
            state.lastHeard = arrival.moment
            return self.append(byteCount, to: &state, reserve: &reserve, take)
        }
    }

    /// Records that a ping of the consumer was answered, between the messages before and after the pong.
    @discardableResult
    func appendPong() -> Appended {
        var none: InboundBuffer?
        return self.state.withLock { state in self.append(0, to: &state, reserve: &none) { $0.appendPong() } }
    }

    @inline(__always)
    private func append(
        _ byteCount: Int, to state: inout State, reserve: inout InboundBuffer?, _ take: (InboundBuffer) -> Void
    ) -> Appended {
        guard !state.hasEnded, !state.backPressure.isDropping else { return Appended(room: state.backPressure.room) }
        let buffer = state.buffer(for: byteCount, reserve: &reserve)
        let weight = buffer.weight
        take(buffer)
        self.mayHaveNews.store(true, ordering: .relaxed)
        state.backPressure.add(buffer.weight - weight)
        return Appended(waiter: state.takeWaiter(), room: state.backPressure.room)
    }

    /// Records the response's header section.
    func noteOpened(at moment: Moment) {
        self.state.withLock { state in
            state.statistics.opened = moment - self.started
            state.lastReceived = moment
            state.lastHeard = moment
        }
    }

    /// Counts a read that has no data, or not only data, for the consumer.
    func count(_ arrival: inout Arrival) { self.state.withLock { $0.count(&arrival) } }

    /// Records that the peer has sent something unprompted that is not data; for a ping `isPing` is true.
    func noteHeard(at moment: Moment, isPing: Bool) {
        self.state.withLock { state in
            state.lastHeard = moment
            if isPing { state.statistics.lastPinged = moment - self.started }
        }
    }

    /// The number of bytes that may arrive before reading must pause; 0 when it must.
    var room: Int { self.room(sharing: .max) }

    /// Returns the number of bytes that may arrive before reading must pause for a share of the memory; 0 when it must.
    func room(sharing share: Int) -> Int {
        self.state.withLock { state in
            state.backPressure.share(share, hasBuffers: state.oldest != nil)
            return state.backPressure.room
        }
    }

    /// Lets reading continue whatever the consumer has read: from the high watermark on, everything is dropped.
    func dropOverflow() { self.state.withLock { $0.backPressure.dropOverflow() } }

    /// Announces that a held request can be released.
    func announceReady() {
        self.state.withLock { state in
            guard !state.hasEnded else { return }
            state.isReady = true
            self.mayHaveNews.store(true, ordering: .relaxed)
        }
    }

    func open(_ head: ResponseHead, coding: PayloadCoding) {
        self.state.withLock { state in
            guard !state.hasEnded else { return }
            state.head = head
            state.coding = coding
            self.mayHaveNews.store(true, ordering: .relaxed)
        }
    }

    /// Takes the waiter if it has an event to read.
    func takeReadyWaiter() -> Waiter? {
        self.state.withLock { state in
            guard state.waiter != nil, state.hasNews else { return nil }
            return state.takeWaiter()
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
        var expired: Waiter?
        let look = self.state.withLock { state in
            if let deadline = state.deadline, deadline <= now { expired = state.takeWaiter() }
            state.watched = state.deadline
            return Look(deadline: state.watched, isPaused: state.backPressure.isPaused)
        }
        expired?.resume(returning: .deadlinePassed)
        return look
    }

    func updateStatistics(_ update: (inout TransportStatistics) -> Void) {
        self.state.withLock { update(&$0.statistics) }
    }

    // MARK: Any thread

    /// Suspends until the exchange has ended; nil when the task is cancelled before.
    ///
    /// Events before the end may still be unread.
    func announcedEnd() async -> TransportEnd? {
        let number = self.state.withLock { $0.announced.nextNumber() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isKnown: Bool
                let end: TransportEnd?
                (isKnown, end) = self.state.withLock { state in
                    if let end = state.announced.end { return (true, end) }
                    // Under the lock, so that the handler below cannot run between this check and the suspension.
                    if Task.isCancelled { return (true, nil) }
                    state.announced.add(continuation, number: number)
                    return (false, nil)
                }
                if isKnown { continuation.resume(returning: end) }
            }
        } onCancel: {
            self.state.withLock { $0.announced.remove(number: number) }?.resume(returning: nil)
        }
    }

    /// Ends the exchange; only the first end counts.
    ///
    /// Returns true when this was the first.
    @discardableResult
    func finish(_ end: TransportEnd) -> Bool {
        var watchers: [AnnouncedEnd.Watcher] = []
        let isFirst = self.state.withLock { state in
            guard !state.hasEnded else { return false }
            state.end = end
            self.mayHaveNews.store(true, ordering: .relaxed)
            watchers = state.announce(end)
            return true
        }
        // Answers to the messages before a violation can still be sent.
        if isFirst, !end.isViolation { self.outbound.close() }
        for watcher in watchers { watcher.resume(returning: end) }
        return isFirst
    }

    /// Ends the exchange and resumes the waiter at once; unread events are discarded.
    func abort(_ end: TransportEnd) {
        var watchers: [AnnouncedEnd.Watcher] = []
        let waiter: Waiter? = self.state.withLock { state in
            // Bytes that arrive after the end are dropped, and have to be read for that.
            state.backPressure.end(discardingBuffers: !state.hasEnded)
            if !state.hasEnded {
                watchers = state.announce(end)
                state.end = end
                self.mayHaveNews.store(true, ordering: .relaxed)
                state.isReady = false
                state.oldest = nil
                state.later = []
            }
            return state.takeWaiter()
        }
        self.outbound.close()
        waiter?.resume(returning: .ready)
        for watcher in watchers { watcher.resume(returning: end) }
    }

    /// The number of times that reading has continued behind a pause; nil during one.
    var resumeCount: Int? {
        self.state.withLock { $0.backPressure.isPaused ? nil : $0.backPressure.resumeCount }
    }

    /// Resumes the waiter because its task was cancelled.
    func cancelWaiter() {
        self.state.withLock { $0.takeWaiter() }?.resume(returning: .cancelled)
    }

    var statistics: TransportStatistics {
        self.state.withLock { state in
            var statistics = state.statistics
            statistics.receivedByteCount = state.receivedByteCount
            statistics.lastReceived = state.lastReceived.map { $0 - self.started }
            statistics.lastHeard = state.lastHeard.map { $0 - self.started }
            return statistics
        }
    }

    // MARK: Consumer

    /// Indicates whether a take may succeed; without a lock.
    var mayHaveBatch: Bool { self.mayHaveNews.load(ordering: .relaxed) }

    /// Takes the oldest buffer when it is all that a take would bring, as nearly always; nil otherwise.
    ///
    /// A `Batch` has room for a head and an end, and costs more to move than the rest of a take. `spare` is an empty
    /// small buffer.
    func takeBuffer(giving spare: InboundBuffer?) -> InboundBuffer? {
        self.state.withLock { state in
            if state.spare == nil { state.spare = spare }
            guard !state.hasEdge, state.end == nil, !state.backPressure.isPaused, let buffer = state.takeOldest() else {
                return nil
            }
            if state.oldest == nil { self.mayHaveNews.store(false, ordering: .relaxed) }
            state.backPressure.take(buffer.weight)
            return buffer
        }
    }

    /// Takes the oldest batch; nil when there is none.
    ///
    /// `spare` is an empty small buffer.
    func take(giving spare: InboundBuffer?) -> Batch? {
        self.state.withLock { state in
            if state.spare == nil { state.spare = spare }
            defer { self.mayHaveNews.store(state.hasNews, ordering: .relaxed) }
            guard state.hasNews else { return nil }
            let buffer = state.takeOldest()
            let batch = Batch(
                isReady: state.isReady, head: state.head.take(), coding: state.coding, buffer: buffer,
                end: state.oldest == nil ? state.end.take() : nil, isPaused: state.backPressure.isPaused)
            state.isReady = false
            state.backPressure.take(buffer?.weight ?? 0)
            return batch
        }
    }

    /// Reports that `weight` bytes of the current batch are left unread.
    ///
    /// Returns true, once, when reading must continue.
    func shouldResume(withUnread weight: Int) -> Bool {
        self.state.withLock { $0.backPressure.mustResume(withUnread: weight) }
    }

    /// Waits for an event to read, on the executor of the caller.
    ///
    /// `spare` is an empty small buffer. `watch` is called when the service thread would examine the connection too
    /// late for the deadline. A consumer that waits repeatedly, each time a little longer, calls it once.
    @inline(__always)
    nonisolated(nonsending) func wait(
        until deadline: Moment?, giving spare: InboundBuffer? = nil, watch: () -> Void
    ) async -> TransportWaitOutcome {
        await withTaskCancellationHandler {
            await self.waitInScope(until: deadline, giving: spare, watch: watch)
        } onCancel: {
            self.cancelWaiter()
        }
    }

    /// Waits like `wait(until:giving:watch:)`; a cancellation of the task in the middle ends it only by `abort(_:)`.
    @inline(__always)
    nonisolated(nonsending) func waitInScope(
        until deadline: Moment?, giving spare: InboundBuffer? = nil, watch: () -> Void
    ) async -> TransportWaitOutcome {
        await Self.suspend { continuation in
            var needsWatch = false
            let outcome: TransportWaitOutcome? = self.state.withLock { state in
                if state.spare == nil { state.spare = spare }
                // Under the lock, so that `cancelWaiter` cannot run between this check and the suspension.
                if Task.isCancelled { return .cancelled }
                if state.hasNews || state.hasEnded { return .ready }
                state.waiter = continuation
                state.deadline = deadline
                needsWatch = Self.isNearer(deadline, than: state.watched)
                if needsWatch { state.watched = deadline }
                return nil
            }
            if let outcome { continuation.resume(returning: outcome) }
            if needsWatch { watch() }
        }
    }

    @inline(__always)
    nonisolated(nonsending) private static func suspend(_ body: (Waiter) -> Void) async -> TransportWaitOutcome {
        #if DEBUG
            await withCheckedContinuation { body($0) }
        #else
            await withUnsafeContinuation { body($0) }
        #endif
    }

    private static func isNearer(_ deadline: Moment?, than other: Moment?) -> Bool {
        guard let deadline else { return false }
        return other.map { deadline < $0 } ?? true
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
