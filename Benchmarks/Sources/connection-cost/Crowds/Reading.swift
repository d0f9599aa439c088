// A measured value, and its bar.
import BenchmarkResults

/// A value that was measured several times, with its bar.
struct Reading {
    /// The figure for the results.
    let figure: ResultFigure

    /// Makes a reading of a workload; `bar` applies to the median.
    init(
        _ group: String, _ workload: String, way: String = "", _ measure: String, _ runs: [Double], _ unit: String,
        subject: String = ResultFigure.ownSubject, better: ResultFigure.Direction = .lower,
        bar: ResultFigure.Bar? = nil
    ) {
        self.figure = ResultFigure(
            group: group, workload: workload, subject: subject, way: way, measure: measure, unit: unit, better: better,
            runs: runs, bar: bar)
    }

    /// Whether the median holds the bar; a reading without runs does not.
    var isHeld: Bool {
        let median = self.figure.runs.median
        return !median.isNaN && median <= self.figure.bar?.atMost ?? .infinity
            && median >= self.figure.bar?.atLeast ?? -.infinity
    }

    /// The row of a table: median, unit and spread.
    var line: String {
        let figure = self.figure
        let name = [figure.subject, figure.way, figure.measure].filter { !$0.isEmpty }.joined(separator: ", ")
        let value = Self.text(figure.runs.median) + " " + figure.unit
        return "  " + Self.padded(name, to: 44) + Self.padded(value, to: 20) + figure.runs.spread
            + (self.isHeld ? "" : "  MISSED")
    }

    private static func text(_ value: Double) -> String {
        guard value.isFinite else { return "none" }
        return value < 1_000 ? "\((value * 100).rounded() / 100)" : "\(Int(value.rounded()))"
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
