// Sends events from their bytes in the arena to the consumer, while instructions and allocations are counted:
// Benchmarks/Runner/budgets.py.
import Foundation

/// The command: passes over one path, with events of one shape.
@main
struct EventCost {
    static func main() {
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            try OneThread.run {
                let workload = Workload(shape: options.shape, dialect: options.path.dialect)
                let measurement = Measurement(path: options.path, workload: workload)
                try await measurement.run(passes: options.passCount)
            }
        } catch {
            FileHandle.standardError.write(Data("event-cost: \(error)\n".utf8))
            exit(1)
        }
    }
}
