// The arguments.

/// The arguments of the command.
struct Options {
    /// The number of passes over the workload.
    let passCount: Int
    /// The path that the events take.
    let path: Path
    /// The shape of the events.
    let shape: EventShape

    /// Reads the arguments.
    init(_ arguments: [String]) throws {
        guard arguments.count == 4, arguments[0] == "--iterations", let passCount = Int(arguments[1]), passCount > 0,
            let path = Path(rawValue: arguments[2]), let shape = EventShape(rawValue: arguments[3])
        else { throw UsageError() }
        self.passCount = passCount
        self.path = path
        self.shape = shape
    }
}

/// The arguments are not those of the command.
struct UsageError: Error, CustomStringConvertible {
    var description: String {
        let paths = Path.allCases.map(\.rawValue).joined(separator: "|")
        let shapes = EventShape.allCases.map(\.rawValue).joined(separator: "|")
        return "usage: event-cost --iterations N \(paths) \(shapes)"
    }
}
