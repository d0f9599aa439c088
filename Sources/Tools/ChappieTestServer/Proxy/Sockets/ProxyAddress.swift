// The addresses of a server.
//
// Values; a look-up blocks and is made on a thread of its own.
import PlatformC

/// One address and port of a server.
struct ProxyAddress: Sendable {
    /// The address family.
    let family: CInt
    private let bytes: [UInt8]

    /// Returns the addresses of an endpoint whose host is numeric; nil when it is a name.
    static func numeric(_ endpoint: FaultProxy.Endpoint) -> [Self]? {
        let addresses = Self.resolve(endpoint, flags: AI_NUMERICHOST)
        return addresses.isEmpty ? nil : addresses
    }

    /// Returns the addresses of an endpoint, in the order of attempts; none when the name is unknown.
    static func all(of endpoint: FaultProxy.Endpoint) -> [Self] { Self.resolve(endpoint, flags: 0) }

    private static func resolve(_ endpoint: FaultProxy.Endpoint, flags: CInt) -> [Self] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_flags = flags | AI_NUMERICSERV
        hints.ai_socktype = SystemSocket.streamType
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(endpoint.host, String(endpoint.port), &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var addresses: [Self] = []
        var entry = list
        while let present = entry {
            if let address = present.pointee.ai_addr {
                let bytes = UnsafeRawBufferPointer(start: address, count: Int(present.pointee.ai_addrlen))
                addresses.append(Self(family: present.pointee.ai_family, bytes: Array(bytes)))
            }
            entry = present.pointee.ai_next
        }
        return addresses
    }

    /// Lends the address to a system call.
    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: self.bytes.prefix($0.count)) }
        return withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(self.bytes.count)) }
        }
    }
}
