// The arguments.

/// What the command was asked for.
struct Options {
    /// The paths to send events over, in order; all when none is named.
    private(set) var paths: [Path] = []
    /// The shapes of events to make; all when none is named.
    private(set) var shapes: [EventShape] = []
    /// How often each workload is sent through.
    private(set) var passCount = 1

    /// Reads the arguments.
    init(_ arguments: some Sequence<String>) throws {
        var arguments = arguments.makeIterator()
        while let argument = arguments.next() {
            if argument == "--iterations" {
                guard let count = arguments.next().flatMap({ Int($0) }), count > 0 else { throw UsageError() }
                self.passCount = count
            } else if let path = Path(rawValue: argument) {
                self.paths.append(path)
            } else if let shape = EventShape(rawValue: argument) {
                self.shapes.append(shape)
            } else {
                throw UsageError()
            }
        }
        if self.paths.isEmpty { self.paths = Path.allCases }
        if self.shapes.isEmpty { self.shapes = EventShape.allCases }
    }
}

/// The arguments mean nothing.
struct UsageError: Error, CustomStringConvertible {
    var description: String {
        let names = (Path.allCases.map(\.rawValue) + EventShape.allCases.map(\.rawValue)).joined(separator: " | ")
        return "usage: event-cost [--iterations N] [\(names)] ..."
    }
}
