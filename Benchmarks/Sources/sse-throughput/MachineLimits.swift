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
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 64)
        defer { copy.deallocate() }
        func rate(_ pass: () -> Void) -> Speed {
            pass()
            return Speed(repetition.speeds(of: bytes.count) { clock in clock.measure(pass) })
        }
        let base = bytes.baseAddress, count = bytes.count
        var terminators = 0, lineFeeds = 0
        self.corpus = corpus.rawValue
        self.copyInPieces = rate { _ = cmachine_copy(copy.baseAddress, base, count, 16 << 10) }
        self.copyWhole = rate { _ = cmachine_copy(copy.baseAddress, base, count, count) }
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
