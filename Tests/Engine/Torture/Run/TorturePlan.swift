// The runs, in their order, in pieces that the state file can name.
//
// Pure: options and answers in, pieces out.

/// All runs of one invocation.
struct TorturePlan: Sendable {
    /// Neighbouring offsets of one combination: done whole or not at all.
    struct Piece: Sendable {
        /// The combination that is run.
        var combination: Combination
        /// Its number within the combination.
        var number: Int
        /// The offsets.
        var offsets: [Int]
    }

    /// The pieces of one session, in order.
    struct Part: Sendable {
        /// The session.
        var session: String
        /// The pieces.
        var pieces: [Piece] = []
    }

    /// Returns the largest number of offsets of a piece.
    ///
    /// The runs of a piece follow one another, and a stall takes its time.
    private static func pieceLength(_ cut: Cut) -> Int { cut.isStall ? 4 : 64 }

    /// The sessions' pieces.
    private(set) var parts: [Part] = []
    /// The number of offsets on each wire of each session.
    private(set) var offsetCounts: [String: Int] = [:]
    /// Names everything that the plan depends on.
    private(set) var fingerprint: String

    /// The number of runs.
    var runCount: Int { self.parts.reduce(0) { $0 + $1.pieces.reduce(0) { $0 + $1.offsets.count } } }

    /// Plans what the options ask for.
    init(_ options: TortureOptions, sessions: [Session], catalog: Catalog) {
        self.fingerprint = "\(options.seed)/\(options.stride)/\(options.stallStride)"
        for session in sessions {
            var part = Part(session: session.name)
            for wire in options.wires {
                guard let first = catalog.answers(session.name, wire)?.first else { continue }
                self.offsetCounts["\(session.name)/\(wire.rawValue)"] = first.bytes.count + 1
                self.fingerprint += " \(session.name)/\(wire.rawValue)/\(first.bytes.count)"
                for cut in options.cuts {
                    for replay in options.replays where wire.replays.contains(replay) {
                        let combination = Combination(session: session.name, wire: wire, cut: cut, replay: replay)
                        part.pieces += Self.pieces(combination, byteCount: first.bytes.count, options)
                    }
                }
            }
            self.parts.append(part)
        }
        self.fingerprint += " \(options.cuts.map(\.rawValue)) \(options.replays.map(\.rawValue))"
    }

    /// The offsets of a combination: each combination begins a sample at another place.
    private static func pieces(_ combination: Combination, byteCount: Int, _ options: TortureOptions) -> [Piece] {
        let stride = options.stride * (combination.cut.isStall ? options.stallStride : 1)
        let random = RandomNumbers(seed: options.seed, name: combination.name).first
        let first = min(byteCount, Int(random % UInt64(stride)))
        let offsets = Array(Swift.stride(from: first, through: byteCount, by: stride))
        let length = Self.pieceLength(combination.cut)
        return Swift.stride(from: 0, to: offsets.count, by: length).enumerated().map { number, start in
            let end = min(start + length, offsets.count)
            return Piece(combination: combination, number: number, offsets: Array(offsets[start..<end]))
        }
    }
}
