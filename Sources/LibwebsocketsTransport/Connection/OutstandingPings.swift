/// The pings that the consumer has sent and the peer has not answered.
///
/// It belongs to the service thread.
struct OutstandingPings {
    /// More than this are not kept: the oldest are forgotten.
    static let limit = 64

    private var payloads: [[UInt8]] = []

    /// A ping with this payload is on its way.
    mutating func sent(_ payload: [UInt8]) {
        if self.payloads.count == Self.limit { self.payloads.removeFirst() }
        self.payloads.append(payload)
    }

    /// Takes a pong; whether it answers one of them.
    ///
    /// A peer may answer only the newest of several pings (RFC 6455 section 5.5.3), so an answer settles the older
    /// ones with it. A pong that nobody has asked for (section 5.5.3 allows it) answers nothing.
    mutating func settle(with payload: [UInt8]) -> Bool {
        guard let index = self.payloads.firstIndex(of: payload) else { return false }
        self.payloads.removeFirst(index + 1)
        return true
    }
}
