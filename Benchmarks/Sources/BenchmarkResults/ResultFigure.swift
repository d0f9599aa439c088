// What the benchmarks' programs say of what they have measured: one JSON object a line, for whoever makes a report.
import Foundation

/// A value that was measured several times, of one subject at one workload.
public struct ResultFigure: Encodable, Sendable {
    /// Which way is better.
    public enum Direction: String, Encodable, Sendable {
        /// More is better: a speed.
        case higher
        /// Less is better: a cost.
        case lower
    }

    /// What a value may be.
    public struct Bar: Encodable, Sendable {
        /// The least that the value may be; nil when there is no such limit.
        public var atLeast: Double?
        /// The most that it may be.
        public var atMost: Double?
        /// Which of the runs is held against it: the one below which such a part of them lies; nil for the median.
        public var quantile: Double?

        /// Makes a bar; one limit is enough.
        public init(atLeast: Double? = nil, atMost: Double? = nil, quantile: Double? = nil) {
            self.atLeast = atLeast
            self.atMost = atMost
            self.quantile = quantile
        }
    }

    /// The subject that is this package.
    public static let ownSubject = "chappie"
    /// The subject that is the machine: what no program can pass.
    public static let machineSubject = "machine"

    /// What kind of question it answers, such as `end-to-end`.
    public var group: String
    /// What was to be done, unique in its group, such as `websocket-plain-1`.
    public var workload: String
    /// Who did it: ``ownSubject``, ``machineSubject``, or a peer's name.
    public var subject: String
    /// In which of its ways the subject did it, such as `batches()`; empty when it has one only.
    public var way: String
    /// What was measured, such as `throughput`.
    public var measure: String
    /// What the values are in, such as `events/s`.
    public var unit: String
    /// Which way is better; nil when neither is.
    public var better: Direction?
    /// The value of each run, in the order in which they were measured.
    public var runs: [Double]
    /// What the value in the middle may be, or another that it names; nil when there is no bar.
    public var bar: Bar?

    /// Makes a figure.
    public init(
        group: String, workload: String, subject: String = Self.ownSubject, way: String = "", measure: String,
        unit: String, better: Direction? = .lower, runs: [Double], bar: Bar? = nil
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

/// A file that gets a line for each figure.
public struct ResultFile: Sendable {
    private let path: String

    /// Names a file, which need not be there.
    public init(path: String) { self.path = path }

    /// Adds figures at its end; the file is made when it is not there.
    /// - Throws: what the file system says
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
