// Measures workloads: checks the result, counts allocations, then times passes.

import BenchmarkResults
import CAllocationCounter
import ServerSentEvents

/// The measurement of one workload.
struct Measurement {
    let workload: Workload
    /// The size of its stream in bytes.
    let byteCount: Int
    /// The number of its events.
    let eventCount: Int
    /// The bytes a second of each pass.
    let speeds: [Double]
    /// The calls of the allocator for an event, by a parser that has parsed the stream before.
    let allocationsPerEvent: Double

    /// The median of the bytes a second.
    var bytesPerSecond: Double { self.speeds.median }
    /// The median of the events a second.
    var eventsPerSecond: Double { self.bytesPerSecond / Double(self.byteCount) * Double(self.eventCount) }

    /// The figures for the results, with the bar that was computed for the speed.
    func figures(atLeast: Double?) -> [ResultFigure] {
        [
            ResultFigure(
                group: "parser", workload: self.workload.name, measure: "throughput", unit: "bytes/s", better: .higher,
                runs: self.speeds, bar: atLeast.map { .init(atLeast: $0) }),
            ResultFigure(
                group: "parser", workload: self.workload.name, measure: "allocations", unit: "/event",
                runs: [self.allocationsPerEvent],
                bar: self.workload.corpus == .longLines ? nil : .init(atMost: Bar.allocationsPerEvent)),
        ]
    }
}

/// Measures the workloads of one corpus over one copy of it.
struct CorpusMeasurer {
    private let input: EventStreamInput
    private let stopwatch: Stopwatch
    /// The speed at which the machine copies the stream.
    let limit: MachineLimit

    /// Builds the stream, large enough for all `workloads`, and measures the machine over it.
    init(_ corpus: Corpus, workloads: [Workload], stopwatch: Stopwatch) {
        self.stopwatch = stopwatch
        let sizes = Set(workloads.map(\.byteCount)).sorted()
        self.input = corpus.makeInput(byteCount: sizes.last ?? 0, marks: sizes)
        self.limit = self.input.bytes.withUnsafeBytes { MachineLimit(bytes: $0, stopwatch: stopwatch) }
    }

    /// Measures a workload.
    ///
    /// - Throws: ``WrongResultError`` when a pass differs from the facts of the generator
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
            return Measurement(
                workload: workload, byteCount: bytes.count, eventCount: expected.eventCount,
                speeds: try self.time(workload, bytes, expected),
                allocationsPerEvent: Double(allocationCount) / Double(expected.eventCount))
        }
    }

    /// Times passes of fresh parsers, each of which must have the expected counts.
    private func time(_ workload: Workload, _ bytes: UnsafeRawBufferPointer, _ expected: Tally) throws -> [Double] {
        try self.stopwatch.speeds(of: bytes.count) {
            var tally = Tally()
            let time = try Stopwatch.measure {
                var parser = EventStreamParser()
                tally = try parser.tally(of: bytes, chunkByteCount: workload.chunkByteCount)
            }
            try expectSame(workload.name, expected: expected, found: tally)
            return time
        }
    }
}
