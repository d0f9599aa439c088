// The figures that the benchmarks' programs write, one JSON object a line: see Benchmarks/Runner/figures.py.
import Foundation

/// A value that was measured several times, of one subject at one workload.
public struct ResultFigure: Encodable, Sendable {
    /// The direction in which a value is better.
    public enum Direction: String, Encodable, Sendable {
        /// More is better: a speed.
        case higher
        /// Less is better: a cost.
        case lower
    }

    /// The limits of a value.
    public struct Bar: Encodable, Sendable {
        /// The least value; nil when there is no such limit.
        public let atLeast: Double?
        /// The greatest value; nil when there is no such limit.
        public let atMost: Double?
        /// The share of the runs that lie below the run that the limits apply to; nil for the median.
        public let quantile: Double?

        /// Makes a bar; one limit is enough.
        public init(atLeast: Double? = nil, atMost: Double? = nil, quantile: Double? = nil) {
            self.atLeast = atLeast
            self.atMost = atMost
            self.quantile = quantile
        }
    }

    /// The subject that is this package.
    public static let ownSubject = "chappie"
    /// The subject that is the machine, as a bound for all programs.
    public static let machineSubject = "machine"

    /// The kind of measurement, such as `end-to-end`.
    public let group: String
    /// The name of the workload, unique in its group, such as `websocket-plain-1`.
    public let workload: String
    /// The program that was measured: ``ownSubject`` or ``machineSubject``.
    public let subject: String
    /// The interface of the subject, such as `batches()`; empty when it has one only.
    public let way: String
    /// The quantity that was measured, such as `throughput`.
    public let measure: String
    /// The unit of the values, such as `events/s`.
    public let unit: String
    /// The direction in which values are better.
    public let better: Direction
    /// The value of each run, in the order in which they were measured.
    public let runs: [Double]
    /// The bar for the median or for a quantile; nil when there is none.
    public let bar: Bar?

    /// Makes a figure.
    public init(
        group: String, workload: String, subject: String = Self.ownSubject, way: String = "", measure: String,
        unit: String, better: Direction = .lower, runs: [Double], bar: Bar? = nil
    ) {
        self.group = group
        self.workload = workload
        self.subject = subject
        self.way = way
        self.measure = measure
        self.unit = unit
        self.better = better
        self.runs = runs
        self.bar = bar
    }
}

/// A file with a line for each figure.
public struct ResultFile: Sendable {
    private let path: String

    /// Names a file, which need not exist.
    public init(path: String) { self.path = path }

    /// Appends figures; creates the file when it does not exist.
    /// - Throws: the error of the file system
    public func append(_ figures: [ResultFigure]) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var lines = Data()
        for figure in figures { lines += try encoder.encode(figure) + Data("\n".utf8) }
        if !FileManager.default.fileExists(atPath: self.path) {
            try Data().write(to: URL(filePath: self.path))
        }
        let file = try FileHandle(forWritingTo: URL(filePath: self.path))
        defer { try? file.close() }
        try file.seekToEnd()
        try file.write(contentsOf: lines)
    }
}
