// Streams that hit the corners of the grammar more often than chance would, the same for the same seed.

/// A small generator of random numbers with a seed.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// Random streams, and random ways to cut them.
enum RandomStream {
    private static let pieces: [[UInt8]] =
        [
            "\n", "\n", "\n", "\r", "\r", "\r\n", "\r\n", ":", ":", " ", "data", "event", "id", "retry", "data: ",
            "data:",
            "data: ", "event: ", "id: ", "retry: ", "7", "19", "a", "bc", "\t", "\u{0}", "\u{EF}\u{BB}\u{BF}", "\u{EF}",
            "\u{EF}\u{BB}", "\u{E2}\u{82}", "\u{F0}\u{9F}\u{99}\u{82}", "\u{FF}", "\u{CC}\u{81}", "\u{E2}\u{80}\u{A8}",
            "\u{B}", "\u{C2}\u{85}", "0123456789abcde", "fedcba9876543210fedcba987654321",
        ].map(latin1) + [Array(repeating: 0x78, count: 64)]

    static func make(_ random: inout SplitMix64) -> [UInt8] {
        var stream: [UInt8] = Int.random(in: 0..<8, using: &random) == 0 ? [0xEF, 0xBB, 0xBF] : []
        for _ in 0..<Int.random(in: 1..<60, using: &random) {
            stream += self.pieces[Int.random(in: 0..<self.pieces.count, using: &random)]
        }
        return stream
    }

    static func cut(_ stream: [UInt8], _ random: inout SplitMix64) -> [ArraySlice<UInt8>] {
        let longest = [1, 3, 17, 200][Int.random(in: 0..<4, using: &random)]
        var chunks: [ArraySlice<UInt8>] = []
        var start = 0
        while start < stream.count {
            let end = min(stream.count, start + Int.random(in: 0...longest, using: &random))
            chunks.append(stream[start..<end])
            start = end
        }
        return chunks
    }
}
