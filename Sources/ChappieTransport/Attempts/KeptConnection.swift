import ResponseEvents
import StreamSession
import StreamTransport

/// A WebSocket that carried a whole response, or was opened in background, and can carry the next one.
struct KeptConnection {
    let connection: any TransportConnection
    /// Whom the connection speaks for.
    let credential: ChappieCredential?
    /// Whose turns it is for.
    let lane: Lane
    /// When it was asked for; its statistics count from then.
    let startedAt: Duration
    /// When it was put aside.
    let keptAt: Duration
    /// What it carried last.
    var exchange: KeptExchange?

    /// When the newest byte came, or it was put aside.
    var lastReceived: Duration {
        self.connection.statistics.lastReceived.map { max(self.startedAt + $0, self.keptAt) } ?? self.keptAt
    }

    /// Sends a ping and waits for its pong (RFC 6455 section 5.5.2).
    ///
    /// - Parameters:
    ///   - limit: how long the pong is waited for.
    ///   - clock: the turn's clock.
    /// - Returns: whether the pong came, and nothing before it; nil when the wait was cancelled.
    func isAlive(within limit: Duration, _ clock: TurnClock) async -> Bool? {
        self.connection.ping()
        let deadline = clock.now() + limit
        while true {
            if let event = self.connection.next() {
                guard case .pong = event else { return false }
                return true
            }
            let remaining = deadline - clock.now()
            guard remaining > .zero else { return false }
            if await self.connection.wait(for: remaining) == .cancelled { return nil }
        }
    }
}

/// What a kept connection carried last: the whole request, and its response.
struct KeptExchange {
    /// The request, whatever part of it was sent.
    let body: ResponseRequestBody
    let record: ResponseRecord
    /// The identifier that the response was created with.
    let responseID: String?
    /// The identifiers and habits of all responses of the connection.
    let earlier: EarlierResponses
    /// Indicates whether the response had output that the consumer saw.
    let hasOutput: Bool
    /// Indicates whether it only prepared the server.
    let isWarmUp: Bool

    /// What is left to send of a request that goes on after this; nil when it has to be sent whole.
    func continuation(of body: ResponseRequestBody) -> ResponseRequestBody.Continuation? {
        // Output without an item: what the server remembers of it cannot be compared.
        guard !self.hasOutput || !self.record.isEmpty,
            let response = self.record.completedResponse(behind: []), !response.hasAmbiguousCalls
        else { return nil }
        let memory = ContinuationMemory(
            request: self.body, outputItems: response.items, responseID: response.id, isWarmUp: self.isWarmUp)
        return memory?.continuation(of: body)
    }
}

/// The name of a lane; turns of different lanes never share a connection.
struct Lane: Hashable {
    /// Nil for the lane without a name.
    let name: String?
}

/// An opening handshake that no turn waits for.
struct PendingUpgrade {
    /// Why it is under way.
    enum Purpose {
        /// A turn has sent its request over HTTP in the meantime.
        case race
        /// The instance has fallen back, and finds out whether it still has to.
        case probe
    }

    let connection: any TransportConnection
    let credential: ChappieCredential?
    /// Whose turns it is for.
    let lane: Lane
    let startedAt: Duration
    let purpose: Purpose
}
