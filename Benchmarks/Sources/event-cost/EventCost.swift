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

    /// Stays on the last core, and looks how fast it is.
    private static func takeCore() {
        CorePace.start(onCore: cmachine_pin_to_core(cmachine_usable_core(-1)))
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
