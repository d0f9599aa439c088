import StreamTransport

/// The TCP settings that detect a peer that has gone, for any exchange, from the first byte for a proxy or TLS on.
///
/// The times are those of pings: after `pingInterval` of quiet TCP sends a keep-alive probe (RFC 9293 section 3.8.4),
/// and `pongTimeout` later a peer that has not answered is given up, and so is one that has acknowledged no sent byte
/// for the sum of both (RFC 5482). TCP itself answers the probes, so a server that is busy with a response is not
/// involved. A WebSocket is pinged besides, but not while its consumer does not read.
struct TCPKeepAlive: Equatable {
    /// The quiet time before the first probe.
    let idleSeconds: Int32
    /// The time between two probes.
    let probeSeconds: Int32
    /// The longest time without an acknowledgement or answer of the peer.
    let silenceMilliseconds: Int32

    /// The longest time that systems accept: Linux takes at most 32,767 s.
    private static let longest = Duration.seconds(32_767)

    /// Creates the settings; nil without `pingInterval`.
    init?(_ timeouts: TransportTimeouts) {
        guard let pingInterval = timeouts.pingInterval else { return nil }
        let interval = min(max(pingInterval, .zero), Self.longest)
        let timeout = min(max(timeouts.pongTimeout, .zero), Self.longest)
        self.idleSeconds = Self.seconds(interval)
        // At least two probes.
        self.probeSeconds = Self.seconds(timeout / 2)
        self.silenceMilliseconds = max(1_000, Int32(((interval + timeout) / .milliseconds(1)).rounded(.up)))
    }

    /// Returns whole seconds, at least one.
    private static func seconds(_ duration: Duration) -> Int32 {
        max(1, Int32((duration / .seconds(1)).rounded(.up)))
    }
}
