// One line of the table, and of the results.
import BenchmarkResults
import Foundation

/// A figure that was measured several times, and its bound.
struct Figure {
    /// The figure for the results.
    let result: ResultFigure
    /// The bound of the 99th percentile; nil when there is none.
    private let bound: Double?
    /// The runs in ascending order.
    private let values: [Double]

    init(
        _ group: String, _ workload: String, way: String = "", measure: String = "time", unit: String = "ms",
        runs: [Double], bound: Double? = nil
    ) {
        self.result = ResultFigure(
            group: group, workload: workload, way: way, measure: measure, unit: unit, runs: runs,
            bar: bound.map { .init(atMost: $0, quantile: 0.99) })
        self.values = runs.sorted()
        self.bound = bound
    }

    var median: Double { self.values.median }

    var isHeld: Bool { self.bound.map { self.value(at: 0.99) <= $0 } ?? true }

    /// The value below which a share of all lies.
    private func value(at quantile: Double) -> Double {
        guard let last = self.values.indices.last else { return .infinity }
        return self.values[min(last, Int((Double(self.values.count) * quantile).rounded(.down)))]
    }

    static let heading = Self.row("figure", ["runs", "p50", "p99", "max", "bound"], "")

    /// The row of the table.
    var line: String {
        let numbers = [self.median, self.value(at: 0.99), self.values.last ?? .infinity].map { Self.text($0) }
        let bound = self.bound.map { Self.text($0) + " " + self.result.unit } ?? self.result.unit
        let verdict = self.bound == nil ? "" : "p99 \(self.isHeld ? "held" : "NOT HELD")"
        let name = ["\(self.result.group)/\(self.result.workload)", self.result.way, self.result.measure]
        return Self.row(
            name.filter { !$0.isEmpty && $0 != "time" }.joined(separator: ", "),
            ["\(self.values.count)"] + numbers + [bound], verdict)
    }

    private static func text(_ value: Double) -> String { String(format: "%.2f", value) }

    private static func row(_ name: String, _ columns: [String], _ verdict: String) -> String {
        func padded(_ text: String, to width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        let columns = columns.map { padded($0, to: 12) }.joined()
        return name + String(repeating: " ", count: max(1, 52 - name.count)) + columns + "  " + verdict
    }
}

extension Duration {
    /// As a floating-point number.
    var milliseconds: Double {
        let (seconds, attoseconds) = self.components
        return Double(seconds) * 1e3 + Double(attoseconds) / 1e15
    }
}
