// `sse-throughput`: measures workloads, and compares them with the bars.

import BenchmarkResults

/// Measures workloads, and prints a table.
struct MeasureCommand {
    /// The arguments of the command.
    let options: Options

    private static let table = Table(widths: [26, 9, 8, 11, 10])

    /// Measures everything.
    ///
    /// - Returns: whether every bar was reached
    func run() throws -> Bool {
        pinToCore(self.options.core)
        Self.table.print(["workload", "MB/s", "spread", "M events/s", "allocs/ev"])
        var measurements: [Measurement] = []
        var isReached = true
        let workloads = self.workloads
        for corpus in Corpus.allCases where workloads.contains(where: { $0.corpus == corpus }) {
            let chosen = workloads.filter { $0.corpus == corpus }
            let measurer = CorpusMeasurer(
                corpus, workloads: chosen, stopwatch: Stopwatch(least: self.options.repetitions))
            for workload in chosen {
                let measurement = try measurer.measure(workload)
                measurements.append(measurement)
                let bar = Bar(of: workload)
                let least = bar?.bytesPerSecond(of: measurement, among: measurements)
                let isHeld =
                    measurement.bytesPerSecond >= least ?? 0
                    && (corpus == .longLines || measurement.allocationsPerEvent <= Bar.allocationsPerEvent)
                isReached = isReached && isHeld
                Self.print(measurement, bar.map { "\($0.text)\(isHeld ? "" : " MISSED")" } ?? "")
                try self.options.results?.append(
                    measurement.figures(atLeast: least)
                        + (workload.chunkByteCount == Workload.standardChunkByteCount
                            ? [measurer.limit.figure(workload: workload)] : []))
            }
        }
        return isReached
    }

    /// The workloads that were named, after those that their bars compare them with.
    private var workloads: [Workload] {
        let wanted = self.options.workloads.isEmpty ? Workload.all : self.options.workloads
        let references = wanted.compactMap { Bar(of: $0)?.reference }.filter { !wanted.contains($0) }
        return references + wanted
    }

    private static func print(_ measurement: Measurement, _ verdict: String) {
        self.table.print([
            measurement.workload.name, fixed(measurement.bytesPerSecond / 1e6, 0), measurement.speeds.spread,
            fixed(measurement.eventsPerSecond / 1e6, 2), fixed(measurement.allocationsPerEvent, 3), verdict,
        ])
    }
}
