// What the machine does with the same bytes when nothing is parsed: no parser that reads and copies can be faster.

import BenchmarkResults
import CMachine

/// Bytes a second of the simplest passes over a corpus.
///
/// They go over the beginning of the corpus again and again, as much of it as a core's own cache holds: memory is what
/// all cores of a machine share, and its speed is what they leave of it.
struct MachineLimits: Codable {
    /// The corpus.
    var corpus: String
    /// `memcpy` in pieces of 16 KiB to one buffer.
    var copy: Speed
    /// Masks of CR and LF, counted.
    var lineTerminatorMasks: Speed
    /// `memchr` from LF to LF.
    var memchrSweep: Speed

    /// How much of the corpus there is in a pass, and how often: a millisecond of the fastest pass, about.
    private static let (byteCount, passCount) = (256 << 10, 128)
    private static let pieceByteCount = 16 << 10

    /// Measures them over a stream.
    init(corpus: Corpus, bytes: UnsafeRawBufferPointer, repetition: Repetition) throws(WrongResultError) {
        let bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.byteCount))
        let room = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.pieceByteCount + Int(CMACHINE_PLACE_COUNT), alignment: 64)
        defer { room.deallocate() }
        let copy = cmachine_place(room.baseAddress, bytes.baseAddress)
        func speed(_ pass: () -> Void) -> Speed {
            pass()
            return Speed(
                repetition.speeds(of: bytes.count * Self.passCount) { clock in
                    clock.measure { for _ in 0..<Self.passCount { pass() } }
                })
        }
        let base = bytes.baseAddress, count = bytes.count
        var terminators = 0, lineFeeds = 0
        self.corpus = corpus.rawValue
        self.copy = speed { _ = cmachine_copy(copy, base, count, Self.pieceByteCount) }
        self.lineTerminatorMasks = speed { terminators = cmachine_count_line_terminators(base, count) }
        self.memchrSweep = speed { lineFeeds = cmachine_count_line_feeds_by_memchr(base, count) }
        let expected = bytes.reduce(into: (0, 0)) { counts, byte in
            counts.0 += byte == 0x0A || byte == 0x0D ? 1 : 0
            counts.1 += byte == 0x0A ? 1 : 0
        }
        try expectSame("line terminators of \(corpus.rawValue)", expected: expected.0, found: terminators)
        try expectSame("line feeds of \(corpus.rawValue)", expected: expected.1, found: lineFeeds)
    }
}
