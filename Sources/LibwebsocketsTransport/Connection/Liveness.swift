import StreamTransport

/// Decides when a WebSocket's peer is pinged after quiet, and when it is given up.
///
/// It reads no clock; its owner is the service thread. Any byte of the peer is an answer.
struct Liveness {
    /// What has to be done at a moment.
    enum Action: Equatable {
        /// Nothing yet.
        case wait
        /// Send a ping.
        case sendPing
        /// The peer has not answered in time.
        case giveUp
    }

    private let pingInterval: Duration?
    private let pongTimeout: Duration
    private var lastReceived: ContinuousClock.Instant
    /// When the newest ping went out.
    private var pingSent: ContinuousClock.Instant?

    /// Begins with the answer to the opening handshake.
    init(timeouts: TransportTimeouts, at now: ContinuousClock.Instant) {
        self.pingInterval = timeouts.pingInterval
        self.pongTimeout = timeouts.pongTimeout
        self.lastReceived = now
    }

    /// When there is something to do next; nil when there never is.
    var deadline: ContinuousClock.Instant? {
        guard let interval = self.pingInterval else { return nil }
        if let sent = self.pingSent, self.lastReceived < sent { return sent + self.pongTimeout }
        return self.lastReceived + interval
    }

    /// Bytes came.
    mutating func received(at now: ContinuousClock.Instant) {
        self.lastReceived = now
    }

    /// Says what is due.
    mutating func act(at now: ContinuousClock.Instant) -> Action {
        guard let deadline = self.deadline, deadline <= now else { return .wait }
        if let sent = self.pingSent, self.lastReceived < sent { return .giveUp }
        self.pingSent = now
        return .sendPing
    }
}
