// The events that a relayed connection waits for: readable, writable, gone, or a time.
//
// Pure, derived from the connection's state; used by the proxy's loop.
import PlatformC

/// The events for `poll` on both ends; nil leaves an end out.
struct ProxyInterest {
    /// The client's events.
    var client: Int16?
    /// The server's events.
    var server: Int16?
    /// The time of the next examination, whatever happens.
    var deadline: Duration?
}

/// The events that `poll` reported for both ends.
struct ProxyReadiness {
    /// All events that show that a peer sends no more.
    static let hangUps = SystemSocket.peerHangUp | Int16(POLLHUP) | Int16(POLLERR)

    /// The client's events.
    var client: Int16 = 0
    /// The server's events.
    var server: Int16 = 0
}

extension ProxyConnection {
    /// The events that the loop has to wait for.
    var interest: ProxyInterest {
        switch self.phase {
        case .delayed(let time): ProxyInterest(deadline: time)
        case .resolving, .ended: ProxyInterest()
        case .connecting: ProxyInterest(server: Int16(POLLOUT))
        case .relaying: self.relayingInterest
        case .silent(let server):
            ProxyInterest(
                client: self.hasClientLeft ? nil : SystemSocket.peerHangUp,
                server: self.hasServerLeft || server == nil ? nil : SystemSocket.peerHangUp)
        case .resetting(let resetting): ProxyInterest(deadline: resetting.nextLook)
        }
    }

    private var relayingInterest: ProxyInterest {
        func events(reads: Bool, writes: Bool, hasLeft: Bool) -> Int16? {
            if reads || writes { return (reads ? Int16(POLLIN) : 0) | (writes ? Int16(POLLOUT) : 0) }
            return hasLeft ? nil : SystemSocket.peerHangUp
        }
        return ProxyInterest(
            client: events(
                reads: self.toServer.wantsInput, writes: self.toClient.isBlocked, hasLeft: self.hasClientLeft),
            server: events(
                reads: self.toClient.wantsInput, writes: self.toServer.isBlocked, hasLeft: self.hasServerLeft),
            deadline: [self.toServer.deadline, self.toClient.deadline].compactMap(\.self).min())
    }

    /// Indicates whether no event can follow, and both peers have left.
    var isAbandoned: Bool {
        switch self.phase {
        case .silent(let server): self.hasClientLeft && (server == nil || self.hasServerLeft)
        case .relaying: self.hasClientLeft && self.hasServerLeft && self.toServer.isIdle && self.toClient.isIdle
        case .delayed, .resolving, .connecting, .resetting, .ended: false
        }
    }
}
