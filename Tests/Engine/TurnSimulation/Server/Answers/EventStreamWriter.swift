// Events as the bytes of an event stream (WHATWG HTML section 9.2), cut at random places.

import StreamTransport

/// Writes an event stream and cuts it.
struct EventStreamWriter {
    /// A piece of the body, and the event that it completes: -1 for none.
    struct Piece {
        let range: Range<Int>
        let event: Int
    }

    private(set) var bytes: [UInt8] = []
    /// Behind each event's last byte.
    private var ends: [Int] = []
    private let lineEnd: [UInt8]
    private let hasEventField: Bool
    private let hasSpace: Bool
    private let comments: Int
    private var random: SimulatedRandom
    private(set) var facts: [SimulatedFact] = []

    init(random: SimulatedRandom) {
        var random = random
        let lineEnds: [(SimulatedFact, [UInt8])] = [
            (.lineFeeds, [0x0A]), (.lineFeeds, [0x0A]), (.carriageReturns, [0x0D, 0x0A]), (.carriageReturns, [0x0D]),
        ]
        let (fact, lineEnd) = random.pick(lineEnds)
        self.lineEnd = lineEnd
        self.facts.append(fact)
        self.hasEventField = random.chance(60)
        self.hasSpace = random.chance(80)
        self.comments = random.pick([0, 0, 15])
        if random.chance(5) {
            self.bytes = [0xEF, 0xBB, 0xBF]
            self.facts.append(.byteOrderMark)
        }
        self.random = random
    }

    /// Writes one event, which is JSON in one line.
    mutating func append(_ json: ArraySlice<UInt8>) {
        if self.random.chance(self.comments) {
            self.line(self.random.pick([": keep-alive", ":", "id: 7", "retry: 100"]))
            self.facts.append(.comments)
        }
        if self.hasEventField { self.line("event: message") }
        self.bytes.append(contentsOf: self.hasSpace ? "data: ".utf8 : "data:".utf8)
        self.bytes += json
        self.bytes += self.lineEnd
        self.bytes += self.lineEnd
        self.ends.append(self.bytes.count)
    }

    private mutating func line(_ text: String) {
        self.bytes.append(contentsOf: text.utf8)
        self.bytes += self.lineEnd
    }

    /// Cuts what was written into pieces.
    mutating func pieces() -> [Piece] {
        // The smallest pieces take most of the time, and a few turns with them find the same faults.
        let size =
            self.random.chance(4)
            ? self.random.pick([1, 7])
            : self.random.pick([40, 200, 200, 200, 1_000, 1_000, 100_000, 100_000, 100_000])
        if size == 1 { self.facts.append(.byteByByte) }
        var pieces: [Piece] = []
        var start = 0
        var event = 0
        while start < self.bytes.count {
            var end = min(self.bytes.count, start + (size == 1 ? 1 : 1 + self.random.below(size * 2)))
            // Whether the event is over between the two bytes of its last line's end is for the parser to say.
            if end < self.bytes.count, self.bytes[end - 1] == 0x0D, self.bytes[end] == 0x0A { end += 1 }
            while event < self.ends.count, self.ends[event] <= end { event += 1 }
            pieces.append(Piece(range: start..<end, event: event - 1))
            start = end
        }
        return pieces
    }
}
