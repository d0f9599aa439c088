import StreamTransport

/// Decides when a WebSocket's peer is pinged after quiet, and when it is given up as gone.
///
/// It reads no clock; its owner is the service thread. Any byte from the peer counts as an answer.
struct Liveness {
    /// The action that is due at a moment.
    enum Action: Equatable {
        /// No action is due yet.
        case wait
        /// Send a ping.
        case sendPing
        /// The peer has not answered in time.
        case giveUp
    }

    private let pingInterval: Duration?
    private let pongTimeout: Duration
    private var lastReceived: ContinuousClock.Instant
    /// The time at which the newest ping was sent.
    private var pingSent: ContinuousClock.Instant?

    /// Creates the state at the answer to the opening handshake.
    init(timeouts: TransportTimeouts, at now: ContinuousClock.Instant) {
        self.pingInterval = timeouts.pingInterval
        self.pongTimeout = timeouts.pongTimeout
        self.lastReceived = now
    }

    /// The time of the next action; nil when there is none.
    var deadline: ContinuousClock.Instant? {
        guard let interval = self.pingInterval else { return nil }
        if let sent = self.pingSent, self.lastReceived < sent { return sent + self.pongTimeout }
        return self.lastReceived + interval
    }

    /// Records that bytes have arrived.
    mutating func received(at now: ContinuousClock.Instant) {
        self.lastReceived = now
    }

    /// Returns the action that is due.
    mutating func act(at now: ContinuousClock.Instant) -> Action {
        guard let deadline = self.deadline, deadline <= now else { return .wait }
        if let sent = self.pingSent, self.lastReceived < sent { return .giveUp }
        self.pingSent = now
        return .sendPing
    }
}
