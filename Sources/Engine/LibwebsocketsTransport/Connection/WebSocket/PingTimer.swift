import StreamTransport

/// Decides when a WebSocket's peer is pinged after quiet, and when it is given up as gone.
///
/// It reads no clock; its owner is the service thread. Any byte from the peer counts as an answer.
struct PingTimer {
    /// The action that is due at a moment.
    enum Action: Equatable {
        /// No action is due yet.
        case wait
        /// Send a ping.
        case sendPing
        /// The peer has not answered in time.
        case giveUp
    }

    /// The longest quiet before a ping, in nanoseconds; nil for no pings.
    private let pingInterval: Int64?
    /// The longest wait for an answer, in nanoseconds.
    private let pongTimeout: Int64
    private var lastReceived: Moment
    /// The time at which the newest ping was sent.
    private var pingSent: Moment?

    /// Creates the state at the answer to the opening handshake.
    init(timeouts: TransportTimeouts, at now: Moment) {
        self.pingInterval = timeouts.pingInterval?.nanoseconds
        self.pongTimeout = timeouts.pongTimeout.nanoseconds
        self.lastReceived = now
    }

    /// The time of the next action; nil when there is none.
    var deadline: Moment? {
        guard let interval = self.pingInterval else { return nil }
        if let sent = self.pingSent, self.lastReceived < sent {
            return sent.advanced(byNanoseconds: self.pongTimeout)
        }
        return self.lastReceived.advanced(byNanoseconds: interval)
    }

    /// Records that bytes have arrived.
    mutating func received(at now: Moment) {
        self.lastReceived = now
    }

    /// Returns the action that is due.
    mutating func act(at now: Moment) -> Action {
        guard let deadline = self.deadline, deadline <= now else { return .wait }
        if let sent = self.pingSent, self.lastReceived < sent { return .giveUp }
        self.pingSent = now
        return .sendPing
    }
}
