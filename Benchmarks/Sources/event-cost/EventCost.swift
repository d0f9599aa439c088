// Sends events from their bytes in the arena to the consumer, for programs that count instructions and allocations:
// Benchmarks/Runner/budgets.py.
import Foundation

/// The command: how many passes, over which paths, with which shapes of events.
@main
struct EventCost {
    static func main() {
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
            try OneThread.run {
                for workload in options.shapes.map(Workload.init(shape:)) {
                    for path in options.paths {
                        try await Measurement(path: path, workload: workload).run(passes: options.passCount)
                    }
                }
            }
        } catch {
            FileHandle.standardError.write(Data("event-cost: \(error)\n".utf8))
            exit(1)
        }
    }
}
