// What came out, and what may come out.
import BenchmarkResults

/// A value that was measured several times, and what it may be.
struct Reading {
    /// What the table calls it.
    let label: String
    /// What the values are in.
    let unit: String
    /// In the order in which they were measured.
    private let runs: PacedRuns
    /// What the median may be; nil for what is measured only for comparison.
    let bar: ResultFigure.Bar?
    private var figure: ResultFigure?

    /// Makes one whose value may be `bar` at most.
    init(_ label: String, _ runs: [Double], _ unit: String, bar: Double? = nil) {
        self.init(label, PacedRuns(runs), unit, bar: bar)
    }

    /// The same, of runs of which it is known how fast the core was.
    init(_ label: String, _ runs: PacedRuns, _ unit: String, bar: Double? = nil) {
        self.init(label, runs, unit, barred: bar.map { ResultFigure.Bar(atMost: $0) })
    }

    /// Makes one whose value is at least something.
    init(_ label: String, _ runs: [Double], _ unit: String, atLeast: Double?) {
        self.init(label, PacedRuns(runs), unit, atLeast: atLeast)
    }

    /// The same, of runs of which it is known how fast the core was.
    init(_ label: String, _ runs: PacedRuns, _ unit: String, atLeast: Double?) {
        self.init(label, runs, unit, barred: atLeast.map { ResultFigure.Bar(atLeast: $0) })
    }

    private init(_ label: String, _ runs: PacedRuns, _ unit: String, barred: ResultFigure.Bar?) {
        self.label = label
        self.unit = unit
        self.runs = runs
        self.bar = barred
    }

    /// The same, with what the results say of it.
    ///
    /// The runs and the bar of the figure are the reading's, whatever it has; its unit has to be that of the same values.
    func reported(as figure: ResultFigure) -> Self {
        var copy = self
        copy.figure = figure
        copy.figure?.runs = self.runs.runs
        copy.figure?.paces = self.runs.paces
        copy.figure?.bar = self.bar
        return copy
    }

    /// The same, with what the results say of it.
    ///
    /// `unit`: nil when the results call it as the table does. `amount`: how much of something the workload is.
    func reported(
        _ group: String, _ workload: String, subject: String = ResultFigure.ownSubject, way: String = "",
        measure: String, unit: String? = nil, better: ResultFigure.Direction? = .lower,
        work: ResultFigure.Work? = nil, amount: Double? = nil, distribution: [[Double]]? = nil, decodes: Bool? = nil
    ) -> Self {
        var figure = ResultFigure(
            group: group, workload: workload, subject: subject, way: way, measure: measure, unit: unit ?? self.unit,
            better: better, runs: self.runs.runs, work: work)
        figure.amount = amount
        figure.distribution = distribution
        figure.decodes = decodes
        return self.reported(as: figure)
    }

    /// What the results say of it, after so many rounds; nil when they say nothing.
    func figure(rounds: Int) -> ResultFigure? {
        var figure = self.figure
        figure?.rounds = rounds > 1 ? rounds : nil
        return figure
    }

    /// The value in the middle.
    var median: Double { self.runs.median }

    /// Whether it is what it may be; a reading without runs is not.
    var isHeld: Bool {
        guard let bar = self.bar else { return !self.median.isNaN }
        return self.median <= bar.atMost ?? .infinity && self.median >= bar.atLeast ?? -.infinity
    }

    /// The row of a table.
    var line: String {
        let isLarge = abs(self.median) >= 100_000
        func number(_ value: Double) -> String { fixed(isLarge ? value / 1e6 : value) }
        let spread =
            if let low = self.runs.undisturbed.min(), let high = self.runs.undisturbed.max(), self.runs.runs.count > 1 {
                "\(number(low))–\(number(high))"
            } else {
                ""
            }
        let limits = [self.bar?.atMost.map { "<= \(number($0))" }, self.bar?.atLeast.map { ">= \(number($0))" }]
        let verdict = self.bar == nil ? "" : "  \(self.isHeld ? "ok" : "MISSED")"
        let pace = self.runs.pace.map { "  \(fixed($0 * 100)) % of its core" } ?? ""
        return "  " + padded(self.label, to: 46) + padded(number(self.median), to: -9) + " "
            + padded((isLarge ? "M " : "") + self.unit, to: 11) + padded(spread, to: 16)
            + limits.compactMap(\.self).joined(separator: " ") + verdict + pace
    }
}

/// A number with as many digits as say something.
func fixed(_ value: Double) -> String {
    guard value.isFinite else { return "none" }
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
