import StreamTransport

/// A transport whose WebSockets are shared: each connection is a lane of one, and does not know about the others.
///
/// Everything else goes to the transport underneath. It has no task: whoever waits for a lane reads for all of them.
final class LaneTransport: StreamTransport {
    /// What requests have in common that may share a socket.
    private struct Key: Hashable {
        let endpoint: TransportEndpoint
        let fields: [String]

        init(_ request: TransportRequest) {
            self.endpoint = request.endpoint
            self.fields = request.fields.filter { !Self.ownNames.contains($0.name.lowercased()) }
                .map { "\($0.name.lowercased()): \($0.value)" }.sorted()
        }

        /// Fields that name one request, and say nothing about the connection.
        private static let ownNames: Set<String> = ["traceparent", "tracestate", "x-client-request-id"]
    }

    private let transport: any StreamTransport
    private let clock: TurnClock
    private let maximumAge: Duration?
    /// The newest socket of each kind.
    ///
    /// Its lock is the one that is held while others are taken: those who come at once must find one socket, and
    /// `connect` underneath returns at once and calls nobody.
    private let sockets = LockedValue<[Key: SharedSocket]>([:])

    /// Shares the WebSockets of a transport; one takes no new lanes past an age.
    init(_ transport: any StreamTransport, clock: TurnClock, maximumAge: Duration?) {
        self.transport = transport
        self.clock = clock
        self.maximumAge = maximumAge
    }

    func connect(_ request: TransportRequest) -> any TransportConnection {
        switch request.exchange {
        case .post, .get: return self.transport.connect(request)
        case .webSocket: break
        }
        let lane = request.lane ?? ""
        let key = Key(request)
        return self.sockets.withLock { sockets in
            if let connection = sockets[key]?.join(lane: lane) { return connection }
            sockets = sockets.filter { $0.value.isOpen }
            let socket = SharedSocket(
                self.transport.connect(request), limits: request.limits, clock: self.clock, maximumAge: self.maximumAge)
            sockets[key] = socket
            return socket.joinFirst()
        }
    }
}
