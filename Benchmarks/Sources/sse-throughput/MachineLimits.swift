// What the machine does with the same bytes when nothing is parsed: no parser that reads and copies can be faster.

import BenchmarkResults
import CMachine

/// Bytes a second of the simplest passes over a corpus.
struct MachineLimits: Codable {
    /// The corpus.
    var corpus: String
    /// `memcpy` in pieces of 16 KiB to one buffer.
    var copyInPieces: Speed
    /// One `memcpy` of the whole to a buffer of the same size.
    var copyWhole: Speed
    /// Masks of CR and LF, counted.
    var lineTerminatorMasks: Speed
    /// `memchr` from LF to LF.
    var memchrSweep: Speed

    /// Measures them over a stream.
    init(corpus: Corpus, bytes: UnsafeRawBufferPointer, repetition: Repetition) throws(WrongResultError) {
        let room = UnsafeMutableRawBufferPointer.allocate(
            byteCount: bytes.count + Int(CMACHINE_PLACE_COUNT), alignment: 64)
        defer { room.deallocate() }
        let copy = cmachine_place(room.baseAddress, bytes.baseAddress)
        func rate(_ pass: () -> Void) -> Speed {
            pass()
            let passes = repetition.speeds(of: bytes.count, patience: 0) { clock in clock.measure(pass) }
            // Memory limits them, and whoever shares the core shares that anyway: their paces would say too much.
            return Speed(PacedRuns(passes.runs))
        }
        let base = bytes.baseAddress, count = bytes.count
        var terminators = 0, lineFeeds = 0
        self.corpus = corpus.rawValue
        self.copyInPieces = rate { _ = cmachine_copy(copy, base, count, 16 << 10) }
        self.copyWhole = rate { _ = cmachine_copy(copy, base, count, count) }
        self.lineTerminatorMasks = rate { terminators = cmachine_count_line_terminators(base, count) }
        self.memchrSweep = rate { lineFeeds = cmachine_count_line_feeds_by_memchr(base, count) }
        let expected = bytes.reduce(into: (0, 0)) { counts, byte in
            counts.0 += byte == 0x0A || byte == 0x0D ? 1 : 0
            counts.1 += byte == 0x0A ? 1 : 0
        }
        try expectSame("line terminators of \(corpus.rawValue)", expected: expected.0, found: terminators)
        try expectSame("line feeds of \(corpus.rawValue)", expected: expected.1, found: lineFeeds)
    }
}
