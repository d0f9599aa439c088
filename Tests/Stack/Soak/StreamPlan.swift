// The plan of a stream, made before it begins.

/// The route of a stream: its server and its transport.
struct SoakLane: Hashable, Sendable {
    /// The behaviour of a server.
    enum Server: Hashable, Sendable, CaseIterable {
        /// As fast as it is read.
        case bulk
        /// Some events a second, and pings that must be answered in time.
        case pinging
        /// So few events that the client has reason to ping.
        case quiet
    }

    var server: Server
    var isSecure: Bool
    var isCompressed: Bool
    var isWebSocket: Bool

    /// All that there are.
    static let all: [Self] = Server.allCases.flatMap { server in
        [false, true].flatMap { isSecure in
            [false, true].flatMap { isCompressed in
                [false, true].map { isWebSocket in
                    Self(server: server, isSecure: isSecure, isCompressed: isCompressed, isWebSocket: isWebSocket)
                }
            }
        }
    }
}

/// The plan of one stream.
struct StreamPlan: Sendable, CustomStringConvertible {
    /// The reading of its consumer, and the fate of its connections.
    enum Kind: CaseIterable, Sendable {
        /// Reads whatever comes.
        case steady
        /// Stops reading now and then, mostly for longer than a dead peer is waited for.
        case pausing
        /// Is given up in the middle, one way or another.
        case cancelled
        /// Goes through a proxy that breaks the first connections.
        case faulty
    }

    let lane: SoakLane
    let kind: Kind
    let seed: UInt64
    /// The text's length, about.
    let byteCount: Int
    /// Indicates whether it is read by the batch.
    let isBatched: Bool

    init(lane: SoakLane, kind: Kind, seed: UInt64) {
        var random = SoakRandom(seed: seed)
        self.lane = lane
        self.kind = kind
        self.seed = seed
        self.isBatched = random.chance(50)
        switch lane.server {
        case .bulk: self.byteCount = random.number(in: random.chance(70) ? 1_000...30_000 : 100_000...300_000)
        case .pinging: self.byteCount = 5_000
        case .quiet: self.byteCount = 300
        }
    }

    /// Draws a plan.
    init(seed: UInt64) {
        var random = SoakRandom(seed: seed)
        let server: SoakLane.Server = random.chance(80) ? .bulk : random.chance(50) ? .pinging : .quiet
        let lane = SoakLane(
            server: server, isSecure: random.chance(50), isCompressed: random.chance(50),
            isWebSocket: random.chance(70))
        let kinds = Kind.allCases
        let kind = server == .bulk ? kinds[random.number(in: 0...kinds.count - 1)] : .steady
        self.init(lane: lane, kind: kind, seed: random.next())
    }

    /// The response that the server gives.
    var response: SoakResponse {
        SoakResponse(seed: self.seed, byteCount: self.byteCount, deltaCount: self.deltaCount)
    }

    /// The least number of its deltas.
    private var deltaCount: Int {
        switch self.lane.server {
        case .bulk: 1
        case .pinging: 60
        case .quiet: 5
        }
    }

    var description: String {
        "seed \(self.seed): \(self.kind), \(self.lane.server), \(self.lane.isWebSocket ? "WebSocket" : "HTTP")"
            + (self.lane.isSecure ? ", TLS" : "") + (self.lane.isCompressed ? ", compressed" : "")
            + (self.isBatched ? ", by the batch" : "") + ", \(self.byteCount) bytes"
    }
}
