// Measures what one event costs, from its bytes in the arena to the event in the consumer's hand.

import Foundation

/// The command: a path, a workload, and what to measure of them.
@main
struct EventCost {
    /// Nothing here may run on the main actor: a consumer there pays for two changes of executors an event.
    static func main() async {
        let result = await Task.detached { () -> Result<Void, any Error> in
            do {
                try await Self.run(Options(CommandLine.arguments.dropFirst()))
                return .success(())
            } catch {
                return .failure(error)
            }
        }.value
        guard case .failure(let error) = result else { return }
        FileHandle.standardError.write(Data("event-cost: \(error)\n".utf8))
        exit(1)
    }

    private static func run(_ options: Options) async throws {
        for workload in try options.workloads() {
            for path in options.paths {
                let measurement = Measurement(path: path, workload: workload)
                if let iterations = options.iterations {
                    try await measurement.runBare(atLeast: iterations)
                } else {
                    try await measurement.report(repetitions: options.repetitions)
                }
            }
        }
    }
}
