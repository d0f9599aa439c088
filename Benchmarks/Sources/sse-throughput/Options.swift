// The command line.

import BenchmarkResults

/// The arguments of the command.
struct Options {
    /// The kind of command.
    enum Command {
        case measure, selfCheck
        case writeCorpus(String)
        case iterate(Int)
    }

    /// The kind of command.
    var command = Command.measure
    /// The workloads that are named; all are meant when it is empty.
    var workloads: [Workload] = []
    /// The least number of times that each pass is timed.
    var repetitions = 7
    /// The core to stay on; nil for the one that the thread is on.
    private(set) var core: Int?
    /// The file that the figures are appended to; nil for none.
    private(set) var results: ResultFile?

    /// The usage text.
    static let usage = """
        usage: sse-throughput [OPTION]... [WORKLOAD]...
               sse-throughput self-check
               sse-throughput --iterations N WORKLOAD
               sse-throughput --write-corpus DIR [CORPUS]...

        A WORKLOAD is CORPUS (all its chunk sizes), CORPUS/BYTES (one chunk size), or a part of such names; without any,
        all are measured. CORPUS is one of \(Corpus.allCases.map(\.rawValue).joined(separator: ", ")).
        Status 1: a bar is missed, or a stream was parsed wrongly.

          --results FILE     append the figures, a line of JSON each
          --repetitions N    time each pass N times or more, 5 or more (7)
          --core N           stay on this core; default: the one that the thread is on
          --iterations N     only parse a small stream N times, for instruction counters
          --write-corpus DIR write the streams, and facts.json with their counts and checksums
        """

    /// Reads the arguments.
    init(_ arguments: some Sequence<String>) throws {
        var arguments = arguments.makeIterator()
        while let argument = arguments.next() {
            switch argument {
            case "self-check": self.command = .selfCheck
            case "--results": self.results = ResultFile(path: try Self.value(arguments.next(), of: argument))
            case "--core": self.core = try Self.number(arguments.next(), of: argument, least: 0)
            case "--repetitions": self.repetitions = try Self.number(arguments.next(), of: argument, least: 5)
            case "--iterations": self.command = .iterate(try Self.number(arguments.next(), of: argument, least: 1))
            case "--write-corpus": self.command = .writeCorpus(try Self.value(arguments.next(), of: argument))
            default: try self.addWorkloads(argument)
            }
        }
        try self.checkWorkloads()
    }

    private mutating func addWorkloads(_ name: String) throws {
        let workloads = Workload.named(name)
        guard !workloads.isEmpty else { throw UsageError("'\(name)' is no workload") }
        for workload in workloads where !self.workloads.contains(workload) { self.workloads.append(workload) }
        if !name.contains("/") { self.corpora.append(contentsOf: workloads.first.map { [$0.corpus] } ?? []) }
    }

    /// The corpora that were named without a chunk size.
    private(set) var corpora: [Corpus] = []

    private func checkWorkloads() throws {
        switch self.command {
        case .measure, .writeCorpus: return
        case .selfCheck:
            guard self.workloads.isEmpty else { throw UsageError("this command takes no workload") }
        case .iterate:
            guard self.workloads.count == 1 || self.corpora.count == 1 else {
                throw UsageError("--iterations takes one workload")
            }
        }
    }

    private static func value(_ value: String?, of name: String) throws -> String {
        guard let value, !value.isEmpty else { throw UsageError("\(name) needs a value") }
        return value
    }

    private static func number(_ text: String?, of name: String, least: Int) throws -> Int {
        guard let number = Int(try self.value(text, of: name)), number >= least else {
            throw UsageError("\(name): a number of at least \(least)")
        }
        return number
    }
}

/// The arguments are not those of the command.
struct UsageError: Error {
    /// The mistake in the arguments.
    let message: String

    /// An error with its message.
    init(_ message: String) {
        self.message = message
    }
}
