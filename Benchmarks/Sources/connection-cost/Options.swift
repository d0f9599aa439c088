// The command line.

/// What was asked for.
struct Options {
    /// Part of the names of the figures to measure; all when it is empty.
    private(set) var filter = ""
    /// The names of those that somebody else measures.
    private(set) var leftOut: [String] = []
    /// How often each is measured.
    private(set) var repetitions = 5
    /// Whether the slow reader takes the whole gigabyte slowly.
    private(set) var isFull = false
    /// Whether nothing is measured, and only what comes is checked.
    private(set) var checksOnly = false
    /// The one figure that this process measures.
    private(set) var child: String?
    /// Whether this process is one of several that measure a figure together: their runs are put together.
    private(set) var isPart = false
    /// The file that figures are appended to; nil when nobody wants them.
    private(set) var results: String?
    /// What is only read, and not measured; nil when figures are wanted.
    private(set) var iterations: Iterations?
    /// What the service thread alone is looked at for; nil when figures are wanted.
    private(set) var serviceThread: ServiceThread?

    /// How to call the command.
    static let usage = """
        usage: connection-cost [--repetitions N] [--full] [--results FILE] [--without NAMES] [NAME]
               connection-cost --figure NAME --part [--repetitions N] [--results FILE]
               connection-cost self-check
               connection-cost --iterations N[+N] WORKLOAD events|batches
               connection-cost --service-thread events|records|connections|idle N [tls] [CROWD]

        NAME is a part of a figure's name; without one, all are measured:
        \(Figure.all.map { "  \($0.name): \($0.summary)" }.joined(separator: "\n"))

          --repetitions N   measure each N times, and print the median and the range (5)
          --full            let the slow reader take its gigabyte at 1 MB/s: a thousand seconds
          --without NAMES   leave those out that have one of these names, with commas between them
          --figure NAME     measure one in this process; --part: once, as a part of what several processes measure
          --results FILE    append the figures to a file, a line of JSON each (see RESULTS.md)
          --iterations N    only read N passes of a workload such as websocket-plain-1, to count instructions;
                            2+4: read two, stop, call cmachine_note_pause, read four, and call it again
          --service-thread  only take N events in, or open N connections, beside CROWD others, between two calls of it
        """

    /// Reads the arguments.
    init(_ arguments: some Sequence<String>) throws {
        var arguments = Array(arguments).makeIterator()
        while let argument = arguments.next() {
            switch argument {
            case "self-check": self.checksOnly = true
            case "--full": self.isFull = true
            case "--figure": self.child = arguments.next()
            case "--part": self.isPart = true
            case "--without":
                guard let names = arguments.next() else { throw UsageError("--without: names") }
                self.leftOut = names.split(separator: ",").map(String.init)
            case "--results":
                guard let path = arguments.next() else { throw UsageError("--results: a file") }
                self.results = path
            case "--iterations":
                let counts = arguments.next()?.split(separator: "+").map { Int($0) ?? 0 } ?? []
                guard let count = counts.last, counts.count <= 2, counts.allSatisfy({ $0 > 0 }),
                    let workload = arguments.next(), let way = arguments.next()
                else { throw UsageError("--iterations: one number or two, a workload and a way") }
                self.iterations = Iterations(
                    count: count, countBefore: counts.count == 2 ? counts[0] : 0, workload: workload, way: way)
            case "--service-thread":
                guard let work = arguments.next().flatMap({ ServiceThread.Work(rawValue: $0) }),
                    let count = arguments.next().flatMap({ Int($0) }), count > 0
                else { throw UsageError("--service-thread: a kind of work, and how much of it") }
                let rest = Array(IteratorSequence(arguments))
                arguments = [String]().makeIterator()
                self.serviceThread = ServiceThread(
                    work: work, count: count, isSecure: rest.contains("tls"),
                    crowdCount: rest.compactMap { Int($0) }.first ?? 0)
            case "--repetitions":
                guard let count = arguments.next().flatMap({ Int($0) }), count > 0 else {
                    throw UsageError("--repetitions: a number")
                }
                self.repetitions = count
            case _ where argument.hasPrefix("-"): throw UsageError("'\(argument)' is no option")
            default: self.filter = argument
            }
        }
        guard self.results == nil || self.isPart || self.repetitions >= 5 else {
            throw UsageError("--results: fewer than 5 repetitions are no result")
        }
    }

    /// What a process is told that measures one figure.
    func arguments(forFigure name: String) -> [String] {
        ["--figure", name, "--repetitions", String(self.repetitions)] + (self.isFull ? ["--full"] : [])
            + (self.results.map { ["--results", $0] } ?? [])
    }
}
