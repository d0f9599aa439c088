// One non-blocking socket of a relayed connection.
//
// A value with a descriptor; the connection that holds it closes it once, on the proxy's thread.
import PlatformC

/// System calls on one socket.
struct ProxySocket {
    /// The result of reading.
    enum Received: Equatable {
        case bytes(Int)
        /// The end of the stream (FIN).
        case end
        /// A reset, or another error that ends the connection.
        case reset
        case nothing
    }

    /// The result of writing.
    enum Sent: Equatable {
        case bytes(Int)
        /// The receiver does not keep up.
        case nothing
        /// The receiver has gone.
        case gone
    }

    /// The result of connecting.
    enum Connecting {
        case begun(ProxySocket)
        /// The connection failed; the value is `errno`.
        case failed(code: CInt)
    }

    /// The descriptor.
    let descriptor: CInt

    /// Takes a connected or connecting socket and makes it non-blocking, with one segment for each write.
    init(_ descriptor: CInt) {
        self.descriptor = descriptor
        Self.prepare(descriptor)
        var on: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        SystemSocket.raiseNoSignal(descriptor)
    }

    /// Makes a descriptor non-blocking and closed in child processes.
    static func prepare(_ descriptor: CInt) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    // MARK: Connecting

    /// Begins to connect; an immediate failure has its `errno`.
    static func connecting(to address: ProxyAddress) -> Connecting {
        let descriptor = SystemSocket.open(family: address.family)
        guard descriptor >= 0 else { return .failed(code: errno) }
        let made = Self(descriptor)
        let code = address.withSocketAddress { connect(descriptor, $0, $1) == 0 ? 0 : errno }
        if code == 0 || code == EINPROGRESS { return .begun(made) }
        made.closeDescriptor()
        return .failed(code: code)
    }

    /// The `errno` of a failed connection attempt; 0 when it succeeded.
    var connectionError: CInt {
        var code: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(self.descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : errno
    }

    // MARK: Bytes

    /// Reads into `storage`, which is not empty.
    func receive(_ storage: UnsafeMutableRawBufferPointer) -> Received {
        while true {
            let count = recv(self.descriptor, storage.baseAddress, storage.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            if errno == EINTR { continue }
            return errno == EAGAIN || errno == EWOULDBLOCK ? .nothing : .reset
        }
    }

    /// Writes the bytes that the socket takes.
    func send(_ bytes: UnsafeRawBufferPointer) -> Sent {
        while true {
            let count = PlatformC.send(self.descriptor, bytes.baseAddress, bytes.count, SystemSocket.sendingFlags)
            if count >= 0 { return .bytes(count) }
            if errno == EINTR { continue }
            return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? .nothing : .gone
        }
    }

    /// Indicates whether the receiver's system has acknowledged all written bytes, or never will.
    var isAcknowledged: Bool {
        var count: CInt = 0
        #if canImport(Darwin)
            var size = socklen_t(MemoryLayout<CInt>.size)
            return getsockopt(self.descriptor, SOL_SOCKET, SO_NWRITE, &count, &size) != 0 || count == 0
        #else
            // Linux's `SIOCOUTQ`, which has the number of `TIOCOUTQ`.
            return ioctl(self.descriptor, UInt(TIOCOUTQ), &count) != 0 || count == 0 || self.isClosedByPeer
        #endif
    }

    #if !canImport(Darwin)
        /// Indicates whether the connection is closed: after a reset the count of bytes is unchanged.
        private var isClosedByPeer: Bool {
            // `tcpi_state` is the first byte of `tcp_info`, and `TCP_CLOSE` is 7.
            var state: UInt8 = 0
            var size = socklen_t(1)
            return getsockopt(self.descriptor, CInt(IPPROTO_TCP), TCP_INFO, &state, &size) != 0 || state == 7
        }
    #endif

    // MARK: Ending

    /// Sends the end of the stream after all written bytes.
    func finishSending() { _ = shutdown(self.descriptor, Int32(SHUT_WR)) }

    /// Closes the socket with a reset.
    func reset() {
        var lingering = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
        self.closeDescriptor()
    }

    /// Closes the socket.
    func closeDescriptor() { _ = close(self.descriptor) }
}
