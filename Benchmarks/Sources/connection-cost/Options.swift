// The command line.

/// The arguments of the command.
struct Options {
    /// The task of this process.
    enum Command {
        /// Measures figures: all that the filter selects, or one in this process.
        case measure(figure: String?)
        /// Reads by each interface, and checks every byte.
        case selfCheck
        /// Only reads, for programs that count instructions.
        case iterate(Iterations)
        /// Reads responses of a server that is there already, and prints what it has found.
        case peer(task: String, way: PeerTask.Way)
        /// Prints the memory of a number of open streams.
        case fill(streamCount: Int, MemoryFigures.Stream)
    }

    private(set) var command = Command.measure(figure: nil)
    /// Part of the names of the figures to measure; all when it is empty.
    private(set) var filter = ""
    /// The number of repetitions of each figure.
    private(set) var repetitions = 7
    /// The file that figures are appended to; nil for none.
    private(set) var results: String?

    private static let clientWays = ClientIterations.Way.allCases.map(\.rawValue).joined(separator: "|")

    /// The usage text.
    static let usage = """
        usage: connection-cost [--repetitions N] [--results FILE] [NAME]
               connection-cost self-check
               connection-cost --iterations N+N WORKLOAD events|sequence|scope|batches
               connection-cost --iterations N+N clients \(Self.clientWays)
               connection-cost --peer events|sequence|scope|batches|sequence-main-actor|sequence-executor TASK
               connection-cost --peer messages|borrowed-messages TASK

        NAME is a part of a figure's name; without one, all are measured:
        \(Figure.all.map { "  \($0.name): \($0.summary)" }.joined(separator: "\n"))

          --repetitions N   measure each N times (7)
          --results FILE    append the figures to a file, a line of JSON each
          --iterations N+N  only read a workload such as websocket-plain-1, to count instructions;
                            2+4: read two passes, call cmachine_note_pause, read four, and call it again
          --peer WAY TASK   do a task of Benchmarks/Peers: typical.py, or, by messages, end_to_end.py
        """

    /// Reads the arguments.
    init(_ arguments: some Sequence<String>) throws {
        var arguments = arguments.makeIterator()
        while let argument = arguments.next() {
            switch argument {
            case "self-check": self.command = .selfCheck
            case "--figure": self.command = .measure(figure: arguments.next())
            case "--fill":
                let count = try Self.count(arguments.next(), argument)
                guard let stream = arguments.next().flatMap({ MemoryFigures.Stream(rawValue: $0) }) else {
                    throw UsageError("--fill: a number and a kind of stream")
                }
                self.command = .fill(streamCount: count, stream)
            case "--results":
                guard let path = arguments.next() else { throw UsageError("--results: a file") }
                self.results = path
            case "--iterations":
                let counts = arguments.next()?.split(separator: "+").map { Int($0) ?? 0 } ?? []
                guard counts.count == 2, counts.allSatisfy({ $0 > 0 }), let workload = arguments.next(),
                    let way = arguments.next()
                else { throw UsageError("--iterations: two numbers, a workload and a way") }
                self.command = .iterate(
                    Iterations(count: counts[1], countBefore: counts[0], workload: workload, way: way))
            case "--peer":
                guard let way = arguments.next().flatMap({ PeerTask.Way(name: $0) }), let task = arguments.next()
                else { throw UsageError("--peer: a way and a task") }
                self.command = .peer(task: task, way: way)
            case "--repetitions": self.repetitions = try Self.count(arguments.next(), argument)
            case _ where argument.hasPrefix("-"): throw UsageError("'\(argument)' is no option")
            default: self.filter = argument
            }
        }
    }

    private static func count(_ text: String?, _ option: String) throws -> Int {
        guard let count = text.flatMap({ Int($0) }), count > 0 else { throw UsageError("\(option): a number") }
        return count
    }

    /// The arguments of a process that measures one figure.
    func arguments(forFigure name: String) -> [String] {
        ["--figure", name, "--repetitions", String(self.repetitions)] + (self.results.map { ["--results", $0] } ?? [])
    }
}
