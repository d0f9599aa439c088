// The system calls of the servers here.
//
// Descriptors belong to the receiver of the value.
#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Sockets on 127.0.0.1.
enum SystemSocket {
    /// A system call that failed, and what the system says about it.
    struct Failure: Error {
        /// The call.
        var call: String
        /// `errno`.
        var code: CInt
    }

    private static let streamType: CInt = {
        #if canImport(Darwin)
            SOCK_STREAM
        #else
            CInt(SOCK_STREAM.rawValue)
        #endif
    }()

    /// Listens on any free port.
    static func listen() throws(Failure) -> (descriptor: CInt, port: Int) {
        let descriptor = socket(AF_INET, self.streamType, 0)
        guard descriptor >= 0 else { throw Failure(call: "socket", code: errno) }
        var address = self.loopback(port: 0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic -> CInt in
                guard bind(descriptor, generic, size) == 0 else { return -1 }
                #if canImport(Darwin)
                    guard Darwin.listen(descriptor, 4096) == 0 else { return -1 }
                #else
                    guard Glibc.listen(descriptor, 4096) == 0 else { return -1 }
                #endif
                return getsockname(descriptor, generic, &size)
            }
        }
        guard result == 0 else {
            defer { close(descriptor) }
            throw Failure(call: "listen", code: errno)
        }
        self.setNonblocking(descriptor)
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    /// Connects to a port, blocking.
    static func connect(port: Int) throws(Failure) -> CInt {
        let descriptor = socket(AF_INET, self.streamType, 0)
        guard descriptor >= 0 else { throw Failure(call: "socket", code: errno) }
        var address = self.loopback(port: port)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic -> CInt in
                #if canImport(Darwin)
                    Darwin.connect(descriptor, generic, size)
                #else
                    Glibc.connect(descriptor, generic, size)
                #endif
            }
        }
        guard result == 0 else {
            defer { close(descriptor) }
            throw Failure(call: "connect", code: errno)
        }
        return descriptor
    }

    private static func loopback(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    /// Accepts a connection; nil when none waits.
    static func accept(_ listener: CInt) -> CInt? {
        #if canImport(Darwin)
            let descriptor = Darwin.accept(listener, nil, nil)
        #else
            let descriptor = Glibc.accept(listener, nil, nil)
        #endif
        guard descriptor >= 0 else { return nil }
        self.setNonblocking(descriptor)
        var on: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        return descriptor
    }

    private static func setNonblocking(_ descriptor: CInt) {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    /// Writes as much as the system takes; nil when the connection is gone.
    static func send(_ descriptor: CInt, _ bytes: ArraySlice<UInt8>) -> Int? {
        let count = bytes.withUnsafeBytes { buffer in
            #if canImport(Darwin)
                Darwin.send(descriptor, buffer.baseAddress, buffer.count, 0)
            #else
                Glibc.send(descriptor, buffer.baseAddress, buffer.count, CInt(MSG_NOSIGNAL))
            #endif
        }
        if count >= 0 { return count }
        return [EAGAIN, EWOULDBLOCK, EINTR].contains(errno) ? 0 : nil
    }

    /// The result of a read.
    enum Reading {
        /// The number of bytes that were read, at the beginning of the buffer.
        case bytes(Int)
        /// No bytes at this moment.
        case nothing
        /// The end, in order or not.
        case end
    }

    /// Reads what is there.
    static func receive(_ descriptor: CInt, into buffer: inout [UInt8]) -> Reading {
        let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        if count > 0 { return .bytes(count) }
        return count < 0 && [EAGAIN, EWOULDBLOCK, EINTR].contains(errno) ? .nothing : .end
    }

    /// Ends the writing half in order.
    static func shutDownWriting(_ descriptor: CInt) { _ = shutdown(descriptor, CInt(SHUT_WR)) }

    /// Closes with a reset.
    static func reset(_ descriptor: CInt) {
        var lingering = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
        close(descriptor)
    }
}
