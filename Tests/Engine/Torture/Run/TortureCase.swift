// The cases of a run: names, and one value for each.
//
// Immutable values without an owner.
import ChappieTransport
import ResponseEvents

/// The wire form of an answer.
enum Wire: String, CaseIterable, Codable, Sendable {
    /// A WebSocket.
    case webSocket = "ws"
    /// A WebSocket with permessage-deflate (RFC 7692).
    case webSocketDeflate = "ws-deflate"
    /// A POST that is answered with an event stream.
    case eventStream = "sse"
    /// The same with the content coding gzip.
    case eventStreamGzip = "sse-gzip"
    /// A chat completion as an event stream.
    case chatCompletions = "chat"
    /// A message of Anthropic's Messages as an event stream.
    case messages

    /// Indicates whether it is a WebSocket.
    var isWebSocket: Bool { self == .webSocket || self == .webSocketDeflate }

    /// Indicates whether the answer is compressed.
    var isCompressed: Bool { self == .webSocketDeflate || self == .eventStreamGzip }

    /// The wire of the client's fallback.
    var fallback: Wire {
        self.dialect == .responses ? self.isCompressed ? .eventStreamGzip : .eventStream : self
    }

    /// The API of the answer.
    var dialect: ChappieDialect {
        switch self {
        case .webSocket, .webSocketDeflate, .eventStream, .eventStreamGzip: .responses
        case .chatCompletions: .chatCompletions
        case .messages: .messages
        }
    }

    /// The second answers: the other dialects have no closing events that could contradict.
    var replays: [Replay] {
        self.dialect == .responses
            ? [.identical, .rechunked, .diverging, .contradicting] : [.identical, .rechunked, .diverging, .restarting]
    }
}

/// The fault of the connection at the offset.
enum Cut: String, CaseIterable, Codable, Sendable {
    /// The server's half is closed in order.
    case end = "fin"
    /// The connection is reset.
    case reset = "rst"
    /// No further byte is sent or answered.
    case stall

    /// Indicates whether the client has to notice by itself.
    var isStall: Bool { self == .stall }
}

/// The server's answer to a repeated request.
enum Replay: String, CaseIterable, Codable, Sendable {
    /// The same bytes.
    case identical
    /// The same response in other deltas, under other identifiers, in other chunks, and perhaps in an odd way.
    case rechunked = "other-chunks"
    /// Another response.
    case diverging = "divergence"
    /// The same response, whose closing events differ from its deltas; so may the first answer's.
    case contradicting = "contradiction"
    /// Another response, for a client that begins again with it.
    case restarting = "restart"
}

/// One row of the plan: all offsets of it are run.
struct Combination: Hashable, Sendable {
    /// The name of the session.
    var session: String
    /// The wire of the answer.
    var wire: Wire
    /// The fault of the first connection.
    var cut: Cut
    /// The answer on the second connection.
    var replay: Replay

    /// The combination as the state file and `--case` spell it.
    var name: String { "\(self.session)/\(self.wire.rawValue)/\(self.cut.rawValue)/\(self.replay.rawValue)" }
}

/// One run.
struct TortureCase: Hashable, Sendable {
    /// The combination that is run.
    var combination: Combination
    /// The number of bytes of the first answer that the client receives.
    var offset: Int

    /// The case as `--case` takes it.
    var name: String { "\(self.combination.name)/\(self.offset)" }

    /// Creates the case of a name; nil for any other text.
    init?(name: String) {
        let parts = name.split(separator: "/").map(String.init)
        guard parts.count == 5, let wire = Wire(rawValue: parts[1]), let cut = Cut(rawValue: parts[2]),
            let replay = Replay(rawValue: parts[3]), wire.replays.contains(replay), let offset = Int(parts[4]),
            offset >= 0
        else { return nil }
        self.init(Combination(session: parts[0], wire: wire, cut: cut, replay: replay), offset: offset)
    }

    /// A case.
    init(_ combination: Combination, offset: Int) {
        self.combination = combination
        self.offset = offset
    }

    /// Returns whether the run is recorded, as about one in `stride` runs is.
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
