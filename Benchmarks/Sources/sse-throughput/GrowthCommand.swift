// `sse-throughput growth`: nothing may cost more than linear time, in whatever shape the bytes come.

import BenchmarkResults
import CMachine
import ServerSentEvents

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How the time of one shape grows.
struct Growth: Codable {
    /// The name of the shape.
    var shape: String
    /// The sizes, each twice the one before.
    var byteCounts: [Int]
    /// The shortest time of each, in seconds; the largest sizes are missing when a smaller one took too long.
    var seconds: [Double]
    /// All times of each.
    var runs: [[Double]]

    /// The cells of a table's row; a size that was not measured has a dash.
    var cells: [String] {
        let times = self.byteCounts.indices.map {
            $0 < self.seconds.count ? fixed(self.seconds[$0] * 1e6, 1) : "-"
        }
        return [self.shape] + times + [fixed(self.meanFactor, 2) + "x", fixed(self.worstFactor, 2) + "x"]
    }

    /// The time of each size as a multiple of the one before.
    var factors: [Double] { zip(self.seconds.dropFirst(), self.seconds).map { $0 / $1 } }
    /// What a doubling multiplies the time with, over all of them.
    var meanFactor: Double {
        guard let first = self.seconds.first, let last = self.seconds.last, self.seconds.count > 1 else { return 0 }
        return pow(last / first, 1 / Double(self.seconds.count - 1))
    }

    /// The largest of them.
    var worstFactor: Double { self.factors.max() ?? 0 }
}

/// Measures every shape at doubling sizes.
///
/// Each stream begins with empty caches. Otherwise a small one finds its bytes and its buffer in a cache that a large one
/// does not fit in, and the memory decides about the growth.
struct GrowthCommand: ~Copyable {
    private let options: Options
    private let sweeper = CacheSweeper()

    /// A command with its options.
    init(options: Options) {
        self.options = options
    }

    /// What a doubling of the bytes may multiply the time with, each of them.
    ///
    /// A parser that was made to copy its buffer for each piece was measured at 4 to 5.
    private static let largestFactor = 2.3
    /// What one chunk of 64 MiB may cost, in the time of the same bytes in chunks of 16 KiB.
    private static let largestChunkFactor = 1.0
    /// The sizes: a buffer of more than 4 MiB leaves the caches, and then the memory decides about the growth.
    private static let byteCounts = (0..<5).map { (256 << 10) << $0 }
    /// How many streams of each size are timed in a repetition: the small ones are over in microseconds.
    private static let passesPerRepetition = 5
    /// How often a shape is measured again that seems to break the limit: noise goes away, a quadratic parser does not.
    private static let rounds = 16
    /// How long one stream may take, in seconds, for it to be timed again and for larger ones to be timed at all.
    ///
    /// A linear parser stays far below; one that is not would take hours.
    private static let patience = 0.2

    private static let table = Table(widths: [46, 9, 9, 9, 9, 9, 6, 6])

    /// Measures every shape, and one chunk of 64 MiB.
    ///
    /// - Returns: whether all of them keep the limits
    func run() throws -> Bool {
        _ = self.options.pin()
        // Otherwise the large streams' buffers cost page faults and the small ones' do not.
        cmachine_keep_freed_memory()
        print(
            "Time of one stream in microseconds. No doubling may multiply it with more than \(fixed(Self.largestFactor, 1)):\n"
        )
        Self.table.print(["shape"] + Self.byteCounts.map { "\($0 >> 10) KiB" } + ["mean", "worst", ""])
        var growths: [Growth] = []
        for shape in GrowthShape.allCases {
            let growth = try self.measure(shape)
            growths.append(growth)
            Self.table.print(growth.cells + [Self.isLinear(growth) ? "ok" : "BROKEN"])
        }
        self.printArrayGrowth()
        let keepsRate = try self.comparesLargestChunk()
        try self.options.writeJSON(growths)
        try self.options.results?.append(growths.flatMap(\.figures))
        return keepsRate && growths.allSatisfy(Self.isLinear)
    }

    private func measure(_ shape: GrowthShape) throws -> Growth {
        let streams = Self.byteCounts.map { Stream(shape, byteCount: $0) }
        var timings = streams.map { _ in Timing() }
        var growth = Growth(shape: shape.rawValue, byteCounts: Self.byteCounts, seconds: [], runs: [])
        for _ in 0..<Self.rounds {
            for _ in 0..<self.options.repetitions * Self.passesPerRepetition { try self.time(streams, &timings) }
            growth.seconds = timings.map(\.best).filter { $0 < .infinity }
            growth.runs = timings.map(\.times)
            if Self.isLinear(growth) || timings.contains(where: Self.tookTooLong) { break }
        }
        return growth
    }

    /// Times a stream of each size, up to the first that takes too long.
    private func time(_ streams: [Stream], _ timings: inout [Timing]) throws {
        for (index, stream) in streams.enumerated() {
            guard !Self.tookTooLong(timings[index]) else { return }
            self.sweeper.sweep()
            timings[index].add(try stream.seconds(self.options.clock))
            guard !Self.tookTooLong(timings[index]) else { return }
        }
    }

    private static func isLinear(_ growth: Growth) -> Bool { growth.worstFactor <= self.largestFactor }

    private static func tookTooLong(_ timing: Timing) -> Bool {
        timing.best < .infinity && timing.best > self.patience
    }

    /// Prints what the memory alone does: chunks are appended to an array, by nobody's parser.
    ///
    /// Where this grows faster than twofold, a larger buffer has left a cache, and no line of code is to blame.
    private func printArrayGrowth() {
        let chunk = Array(repeating: UInt8(0x78), count: 1460)
        let timings = Self.byteCounts.map { size in
            var timing = Timing()
            for _ in 0..<self.options.repetitions * Self.passesPerRepetition {
                self.sweeper.sweep()
                var bytes: [UInt8] = []
                timing.add(
                    self.options.clock.measure {
                        while bytes.count < size { bytes.append(contentsOf: chunk) }
                    })
                precondition(bytes.last == 0x78, "it is what was appended")
            }
            return timing
        }
        let growth = Growth(
            shape: "(an array, 1460 bytes appended at a time)", byteCounts: Self.byteCounts,
            seconds: timings.map(\.best), runs: timings.map(\.times))
        Self.table.print(growth.cells)
    }

    /// Compares a chunk of 64 MiB with chunks of 16 KiB, a pass of each in turn.
    private func comparesLargestChunk() throws -> Bool {
        let input = Corpus.modelDeltas.makeInput(byteCount: 64 << 20)
        var whole = Timing(), pieces = Timing()
        for _ in 0..<Self.rounds {
            for _ in 0..<self.options.repetitions {
                whole.add(try self.time(input, chunkByteCount: input.bytes.count))
                pieces.add(try self.time(input, chunkByteCount: 16 << 10))
            }
            if whole.best <= Self.largestChunkFactor * pieces.best { break }
        }
        let factor = whole.best / pieces.best
        let verdict = factor <= Self.largestChunkFactor ? "ok" : "BROKEN"
        print(
            "\n64 MiB of model deltas in one chunk: \(fixed(factor, 2)) times the time of 16 KiB chunks", terminator: ""
        )
        print(" (may be \(fixed(Self.largestChunkFactor, 2)))  \(verdict)")
        return factor <= Self.largestChunkFactor
    }

    private func time(_ input: EventStreamInput, chunkByteCount: Int) throws -> Double {
        var tally = Tally()
        let time = try input.bytes.withUnsafeBytes { bytes in
            try self.options.clock.measure {
                var parser = EventStreamParser()
                tally = try parser.tally(of: bytes, chunkByteCount: chunkByteCount)
            }
        }
        let expected = Tally(eventCount: input.facts.eventCount, dataByteCount: input.facts.dataByteCount)
        try expectSame("model deltas in \(chunkByteCount)-byte chunks", expected: expected, found: tally)
        return time
    }

    /// A shape at one size.
    private struct Stream {
        let shape: GrowthShape
        let input: GrowthShape.Input

        init(_ shape: GrowthShape, byteCount: Int) {
            self.shape = shape
            self.input = shape.makeInput(byteCount: byteCount)
        }

        /// Parses the stream with a parser of its own, and checks what it found.
        func seconds(_ clock: Clock) throws -> Double {
            try self.input.bytes.withUnsafeBytes { bytes in
                var parser = EventStreamParser()
                var tally = Tally()
                let time = try clock.measure {
                    tally = try parser.tally(of: bytes, chunkByteCount: self.input.chunkByteCount)
                }
                try expectSame(self.shape.rawValue, expected: self.input.tally, found: tally)
                try expectSame(self.shape.rawValue, expected: self.input.end, found: parser.finish())
                return time
            }
        }
    }
}

/// Memory as large as the processor's caches, which leaves nothing else in them once it is written.
private struct CacheSweeper: ~Copyable {
    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 << 20, alignment: 64)

    deinit {
        self.memory.deallocate()
    }

    /// Writes all of it.
    func sweep() {
        cmachine_fill(self.memory.baseAddress, self.memory.count)
    }
}
