// What is measured, and what may come out.

/// A thing to measure.
struct Figure {
    let name: String
    let summary: String
    let measure: @Sendable (Options) async throws -> [Reading]

    /// All of them.
    static let all = ThroughputFigures.all + MemoryFigures.all + [LatencyFigure.figure, SlowReaderFigure.figure]

    func matches(_ filter: String) -> Bool { filter.isEmpty || self.name.contains(filter) }
}

/// A value that was measured several times, and what it may be at most.
struct Reading {
    let label: String
    let unit: String
    /// In ascending order.
    private let values: [Double]
    /// Nil for what is measured only for comparison.
    let bar: Double?

    init(_ label: String, _ values: [Double], _ unit: String, bar: Double? = nil) {
        self.label = label
        self.unit = unit
        self.values = values.sorted()
        self.bar = bar
    }

    /// The value in the middle.
    var median: Double {
        guard let last = self.values.last else { return .infinity }
        let middle = self.values.count / 2
        return self.values.count % 2 == 1
            ? self.values[middle] : (self.values[middle - 1] + min(last, self.values[middle])) / 2
    }

    var isHeld: Bool { self.bar.map { self.median <= $0 } ?? true }

    /// The row of a table.
    var line: String {
        let spread =
            self.values.count > 1 ? "\(fixed(self.values[0]))–\(fixed(self.values[self.values.count - 1]))" : ""
        let verdict = self.bar.map { "<= \(fixed($0))  \(self.isHeld ? "ok" : "ABOVE")" } ?? ""
        return "  " + padded(self.label, to: 46) + padded(fixed(self.median), to: -9) + " " + padded(self.unit, to: 7)
            + padded(spread, to: 16) + verdict
    }
}

/// A number with as many digits as say something.
func fixed(_ value: Double) -> String {
    let digits = abs(value) < 10 ? 2 : abs(value) < 100 ? 1 : 0
    var text = String(Int((abs(value) * (digits == 2 ? 100 : digits == 1 ? 10 : 1)).rounded()))
    if digits > 0 {
        while text.count <= digits { text = "0" + text }
        text.insert(".", at: text.index(text.endIndex, offsetBy: -digits))
    }
    return (value < 0 ? "-" : "") + text
}

/// Text of a width; a negative one puts the spaces before it.
func padded(_ text: String, to width: Int) -> String {
    let spaces = String(repeating: " ", count: max(0, abs(width) - text.count))
    return width < 0 ? spaces + text : text + spaces
}
