// What the benchmarks' programs say of what they have measured: one JSON object a line, for whoever makes a report.
import Foundation

/// A value that was measured several times, of one subject at one workload.
public struct ResultFigure: Codable, Equatable, Sendable {
    /// Which way is better.
    public enum Direction: String, Codable, Sendable {
        /// More is better: a speed.
        case higher
        /// Less is better: a cost.
        case lower
    }

    /// What a value may be.
    public struct Bar: Codable, Equatable, Sendable {
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

    /// What went through in one run, and was checked.
    public struct Work: Codable, Equatable, Sendable {
        /// How many events there were.
        public var eventCount: Int
        /// How many bytes of what the workload says: of text, of data, of a body.
        public var byteCount: Int
        /// A checksum of them, with the name of its algorithm before a colon; nil where bytes were compared.
        public var checksum: String?
        /// Where the generator began; nil when nothing in it is random.
        public var seed: UInt64?

        /// Makes the account of a run.
        public init(eventCount: Int, byteCount: Int, checksum: String? = nil, seed: UInt64? = nil) {
            self.eventCount = eventCount
            self.byteCount = byteCount
            self.checksum = checksum
            self.seed = seed
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
    /// What went through in a run; nil when nothing did.
    public var work: Work?
    /// Whether what went through was taken apart as far as this package does: JSON decoded, text in the hand.
    public var decodes: Bool?
    /// Makes a figure; what only some have is set afterwards.
    public init(
        group: String, workload: String, subject: String = Self.ownSubject, way: String = "", measure: String,
        unit: String, better: Direction? = .lower, runs: [Double], bar: Bar? = nil, work: Work? = nil
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
        self.work = work
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
