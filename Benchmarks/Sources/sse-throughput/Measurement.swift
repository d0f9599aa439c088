// Measures workloads: checks the outcome first, counts allocations, then times bare passes.

import BenchmarkResults
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
    /// The shortest pass, in seconds.
    var bestSeconds: Double
    /// Each pass, in seconds.
    var seconds: [Double]
    /// Which share of its speed the core had in each; nil when that is not known.
    var paces: [Double]?
    /// Bytes a second on a core that nobody shares: in the middle of the calmer half of the passes.
    ///
    /// Of the shortest pass when nothing is known of the core.
    var bytesPerSecond: Double
    /// Calls of the allocator by an event, once the parser has seen such a stream.
    var allocationsPerEvent: Double
    /// That speed as a share of two limits of the machine over such bytes, which are read in the same way.
    var shareOfCopy: Double, shareOfMasks: Double

    /// Bytes a second, of the shortest pass.
    var bestBytesPerSecond: Double { Double(self.byteCount) / self.bestSeconds }
    /// Events a second, on a core that nobody shares.
    var eventsPerSecond: Double { self.bytesPerSecond / Double(self.byteCount) * Double(self.eventCount) }
    /// Nanoseconds an event, on a core that nobody shares.
    var nanosecondsPerEvent: Double { 1e9 / self.eventsPerSecond }
    /// Which share of its speed the core had in all passes together; nil when that is not known.
    var pace: Double? { self.paces.map { $0.reduce(0, +) / Double($0.count) } }
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
    /// How often each pass was timed at least.
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
    private let repetition: Repetition
    /// What the machine does with the stream.
    let limits: MachineLimits

    /// Builds the stream, large enough for all `workloads`, and measures the machine over it.
    init(_ corpus: Corpus, workloads: [Workload], repetition: Repetition) throws {
        self.corpus = corpus
        self.repetition = repetition
        let sizes = Set(workloads.map(\.byteCount)).sorted()
        self.input = corpus.makeInput(byteCount: sizes.last ?? 0, marks: sizes)
        self.limits = try self.input.bytes.withUnsafeBytes { bytes in
            try MachineLimits(corpus: corpus, bytes: bytes, repetition: repetition)
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
            let speed = Speed(try self.time(workload, bytes, expected))
            let seconds = speed.runs.map { Double(bytes.count) / $0 }
            return Measurement(
                workload: workload.name, byteCount: bytes.count, eventCount: expected.eventCount,
                bestSeconds: seconds.min() ?? .infinity, seconds: seconds, paces: speed.paces,
                bytesPerSecond: speed.calm,
                allocationsPerEvent: Double(allocationCount) / Double(expected.eventCount),
                shareOfCopy: speed.calm / self.limits.copy.calm,
                shareOfMasks: speed.calm / self.limits.lineTerminatorMasks.calm)
        }
    }

    /// Times bare passes of fresh parsers, each of which must count the same.
    private func time(_ workload: Workload, _ bytes: UnsafeRawBufferPointer, _ expected: Tally) throws -> PacedRuns {
        try self.repetition.speeds(of: bytes.count) { clock in
            var tally = Tally()
            let time = try clock.measure {
                var parser = EventStreamParser()
                tally = try parser.tally(of: bytes, chunkByteCount: workload.chunkByteCount)
            }
            try expectSame(workload.name, expected: expected, found: tally)
            return time
        }
    }
}
