import HTTPProtocol
import StreamTransport

/// One exchange on the service thread, between its sockets and its arena.
///
/// It belongs to the service thread.
///
/// The addresses of a host race with one socket each (RFC 8305); once one has connected, it is the only socket.
final class ServiceConnection {
    /// The progress of the exchange.
    enum Phase {
        /// The addresses are being looked up.
        case resolving
        /// TCP or TLS is being established.
        case connecting
        /// The request is being sent, and no answer has arrived.
        case requesting
        /// A response body is being received.
        case receivingBody
        /// The answer was 101: the WebSocket is established.
        case upgraded
        /// The consumer has been told the end.
        ///
        /// A socket may still finish its closing handshake.
        case ended
    }

    let plan: ConnectionPlan
    let service: Service

    // The properties that each read touches come first, so that they lie together. They belong to one thread, and no
    // call of one leads back to it: exclusive access is not checked at run time, which would take longer than the
    // access.

    @exclusivity(unchecked) var phase = Phase.resolving
    /// The WebSocket, from the 101 on.
    @exclusivity(unchecked) var channel: WebSocketChannel?
    /// The connected socket, and the layers on it.
    @exclusivity(unchecked) private(set) var link: Link?
    /// The deadline for the peer's close frame, or for its answer when it has stopped reading the request.
    @exclusivity(unchecked) var closeDeadline: Moment?
    /// The time of the next `look(at:)` by the service thread; it belongs to the service.
    @exclusivity(unchecked) var lookDeadline: Moment?
    /// Indicates whether frames are to be written when the current event has been handled.
    @exclusivity(unchecked) private var wantsWrite = false
    /// Indicates whether the consumer has cancelled a WebSocket whose closing handshake continues.
    @exclusivity(unchecked) var isCancelled = false
    @exclusivity(unchecked) private var arenaView = ArenaView()
    @exclusivity(unchecked) private(set) var answer: AnswerReader

    @exclusivity(unchecked) var request: RequestWriter
    /// The look-up and the connection attempts, until one has connected.
    private(set) var setup = ConnectionSetup()

    init(plan: ConnectionPlan, service: Service) {
        self.plan = plan
        self.service = service
        self.answer = AnswerReader(to: plan.request)
        self.request = RequestWriter(isHeld: plan.request.isHeld)
    }

    /// Indicates whether the request asks for a WebSocket.
    var isUpgrade: Bool { self.answer.handshake != nil }

    // MARK: Connecting

    /// Begins with the look-up, or with the connection attempt when the host is an address.
    func start() {
        if let fault = RequestFields.fault(in: self.plan.request) {
            return self.finish(.failed(TransportFailure(phase: .send, cause: .invalidRequest(fault))))
        }
        do throws(TransportFailure) {
            // A policy that cannot be used is reported before any look-up.
            _ = try self.setup.layers(self.plan, on: self.service)
        } catch {
            return self.finish(.failed(error))
        }
        self.follow(self.setup.start(self.plan, on: self.service))
    }

    /// Handles the answer of a look-up.
    func resolved(_ answer: Resolver.Answer) {
        guard case .resolving = self.phase else { return }
        self.follow(self.setup.resolved(answer, self.plan, on: self.service))
    }

    /// Tries the next address, concurrently with the attempts that are in progress.
    func attemptDelayPassed() { self.follow(self.setup.attemptDelayPassed(for: self)) }

    private func follow(_ step: ConnectionSetup.Step) {
        switch step {
        case .wait: break
        case .race:
            self.noteProgress(\.resolved)
            self.phase = .connecting
            self.attemptDelayPassed()
        case .connected(let socket): self.adopt(socket)
        case .failed(let failure): self.finish(.failed(failure))
        }
    }

    /// Returns the phase of a failure to connect, which is the proxy's until its tunnel is established.
    func phaseOfConnecting(_ phase: TransportFailure.Phase) -> TransportFailure.Phase {
        // Until the tunnel is established, every failure is the proxy's.
        guard self.plan.proxy != nil else { return phase }
        return self.link.map { $0.isAtProxy ? .proxy : phase } ?? .proxy
    }

    /// Continues with the socket of the winning attempt.
    private func adopt(_ socket: Socket) {
        do throws(TransportFailure) {
            let plans = try self.setup.layers(self.plan, on: self.service)
            let link = Link(socket: socket, plans: plans, service: self.service)
            self.link = link
            self.noteProgress(\.tcpConnected)
            if let keepAlive = TCPKeepAlive(self.plan.request.timeouts) { link.watchPeer(keepAlive) }
            self.handle(link.start(), of: link)
        } catch {
            self.service.close(socket)
            self.finish(.failed(error))
        }
    }

    // MARK: The socket

    /// Handles a ready socket.
    func socketReady(_ token: SocketToken, for readiness: Readiness) {
        guard let link = self.link, link.token == token else {
            return self.follow(self.setup.socketReady(token, for: self))
        }
        if readiness.contains(.writable) {
            link.flush()
            self.wantsWrite = true
        }
        if readiness.contains(.readable), !link.isPaused { self.read(from: link) }
    }

    /// Schedules a write for when the current event has been handled.
    func requestWrite() { self.wantsWrite = true }

    /// Performs the socket operations that the preceding events require.
    func settle() {
        if self.wantsWrite {
            self.wantsWrite = false
            self.writeMore()
        }
        self.link?.await(isWriting: self.hasMoreToWrite)
    }

    // MARK: Reading

    /// The number of bytes by which a read may exceed the high watermark, so that no read is a few bytes.
    private static let excessByteCount = 64 << 10
    /// The same while memory is scarce.
    private static let scarceExcessByteCount = 4 << 10

    /// Reads the available bytes, unless the arena waits for the consumer, into a buffer that becomes the arena's when
    /// no other has room; while memory is scarce the arena copies them instead.
    private func read(from link: Link) {
        let share = self.service.inboundShare
        let isScarce = share != .max
        let room = self.arenaView.room(of: self.plan.arena, sharing: share)
        link.isPaused = room == 0
        guard room > 0 else { return }
        let buffer = self.service.takeReserve()
        var reserve: InboundBuffer? = isScarce ? nil : buffer
        let memory = buffer.lend()
        let excess = isScarce ? Self.scarceExcessByteCount : Self.excessByteCount
        let reading = link.read(atMost: min(room, InboundBuffer.readByteCount) + excess, into: memory)
        if reading.isEstablished { self.established(link) }
        if reading.byteCount > 0, self.link === link {
            let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[..<reading.byteCount])
            self.received(bytes, sharing: share, reserve: &reserve)
        }
        self.service.putBackReserve(isScarce ? buffer : reserve)
        if let end = reading.end, self.link === link { self.ended(end, of: link) }
    }

    private func handle(_ reading: Link.Reading, of link: Link) {
        if reading.isEstablished { self.established(link) }
        if let end = reading.end, self.link === link { self.ended(end, of: link) }
    }

    /// Handles bytes that were read; `reserve` is that of `InboundArena.append`.
    private func received(
        _ bytes: UnsafeMutableRawBufferPointer, sharing share: Int, reserve: inout InboundBuffer?
    ) {
        let now = Moment.now
        var bytes = bytes
        if self.phase == .requesting {
            var position = 0
            guard self.readHead(UnsafeRawBufferPointer(bytes), at: &position, now) else { return }
            bytes = UnsafeMutableRawBufferPointer(rebasing: bytes[position...])
            guard !bytes.isEmpty else { return }
        }
        self.channel?.received(at: now)
        // Bytes behind the end are dropped, and count as not received.
        var arrival = InboundArena.Arrival(
            moment: now, byteCount: self.phase == .ended ? 0 : bytes.count, share: share)
        switch self.phase {
        case .receivingBody:
            self.readBody(bytes, of: &arrival, reserve: &reserve)
        case .upgraded, .ended:
            self.receivedFrames(UnsafeRawBufferPointer(bytes), of: &arrival, reserve: &reserve)
        case .resolving, .connecting, .requesting:
            preconditionFailure("bytes above layers that are not up")
        }
        if arrival.byteCount > 0 { self.plan.arena.count(&arrival) }
    }

    /// Follows what the arena has said about the bytes that were appended.
    func follow(_ appended: InboundArena.Appended) {
        if self.arenaView.follow(appended) { self.service.wake(self) }
    }

    private func readBody(
        _ bytes: UnsafeMutableRawBufferPointer, of arrival: inout InboundArena.Arrival, reserve: inout InboundBuffer?
    ) {
        do throws(HTTPError) {
            let piece = try self.answer.readBody(bytes)
            let content = UnsafeRawBufferPointer(rebasing: bytes[piece.content])
            if !content.isEmpty {
                self.follow(self.plan.arena.append(content, of: &arrival, reserve: &reserve))
            }
            if piece.isComplete {
                self.plan.arena.count(&arrival)
                return self.finish(.complete)
            }
            // The remaining bytes follow an error, which `readBody` throws without examining them.
            if piece.consumed < bytes.count { _ = try self.answer.readBody(bytes) }
        } catch {
            self.plan.arena.count(&arrival)
            self.finish(.failed(TransportFailure(phase: .stream, cause: error.cause)))
        }
    }

    // MARK: The head

    /// Reads the response's head; returns false while it is incomplete, and when it is refused.
    private func readHead(
        _ bytes: UnsafeRawBufferPointer, at position: inout Int, _ now: Moment
    ) -> Bool {
        do throws(TransportFailure) {
            guard let head = try self.answer.readHead(bytes, at: &position) else { return false }
            self.plan.arena.noteOpened(at: now)
            try self.received(head, at: now)
            self.service.wake(self)
            return self.link != nil
        } catch {
            self.finish(.failed(error))
            return false
        }
    }

    private func received(_ head: ResponseMessageHead, at now: Moment) throws(TransportFailure) {
        let coding: PayloadCoding
        if let channel = try self.answer.channel(of: head, for: self.plan.request, at: now) {
            coding = channel.coding
            self.phase = .upgraded
            self.channel = channel
        } else {
            coding = head.contentCoding
            self.phase = .receivingBody
        }
        let fields = head.fields(askedForBy: self.plan.request)
        self.plan.arena.open(
            ResponseHead(statusCode: head.statusCode, fields: fields, isCompressed: coding != .none), coding: coding)
        if self.phase == .receivingBody, self.answer.hasNoBody { self.finish(.complete) }
    }

    // MARK: The end of the bytes

    private func ended(_ end: Link.End, of link: Link) {
        switch self.phase {
        case .ended:
            self.closeSocket()
        case .upgraded:
            // RFC 6455 section 7.1.5: no close frame was received.
            self.finish(.closed(code: 1006, reason: ""))
        case .receivingBody:
            let isWhole = if case .closed = end { self.answer.isWholeAtEnd } else { false }
            self.finish(isWhole ? .complete : .failed(TransportFailure(phase: .stream, cause: .connectionLost)))
        case .resolving, .connecting:
            if let observer = self.plan.observer, let failure = link.tlsFailure { observer(failure) }
            let failure = if case .failed(let failure) = end { failure } else { link.failureOfEnd }
            self.finish(.failed(failure))
        case .requesting:
            // In TLS 1.3 the server may have refused this side's certificate meanwhile.
            let late = link.details?.lateFailure
            self.finish(.failed(late ?? TransportFailure(phase: .upgrade, cause: .connectionLost)))
        }
    }

    // MARK: Commands

    /// Continues reading, because the consumer has caught up.
    func resumeReading() {
        if let link = self.link, link.isEstablished { self.read(from: link) }
    }

    /// Ends the exchange: a WebSocket with a close frame, any other at once.
    func cancel() {
        guard !self.isCancelled else { return }
        if !self.closeCancelled() { self.finish(.failed(TransportFailure(phase: .stream, cause: .cancelled))) }
    }

    // MARK: The end

    /// Tells the consumer the end and closes the socket.
    ///
    /// Only the first end counts.
    func finish(_ end: TransportEnd) {
        self.announce(end)
        self.closeSocket()
    }

    /// Tells the consumer the end, and keeps the socket open for the closing handshake.
    func announce(_ end: TransportEnd) {
        self.phase = .ended
        if self.plan.arena.finish(end) { self.service.wake(self) }
    }

    /// Closes the socket.
    func closeSocket() {
        self.closeDeadline = nil
        self.request.end()
        self.plan.arena.outbound.close()
        self.setup.stop(on: self.service)
        self.link.take()?.close()
        self.service.remove(self)
    }

    /// Wakes the consumer, because there is an event to read.
    func resumeWaiter() {
        (self.arenaView.takeWaiter() ?? self.plan.arena.takeReadyWaiter())?.resume(returning: .ready)
    }

    /// Records the time at which a stage of the exchange was first reached.
    func noteProgress(_ moment: WritableKeyPath<TransportStatistics, Duration?>) {
        let since = Moment.now - self.plan.started
        self.plan.arena.updateStatistics { $0[keyPath: moment] = since }
    }
}
