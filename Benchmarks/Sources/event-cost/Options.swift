// The arguments.
import BenchmarkResults
import Foundation

/// What the command was asked for.
struct Options {
    /// The paths to measure, in order.
    private(set) var paths: [Path] = []
    /// The shapes of events to make.
    private var shapes: [EventShape] = []
    /// A file of recorded events, one a line, in place of what is made.
    private var recording: String?
    /// How often a measurement is repeated.
    private(set) var repetitions = 15
    /// Where the figures are appended, if anywhere.
    private(set) var results: ResultFile?
    /// How often to send the workload through without measuring anything, for programs that count instructions.
    private(set) var iterations: Int?

    /// Reads the arguments.
    init(_ arguments: some Sequence<String>) throws {
        var arguments = arguments.makeIterator()
        while let argument = arguments.next() {
            switch argument {
            case "--repetitions": self.repetitions = try Self.count(arguments.next())
            case "--iterations": self.iterations = try Self.count(arguments.next())
            case "--recording": self.recording = try Self.path(arguments.next())
            case "--results": self.results = ResultFile(path: try Self.path(arguments.next()))
            default: try self.take(name: argument)
            }
        }
        if self.paths.isEmpty { self.paths = Path.allCases }
        if self.shapes.isEmpty { self.shapes = EventShape.allCases }
        // Fewer are no result.
        guard self.results == nil || self.repetitions >= 5 else { throw UsageError() }
    }

    /// The inputs: the recording, or one for each shape.
    func workloads() throws -> [Workload] {
        guard let recording = self.recording else { return self.shapes.map(Workload.init(shape:)) }
        return [try Workload(recording: [UInt8](Data(contentsOf: URL(fileURLWithPath: recording))))]
    }

    private mutating func take(name: String) throws {
        if let path = Path(rawValue: name) {
            self.paths.append(path)
        } else if let shape = EventShape(rawValue: name) {
            self.shapes.append(shape)
        } else {
            throw UsageError()
        }
    }

    private static func path(_ text: String?) throws -> String {
        guard let text else { throw UsageError() }
        return text
    }

    private static func count(_ text: String?) throws -> Int {
        guard let count = text.flatMap(Int.init), count > 0 else { throw UsageError() }
        return count
    }
}

/// The arguments are none.
struct UsageError: Error, CustomStringConvertible {
    var description: String {
        let names = (Path.allCases.map(\.rawValue) + EventShape.allCases.map(\.rawValue)).joined(separator: " | ")
        return "usage: event-cost [--repetitions n] [--iterations n] [--recording file] [--results file] [\(names)] ..."
    }
}
