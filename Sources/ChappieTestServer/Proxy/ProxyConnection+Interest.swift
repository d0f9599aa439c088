// What a relayed connection waits for: readable, writable, gone, or a time.
//
// Pure over the connection's state; asked by the proxy's loop.
#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What `poll` is asked for both ends; nil leaves an end out.
struct ProxyInterest {
    /// The client's events.
    var client: Int16?
    /// The server's events.
    var server: Int16?
    /// When to look again whatever happens.
    var deadline: Duration?
}

/// What `poll` said of both ends.
struct ProxyReadiness {
    #if canImport(Darwin)
        /// Asks for nothing beyond a hang-up, which needs not be asked for.
        static let peerHangUp: Int16 = 0
    #else
        /// Linux's `POLLRDHUP`, which the C library shows only to GNU sources.
        static let peerHangUp: Int16 = 0x2000
    #endif
    /// Every sign of a peer that sends nothing more.
    static let hangUps = Self.peerHangUp | Int16(POLLHUP) | Int16(POLLERR)

    /// The client's events.
    var client: Int16 = 0
    /// The server's events.
    var server: Int16 = 0
}

extension ProxyConnection {
    /// What the loop has to wait for.
    var interest: ProxyInterest {
        switch self.phase {
        case .delayed(let time): ProxyInterest(deadline: time)
        case .resolving, .ended: ProxyInterest()
        case .connecting: ProxyInterest(server: Int16(POLLOUT))
        case .relaying: self.relayingInterest
        case .silent(let server):
            ProxyInterest(
                client: self.hasClientLeft ? nil : ProxyReadiness.peerHangUp,
                server: self.hasServerLeft || server == nil ? nil : ProxyReadiness.peerHangUp)
        case .resetting(let resetting): ProxyInterest(deadline: resetting.nextLook)
        }
    }

    private var relayingInterest: ProxyInterest {
        func events(reads: Bool, writes: Bool, hasLeft: Bool) -> Int16? {
            if reads || writes { return (reads ? Int16(POLLIN) : 0) | (writes ? Int16(POLLOUT) : 0) }
            return hasLeft ? nil : ProxyReadiness.peerHangUp
        }
        return ProxyInterest(
            client: events(
                reads: self.toServer.wantsInput, writes: self.toClient.isBlocked, hasLeft: self.hasClientLeft),
            server: events(
                reads: self.toClient.wantsInput, writes: self.toServer.isBlocked, hasLeft: self.hasServerLeft),
            deadline: [self.toServer.deadline, self.toClient.deadline].compactMap(\.self).min())
    }

    /// Indicates whether nothing can happen any more and nobody is there to notice.
    var isAbandoned: Bool {
        switch self.phase {
        case .silent(let server): self.hasClientLeft && (server == nil || self.hasServerLeft)
        case .relaying: self.hasClientLeft && self.hasServerLeft && self.toServer.isIdle && self.toClient.isIdle
        case .delayed, .resolving, .connecting, .resetting, .ended: false
        }
    }
}
