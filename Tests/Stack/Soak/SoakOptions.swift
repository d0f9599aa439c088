// The command line.

/// The options of a run.
struct SoakOptions: Sendable {
    /// The error of invalid arguments.
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// For how long streams are begun; the last ones take some seconds more.
    private(set) var seconds = 3_600
    /// The seed of all random choices.
    private(set) var seed: UInt64 = 1
    /// The number of concurrent streams.
    private(set) var streams = 48
    /// The kind of streams.
    private(set) var kind: any SoakStreams.Type = SoakSite.self
    /// By how much the memory may grow after a quarter of the time, in MiB; nil for a program whose sanitizer keeps
    /// what is freed.
    private(set) var memorySlack: Int? = 24
    private(set) var wantsHelp = false

    static let usage = """
        usage: soak [--clients] [--seconds N] [--seed S] [--streams N] [--memory-slack MIB | --any-memory]

        Runs streams over both transports, with TLS and without, compressed and not, through faults, with consumers
        that pause, cancel, and read event by event or by the batch; and checks that every text is right, that nothing
        is stuck, and that memory, descriptors and threads stay what they are.

          --clients            connections of WebSocketClient and EventSource instead, whose messages and events are
                               checked at both ends, with closes, pings and reconnections
          --seconds N          how long (3600)
          --seed S             another seed, other streams (1)
          --streams N          how many at a time (48)
          --memory-slack MIB   how much more memory at the end than after a quarter of the time (24)
          --any-memory         do not look at it: under a sanitizer
        """

    /// Reads the arguments.
    init(_ arguments: [String]) throws {
        var arguments = arguments.makeIterator()
        while let argument = arguments.next() {
            switch argument {
            case "--help", "-h": self.wantsHelp = true
            case "--clients": self.kind = ClientSite.self
            case "--any-memory": self.memorySlack = nil
            case "--seconds": self.seconds = try Self.number(arguments.next(), of: argument)
            case "--seed": self.seed = UInt64(try Self.number(arguments.next(), of: argument))
            case "--streams": self.streams = try Self.number(arguments.next(), of: argument)
            case "--memory-slack": self.memorySlack = try Self.number(arguments.next(), of: argument)
            default: throw Problem(description: "'\(argument)' is no option")
            }
        }
    }

    private static func number(_ text: String?, of name: String) throws -> Int {
        guard let number = text.flatMap({ Int($0) }), number > 0 else {
            throw Problem(description: "\(name): a number above 0")
        }
        return number
    }
}
