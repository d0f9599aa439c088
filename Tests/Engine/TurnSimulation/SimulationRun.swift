// Many series on several threads.

package import PromiseRecord
import StreamTransport

/// Runs series of turns, each from a seed of its own, until there are enough turns or a promise is broken.
package struct SimulationRun: Sendable {
    /// The outcome of a run.
    package struct Result: Sendable {
        /// The facts that occurred.
        package var coverage = Coverage()
        /// The first broken promise of each thread that found one.
        package var findings: [Finding] = []
    }

    /// A broken promise, and the seed that breaks it again.
    package struct Finding: Sendable {
        /// The seed of the series.
        package let seed: UInt64
        /// The violation.
        package let violation: PromiseChecker.Violation
        /// The trace, if it was asked for.
        package let trace: [String]
    }

    /// The least number of turns to run.
    package var turnCount: Int
    /// The first series' seed; the next ones count on.
    package var seed: UInt64
    /// The number of threads.
    package var jobCount = 1
    /// Indicates whether a broken promise is recorded, and the run continues.
    package var keepsGoing = false
    /// The options of all series.
    package var options = SimulationOptions()
    /// Told of the trace of each series, if one is written.
    package var report: @Sendable ([String]) -> Void = { _ in }

    /// The file for records of series, one in `recordStride` of them.
    package var records: PromiseRecordFile?
    /// One series in how many is recorded.
    package var recordStride = 50

    /// A run of `turnCount` turns.
    package init(turnCount: Int, seed: UInt64) {
        self.turnCount = turnCount
        self.seed = seed
    }

    /// Runs everything, on threads of its own.
    package func run() async -> Result {
        let result = LockedValue(Result())
        await withTaskGroup { group in
            for job in 0..<max(1, self.jobCount) {
                group.addTask {
                    await SimulationScheduler.runOnThread { await self.work(job: job, on: $0, result: result) }
                }
            }
        }
        return result.withLock { $0 }
    }

    private func work(job: Int, on scheduler: SimulationScheduler, result: LockedValue<Result>) async {
        let jobCount = max(1, self.jobCount)
        var coverage = Coverage()
        var seed = self.seed &+ UInt64(job)
        while coverage.turnCount * jobCount < self.turnCount, self.goesOn(result) {
            scheduler.seed = seed
            var options = self.options
            options.isRecording = self.records != nil && (seed &- self.seed) % UInt64(self.recordStride) == 0
            let outcome = await SimulatedSeries(seed: seed, options: options).run(on: scheduler)
            if let record = outcome.record { self.records?.write(record) }
            coverage.add(outcome.coverage)
            if self.options.isTracing { self.report(outcome.trace) }
            if let violation = outcome.violation {
                let finding = Finding(seed: seed, violation: violation, trace: outcome.trace)
                result.withLock { $0.findings.append(finding) }
            }
            seed &+= UInt64(jobCount)
        }
        let met = coverage
        result.withLock { $0.coverage.add(met) }
    }

    private func goesOn(_ result: LockedValue<Result>) -> Bool {
        self.keepsGoing || result.withLock { $0.findings.isEmpty }
    }
}
