import StreamTransport
import WebSocketProtocol

/// One exchange, as its consumer sees it.
///
/// `next()` and `wait(for:)` belong to the one consumer; inflating and the assembly of messages happen inside `next()`.
/// - Safety: the stored variables are touched by the consumer only; everything shared is in the arena and the mailbox.
final class LibwebsocketsConnection: TransportConnection, @unchecked Sendable {
    private let id: ConnectionID
    private let service: Service
    private let arena: InboundArena
    private var decoder: PayloadDecoder
    private var reading = InboundBuffer()
    private var nextRecord = 0
    private var unread = 0
    /// Whether reading had stopped when the batch in hand was taken: then every record read is told to the arena.
    private var isBehind = false
    private var spare = InboundBuffer()
    private var isReady = false
    private var head: ResponseHead?
    private var end: TransportEnd?
    private var hasEnded = false

    init(request: TransportRequest, way: Result<Way, TransportFailure>, service: Service) {
        self.id = service.makeID()
        self.service = service
        self.arena = InboundArena(limits: request.limits)
        self.decoder = PayloadDecoder(messageByteCountLimit: request.limits.messageByteCount)
        service.post(
            .open(ConnectionPlan(id: self.id, request: request, way: way, arena: self.arena, started: .now)))
    }

    func next() -> TransportEvent? {
        while !self.hasEnded {
            if self.isReady {
                self.isReady = false
                return .ready
            }
            if let head = self.head.take() { return .opened(head) }
            do {
                if let event = try self.nextEvent() { return event }
            } catch {
                return self.fail(error)
            }
            if let end = self.end.take() { return self.finish(end) }
            // Everything of it was read.
            self.reading.removeAll()
            self.nextRecord = 0
            guard let batch = self.arena.take(giving: self.spare) else { return nil }
            self.spare = self.reading
            do {
                try self.begin(batch)
            } catch {
                return self.fail(error)
            }
        }
        return nil
    }

    /// The next payload or pong of the batch in hand; nil when it has no more.
    private func nextEvent() throws(PayloadDecoder.Failure) -> TransportEvent? {
        if let payload = try self.decoder.rest() { return .payload(payload) }
        while self.nextRecord < self.reading.records.count {
            let record = self.reading.records[self.nextRecord]
            self.nextRecord += 1
            self.unread -= record.count
            if self.isBehind { self.noteProgress() }
            let bytes = self.reading.bytes(of: record)
            switch record.content {
            case .pong:
                return .pong
            case .message(let piece):
                if let payload = try self.decoder.decode(bytes, as: piece) { return .payload(payload) }
            case .body:
                if let payload = try self.decoder.decode(bytes, as: nil) { return .payload(payload) }
            }
        }
        return nil
    }

    private func begin(_ batch: InboundArena.Batch) throws(PayloadDecoder.Failure) {
        self.reading = batch.buffer
        self.nextRecord = 0
        self.unread = batch.buffer.byteCount
        if batch.head != nil { try self.decoder.begin(batch.coding) }
        self.isReady = batch.isReady
        self.head = batch.head
        self.end = batch.end
        self.isBehind = batch.isPaused
        if batch.isPaused { self.noteProgress() }
    }

    /// Lets reading go on when little enough is left.
    private func noteProgress() {
        guard self.arena.shouldResume(withUnread: self.unread) else { return }
        self.isBehind = false
        self.service.post(.resume(self.id))
    }

    private func finish(_ end: TransportEnd) -> TransportEvent {
        self.hasEnded = true
        if case .complete = end, let failure = self.decoder.finish() {
            return .ended(.failed(TransportFailure(phase: .stream, cause: failure.cause)))
        }
        return .ended(end)
    }

    /// What came cannot be decoded: the peer is told, where the protocol has words for it.
    private func fail(_ failure: PayloadDecoder.Failure) -> TransportEvent {
        self.hasEnded = true
        let end = TransportEnd.failed(TransportFailure(phase: .stream, cause: failure.cause))
        if let code = failure.closeCode {
            self.service.post(.close(self.id, code.rawValue))
        } else {
            self.service.post(.cancel(self.id))
        }
        self.arena.abort(end)
        return .ended(end)
    }

    func wait(for duration: Duration?) async -> TransportWaitOutcome {
        if self.isReady || self.head != nil || self.end != nil || self.hasEnded { return .ready }
        if self.nextRecord < self.reading.records.count || self.decoder.hasRest { return .ready }
        return await self.arena.wait(until: duration.map { .now + $0 }) { self.service.post(.watch(self.id)) }
    }

    // MARK: Any thread

    func send(_ message: [UInt8], as kind: OutboundKind) {
        self.service.post(.send(self.id, message, kind))
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

    var statistics: TransportStatistics { self.arena.statistics }
}
