// One line of the table.
import ChappieTransport
import Foundation

/// A figure that was measured several times, and what it may be at most.
struct Figure {
    /// What was measured.
    let name: String
    /// What its values are in.
    let unit: String
    /// In ascending order.
    let values: [Double]
    /// What the value at `boundedQuantile` may be at most; nil for a figure that others are compared with.
    let bound: Double?
    /// Which of the values is compared with the bound.
    var boundedQuantile = 0.99

    init(_ name: String, unit: String = "ms", values: [Double], bound: Double?) {
        self.name = name
        self.unit = unit
        self.values = values.sorted()
        self.bound = bound
    }

    var median: Double { self.value(at: 0.5) }

    var isHeld: Bool { self.bound.map { self.value(at: self.boundedQuantile) <= $0 } ?? true }

    /// The value below which such a part of all lies.
    func value(at quantile: Double) -> Double {
        guard let last = self.values.indices.last else { return .infinity }
        return self.values[min(last, Int((Double(self.values.count) * quantile).rounded(.down)))]
    }

    static let heading = Self.row("figure", ["runs", "p50", "p99", "max", "bound"], "")

    var line: String {
        let numbers = [self.median, self.value(at: 0.99), self.values.last ?? .infinity].map { Self.text($0) }
        let bound = self.bound.map { Self.text($0) + " " + self.unit } ?? ""
        let verdict = self.bound == nil ? "" : self.isHeld ? "held" : "NOT HELD"
        return Self.row(self.name, ["\(self.values.count)"] + numbers + [bound], verdict)
    }

    private static func text(_ value: Double) -> String { String(format: "%.2f", value) }

    private static func row(_ name: String, _ columns: [String], _ verdict: String) -> String {
        func padded(_ text: String, to width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        let columns = columns.map { padded($0, to: 11) }.joined()
        return name + String(repeating: " ", count: max(1, 44 - name.count)) + columns + "  " + verdict
    }
}

extension Duration {
    /// As a floating-point number.
    var milliseconds: Double {
        let (seconds, attoseconds) = self.components
        return Double(seconds) * 1e3 + Double(attoseconds) / 1e15
    }
}

extension ChappieTransportConfiguration {
    /// For a server of this process, without delays between attempts.
    static func loopback(_ baseURL: String, _ change: (inout Self) -> Void = { _ in }) throws -> Self {
        guard let url = URL(string: baseURL) else { throw URLError(.badURL) }
        var configuration = Self(baseURL: url)
        configuration.reconnectDelay = .zero
        configuration.circuitBreaker = .disabled
        configuration.proxy = .none
        change(&configuration)
        return configuration
    }
}
