// The command line.

/// The arguments of the command.
struct Settings {
    /// Part of the names of the figures to measure; all when it is empty.
    private(set) var filter = ""
    /// The number of runs of a short measurement.
    private(set) var runs = 40
    /// The file that gets the results; nil for none.
    private(set) var resultsPath: String?

    /// The usage text.
    static let usage = """
        usage: recovery-figures [--runs N] [--results FILE] [NAME]

        NAME is a part of a figure's name; without one, all are measured:
        \(Measurement.all.map { "  \($0.name): \($0.summary)" }.joined(separator: "\n"))

          --runs N         repeat short measurements N times, at least five times (40)
          --results FILE   add the figures to the file, one JSON object a line
        """

    /// Reads the arguments.
    init(_ arguments: some Sequence<String>) throws {
        var arguments = arguments.makeIterator()
        while let argument = arguments.next() {
            switch argument {
            case "--runs":
                guard let count = arguments.next().flatMap({ Int($0) }), count >= 5 else {
                    throw UsageError("--runs: a number from 5 on")
                }
                self.runs = count
            case "--results":
                guard let path = arguments.next() else { throw UsageError("--results: a file") }
                self.resultsPath = path
            case _ where argument.hasPrefix("-"): throw UsageError("'\(argument)' is no option")
            default: self.filter = argument
            }
        }
    }
}

/// The arguments are not those of the command.
struct UsageError: Error {
    let message: String

    init(_ message: String) { self.message = message }
}
