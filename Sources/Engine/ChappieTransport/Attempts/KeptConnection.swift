import ResponseEvents
import StreamSession
import StreamTransport
import TransportSurface

/// A WebSocket that carried a whole response, or was opened in the background, and can carry the next one.
struct KeptConnection {
    let connection: any TransportConnection
    /// The credential that the connection was opened with.
    let credential: ChappieCredential?
    /// The lane whose turns it is for.
    let lane: Lane
    /// The time at which it was requested, from which its statistics count.
    let startedAt: Duration
    /// The time at which it was put aside.
    let keptAt: Duration
    /// The exchange that it carried last.
    var exchange: KeptExchange?

    /// The time of the newest byte, or at which it was put aside.
    var lastReceived: Duration {
        self.connection.statistics.lastReceived.map { max(self.startedAt + $0, self.keptAt) } ?? self.keptAt
    }

    /// Sends a ping and waits for its pong (RFC 6455 section 5.5.2).
    ///
    /// - Parameters:
    ///   - limit: the maximum wait for the pong.
    ///   - clock: the turn's clock.
    /// - Returns: whether the pong came, with no other event before it; nil when the wait was cancelled.
    func isAlive(within limit: Duration, _ clock: ClientClock) async -> Bool? {
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

/// The last exchange of a kept connection: the whole request, and its response.
///
/// Immutable, and a class: most attempts have none, and each would hold the room for one.
final class KeptExchange: Sendable {
    /// The whole request, of which perhaps only a part was sent.
    let body: ResponseRequestBody
    let record: ResponseRecord
    /// The identifier that the response was created with.
    let responseID: String?
    /// The identifiers and habits of all responses of the connection.
    let earlier: EarlierResponses
    /// Indicates whether the response had output that was delivered to the consumer.
    let hasOutput: Bool
    /// Indicates whether it only prepared the server.
    let isWarmUp: Bool
    /// Indicates whether the server keeps input for the request that continues it: any other would leave it there.
    var hasPendingInput: Bool { self.record.hasPendingInput }

    init(
        body: ResponseRequestBody, record: ResponseRecord, responseID: String?, earlier: EarlierResponses,
        hasOutput: Bool, isWarmUp: Bool
    ) {
        self.body = body
        self.record = record
        self.responseID = responseID
        self.earlier = earlier
        self.hasOutput = hasOutput
        self.isWarmUp = isWarmUp
    }

    /// Returns the rest of a request that continues this exchange; nil when it has to be sent whole.
    func continuation(of body: ResponseRequestBody) -> ResponseRequestBody.Continuation? {
        // Output without an item cannot be compared with the items that the server remembers.
        guard !self.hasOutput || !self.record.isEmpty,
            let response = self.record.completedResponse(behind: []), !response.hasAmbiguousCalls
        else { return nil }
        let memory = ContinuationMemory(
            request: self.body, outputItems: response.items, responseID: response.id, isWarmUp: self.isWarmUp)
        return memory?.continuation(of: body)
    }
}

/// The name of a lane, and the fields of its requests; turns of different lanes never share a connection.
struct Lane: Hashable {
    /// Nil for the lane without a name.
    let name: String?
    /// The requests' own fields, which the opening handshake has; a secret may be among them.
    let fieldLines: [String]

    init(name: String?, fieldLines: [String] = []) {
        self.name = name
        self.fieldLines = fieldLines
    }
}

/// An opening handshake that no turn waits for.
struct PendingUpgrade {
    /// The purpose of the handshake.
    enum Purpose {
        /// A turn has sent its request over HTTP in the meantime.
        case race
        /// The instance has fallen back, and finds out whether WebSockets work again.
        case probe
    }

    let connection: any TransportConnection
    let credential: ChappieCredential?
    /// The lane whose turns it is for.
    let lane: Lane
    let startedAt: Duration
    let purpose: Purpose
}
