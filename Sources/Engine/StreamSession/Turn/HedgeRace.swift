import StreamTransport

/// A slow upgrade and an HTTP connection beside it, of which exactly one carries the request.
///
/// A value of the turn's state machine. Two connections race, but only one request is sent.
struct HedgeRace: Equatable {
    /// The consequence of an answer on one of the two connections.
    enum Outcome {
        /// The response is read on this transport.
        case begins(ChappieTransportKind)
        /// The WebSocket has opened too late for this turn: a later turn can use it.
        case park
        /// The answer is ignored.
        case ignore
    }

    /// The WebSocket's attempt.
    let upgrade: Int
    /// The attempt over HTTP, whose request is held.
    let hedge: Int
    /// The attempt with the right to send the request, which is given once: to the first that asks.
    private(set) var holder: Int?
    /// Indicates whether the upgrade has failed, or has opened too late.
    private(set) var isUpgradeOver = false

    /// Creates a race that has just begun.
    init(upgrade: Int, hedge: Int) {
        self.upgrade = upgrade
        self.hedge = hedge
    }

    /// Returns whether an attempt is one of the two.
    func isAbout(_ attempt: Int) -> Bool { attempt == self.upgrade || attempt == self.hedge }

    /// Records that the connection with the held request is established; returns whether the request may be released.
    mutating func ready(_ attempt: Int) -> Bool { attempt == self.hedge && self.takeRight(attempt) }

    /// Records that one of the two has an answer.
    mutating func opened(_ attempt: Int) -> Outcome {
        guard attempt == self.upgrade else {
            // A server may answer before it has the whole request: then only this answer may be used.
            return self.holder == attempt || self.takeRight(attempt) ? .begins(.httpSSE) : .ignore
        }
        guard !self.isUpgradeOver else { return .ignore }
        if self.takeRight(attempt) { return .begins(.webSocket) }
        self.isUpgradeOver = true
        return .park
    }

    /// Records that the upgrade has failed.
    mutating func upgradeFailed() { self.isUpgradeOver = true }

    private mutating func takeRight(_ attempt: Int) -> Bool {
        guard self.holder == nil else { return false }
        self.holder = attempt
        return true
    }
}
