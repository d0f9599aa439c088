/// The pings that the consumer has sent and the peer has not answered.
///
/// It belongs to the service thread.
struct OutstandingPings {
    /// The largest number of pings that are kept; beyond it the oldest are forgotten.
    static let limit = 64

    private var payloads: [[UInt8]] = []

    /// Records that a ping with this payload was sent.
    mutating func sent(_ payload: [UInt8]) {
        if self.payloads.count == Self.limit { self.payloads.removeFirst() }
        self.payloads.append(payload)
    }

    /// Takes a pong; returns whether it answers one of the pings.
    ///
    /// A peer may answer only the newest of several pings (RFC 6455 section 5.5.3), so an answer settles the older ones
    /// with it. An unsolicited pong (section 5.5.3) is ignored.
    mutating func settle(with payload: [UInt8]) -> Bool {
        guard let index = self.payloads.firstIndex(of: payload) else { return false }
        self.payloads.removeFirst(index + 1)
        return true
    }
}
