import CLibwebsocketsShim
import PlatformC
import StreamTransport

/// The socket of an exchange once TCP is established, and the layers on top of it.
///
/// It moves bytes and makes no decisions. It belongs to the service thread.
final class Link {
    /// The way in which the bytes from the peer end.
    enum End {
        /// In order: TCP has ended, and TLS before it where there is any.
        case closed
        /// With an error of TCP, or without the end of TLS.
        case lost
        /// With an error of a layer.
        case failed(TransportFailure)
    }

    /// The result of one read.
    struct Reading {
        /// The number of bytes above all layers.
        var byteCount = 0
        /// Indicates whether this read established the last layer.
        var isEstablished = false
        var end: End?
    }

    private let service: Service
    // Its properties do not call back, so that exclusive access to them is not checked at run time.
    @exclusivity(unchecked) private var socket: Socket
    @exclusivity(unchecked) private var stack: LayerStack
    /// The bytes that the socket did not take, and the number of them that were written since.
    @exclusivity(unchecked) private var unsent: [UInt8] = []
    private var sentCount = 0
    /// Indicates whether the peer accepts no more bytes; it may have sent some before.
    @exclusivity(unchecked) private(set) var isDeaf = false
    /// Indicates whether the connection was reset (RFC 9293 section 3.5.2).
    @exclusivity(unchecked) private var isReset = false
    /// Indicates whether reading is suspended until the consumer has caught up.
    @exclusivity(unchecked) var isPaused = false

    init(socket: Socket, plans: [LayerStack.Plan], service: Service) {
        self.socket = socket
        self.service = service
        self.stack = LayerStack(plans, scratch: service.scratch)
    }

    var token: SocketToken { self.socket.token }
    /// Indicates whether every layer is up.
    var isEstablished: Bool { self.stack.isEstablished }
    /// Indicates whether the proxy has not opened the tunnel yet.
    var isAtProxy: Bool { self.stack.isAtProxy }
    /// Indicates whether TLS has resumed a session.
    var isTLSResumed: Bool { self.stack.tls?.isResumed ?? false }
    /// The result of the topmost TLS handshake; nil without TLS.
    var tlsSession: TLSSession? { self.stack.tls.map { TLSSession($0.session, $0.certificates) } }
    /// The end of the server's handshake where it has failed, as far as there is more to tell than its failure; nil
    /// otherwise.
    var tlsFailure: TLSOutcome? {
        guard !self.isAtProxy, let tls = self.stack.tls else { return nil }
        let details = tls.details
        if details.certificate_code != 0 {
            return .rejected(TLSRejection(certificates: tls.certificates, depth: Int(details.certificate_depth)))
        }
        if details.is_key_not_pinned { return nil }
        if details.is_answered_in_http { return .answeredInHTTP }
        if details.is_not_tls { return .notTLS }
        if details.alert != 0 {
            return .alerted(UInt8(truncatingIfNeeded: details.alert), isByServer: details.is_alert_received)
        }
        if tls.state == .failed { return nil }
        return self.isReset ? .reset : .closed
    }
    /// The details of a failure of TLS with the server.
    var details: clws_details? { self.stack.tls?.details }
    /// The failure that the end of the connection means before every layer is established.
    var failureOfEnd: TransportFailure { self.stack.failureOfEnd }
    /// Indicates whether some written bytes were not taken by the socket yet.
    var hasUnsent: Bool { !self.unsent.isEmpty }
    /// Indicates whether the socket takes no bytes at the moment.
    var isChoked: Bool { self.hasUnsent || !clws_socket_is_writable(self.socket.descriptor) }

    /// Lets TCP probe whether the peer is still there.
    func watchPeer(_ keepAlive: TCPKeepAlive) {
        clws_socket_watch_peer(
            self.socket.descriptor, keepAlive.idleSeconds, keepAlive.probeSeconds, keepAlive.silenceMilliseconds)
    }

    /// Starts the layers.
    func start() -> Reading { self.reading(self.stack.start(), byteCount: 0) }

    // MARK: Reading

    /// Reads the available bytes, at most `count`, and passes them through the layers into `memory`.
    func read(atMost count: Int, into memory: UnsafeMutableRawBufferPointer) -> Reading {
        guard self.stack.isTransparent else { return self.readThroughLayers(atMost: count, into: memory) }
        let taken = clws_socket_read(self.socket.descriptor, memory.baseAddress, min(count, memory.count))
        return taken > 0 ? Reading(byteCount: taken) : Self.reading(endingWith: taken, isWhole: true)
    }

    private func readThroughLayers(atMost count: Int, into memory: UnsafeMutableRawBufferPointer) -> Reading {
        let incoming = self.service.scratch.incoming
        let taken = clws_socket_read(self.socket.descriptor, incoming.baseAddress, min(count, incoming.count))
        guard taken > 0 else {
            if -taken == Int(ECONNRESET) { self.isReset = true }
            return Self.reading(endingWith: taken, isWhole: self.stack.hasEndInOrder)
        }
        let bytes = UnsafeRawBufferPointer(rebasing: incoming[..<taken])
        let (byteCount, outcome) = self.stack.receive(bytes, into: memory)
        return self.reading(outcome, byteCount: byteCount)
    }

    private func reading(_ outcome: LayerStack.Outcome, byteCount: Int) -> Reading {
        self.service.scratch.takeOutput { self.give($0) }
        var reading = Reading(byteCount: byteCount)
        switch outcome {
        case .unchanged: break
        case .established: reading.isEstablished = true
        case .ended: reading.end = .closed
        case .failed(let failure): reading.end = .failed(failure)
        }
        return reading
    }

    private static func reading(endingWith code: Int, isWhole: Bool) -> Reading {
        switch -code {
        case Int(EAGAIN), Int(EWOULDBLOCK): Reading()
        case 0: Reading(end: isWhole ? .closed : .lost)
        default: Reading(end: .lost)
        }
    }

    // MARK: Writing

    /// Writes bytes, and keeps those that the socket does not take; more may be written when none are kept.
    func write(_ bytes: UnsafeRawBufferPointer) {
        guard !self.stack.isTransparent else { return self.give(bytes) }
        self.stack.send(bytes)
        self.service.scratch.takeOutput { self.give($0) }
    }

    /// Writes the kept bytes.
    func flush() {
        guard self.hasUnsent else { return }
        let count = self.unsent.withUnsafeBytes { bytes in
            self.offer(UnsafeRawBufferPointer(rebasing: bytes[self.sentCount...]))
        }
        self.sentCount += count
        guard self.isDeaf || self.sentCount == self.unsent.count else { return }
        self.unsent = []
        self.sentCount = 0
    }

    private func give(_ bytes: UnsafeRawBufferPointer) {
        let count = self.hasUnsent ? 0 : self.offer(bytes)
        if count < bytes.count, !self.isDeaf { self.unsent.append(contentsOf: bytes[count...]) }
    }

    /// Writes bytes to the socket; returns the number that it takes.
    private func offer(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !self.isDeaf else { return bytes.count }
        let given = clws_socket_write(self.socket.descriptor, bytes.baseAddress, bytes.count)
        if given < 0, -given != Int(EAGAIN), -given != Int(EWOULDBLOCK) { self.isDeaf = true }
        return max(0, given)
    }

    // MARK: Waiting and the end

    /// Has the service wait for the events that are needed next.
    func await(isWriting: Bool) {
        var interest: Readiness = self.isPaused ? [] : .readable
        if self.hasUnsent || isWriting && !self.isDeaf { interest.insert(.writable) }
        self.service.await(interest, of: &self.socket)
    }

    /// Closes the socket, after the end of TLS where that can still be sent.
    func close() {
        if self.isEstablished, !self.hasUnsent {
            self.stack.end()
            self.service.scratch.takeOutput { self.give($0) }
        }
        self.service.close(self.socket, isAbrupt: self.hasUnsent)
    }
}
