// Measures workloads: checks the outcome first, counts allocations, then times bare passes.

import CAllocationCounter
import ServerSentEvents

/// What was measured of one workload.
struct Measurement: Codable {
    /// The workload's name.
    var workload: String
    /// How large its stream is.
    var byteCount: Int
    /// How many events are in it.
    var eventCount: Int
    /// The shortest pass, and the one in the middle, in seconds.
    var bestSeconds: Double, medianSeconds: Double
    /// Each pass, in seconds.
    var seconds: [Double]
    /// Calls of the allocator by an event, once the parser has seen such a stream.
    var allocationsPerEvent: Double
    /// The speed of the shortest pass as a share of two limits of the machine over the same bytes.
    var shareOfCopy: Double, shareOfMasks: Double

    /// Bytes a second, of the shortest pass.
    var bytesPerSecond: Double { Double(self.byteCount) / self.bestSeconds }
    /// Bytes a second, of the pass in the middle.
    var medianBytesPerSecond: Double { Double(self.byteCount) / self.medianSeconds }
    /// Events a second, of the shortest pass.
    var eventsPerSecond: Double { Double(self.eventCount) / self.bestSeconds }
    /// Nanoseconds an event, of the shortest pass.
    var nanosecondsPerEvent: Double { self.bestSeconds / Double(self.eventCount) * 1e9 }
}

/// Everything that one run measured.
struct Run: Codable {
    /// How it was measured.
    var settings: RunSettings
    /// What the machine can do, a corpus each.
    var limits: [MachineLimits]
    /// What the parser did.
    var measurements: [Measurement]
}

/// How a run was measured.
struct RunSettings: Codable {
    /// The name of the clock.
    var clock: String
    /// How often each pass was timed.
    var repetitions: Int
    /// The core that the thread was kept on; nil when it was not.
    var core: Int?
    /// The instructions that the masks were counted with.
    var instructionSet: String
    /// The seed of each corpus that was measured.
    var seeds: [String: UInt64] = [:]
}

/// Measures the workloads of one corpus over one copy of it.
struct CorpusMeasurer {
    private let corpus: Corpus
    private let input: EventStreamInput
    private let clock: Clock
    private let repetitions: Int
    /// What the machine does with the stream.
    let limits: MachineLimits

    /// Builds the stream, large enough for all `workloads`, and measures the machine over it.
    init(_ corpus: Corpus, workloads: [Workload], clock: Clock, repetitions: Int) throws {
        self.corpus = corpus
        self.clock = clock
        self.repetitions = repetitions
        let sizes = Set(workloads.map(\.byteCount)).sorted()
        self.input = corpus.makeInput(byteCount: sizes.last ?? 0, marks: sizes)
        self.limits = try self.input.bytes.withUnsafeBytes { bytes in
            try MachineLimits(corpus: corpus, bytes: bytes, clock: clock, repetitions: repetitions)
        }
    }

    /// Measures a workload.
    ///
    /// - Throws: ``WrongResultError`` when a pass does not find what the generator knows
    func measure(_ workload: Workload) throws -> Measurement {
        guard let prefix = self.input.prefixes.first(where: { $0.byteCount >= workload.byteCount }) else {
            preconditionFailure("the stream is as large as the largest workload")
        }
        return try self.input.bytes.withUnsafeBytes { whole in
            let bytes = UnsafeRawBufferPointer(rebasing: whole[..<prefix.byteCount])
            var parser = EventStreamParser()
            try expectSame(
                workload.name, expected: prefix.facts,
                found: parser.facts(of: bytes, chunkByteCount: workload.chunkByteCount))
            let allocations = cac_allocation_count()
            let tally = try parser.tally(of: bytes, chunkByteCount: workload.chunkByteCount)
            let allocationCount = cac_allocation_count() - allocations
            let expected = Tally(eventCount: prefix.facts.eventCount, dataByteCount: prefix.facts.dataByteCount)
            try expectSame(workload.name, expected: expected, found: tally)
            let timing = try self.time(workload, bytes, expected)
            let speed = Double(bytes.count) / timing.best
            return Measurement(
                workload: workload.name, byteCount: bytes.count, eventCount: expected.eventCount,
                bestSeconds: timing.best, medianSeconds: timing.median, seconds: timing.times,
                allocationsPerEvent: Double(allocationCount) / Double(expected.eventCount),
                shareOfCopy: speed / self.limits.copyInPieces.best,
                shareOfMasks: speed / self.limits.lineTerminatorMasks.best)
        }
    }

    /// Times bare passes of fresh parsers, each of which must count the same.
    private func time(_ workload: Workload, _ bytes: UnsafeRawBufferPointer, _ expected: Tally) throws -> Timing {
        var timing = Timing()
        for _ in 0..<self.repetitions {
            var tally = Tally()
            let time = try self.clock.measure {
                var parser = EventStreamParser()
                tally = try parser.tally(of: bytes, chunkByteCount: workload.chunkByteCount)
            }
            try expectSame(workload.name, expected: expected, found: tally)
            timing.add(time)
        }
        return timing
    }
}
