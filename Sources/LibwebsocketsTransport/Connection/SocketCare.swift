import StreamTransport

/// How the system finds out that a peer has gone: that of any exchange, from the first byte for a proxy or TLS on.
///
/// The same times as for pings: after `pingInterval` of quiet TCP asks (RFC 9293 section 3.8.4), and `pongTimeout` later
/// a peer that has not answered is given up, and so is one that acknowledges nothing of what was sent for as long as both
/// together (RFC 5482). The answer is TCP's own: a server that thinks is not asked for anything. A WebSocket is pinged
/// besides, but not while its consumer does not read.
struct SocketCare: Equatable {
    /// Quiet before TCP asks.
    let idleSeconds: Int32
    /// The time from one question to the next.
    let probeSeconds: Int32
    /// How long the peer may say nothing in all.
    let silenceMilliseconds: Int32

    /// The range that systems accept: Linux takes at most 32,767 s.
    private static let longest = Duration.seconds(32_767)

    /// Nil without `pingInterval`.
    init?(_ timeouts: TransportTimeouts) {
        guard let pingInterval = timeouts.pingInterval else { return nil }
        let interval = min(max(pingInterval, .zero), Self.longest)
        let timeout = min(max(timeouts.pongTimeout, .zero), Self.longest)
        self.idleSeconds = Self.seconds(interval)
        // Two questions at least.
        self.probeSeconds = Self.seconds(timeout / 2)
        self.silenceMilliseconds = max(1_000, Int32(((interval + timeout) / .milliseconds(1)).rounded(.up)))
    }

    /// Whole seconds, and one at least.
    private static func seconds(_ duration: Duration) -> Int32 {
        max(1, Int32((duration / .seconds(1)).rounded(.up)))
    }
}
