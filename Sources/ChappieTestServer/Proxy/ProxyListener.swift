// The listening socket of a proxy.
//
// Owned by the proxy's loop, which closes it.
#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A non-blocking socket that listens on 127.0.0.1.
struct ProxyListener: Sendable {
    /// The result of `accept`.
    enum Accepted {
        case connection(CInt)
        case none
        /// The process has no descriptor left.
        case exhausted
    }

    /// The descriptor.
    let descriptor: CInt
    /// The port.
    let port: Int

    /// Binds and listens.
    init(port: UInt16) throws(FaultProxy.StartError) {
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        #endif
        guard descriptor >= 0 else { throw .cannotListen(code: errno) }
        ProxySocket.prepare(descriptor)
        var on: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic -> CInt in
                guard bind(descriptor, generic, size) == 0, listen(descriptor, 4096) == 0 else { return -1 }
                return getsockname(descriptor, generic, &size)
            }
        }
        guard result == 0 else {
            let code = errno
            close(descriptor)
            throw .cannotListen(code: code)
        }
        self.descriptor = descriptor
        self.port = Int(UInt16(bigEndian: address.sin_port))
    }

    /// Accepts a waiting connection.
    func acceptConnection() -> Accepted {
        while true {
            let descriptor = accept(self.descriptor, nil, nil)
            if descriptor >= 0 { return .connection(descriptor) }
            switch errno {
            // A connection that was reset while it waited is skipped.
            case EINTR, ECONNABORTED: continue
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
            default: return .none
            }
        }
    }

    /// Closes the listening socket.
    func closeDescriptor() { _ = close(self.descriptor) }
}
