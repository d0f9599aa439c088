// The random walk's server responses, its consumer's output, and its random numbers.
import StreamSession
import StreamTransport

/// A response as a list of scalars and tool calls, each in its place.
struct SimulatedResponse {
    struct Piece: Equatable {
        enum Content: Equatable {
            case scalar(Unicode.Scalar)
            case call(SimulatedCall)
        }

        let slot: ReplaySlot
        let content: Content

        var isCall: Bool {
            guard case .call = self.content else { return false }
            return true
        }
    }

    private(set) var pieces: [Piece]

    /// Scalars of every length, and those that join their neighbours.
    private static let scalars: [Unicode.Scalar] = [
        "a", "b", "\r", "\n", "\u{301}", "\u{200D}", "é", "界", "\u{FFFD}", "😀", "👩", "𝄞",
    ]

    /// A few items, one after the other or two at a time.
    init(random: inout SplitMix64) {
        var pieces: [Piece] = []
        for item in 0..<random.below(5) {
            let slot = ReplaySlot(Self.kinds[random.below(Self.kinds.count)], outputIndex: item)
            if slot.kind == .toolCall, random.chance(0.7) {
                pieces.append(Piece(slot: slot, content: .call(.weather(item))))
                continue
            }
            let neighbour = ReplaySlot(Self.kinds[random.below(3)], outputIndex: item + 100)
            let interleaves = random.chance(0.2)
            for _ in 0..<random.below(12) {
                let scalar = Self.scalars[random.below(Self.scalars.count)]
                let isNeighbours = interleaves && random.chance(0.5)
                pieces.append(Piece(slot: isNeighbours ? neighbour : slot, content: .scalar(scalar)))
            }
        }
        self.pieces = pieces
    }

    private static let kinds: [ReplaySlot.Kind] = [.text, .text, .reasoningSummary, .refusal, .toolCall]

    /// Another response, which has its beginning in common with this one.
    func variation(_ random: inout SplitMix64) -> Self {
        var other = Self(random: &random)
        other.pieces.insert(contentsOf: self.pieces.prefix(random.below(self.pieces.count + 1)), at: 0)
        // One call at a place.
        var places: Set<Int> = []
        other.pieces.removeAll { piece in
            guard case .call(let call) = piece.content else { return false }
            return !places.insert(call.outputIndex).inserted
        }
        return other
    }

    /// Returns the possible end of a delta that begins here: at a scalar of its own slot.
    func endOfDelta(from start: Int, limit: Int, _ random: inout SplitMix64) -> Int {
        var end = start + 1
        guard case .scalar = self.pieces[start].content else { return end }
        while end < limit, self.pieces[end].slot == self.pieces[start].slot, random.chance(0.7) {
            guard case .scalar = self.pieces[end].content else { break }
            end += 1
        }
        return end
    }

    func bytes(_ range: Range<Int>) -> [UInt8] {
        self.pieces[range].flatMap { piece -> [UInt8] in
            guard case .scalar(let scalar) = piece.content else { return [] }
            return Array(String(scalar).utf8)
        }
    }

    /// Failures of every class, over either transport.
    static let failures: [AttemptFailure] = [
        .endedEarly, .endedEarly, .closed(code: 1006, beforeFirstEvent: false), .timeout(.idle),
        .timeout(.firstEvent), .transport(TransportFailure(phase: .stream, cause: .connectionLost)),
        .transport(TransportFailure(phase: .resolve, cause: .unresolvable(code: -3))),
        .transport(TransportFailure(phase: .upgrade, cause: .timedOut)),
        .transport(TransportFailure(phase: .upgrade, cause: .openingHandshakeInvalid(.accept))),
        .upgradeStatus(RefusalFacts(statusCode: 426)), .closed(code: 1009, beforeFirstEvent: true),
        .httpStatus(RefusalFacts(statusCode: 503, retryAfter: .seconds(90))),
        .responseFailed(RefusalFacts(errorCode: "server_error")), .undecodableEvent, .binaryMessage,
        .httpStatus(RefusalFacts(statusCode: 429, retryAfter: .seconds(2))),
        .errorEvent(RefusalFacts(statusCode: 429, usageLimit: UsageLimitFacts(resetsAfter: .seconds(9)))),
        .errorEvent(RefusalFacts(errorCode: "usage_limit_reached")), .errorEvent(RefusalFacts(statusCode: 401)),
        .httpStatus(RefusalFacts(statusCode: 400)),
    ]
}

/// The delivered output, piece by piece, compared with the response that it must be a prefix of.
struct SimulatedConsumer {
    private var channels: [ReplaySlot.Kind: [SimulatedResponse.Piece]] = [:]
    private var calls: [SimulatedResponse.Piece] = []

    /// The concatenated text deltas.
    var text: String {
        var text = ""
        for piece in self.channels[.text] ?? [] {
            if case .scalar(let scalar) = piece.content { text.unicodeScalars.append(scalar) }
        }
        return text
    }

    /// Adds the delivered part of one delta, or one call, and checks every channel.
    mutating func consume(_ response: SimulatedResponse, _ range: Range<Int>, from offset: Int) throws {
        var skipped = 0
        var start = range.lowerBound
        while skipped < offset, start < range.upperBound {
            skipped += response.bytes(start..<start + 1).count
            start += 1
        }
        guard skipped == offset, start < range.upperBound else { throw BrokenPromise(what: "a cut inside a scalar") }
        for piece in response.pieces[start..<range.upperBound] {
            if case .call = piece.content {
                self.calls.append(piece)
            } else {
                self.channels[piece.slot.kind, default: []].append(piece)
            }
        }
        // Every channel is checked: new output may belong to another response than the output of another channel.
        try self.checkPrefix(of: response)
    }

    /// Forgets everything, and takes the output that was delivered of another response.
    mutating func restart(
        with output: [(kind: ReplaySlot.Kind, text: String)], of response: SimulatedResponse
    ) throws {
        (self.channels, self.calls) = ([:], [])
        for (kind, text) in output {
            let kinds: Set<ReplaySlot.Kind> = kind == .reasoningText ? [.reasoningText, .reasoningSummary] : [kind]
            var scalars = text.unicodeScalars[...]
            for piece in response.pieces where !piece.isCall && kinds.contains(piece.slot.kind) && !scalars.isEmpty {
                guard case .scalar(let scalar) = piece.content, scalar == scalars.removeFirst() else {
                    throw BrokenPromise(what: "a restart with other output")
                }
                self.channels[piece.slot.kind, default: []].append(piece)
            }
            guard scalars.isEmpty else { throw BrokenPromise(what: "a restart with more output") }
        }
        try self.checkPrefix(of: response)
    }

    private func checkPrefix(of response: SimulatedResponse) throws {
        guard Self.isPrefix(self.calls, of: response, where: \.isCall) else {
            throw BrokenPromise(what: "tool calls")
        }
        for (kind, pieces) in self.channels
        where !Self.isPrefix(pieces, of: response, where: { !$0.isCall && $0.slot.kind == kind }) {
            throw BrokenPromise(what: "\(kind)")
        }
    }

    private static func isPrefix(
        _ delivered: [SimulatedResponse.Piece], of response: SimulatedResponse,
        where isInChannel: (SimulatedResponse.Piece) -> Bool
    ) -> Bool {
        var count = 0
        for piece in response.pieces where count < delivered.count && isInChannel(piece) {
            guard piece == delivered[count] else { return false }
            count += 1
        }
        return count == delivered.count
    }

    /// Checks that a complete response has all of its output.
    func checkWhole(_ response: SimulatedResponse) throws {
        let count = self.calls.count + self.channels.values.reduce(0) { $0 + $1.count }
        try self.checkPrefix(of: response)
        guard count == response.pieces.count else { throw BrokenPromise(what: "a gap") }
    }
}

/// A small generator with a seed (Steele, Lea and Flood, 2014).
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    mutating func chance(_ probability: Double) -> Bool { self.fraction() < probability }

    mutating func fraction() -> Double { Double.random(in: 0..<1, using: &self) }
}
