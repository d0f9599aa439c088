// The listening socket of a server, and the addresses at its ends.
import PlatformC

/// Opens listening sockets.
enum ListeningSocket {
    /// The error of a system call, with its `errno`.
    struct Failure: Error {
        let code: CInt
    }

    /// Binds and listens on a numeric IPv4 or IPv6 address; returns the descriptor and the port.
    static func open(address: String, port: UInt16) throws(Failure) -> (CInt, Int) {
        guard let list = Self.addresses(of: address, port: port) else { throw Failure(code: EINVAL) }
        defer { freeaddrinfo(list) }
        let entry = list.pointee
        let descriptor = SystemSocket.open(family: entry.ai_family)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        var on: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<CInt>.size))
        guard bind(descriptor, entry.ai_addr, entry.ai_addrlen) == 0, listen(descriptor, 4096) == 0,
            let bound = Self.port(of: descriptor)
        else {
            let code = errno
            close(descriptor)
            throw Failure(code: code)
        }
        return (descriptor, bound)
    }

    /// Returns whether a text is a numeric address.
    static func isAddress(_ text: String) -> Bool {
        guard let list = Self.addresses(of: text, port: 0) else { return false }
        freeaddrinfo(list)
        return true
    }

    private static func addresses(of address: String, port: UInt16) -> UnsafeMutablePointer<addrinfo>? {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        hints.ai_socktype = SystemSocket.streamType
        var list: UnsafeMutablePointer<addrinfo>?
        return getaddrinfo(address, String(port), &hints, &list) == 0 ? list : nil
    }

    private static func port(of descriptor: CInt) -> Int? {
        Self.name(of: descriptor, NI_NUMERICSERV, getsockname).flatMap { Int($0.port) }
    }

    /// Returns the numeric address of the peer; empty when it has gone.
    static func peerAddress(of descriptor: CInt) -> String {
        Self.name(of: descriptor, NI_NUMERICSERV, getpeername)?.host ?? ""
    }

    private static func name(
        of descriptor: CInt, _ flags: CInt,
        _ ask: (CInt, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> CInt
    ) -> (host: String, port: String)? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        var port = [CChar](repeating: 0, count: 32)
        let isNamed = withUnsafeMutableBytes(of: &storage) { bytes in
            guard let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                ask(descriptor, pointer, &length) == 0
            else { return false }
            return getnameinfo(
                pointer, length, &host, socklen_t(host.count), &port, socklen_t(port.count), NI_NUMERICHOST | flags)
                == 0
        }
        return isNamed ? (Self.text(host), Self.text(port)) : nil
    }

    private static func text(_ bytes: [CChar]) -> String {
        String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// The version of the Internet Protocol between a client and this machine.
enum IPFamily: String, Equatable {
    case version4 = "IPv4"
    case version6 = "IPv6"

    /// Creates the family of a numeric address; nil for an empty one.
    ///
    /// A listener of both families names IPv4 clients as IPv6 addresses (RFC 4291 section 2.5.5.2).
    init?(peerAddress address: String) {
        guard !address.isEmpty else { return nil }
        let isMapped = address.lowercased().hasPrefix("::ffff:") && address.contains(".")
        self = address.contains(":") && !isMapped ? .version6 : .version4
    }
}
