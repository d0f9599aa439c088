// What was measured, as lines of results.

import BenchmarkResults

extension Run {
    /// The parser's figures, and beside those of the usual chunks what the machine does with such bytes.
    var figures: [ResultFigure] {
        self.measurements.flatMap { self.figures(of: $0) }
    }

    private func figures(of measurement: Measurement) -> [ResultFigure] {
        let corpus = String(measurement.workload.prefix { $0 != "/" })
        let workload = Workload.named(measurement.workload)?.first
        let work = ResultFigure.Work(
            eventCount: measurement.eventCount, byteCount: measurement.byteCount, seed: self.settings.seeds[corpus])
        let speeds = measurement.seconds.map { Double(measurement.byteCount) / $0 }
        // Smaller chunks are limited by their number, and not by what the machine does with bytes.
        let isLimited = workload?.chunkByteCount == Workload.standardChunkByteCount
        let limits = isLimited ? self.limits.first { $0.corpus == corpus } : nil
        let least = workload.flatMap { Bar(of: $0) }
            .flatMap { $0.bytesPerSecond(of: measurement, among: self.measurements) }
        // Where nothing is known of the core, the best pass tells of the parser and the others of the machine.
        let quantile = measurement.paces == nil ? 1.0 : nil
        var throughput = ResultFigure(
            group: "parser", workload: measurement.workload, measure: "throughput", unit: "bytes/s",
            better: .higher, runs: speeds, bar: least.map { .init(atLeast: $0, quantile: quantile) }, work: work)
        throughput.paces = measurement.paces
        return [
            throughput,
            ResultFigure(
                group: "parser", workload: measurement.workload, measure: "allocations", unit: "/event",
                runs: [measurement.allocationsPerEvent], work: work),
        ] + (limits?.figures(workload: measurement.workload) ?? [])
    }
}

extension MachineLimits {
    /// The speeds of the simplest passes over the bytes of a workload.
    fileprivate func figures(workload: String) -> [ResultFigure] {
        let speeds = [
            ("memcpy, 16 KiB at a time", self.copy), ("masks of CR and LF", self.lineTerminatorMasks),
            ("memchr from LF to LF", self.memchrSweep),
        ]
        return speeds.map { way, speed in
            var figure = ResultFigure(
                group: "parser", workload: workload, subject: ResultFigure.machineSubject, way: way,
                measure: "throughput", unit: "bytes/s", better: .higher, runs: speed.runs)
            figure.paces = speed.paces
            return figure
        }
    }
}

extension Growth {
    /// The time of each size that was measured.
    var figures: [ResultFigure] {
        zip(self.byteCounts, self.runs).filter { !$1.isEmpty }.map { byteCount, seconds in
            var figure = ResultFigure(
                group: "growth", workload: "\(self.shape)/\(byteCount)", measure: "time", unit: "µs",
                runs: seconds.map { $0 * 1e6 })
            figure.amount = Double(byteCount)
            return figure
        }
    }
}
