import StreamTransport

/// A slow upgrade and a connection for HTTP beside it, of which exactly one carries the request.
///
/// A value of the turn's state machine. Connections race; requests never do.
struct ConnectionRace: Equatable {
    /// What follows when one of the two has an answer.
    enum Outcome {
        /// The response is read on this transport.
        case begins(TransportKind)
        /// The WebSocket has opened too late: a later turn can have it.
        case park
        /// Nothing.
        case ignore
    }

    /// The WebSocket's attempt.
    let upgrade: Int
    /// The attempt over HTTP, whose request is held.
    let hedge: Int
    /// The attempt that has the right to send the request, which is given once: to the first that asks.
    private(set) var holder: Int?
    /// Indicates whether the upgrade has failed, or has opened too late.
    private(set) var isUpgradeOver = false

    /// A race that has just begun.
    init(upgrade: Int, hedge: Int) {
        self.upgrade = upgrade
        self.hedge = hedge
    }

    /// Returns whether an attempt is one of the two.
    func isAbout(_ attempt: Int) -> Bool { attempt == self.upgrade || attempt == self.hedge }

    /// The connection that holds the request is established; whether it may be let go.
    mutating func ready(_ attempt: Int) -> Bool { attempt == self.hedge && self.takeRight(attempt) }

    /// One of the two has an answer.
    mutating func opened(_ attempt: Int) -> Outcome {
        guard attempt == self.upgrade else {
            // A server may answer before it has the whole request: then it is this answer, or none.
            return self.holder == attempt || self.takeRight(attempt) ? .begins(.http) : .ignore
        }
        guard !self.isUpgradeOver else { return .ignore }
        if self.takeRight(attempt) { return .begins(.webSocket) }
        self.isUpgradeOver = true
        return .park
    }

    /// The upgrade has failed.
    mutating func upgradeFailed() { self.isUpgradeOver = true }

    private mutating func takeRight(_ attempt: Int) -> Bool {
        guard self.holder == nil else { return false }
        self.holder = attempt
        return true
    }
}
