// The costs of a turn besides its events: the time to the first text, with and without a WebSocket, the bytes and the
// time of a loop of tool calls, and the times to detect a dead peer and a cancellation. Everything is on loopback.
import BenchmarkResults
import ChappieTestServer
import Foundation

/// Measures everything, prints a table, and fails when a figure is past its bound.
@main struct RecoveryFigures {
    static func main() async {
        do {
            let settings = try Settings(CommandLine.arguments.dropFirst())
            exit(try await Self.measure(settings) ? 0 : 1)
        } catch let error as UsageError {
            Self.complain("\(error.message)\n\(Settings.usage)")
            exit(2)
        } catch {
            Self.complain("\(error)")
            exit(1)
        }
    }

    private static func measure(_ settings: Settings) async throws -> Bool {
        let measurements = Measurement.all.filter { $0.matches(settings.filter) }
        guard !measurements.isEmpty else { throw UsageError("no figure has '\(settings.filter)' in its name") }
        Cores.takeClientCore()
        let file = settings.resultsPath.map { ResultFile(path: $0) }
        let context = Context(runs: settings.runs)
        Self.print(Figure.heading)
        var areAllHeld = true
        for measurement in measurements {
            let figures = try await measurement.measure(context)
            for figure in figures { Self.print(figure.line) }
            try file?.append(figures.map(\.result))
            if !figures.allSatisfy(\.isHeld) { areAllHeld = false }
        }
        return areAllHeld
    }

    /// Prints without a buffer, also into a pipe.
    private static func print(_ line: String) {
        // The reader may have closed the pipe.
        try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    }

    private static func complain(_ text: String) {
        FileHandle.standardError.write(Data("recovery-figures: \(text)\n".utf8))
    }
}

/// A measurement, which a filter selects by its name.
struct Measurement: Sendable {
    let name: String
    let summary: String
    let measure: @Sendable (Context) async throws -> [Figure]

    init(_ name: String, _ summary: String, measure: @escaping @Sendable (Context) async throws -> [Figure]) {
        self.name = name
        self.summary = summary
        self.measure = measure
    }

    /// All of them.
    static let all =
        FirstText.all + ToolLoop.all + [DeadPeer.measurement, Cancellation.measurement]

    /// Whether a filter is a part of the name, or names one of its workloads.
    func matches(_ filter: String) -> Bool {
        filter.isEmpty || self.name.contains(filter) || filter.hasPrefix(self.name)
    }
}

/// The state that the measurements of one run of the program share.
///
/// It belongs to the task that measures.
final class Context {
    /// The number of runs of a short measurement.
    let runs: Int
    private var knownRoundTrip: Figure?

    init(runs: Int) { self.runs = runs }

    /// The first text over HTTP alone, which turns that begin with a failure are compared with.
    func roundTrip() async throws -> Figure {
        if let figure = self.knownRoundTrip { return figure }
        let figure = try await FirstText.roundTrip(runs: self.runs)
        self.knownRoundTrip = figure
        return figure
    }
}
