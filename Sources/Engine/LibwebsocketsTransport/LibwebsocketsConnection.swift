import Deflate
import StreamTransport
import WebSocketProtocol

/// One exchange, on the side of its consumer.
///
/// `next()` and `wait(for:)` belong to the one consumer; inflating and assembling messages happen inside `next()`,
/// compressing inside `send`.
/// - Safety: the stored variables are touched by the consumer only; everything shared is in the arena, the mailbox and
///   the one value under a lock.
final class LibwebsocketsConnection: TransportConnection, @unchecked Sendable {
    private let id: ConnectionID
    private let service: Service
    private let arena: InboundArena

    private struct State {
        var reader: InboundReader
        /// Indicates whether reading had paused when the current buffer was taken: the arena is then told when it is
        /// read.
        var isBehind = false
        var spare: InboundBuffer?
        /// Indicates whether events stand before the current buffer.
        var hasEdge = false
        var isReady = false
        var head: ResponseHead?
        var end: TransportEnd?
        var hasEnded = false
        /// Indicates whether `next()` has returned nil because a slice was over.
        var hasEndedSlice = false

        /// Takes the next event that stands before the current buffer.
        mutating func takeEdge() -> TransportEvent? {
            if self.isReady {
                self.isReady = false
                self.hasEdge = self.head != nil
                return .ready
            }
            self.hasEdge = false
            return self.head.take().map { .opened($0) }
        }
    }

    /// Its one user is the consumer, and no access leads to another: exclusivity is not checked with every message.
    @exclusivity(unchecked) private var state: State
    /// The agreement about compression, for messages to the peer.
    private let compression = LockedValue<PerMessageDeflateAgreement?>(nil)
    private let inflation: InflationCount

    init(
        request: TransportRequest, route: Result<Route, TransportFailure>, service: Service,
        observer: (@Sendable (TLSOutcome) -> Void)? = nil
    ) {
        self.id = service.makeID()
        self.service = service
        let started = Moment.now
        self.arena = InboundArena(limits: request.limits, started: started)
        let reader = InboundReader(messageByteCountLimit: request.limits.messageByteCount)
        self.inflation = reader.inflation
        self.state = State(reader: reader)
        service.post(
            .open(
                ConnectionPlan(
                    id: self.id, request: request, route: route, arena: self.arena, started: started,
                    observer: observer)))
    }

    func next() -> TransportEvent? {
        while !self.state.hasEnded {
            if self.state.hasEdge, let event = self.state.takeEdge() { return event }
            do {
                if let event = try self.nextEvent() { return event }
                // The consumer checks its clock, and lets other tasks run, before it returns for more.
                if self.state.reader.endSlice() {
                    self.state.hasEndedSlice = true
                    return nil
                }
                self.putBackBuffer()
                if let end = self.state.end.take() { return self.finish(end) }
                guard self.arena.mayHaveBatch else { return nil }
                if let buffer = self.arena.takeBuffer(giving: self.state.spare.take()) {
                    self.state.reader.read(buffer)
                    self.state.isBehind = false
                    continue
                }
                guard let batch = self.arena.take(giving: self.state.spare.take()) else { return nil }
                try self.begin(batch)
            } catch {
                return self.fail(error)
            }
        }
        return nil
    }

    /// Returns the next payload or pong of the current buffer; nil when it has no more.
    @inline(__always)
    private func nextEvent() throws(PayloadDecoder.Failure) -> TransportEvent? {
        guard self.state.reader.hasMore else { return nil }
        let event =
            if let payload = self.state.reader.nextWholeMessage() {
                TransportEvent.payload(payload)
            } else {
                try self.state.reader.next()
            }
        if self.state.isBehind, self.state.reader.isAtEnd { self.noteProgress(unread: 0) }
        return event
    }

    /// Returns the buffer that was read: a small one is kept for this connection, large ones go to the pool, and those
    /// between them, which are made while memory is scarce, are freed.
    private func putBackBuffer() {
        guard let buffer = self.state.reader.takeBuffer() else { return }
        if buffer.isLarge {
            self.service.buffers.giveBack(buffer)
        } else if buffer.isSmall {
            buffer.removeAll()
            self.state.spare = buffer
        }
    }

    private func begin(_ batch: InboundArena.Batch) throws(PayloadDecoder.Failure) {
        if let buffer = batch.buffer { self.state.reader.read(buffer) }
        self.state.isReady = batch.isReady
        self.state.head = batch.head
        self.state.hasEdge = batch.isReady || batch.head != nil
        self.state.end = batch.end
        self.state.isBehind = batch.isPaused
        if batch.head != nil {
            try self.state.reader.begin(batch.coding)
            if case .messages(let agreement) = batch.coding { self.compression.withLock { $0 = agreement } }
        }
        if batch.isPaused { self.noteProgress(unread: batch.buffer?.weight ?? 0) }
    }

    /// Lets reading continue when little enough is left unread.
    ///
    /// Not inlined: the last message of a buffer needs it, and no other.
    @inline(never)
    private func noteProgress(unread: Int) {
        guard self.arena.shouldResume(withUnread: unread) else { return }
        self.state.isBehind = false
        self.service.post(.resume(self.id))
    }

    private func finish(_ end: TransportEnd) -> TransportEvent {
        self.state.hasEnded = true
        if case .complete = end, let failure = self.state.reader.finish() {
            return .ended(.failed(TransportFailure(phase: .stream, cause: failure.cause)))
        }
        // The peer broke a rule: everything before it is read, and may have been answered.
        if case .failed(let failure) = end, let code = failure.cause.closeCode {
            self.service.post(.close(self.id, code))
        }
        return .ended(end)
    }

    /// Handles bytes that cannot be decoded: the peer is told, where the protocol has a close code for it.
    private func fail(_ failure: PayloadDecoder.Failure) -> TransportEvent {
        self.state.hasEnded = true
        let end = TransportEnd.failed(TransportFailure(phase: .stream, cause: failure.cause))
        if let code = failure.closeCode {
            self.service.post(.close(self.id, code.rawValue))
        } else {
            self.service.post(.cancel(self.id))
        }
        self.arena.abort(end)
        return .ended(end)
    }

    /// Indicates whether `next()` may return an event without taking from the arena.
    private var hasMore: Bool {
        self.state.hasEdge || self.state.end != nil || self.state.hasEnded
            || self.state.reader.hasMore
    }

    nonisolated(nonsending) func wait(for duration: Duration?) async -> TransportWaitOutcome {
        await self.wait(forNanoseconds: duration?.nanoseconds)
    }

    nonisolated(nonsending) func wait(forNanoseconds nanoseconds: Int64?) async -> TransportWaitOutcome {
        if self.state.hasEndedSlice, await self.isCancelledBehindSlice() { return .cancelled }
        if let outcome = self.outcomeNow() { return outcome }
        let deadline = nanoseconds.map { Moment.now.advanced(byNanoseconds: $0) }
        return await self.arena.wait(until: deadline, giving: self.state.spare.take()) {
            self.service.post(.watch(self.id))
        }
    }

    nonisolated(nonsending) func waitInScope(forNanoseconds nanoseconds: Int64?) async -> TransportWaitOutcome {
        if self.state.hasEndedSlice, await self.isCancelledBehindSlice() { return .cancelled }
        if let outcome = self.outcomeNow() { return outcome }
        let deadline = nanoseconds.map { Moment.now.advanced(byNanoseconds: $0) }
        return await self.arena.waitInScope(until: deadline, giving: self.state.spare.take()) {
            self.service.post(.watch(self.id))
        }
    }

    /// Lets other tasks work between two slices of reading; returns whether the task was cancelled meanwhile.
    nonisolated(nonsending) private func isCancelledBehindSlice() async -> Bool {
        self.state.hasEndedSlice = false
        await Task.yield()
        return Task.isCancelled
    }

    /// Returns the outcome of a wait that is over at once; nil, with the reader prepared for a wait, otherwise.
    @inline(__always)
    private func outcomeNow() -> TransportWaitOutcome? {
        if self.hasMore { return .ready }
        self.state.reader.becomeIdle()
        return nil
    }

    // MARK: Any thread

    func send(_ message: [UInt8], as kind: OutboundKind) {
        let message = self.outbound(message, as: kind)
        guard self.arena.outbound.admit(byteCount: message.weight) else { return self.refuseToSend() }
        self.service.post(.send(self.id, message))
    }

    /// Returns the message as it is sent: compressed, where that was agreed and makes it smaller.
    private func outbound(_ message: [UInt8], as kind: OutboundKind) -> OutboundMessage {
        guard Self.mayBeCompressed(message), let agreement = self.compression.withLock({ $0 }) else {
            return OutboundMessage(message, kind: kind)
        }
        return OutboundMessage(message, kind: kind, compressedFor: agreement)
    }

    private static func mayBeCompressed(_ message: [UInt8]) -> Bool {
        message.count >= CompressionChoice.minimumByteCount
    }

    private func refuseToSend() {
        let cause = TransportFailure.Cause.invalidRequest("more waits to be sent than may wait")
        self.arena.abort(.failed(TransportFailure(phase: .send, cause: cause)))
        self.service.post(.cancel(self.id))
    }

    func release() {
        self.service.post(.release(self.id))
    }

    func ping() {
        self.service.post(.ping(self.id))
    }

    func close() {
        self.service.post(.close(self.id, 1000))
    }

    func fail(code: UInt16) {
        self.arena.abort(.failed(TransportFailure(phase: .stream, cause: .protocolViolation(closeCode: code))))
        self.service.post(.close(self.id, code))
    }

    func cancel() {
        self.arena.abort(.failed(TransportFailure(phase: .stream, cause: .cancelled)))
        self.service.post(.cancel(self.id))
    }

    var statistics: TransportStatistics {
        var statistics = self.arena.statistics
        statistics.inflatedByteCount = self.inflation.inflatedByteCount(ofReceived: statistics.receivedByteCount)
        return statistics
    }
}

extension LibwebsocketsConnection: OwnedWebSocket {
    func nextWholeMessage() -> InboundPayload? {
        guard !self.state.hasEdge, !self.state.hasEnded, let payload = self.state.reader.nextWholeMessage() else {
            return nil
        }
        if self.state.isBehind, self.state.reader.isAtEnd { self.noteProgress(unread: 0) }
        return payload
    }

    func send(_ message: [UInt8], as kind: OutboundKind, upTo watermark: Int) async -> SendOutcome {
        let message = self.outbound(message, as: kind)
        return await self.arena.outbound.admit(byteCount: message.weight, upTo: watermark) {
            self.service.post(.send(self.id, message))
        }
    }

    func sendAtOnce(_ message: [UInt8], as kind: OutboundKind, upTo watermark: Int) -> SendOutcome? {
        // It is compressed once, before it waits for room.
        if Self.mayBeCompressed(message), self.compression.withLock({ $0 != nil }) { return nil }
        let queued = OutboundMessage(message, kind: kind)
        return self.arena.outbound.admitAtOnce(byteCount: queued.weight, upTo: watermark) {
            self.service.post(.send(self.id, queued))
        }
    }

    func roundTrip(within limit: Duration) async -> RoundTrip {
        let answer = PingAnswer()
        self.service.post(.measure(self.id, PingTicket(answer)))
        let timer = Task { [arena = self.arena] in
            while true {
                let (before, start) = (arena.resumeCount, Moment.now)
                try await Task.sleep(for: max(.milliseconds(10), limit))
                // The pong may wait in the socket behind a pause of reading, or a stop of the process, which ends a sleep
                // late.
                let wasStopped = Moment.now - start > limit + Moment.latenessOfStop
                if !wasStopped, let before, before == arena.resumeCount { return answer.resolve(.timedOut) }
            }
        }
        defer { timer.cancel() }
        return await answer.value()
    }

    func announcedEnd() async -> TransportEnd? { await self.arena.announcedEnd() }

    func close(code: UInt16?, reason: String) {
        let frame = CloseFrame(code: code.map { CloseCode(rawValue: $0) }, reason: reason)
        self.arena.outbound.close { self.service.postBehindMessages(.closeWith(self.id, frame)) }
    }
}

extension TransportFailure.Cause {
    /// The close code for the WebSocket's peer; nil when the failure is not the peer's fault.
    fileprivate var closeCode: UInt16? {
        switch self {
        case .protocolViolation(let code): code
        case .messageTooLarge: CloseCode.messageTooBig.rawValue
        default: nil
        }
    }
}
