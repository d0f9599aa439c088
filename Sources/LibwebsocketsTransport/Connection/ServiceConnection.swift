import CLibwebsocketsShim
import Deflate
import HTTPProtocol
import StreamTransport
import WebSocketProtocol

/// One exchange, as the service thread sees it: sockets in, arena out.
///
/// It belongs to the service thread.
///
/// The addresses of a host race, a socket each; after the first one that connects there is no other.
final class ServiceConnection {
    /// How far the exchange has come.
    enum Phase {
        /// The addresses are being looked up.
        case resolving
        /// TCP or TLS is being established.
        case connecting
        /// The request is on its way, and there is no answer yet.
        case requesting
        /// The answer is a response body.
        case receivingBody
        /// The answer was 101.
        case upgraded
        /// The consumer knows the end.
        ///
        /// A socket may still finish its closing handshake.
        case ended
    }

    let plan: ConnectionPlan
    unowned let service: Service
    var phase = Phase.resolving
    /// The WebSocket, from the 101 on.
    var channel: WebSocketChannel?
    /// When the peer's last word is waited for no longer: its close frame, or its answer to what it stopped reading.
    var closeDeadline: ContinuousClock.Instant?
    /// Indicates whether the consumer has cancelled a WebSocket whose closing handshake goes on.
    var isCancelled = false
    /// When the service thread looks at the exchange next; it belongs to the service.
    var lookDeadline: ContinuousClock.Instant?

    /// The server's address, for a proxy that is not given its name; nil before it was looked up.
    var serverAddress: String?
    /// The look-up that is waited for.
    var lookUp: LookupQueue.Ticket?
    /// The sockets of which one will be the link's, until it is.
    var contest: ConnectionContest?
    /// The socket that has won, and what stands on it.
    private(set) var link: Link?
    /// The response, as far as HTTP is concerned.
    private var reader: ResponseReader
    /// The rest of the request to write.
    var upload: RequestUpload?
    /// Indicates whether a held request was let go.
    var isReleased = false
    /// Indicates whether frames are to be written when the event in hand was handled.
    var wantsWrite = false
    let handshake: OpeningHandshake?
    private let offer: PerMessageDeflateOffer?

    init(plan: ConnectionPlan, service: Service) {
        self.plan = plan
        self.service = service
        let isUpgrade = if case .webSocket = plan.request.exchange { true } else { false }
        self.reader = ResponseReader(
            method: plan.request.exchange.method, acceptsUpgrade: isUpgrade, limits: .responses)
        guard case .webSocket(let compression) = plan.request.exchange else {
            self.offer = nil
            self.handshake = nil
            return
        }
        let offer = compression.map { PerMessageDeflateOffer($0) }
        let nonce = OpeningHandshake.Nonce(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
        self.offer = offer
        self.handshake = OpeningHandshake(nonce: nonce, extensionOffer: offer?.fieldValue)
    }

    /// The proxy on the way.
    var proxy: ProxyServer? { try? self.plan.way.get().proxy }

    /// Where the socket goes to.
    var dialled: (host: String, port: UInt16) {
        let endpoint = self.plan.request.endpoint
        return (self.proxy?.host ?? endpoint.host, self.proxy?.port ?? endpoint.port)
    }

    /// Indicates whether the request asks for a WebSocket.
    var isUpgrade: Bool { self.handshake != nil }

    // MARK: The socket

    /// Indicates whether one socket has connected, and is the only one.
    var isTCPConnected: Bool { self.link != nil }

    /// The phase that a failure to connect belongs to, as far as the exchange has come.
    func phaseOfConnecting(_ phase: TransportFailure.Phase) -> TransportFailure.Phase {
        // Until the tunnel stands, whatever fails is the proxy's.
        guard self.proxy != nil else { return phase }
        return self.link.map { $0.isAtProxy ? .proxy : phase } ?? .proxy
    }

    /// Goes on with the socket that has won.
    func adopt(_ socket: Socket) {
        do throws(TransportFailure) {
            let link = Link(socket: socket, plans: try self.layers(), service: self.service)
            self.link = link
            if let care = SocketCare(self.plan.request.timeouts) { link.watchPeer(care) }
            self.handle(link.start(), of: link)
        } catch {
            self.service.close(socket)
            self.finish(.failed(error))
        }
    }

    /// A socket is ready.
    func socketReady(_ token: SocketToken, for readiness: Readiness) {
        guard let link = self.link, link.token == token else { return self.contestantReady(token) }
        if readiness.contains(.writable) {
            link.flush()
            self.wantsWrite = true
        }
        if readiness.contains(.readable), !link.isPaused { self.read(from: link) }
    }

    /// Does what the events before have left to do with the socket.
    func settle() {
        if self.wantsWrite {
            self.wantsWrite = false
            self.writeMore()
        }
        self.link?.await(isWriting: self.hasMoreToWrite)
    }

    // MARK: Reading

    /// By how much a read may pass the high watermark, so that no read is a few bytes.
    private static let excessByteCount = 64 << 10

    /// Reads what is there, unless the arena waits for the consumer, into a buffer that it takes as it is when no other
    /// has room.
    private func read(from link: Link) {
        let room = self.plan.arena.room
        link.isPaused = room == 0
        guard room > 0 else { return }
        let buffer = self.service.takeReserve()
        var reserve: InboundBuffer? = buffer
        let memory = buffer.lend()
        let count = min(room, InboundBuffer.readByteCount) + Self.excessByteCount
        let reading = link.read(atMost: count, into: memory)
        if reading.isEstablished { self.established(link) }
        if reading.byteCount > 0, self.link === link {
            self.received(UnsafeMutableRawBufferPointer(rebasing: memory[..<reading.byteCount]), reserve: &reserve)
        }
        self.service.putBackReserve(reserve)
        if let end = reading.end, self.link === link { self.ended(end, of: link) }
    }

    private func handle(_ reading: Link.Reading, of link: Link) {
        if reading.isEstablished { self.established(link) }
        if let end = reading.end, self.link === link { self.ended(end, of: link) }
    }

    /// Takes what was read; of `reserve` see `InboundArena.append`.
    private func received(_ bytes: UnsafeMutableRawBufferPointer, reserve: inout InboundBuffer?) {
        let now = ContinuousClock.now
        var bytes = bytes
        if self.phase == .requesting {
            var position = 0
            guard self.readHead(UnsafeRawBufferPointer(bytes), at: &position, now) else { return }
            bytes = UnsafeMutableRawBufferPointer(rebasing: bytes[position...])
            guard !bytes.isEmpty else { return }
        }
        let moment = now - self.plan.started
        self.channel?.liveness.received(at: now)
        // Bytes behind the end are dropped, and count as not received.
        if self.phase != .ended {
            self.plan.arena.updateStatistics {
                $0.receivedByteCount += bytes.count
                $0.lastReceived = moment
            }
        }
        switch self.phase {
        case .receivingBody:
            self.readBody(bytes, at: moment, reserve: &reserve)
        case .upgraded, .ended:
            self.receivedFrames(UnsafeRawBufferPointer(bytes), at: moment, reserve: &reserve)
        case .resolving, .connecting, .requesting:
            preconditionFailure("bytes above layers that are not up")
        }
    }

    private func readBody(_ bytes: UnsafeMutableRawBufferPointer, at moment: Duration, reserve: inout InboundBuffer?) {
        do throws(HTTPError) {
            let piece = try self.reader.readBody(bytes)
            let content = UnsafeRawBufferPointer(rebasing: bytes[piece.content])
            if !content.isEmpty {
                self.plan.arena.append(content, at: moment, reserve: &reserve)
                self.service.wake(self)
            }
            if piece.isComplete { return self.finish(.complete) }
            // The rest is behind an error then, which is thrown without a look at it.
            if piece.consumed < bytes.count { _ = try self.reader.readBody(bytes) }
        } catch {
            self.finish(.failed(TransportFailure(phase: .stream, cause: error.cause)))
        }
    }

    // MARK: The head

    /// Reads the response's head; false while there is none, and when it is refused.
    private func readHead(
        _ bytes: UnsafeRawBufferPointer, at position: inout Int, _ now: ContinuousClock.Instant
    ) -> Bool {
        do throws(TransportFailure) {
            let head: ResponseMessageHead?
            do throws(HTTPError) {
                head = try self.reader.readHead(bytes, at: &position)
            } catch {
                throw TransportFailure(phase: .upgrade, cause: error.cause)
            }
            guard let head else { return false }
            let moment = now - self.plan.started
            self.plan.arena.updateStatistics {
                $0.opened = moment
                $0.lastReceived = moment
                $0.lastHeard = moment
            }
            try self.received(head, at: now)
            self.service.wake(self)
            return self.link != nil
        } catch {
            self.finish(.failed(error))
            return false
        }
    }

    private func received(_ head: ResponseMessageHead, at now: ContinuousClock.Instant) throws(TransportFailure) {
        let coding: PayloadCoding
        if let handshake = self.handshake, head.statusCode == 101 {
            let channel = try head.channel(of: handshake, offer: self.offer, for: self.plan.request, at: now)
            coding = channel.coding
            self.phase = .upgraded
            self.channel = channel
        } else {
            coding = head.contentCoding
            self.phase = .receivingBody
        }
        let fields = head.fields(named: self.plan.request.capturedFieldNames)
        self.plan.arena.open(
            ResponseHead(statusCode: head.statusCode, fields: fields, isCompressed: coding != .none), coding: coding)
        // Whatever follows is no part of the response then (RFC 9112 section 6.3).
        if self.phase == .receivingBody, [BodyFraming.none, .length(0)].contains(self.reader.bodyFraming) {
            self.finish(.complete)
        }
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
            let isWhole = if case .closed = end { self.isWholeAtEnd } else { false }
            self.finish(isWhole ? .complete : .failed(TransportFailure(phase: .stream, cause: .connectionLost)))
        case .resolving, .connecting:
            let failure = if case .failed(let failure) = end { failure } else { link.failureOfEnd }
            self.finish(.failed(failure))
        case .requesting:
            // In TLS 1.3 the server may have refused this side's certificate meanwhile.
            let late = link.details?.lateFailure
            self.finish(.failed(late ?? TransportFailure(phase: .upgrade, cause: .connectionLost)))
        }
    }

    private var isWholeAtEnd: Bool {
        do throws(HTTPError) {
            try self.reader.connectionEnded()
            return true
        } catch {
            return false
        }
    }

    // MARK: Commands

    /// The consumer has caught up.
    func resumeReading() {
        if let link = self.link, link.isEstablished { self.read(from: link) }
    }

    /// Ends the exchange: a WebSocket with a close frame, any other at once.
    func cancel() {
        guard !self.isCancelled else { return }
        if !self.closeCancelled() { self.finish(.failed(TransportFailure(phase: .stream, cause: .cancelled))) }
    }

    // MARK: The end

    /// Tells the consumer and closes the socket.
    ///
    /// The first end counts.
    func finish(_ end: TransportEnd) {
        self.announce(end)
        self.closeSocket()
    }

    /// Tells the consumer, and leaves the socket to the closing handshake.
    func announce(_ end: TransportEnd) {
        self.phase = .ended
        if self.plan.arena.finish(end) { self.service.wake(self) }
    }

    /// Closes the socket.
    func closeSocket() {
        self.closeDeadline = nil
        self.upload = nil
        self.stopConnecting()
        self.link.take()?.close()
        self.service.remove(self)
    }

    /// Lets the consumer know that there is something to read.
    func resumeWaiter() {
        self.plan.arena.takeReadyWaiter()?.resume(returning: .ready)
    }

    /// Notes when a moment of the exchange was reached.
    func noteProgress(_ moment: WritableKeyPath<TransportStatistics, Duration?>) {
        let since = ContinuousClock.now - self.plan.started
        self.plan.arena.updateStatistics { $0[keyPath: moment] = since }
    }
}
