// One accepted socket as a blocking stream of bytes, plain or TLS.
//
// Owned by its connection thread. Only `SocketHandle.interrupt` may be called from another one.
import CTestServerTLS
import PlatformC

/// A socket that its thread closes and that `stop()` may interrupt.
final class SocketHandle: Sendable {
    private let descriptor: Monitor<CInt?>
    private let deadline = Monitor<ContinuousClock.Instant?>(nil)

    /// Takes ownership of the descriptor.
    init(_ descriptor: CInt) { self.descriptor = Monitor(descriptor) }

    /// Lets the connection live for this time from now on.
    func allow(_ duration: Duration) { self.deadline.withLock { $0 = .now + duration } }

    /// Returns whether the connection's time is over; it has no limit before `allow`.
    func isOverdue(at now: ContinuousClock.Instant) -> Bool { self.deadline.withLock { $0.map { $0 <= now } ?? false } }

    /// Makes every blocking call on the socket return; no effect once it is closed.
    func interrupt() {
        self.descriptor.withLock { descriptor in
            if let descriptor { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Closes the socket; further calls have no effect.
    func closeDescriptor() {
        self.descriptor.withLock { descriptor in
            if let open = descriptor { _ = close(open) }
            descriptor = nil
        }
    }
}

/// The reason for which a connection thread stops its work.
enum ConnectionEnd: Error {
    /// The peer closed, reset, or broke TLS; or the server is stopping.
    case peerGone
    /// A fault closes the connection here.
    case cut(ChappieTestServer.Fault.ConnectionCut)
    /// A fault stops the connection here: no byte is read or written any more.
    case stalled
    /// The exchange is over and the connection is closed in order.
    case finished
}

/// Buffered reading and unbuffered writing on one socket.
final class ByteStream {
    private static let bufferByteCount = 16 * 1024

    private let handle: SocketHandle
    private let descriptor: CInt
    private var tls: OpaquePointer?
    private var buffer: [UInt8] = []
    private var offset = 0

    /// Wraps an accepted socket that `handle` owns.
    init(handle: SocketHandle, descriptor: CInt) {
        self.handle = handle
        self.descriptor = descriptor
        var on: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        SystemSocket.raiseNoSignal(descriptor)
    }

    deinit { if let tls = self.tls { ctts_connection_free(tls) } }

    /// Performs the TLS handshake.
    func startTLS(_ identity: TLSIdentity) throws(ConnectionEnd) {
        self.tls = identity.accept(self.descriptor)
        if self.tls == nil { throw .peerGone }
    }

    /// The server name in the client's TLS handshake.
    var serverName: String? { self.tls.flatMap { ctts_server_name($0) }.map { String(cString: $0) } }

    /// The facts of the client's TLS; nil without TLS.
    var clientTLS: ClientTLS? {
        guard let tls = self.tls else { return nil }
        let digest = ctts_hello_digest(tls)
        return ClientTLS(
            version: String(cString: ctts_version(tls)),
            cipherSuite: ctts_cipher_suite(tls).map { String(cString: $0) }, helloDigest: digest == 0 ? nil : digest)
    }

    /// The address family of the client; nil when it has gone.
    var clientFamily: IPFamily? { IPFamily(peerAddress: ListeningSocket.peerAddress(of: self.descriptor)) }

    /// Indicates whether the client has resumed a TLS session.
    var isTLSResumed: Bool { self.tls.map { ctts_is_resumed($0) } ?? false }

    // MARK: Reading

    /// Returns the next byte, waiting for it.
    func readByte() throws(ConnectionEnd) -> UInt8 {
        if self.offset == self.buffer.count { try self.fill() }
        defer { self.offset += 1 }
        return self.buffer[self.offset]
    }

    /// Appends exactly `count` bytes to `bytes`, waiting for them.
    func read(_ count: Int, into bytes: inout [UInt8]) throws(ConnectionEnd) {
        var missing = count
        while missing > 0 {
            if self.offset == self.buffer.count { try self.fill() }
            let taken = min(missing, self.buffer.count - self.offset)
            bytes.append(contentsOf: self.buffer[self.offset..<self.offset + taken])
            self.offset += taken
            missing -= taken
        }
    }

    /// Returns whether bytes can be read without waiting longer than `milliseconds`; -1 waits for ever.
    ///
    /// The end of the stream counts as readable.
    func isReadable(within milliseconds: Int) -> Bool {
        if self.offset < self.buffer.count { return true }
        if let tls = self.tls, ctts_pending(tls) > 0 { return true }
        return self.poll(Int16(POLLIN), milliseconds)
    }

    /// Waits for some seconds, or until the connection is gone.
    func pause(seconds: Double) { _ = self.poll(0, Int((min(3600, max(0, seconds)) * 1000).rounded(.up))) }

    private func poll(_ events: Int16, _ milliseconds: Int) -> Bool {
        var entry = pollfd(fd: self.descriptor, events: events, revents: 0)
        let timeout = CInt(clamping: milliseconds)
        while true {
            let ready = PlatformC.poll(&entry, 1, timeout)
            if ready >= 0 || errno != EINTR { return ready != 0 }
        }
    }

    private func fill() throws(ConnectionEnd) {
        if self.buffer.count < Self.bufferByteCount {
            self.buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
        }
        let tls = self.tls
        let descriptor = self.descriptor
        let count = self.buffer.withUnsafeMutableBufferPointer { storage -> Int in
            guard let start = storage.baseAddress else { return -1 }
            if let tls { return ctts_read(tls, start, Self.bufferByteCount) }
            return Self.receive(descriptor, start)
        }
        guard count > 0 else {
            self.offset = self.buffer.count
            throw .peerGone
        }
        if count < self.buffer.count { self.buffer.removeLast(self.buffer.count - count) }
        self.offset = 0
    }

    private static func receive(_ descriptor: CInt, _ start: UnsafeMutablePointer<UInt8>) -> Int {
        while true {
            let count = recv(descriptor, start, Self.bufferByteCount, 0)
            if count >= 0 || errno != EINTR { return count }
        }
    }

    // MARK: Writing

    /// Writes every byte, waiting for the peer's window if necessary.
    func write(_ bytes: ArraySlice<UInt8>) throws(ConnectionEnd) {
        if !bytes.withUnsafeBufferPointer(self.writeAll) { throw .peerGone }
    }

    private func writeAll(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let start = bytes.baseAddress else { return true }
        if let tls = self.tls { return ctts_write(tls, start, bytes.count) == 0 }
        var written = 0
        while written < bytes.count {
            let remaining = bytes.count - written
            let count = send(self.descriptor, start + written, remaining, SystemSocket.sendingFlags)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { return false }
            written += count
        }
        return true
    }

    // MARK: Ending

    /// Closes the connection as an end asks for.
    func end(_ end: ConnectionEnd) {
        switch end {
        case .peerGone, .finished: self.finish(closingTLS: true)
        case .cut(.end), .stalled: self.finish(closingTLS: false)
        case .cut(.reset): self.reset()
        case .cut(.alert): self.finishWithAlert()
        }
    }

    /// Resets the connection: the peer's next call fails with a reset.
    func reset() {
        var lingering = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
        self.handle.closeDescriptor()
    }

    /// Sends a fatal TLS alert, if there is TLS, and the end of the stream.
    func finishWithAlert() {
        if let tls = self.tls { ctts_send_alert(tls) }
        self.finish(closingTLS: false)
    }

    /// Sends the end of the stream and waits for the peer's, so that unread input does not turn it into a reset.
    ///
    /// A cut leaves TLS without its closing alert, as a broken path does.
    func finish(closingTLS: Bool) {
        if closingTLS, let tls = self.tls { ctts_shutdown(tls) }
        _ = shutdown(self.descriptor, Int32(SHUT_WR))
        self.discardInput()
        self.handle.closeDescriptor()
    }

    /// Waits without reading until the peer goes away or the server stops; the socket stays open.
    func waitForPeerToLeave() {
        #if canImport(Darwin)
            self.discardInput()
        #else
            // An error or hang-up ends the wait by itself; a half-closed peer has to be asked for.
            _ = self.poll(SystemSocket.peerHangUp, -1)
        #endif
    }

    private func discardInput() {
        var scratch = [UInt8](repeating: 0, count: 4096)
        // A peer that keeps its half open does not occupy the thread for longer than this.
        while self.poll(Int16(POLLIN), 2000) {
            let count = recv(self.descriptor, &scratch, scratch.count, 0)
            if count == 0 || (count < 0 && errno != EINTR) { return }
        }
    }
}
