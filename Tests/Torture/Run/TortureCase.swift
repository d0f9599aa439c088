// What is run: names, and one value for each.
//
// Immutable values; nobody owns them.

/// How an answer travels.
enum Wire: String, CaseIterable, Codable, Sendable {
    /// A WebSocket.
    case webSocket = "ws"
    /// A WebSocket with permessage-deflate (RFC 7692).
    case webSocketDeflate = "ws-deflate"
    /// A POST that is answered with an event stream.
    case eventStream = "sse"
    /// The same with the content coding gzip.
    case eventStreamGzip = "sse-gzip"

    /// Indicates whether it is a WebSocket.
    var isWebSocket: Bool { self == .webSocket || self == .webSocketDeflate }

    /// Indicates whether the answer is compressed.
    var isCompressed: Bool { self == .webSocketDeflate || self == .eventStreamGzip }

    /// What a client falls back to.
    var fallback: Wire { self.isCompressed ? .eventStreamGzip : .eventStream }
}

/// What happens to the connection at the offset.
enum Cut: String, CaseIterable, Codable, Sendable {
    /// The server's half is closed in order.
    case end = "fin"
    /// The connection is reset.
    case reset = "rst"
    /// Not a byte more is sent, and nothing is answered.
    case stall

    /// Indicates whether the client has to notice by itself.
    var isStall: Bool { self == .stall }
}

/// What the server answers when it is asked again.
enum Replay: String, CaseIterable, Codable, Sendable {
    /// The same bytes.
    case identical
    /// The same response in other deltas, under other identifiers, in other chunks, and perhaps in an odd way.
    case rechunked = "other-chunks"
    /// Another response.
    case diverging = "divergence"
    /// The same response, whose closing events say something else than its deltas; so may the first answer.
    case contradicting = "contradiction"
}

/// One row of the plan: all offsets of it are run.
struct Combination: Hashable, Sendable {
    /// The name of the session.
    var session: String
    /// How the answer travels.
    var wire: Wire
    /// What happens to the first connection.
    var cut: Cut
    /// What the second one carries.
    var replay: Replay

    /// The combination as the state file and `--case` spell it.
    var name: String { "\(self.session)/\(self.wire.rawValue)/\(self.cut.rawValue)/\(self.replay.rawValue)" }
}

/// One run.
struct TortureCase: Hashable, Sendable {
    /// What is run.
    var combination: Combination
    /// How many bytes of the first answer the client gets.
    var offset: Int

    /// The case as `--case` takes it.
    var name: String { "\(self.combination.name)/\(self.offset)" }

    /// The case of a name; nil for anything else.
    init?(name: String) {
        let parts = name.split(separator: "/").map(String.init)
        guard parts.count == 5, let wire = Wire(rawValue: parts[1]), let cut = Cut(rawValue: parts[2]),
            let replay = Replay(rawValue: parts[3]), let offset = Int(parts[4]), offset >= 0
        else { return nil }
        self.init(Combination(session: parts[0], wire: wire, cut: cut, replay: replay), offset: offset)
    }

    /// A case.
    init(_ combination: Combination, offset: Int) {
        self.combination = combination
        self.offset = offset
    }

    /// Returns whether it is among the runs, one in so many, that are recorded.
    func isRecorded(oneIn stride: Int, seed: UInt64) -> Bool { (self.number(seed: seed) >> 40) % UInt64(stride) == 0 }

    /// A number that is the same for the same case and seed, and looks random.
    func number(seed: UInt64) -> UInt64 { RandomNumbers(seed: seed, name: self.name).first }
}

/// Numbers that look random and are the same for the same seed (SplitMix64).
struct RandomNumbers: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Numbers of a seed and a name; the name is hashed with FNV-1a.
    init(seed: UInt64, name: String) {
        self.state = name.utf8.reduce(0xcbf2_9ce4_8422_2325 ^ seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    /// The next number.
    mutating func next() -> UInt64 {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = (self.state ^ (self.state >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// The first number.
    var first: UInt64 {
        var copy = self
        return copy.next()
    }
}
