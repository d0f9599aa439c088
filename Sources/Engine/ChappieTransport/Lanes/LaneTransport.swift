import StreamTransport
import TransportSurface

/// A transport whose WebSockets are shared: each connection is a lane of one, independent of the others.
///
/// All other requests go to the transport underneath. It has no task: a consumer that waits for a lane reads for all.
final class LaneTransport: StreamTransport {
    /// The common properties of requests that may share a socket.
    private struct Key: Hashable {
        let endpoint: TransportEndpoint
        let fields: [String]

        init(_ request: TransportRequest) {
            self.endpoint = request.endpoint
            self.fields = request.fields.filter { !Self.ownNames.contains($0.name.lowercased()) }
                .map { "\($0.name.lowercased()): \($0.value)" }.sorted()
        }

        /// Fields that identify one request, and do not describe the connection.
        private static let ownNames: Set<String> = ["traceparent", "tracestate", "x-client-request-id"]
    }

    private let transport: any StreamTransport
    private let clock: ClientClock
    private let maximumAge: Duration?
    /// The newest socket of each kind.
    ///
    /// Its lock is held while others are taken: simultaneous requests must find one socket, and `connect` underneath
    /// returns at once and has no callbacks.
    private let sockets = LockedValue<[Key: SharedSocket]>([:])

    /// Shares the WebSockets of a transport; one beyond `maximumAge` takes no new lanes.
    init(_ transport: any StreamTransport, clock: ClientClock, maximumAge: Duration?) {
        self.transport = transport
        self.clock = clock
        self.maximumAge = maximumAge
    }

    var consumerExecutor: (any TaskExecutor)? { self.transport.consumerExecutor }

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
