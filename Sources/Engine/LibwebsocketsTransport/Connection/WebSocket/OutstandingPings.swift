/// The pings that the consumer has sent and the peer has not answered.
///
/// It belongs to the service thread.
struct OutstandingPings {
    /// The largest number of pings that are kept; beyond it the oldest count as not answered in time.
    static let limit = 64

    private struct Ping {
        let payload: [UInt8]
        /// The caller that waits for the answer; nil when the connection's consumer is told.
        let ticket: PingTicket?
    }

    private var pings: [Ping] = []

    /// Records that a ping with this payload was sent.
    mutating func sent(_ payload: [UInt8], for ticket: PingTicket? = nil) {
        if self.pings.count == Self.limit { self.pings.removeFirst().ticket?.forgotten() }
        self.pings.append(Ping(payload: payload, ticket: ticket))
    }

    /// Takes a pong; returns whether it answers one of the pings, and the consumer is to be told.
    ///
    /// A peer may answer only the newest of several pings (RFC 6455 section 5.5.3), so an answer settles the older ones
    /// with it. An unsolicited pong (section 5.5.3) is ignored.
    mutating func settle(with payload: [UInt8]) -> Bool {
        guard let index = self.pings.firstIndex(where: { $0.payload == payload }) else { return false }
        let settled = self.pings[...index]
        self.pings.removeFirst(index + 1)
        for ping in settled { ping.ticket?.answered() }
        return settled.contains { $0.ticket == nil }
    }
}
