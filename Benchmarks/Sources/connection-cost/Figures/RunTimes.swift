// The times of a run by two clocks.
import Foundation

/// The times of a run, in seconds.
struct RunTimes {
    /// Wall-clock time.
    let wall: Double
    /// Processor time of the process, all threads.
    let processor: Double

    /// Measures a run.
    init(of run: () async throws -> Void) async throws {
        let (processor, start) = (ProcessUse.processorTime, ContinuousClock.now)
        try await run()
        self.wall = (ContinuousClock.now - start) / .seconds(1)
        self.processor = ProcessUse.processorTime - processor
    }
}
