// `sse-throughput`: measures workloads, and holds them against the bars.

import BenchmarkResults
import CMachine

/// Measures, prints, and says whether every bar was reached.
struct MeasureCommand {
    /// What was asked for.
    let options: Options

    private static let limitsTable = Table(widths: [20, 13, 13, 13])
    private static let table = Table(widths: [26, 9, 9, 7, 11, 11, 10, 8, 8])

    /// Measures everything.
    ///
    /// - Returns: whether every bar was reached, or none was asked for
    func run() throws -> Bool {
        let core = self.options.pin()
        if let core { CorePace.start(onCore: CInt(core)) }
        var run = Run(
            settings: RunSettings(
                clock: self.options.clock.rawValue, repetitions: self.options.repetitions, core: core,
                instructionSet: String(cString: cmachine_instruction_set())),
            limits: [], measurements: [])
        let workloads = self.workloads
        for corpus in Corpus.allCases where workloads.contains(where: { $0.corpus == corpus }) {
            run.settings.seeds[corpus.rawValue] = corpus.seed
            try self.measure(corpus, workloads.filter { $0.corpus == corpus }, into: &run)
        }
        self.printLimits(run)
        let isReached = self.printMeasurements(run)
        try self.options.writeJSON(run)
        try self.options.results?.append(run.figures)
        return isReached || !self.options.appliesBars
    }

    /// The workloads that were named, and those that their bars compare them with.
    private var workloads: [Workload] {
        var workloads = self.options.workloads.isEmpty ? Workload.all : self.options.workloads
        for reference in workloads.compactMap({ Bar(of: $0)?.reference }) where self.options.appliesBars {
            if !workloads.contains(reference) { workloads.append(reference) }
        }
        return workloads
    }

    private func measure(_ corpus: Corpus, _ workloads: [Workload], into run: inout Run) throws {
        let measurer = try CorpusMeasurer(
            corpus, workloads: workloads,
            repetition: Repetition(clock: self.options.clock, least: self.options.repetitions))
        run.limits.append(measurer.limits)
        for workload in workloads { run.measurements.append(try measurer.measure(workload)) }
    }

    private func printLimits(_ run: Run) {
        let core = run.settings.core.map { "core \($0)" } ?? "no fixed core"
        print("\(self.options.clock.rawValue) clock, \(core), \(run.settings.repetitions) passes or more")
        print("Speeds are those of a core that nobody shares: in the middle of the calmer half of the passes.")
        print(
            "The best pass counts where nothing is known of the core; its pace is the share of its speed that it had.")
        print("\nThe machine, MB/s, out of a core's own cache (memcpy by 16 KiB; masks of CR and LF", terminator: " ")
        print("by \(run.settings.instructionSet); memchr from LF to LF):\n")
        Self.limitsTable.print(["corpus", "memcpy 16 KiB", "masks", "memchr", "seed"])
        for limit in run.limits {
            let speeds = [limit.copy, limit.lineTerminatorMasks, limit.memchrSweep]
            let seed = String(run.settings.seeds[limit.corpus] ?? 0, radix: 16)
            Self.limitsTable.print([limit.corpus] + speeds.map { fixed($0.calm / 1e6, 0) } + ["0x" + seed])
        }
    }

    private func printMeasurements(_ run: Run) -> Bool {
        print("\nThe parser:\n")
        let bar = self.options.appliesBars ? ["bar"] : []
        Self.table.print(
            ["workload", "MB/s", "best", "pace", "M events/s", "ns/event", "allocs/ev", "% copy", "% masks"] + bar)
        var isReached = true
        for measurement in run.measurements {
            let verdict = self.options.appliesBars ? self.verdict(measurement, among: run.measurements) : nil
            if verdict?.isReached == false { isReached = false }
            Self.table.print(
                [
                    measurement.workload, fixed(measurement.bytesPerSecond / 1e6, 0),
                    fixed(measurement.bestBytesPerSecond / 1e6, 0), measurement.pace.map { fixed($0, 2) } ?? "-",
                    fixed(measurement.eventsPerSecond / 1e6, 2), fixed(measurement.nanosecondsPerEvent, 1),
                    fixed(measurement.allocationsPerEvent, 3), fixed(measurement.shareOfCopy * 100, 1),
                    fixed(measurement.shareOfMasks * 100, 1),
                ] + (verdict.map { [$0.text] } ?? []))
        }
        return isReached
    }

    /// Whether a measurement reaches its bars, and a text for the table.
    private func verdict(
        _ measurement: Measurement, among measurements: [Measurement]
    ) -> (isReached: Bool, text: String) {
        var texts: [String] = []
        var isReached = true
        let workload = Workload.named(measurement.workload)?.first
        if let bar = workload.flatMap({ Bar(of: $0) }) {
            let reached = bar.isReached(by: measurement, among: measurements)
            texts.append((reached ? "ok: " : "MISSED: ") + bar.text)
            isReached = reached
        }
        if workload?.corpus != .longLines, measurement.allocationsPerEvent > Bar.allocationsPerEvent {
            texts.append("MISSED: no allocations")
            isReached = false
        }
        return (isReached, texts.joined(separator: ", "))
    }
}
