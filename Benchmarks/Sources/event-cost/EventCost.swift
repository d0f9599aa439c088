// Measures what one event costs, from its bytes in the arena to the event in the consumer's hand.
import BenchmarkResults
import CMachine
import Foundation

/// The command: paths, shapes of events, and what to measure of them.
@main
struct EventCost {
    static func main() {
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
            // Whoever counts instructions counts those of every thread.
            if options.iterations == nil { self.takeCore() }
            try OneThread.run { try await self.run(options) }
        } catch {
            FileHandle.standardError.write(Data("event-cost: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Stays on the second core, where there is one, and looks how fast it is.
    private static func takeCore() {
        let second = cmachine_usable_core(1)
        let core = cmachine_pin_to_core(second < 0 ? cmachine_usable_core(0) : second)
        CorePace.start(onCore: core)
    }

    private static func run(_ options: Options) async throws {
        for workload in try options.workloads() {
            for path in options.paths {
                let measurement = Measurement(path: path, workload: workload)
                if let iterations = options.iterations {
                    try await measurement.runBare(passCount: iterations)
                } else {
                    let cost = try await measurement.measure(repetitions: options.repetitions)
                    print(cost.line)
                    try options.results?.append(cost.figures)
                }
            }
        }
    }
}
