import CLibwebsocketsShim
import Deflate
import StreamTransport
import WebSocketProtocol

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
    /// Whether the consumer has cancelled a WebSocket whose closing handshake goes on.
    var isCancelled = false
    /// When the service thread looks at the exchange next; it belongs to the service.
    var lookDeadline: ContinuousClock.Instant?

    /// The look-up that is waited for.
    var lookUp: LookupQueue.Ticket?
    /// The sockets of which one will be `stream`, until it is.
    var contest: ConnectionContest?
    private(set) var stream: OpaquePointer?
    private var streamID: ConnectionID?
    /// What it shares with others of its way.
    var route: OpaquePointer?
    /// What the proxy is asked for, until it has given it; nil for a direct connection.
    var tunnel: TunnelHandshake?
    /// What is left of the request to write; a WebSocket has none.
    var upload: RequestUpload?
    /// Whether a held request was let go.
    var isReleased = false
    /// Whether the socket is closed when the event in hand has been handled.
    var mustClose = false
    private var isInsideCallback = false
    let handshake: OpeningHandshake?
    private let offer: PerMessageDeflateOffer?

    init(plan: ConnectionPlan, service: Service) {
        self.plan = plan
        self.service = service
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

    /// Where the socket goes to.
    var dialled: (host: String, port: UInt16) {
        let endpoint = self.plan.request.endpoint
        return (self.proxy?.host ?? endpoint.host, self.proxy?.port ?? endpoint.port)
    }

    /// `Host`'s value.
    var hostField: String { RequestFields.host(of: self.plan.request.endpoint) }

    /// The request's method.
    var method: String {
        switch self.plan.request.exchange {
        case .webSocket, .get: "GET"
        case .post: "POST"
        }
    }

    /// Whether the request asks for a WebSocket.
    var isUpgrade: Bool { self.handshake != nil }

    /// Says whom the certificate of a connection with TLS must name.
    ///
    /// Where that cannot be remembered, for want of memory, no certificate is accepted.
    private func expectServer(on stream: OpaquePointer) {
        let endpoint = self.plan.request.endpoint
        guard endpoint.isSecure, let route = self.route else { return }
        _ = clws_expect_server(route, stream, endpoint.host, endpoint.port)
    }

    // MARK: Events of the socket

    /// Whether one socket has connected, and is the only one.
    var isTCPConnected: Bool { self.streamID != nil }

    /// Goes on with the socket that has won.
    func adopt(_ stream: OpaquePointer, id: ConnectionID) {
        self.streamID = id
        self.stream = stream
        self.expectServer(on: stream)
    }

    /// Handles one event; false when the socket has to be closed.
    func handle(_ event: StreamEvent, on stream: OpaquePointer, id: ConnectionID) -> Bool {
        guard self.streamID == id else { return self.handleContest(event, on: stream, id: id) }
        if self.mustClose, event.kind == .readable || event.kind == .writable {
            // It is being closed. Said a second time, libwebsockets' poll loop would ask for ever.
            return true
        }
        let isNested = self.isInsideCallback
        self.isInsideCallback = true
        self.dispatch(event, on: stream)
        self.isInsideCallback = isNested
        if self.mustClose { self.service.close(self) }
        return !self.mustClose
    }

    /// Closes the socket for good, if libwebsockets has not done so when it was told to.
    ///
    /// While it holds bytes that the socket did not take it waits for up to 5 s, and does not read meanwhile.
    func confirmClosed() {
        if let stream = self.stream { clws_kill(stream) }
    }

    private func dispatch(_ event: StreamEvent, on stream: OpaquePointer) {
        switch event.kind {
        case .tunnelAnswered:
            self.tunnelAnswered(event.bytes, on: stream)
        case .tunnelEnded:
            self.tunnelFailed(.connectionLost)
        case .fieldsDue:
            self.writeFields(to: event)
        case .headReceived:
            self.headReceived(statusCode: event.count, on: stream)
        case .readable:
            if !self.read(from: stream) { self.mustClose = true }
        case .bytesReceived:
            var reserve: InboundBuffer? = self.service.takeReserve()
            self.received(event.bytes, reserve: &reserve)
            self.service.putBackReserve(reserve)
        case .writable:
            self.write(on: stream)
        case .completed:
            self.connectionEnded(wholeBody: !clws_is_cut(stream))
        case .closed:
            self.connectionEnded(wholeBody: false, late: clws_details_of(stream).lateFailure)
        case .failed:
            self.connectionFailed(clws_failure(rawValue: UInt32(truncatingIfNeeded: event.count)) ?? .other, on: stream)
        case .tcpConnected, .woken, .timerFired, .roundEnded, .destroyed:
            preconditionFailure("the contest and the service keep these to themselves")
        }
    }

    private func headReceived(statusCode: Int, on stream: OpaquePointer) {
        let moment = ContinuousClock.now - self.plan.started
        self.plan.arena.updateStatistics {
            $0.opened = moment
            $0.lastReceived = moment
            $0.lastHeard = moment
        }
        let head = HeadReader(stream: stream, request: self.plan.request)
        do throws(TransportFailure) {
            switch (self.handshake, statusCode) {
            case (_, ..<100), (_, 1000...):
                // RFC 9112 section 4: a status code has three digits. libwebsockets reads as many as there are.
                throw TransportFailure(phase: .upgrade, cause: .notHTTP)
            case (let handshake?, 101):
                let channel = try head.channel(of: handshake, offer: self.offer, at: .now)
                self.phase = .upgraded
                self.channel = channel
                // The next writable event gives back what is not needed any more.
                self.requestWrite()
                self.plan.arena.open(
                    ResponseHead(statusCode: 101, fields: head.fields(), isCompressed: channel.coding != .none),
                    coding: channel.coding)
            case (_, ..<200):
                // libwebsockets takes an interim response for the final one; what follows cannot be trusted.
                let cause = TransportFailure.Cause.openingHandshakeInvalid(.interimResponse)
                throw TransportFailure(phase: .upgrade, cause: cause)
            case (_, _):
                let coding = try head.contentCoding()
                self.phase = .receivingBody
                self.plan.arena.open(
                    ResponseHead(statusCode: statusCode, fields: head.fields(), isCompressed: coding != .none),
                    coding: coding)
                // RFC 9112 section 6.3: these have no content, whatever their fields say.
                if statusCode == 204 || statusCode == 304 { self.finish(.complete) }
            }
            self.service.wake(self)
        } catch {
            self.finish(.failed(error))
        }
    }

    /// By how much a read may pass the high watermark.
    ///
    /// It is more than a record of TLS has: of one that is read in part, libwebsockets would come back for the rest at
    /// once, as often as it can.
    private static let excessByteCount = 64 << 10

    /// Reads what is there, unless the arena waits for the consumer, into a buffer that it takes as it is when no other
    /// has room; false at an end.
    private func read(from stream: OpaquePointer) -> Bool {
        let room = self.plan.arena.room
        guard room > 0 else { return true }
        let buffer = self.service.takeReserve()
        let memory = buffer.lend()
        precondition(memory.count >= Int(CLWS_READ_BYTE_COUNT), "a read needs more memory")
        let start = memory.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let reading = clws_read(stream, start, min(room, Int(CLWS_READ_SIZE)) + Self.excessByteCount)
        var reserve: InboundBuffer? = buffer
        if reading.count > 0 {
            self.received(UnsafeRawBufferPointer(start: reading.bytes, count: reading.count), reserve: &reserve)
            if self.mustClose { self.service.close(self) }
        }
        self.service.putBackReserve(reserve)
        return reading.is_alive && !self.mustClose
    }

    /// Takes what was read; of `reserve` see `InboundArena.append`.
    private func received(_ bytes: UnsafeRawBufferPointer, reserve: inout InboundBuffer?) {
        let now = ContinuousClock.now
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
            self.plan.arena.append(bytes, at: moment, reserve: &reserve)
            self.service.wake(self)
        case .upgraded, .ended:
            self.receivedFrames(bytes, at: moment, reserve: &reserve)
        case .resolving, .connecting, .requesting:
            preconditionFailure("body bytes before the header section")
        }
    }

    /// The peer has closed the connection, or it was lost.
    ///
    /// `late` is what the peer said about TLS when the handshake was over for this side.
    func connectionEnded(wholeBody: Bool, late: TransportFailure? = nil) {
        switch self.phase {
        case .ended:
            self.mustClose = true
        case .upgraded:
            // RFC 6455 section 7.1.5: no close frame was received.
            self.finish(.closed(code: 1006, reason: ""))
        case .receivingBody where wholeBody:
            self.finish(.complete)
        case .receivingBody:
            self.finish(.failed(TransportFailure(phase: .stream, cause: .connectionLost)))
        case .resolving, .connecting, .requesting:
            self.finish(.failed(late ?? TransportFailure(phase: .upgrade, cause: .connectionLost)))
        }
    }

    private func connectionFailed(_ failure: clws_failure, on stream: OpaquePointer) {
        switch self.phase {
        case .connecting where self.plan.request.endpoint.isSecure:
            self.finish(.failed(clws_details_of(stream).failure))
        case .connecting:
            self.finish(.failed(TransportFailure(phase: .connect, cause: .connectionLost)))
        case .requesting, .receivingBody, .upgraded, .resolving:
            let cause: TransportFailure.Cause =
                switch failure {
                case .headMalformed: .notHTTP
                case .headTooLarge: .headerSectionTooLarge(limit: Int(CLWS_HEADER_SECTION_LIMIT))
                case .other: .connectionLost
                }
            let late = clws_details_of(stream).lateFailure
            self.finish(.failed(late ?? TransportFailure(phase: .upgrade, cause: cause)))
        case .ended:
            self.mustClose = true
        }
    }

    /// The socket is gone; nothing more is heard of it.
    func streamDestroyed(_ id: ConnectionID) {
        guard self.streamID == id else { return self.contestantDestroyed(id) }
        self.stream = nil
        self.streamID = nil
        self.finish(.failed(TransportFailure(phase: .stream, cause: .connectionLost)))
        self.service.remove(self)
    }

    // MARK: Commands

    /// The consumer has caught up.
    func resumeReading() {
        guard let stream = self.stream else { return }
        self.isInsideCallback = true
        let isAlive = self.read(from: stream)
        self.isInsideCallback = false
        if !isAlive || self.mustClose { clws_kill(stream) }
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

    /// Closes the socket, after the event in hand when it is one of its own.
    func closeSocket() {
        self.closeDeadline = nil
        self.upload = nil
        self.stopConnecting()
        guard let stream = self.stream else {
            if self.streamID == nil { self.service.remove(self) }
            return
        }
        if self.isInsideCallback {
            self.mustClose = true
        } else {
            clws_kill(stream)
        }
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
