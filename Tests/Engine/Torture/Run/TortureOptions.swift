// The command line.
//
// An immutable value.

/// The options of a run.
struct TortureOptions: Sendable {
    /// The fault of the command line.
    struct Problem: Error, CustomStringConvertible {
        /// The words for the user.
        var description: String
    }

    /// The usage of the command.
    static let usage = """
        usage: torture [options]
          --sample N%          run one offset in 100/N
          --stride K           run every K-th offset
          --stall-stride K     let the server fall silent at every K-th of those (default 8)
          --sessions a,b       only these sessions
          --wires a,b          only these of ws, ws-deflate, sse, sse-gzip, chat, messages
          --cuts a,b           only these of fin, rst, stall
          --replays a,b        only these of identical, other-chunks, divergence,
                               contradiction (not of chat and messages), restart (of
                               these alone)
          --case S/W/C/R/N     run this one case, and say what was seen
          --jobs J             runs at once (default 24); four times as many wait for silent servers
          --seed S             another choice of second answers (default 1)
          --record FILE        write runs into this file, for Tests/Engine/Promise/run.py --records
          --record-every N     one run in N of them (default 40)
          --time-limit S       stop after S seconds; what was run counts
          --resume FILE        where the state is kept (default .build/torture-state.json)
          --fresh              forget the state of a run that was stopped

               torture --corpus [--sessions a,b] [--wires a,b] [--jobs J]
          plays the recorded streams of the folder in CHAPPIE_CORPUS (default
          ../shared/corpus), whole and cut at every tenth event, and holds what
          arrives against the folder's index; a session is part of a file's name
        """

    /// Every how many offsets are run.
    var stride = 1
    /// Every how many of those a stall is run at.
    var stallStride = 8
    /// The sessions; nil is all.
    var sessions: Set<String>?
    /// The wires.
    var wires = Wire.allCases
    /// The cuts.
    var cuts = Cut.allCases
    /// The replays.
    var replays = Replay.allCases
    /// The one case.
    var onlyCase: TortureCase?
    /// Runs at once.
    var jobs = 24
    /// The seed of the second answers.
    var seed: UInt64 = 1
    /// The file for records of runs.
    var recordFile: String?
    /// One run in how many is.
    var recordStride = 40
    /// After how long the run is stopped.
    var timeLimit: Duration?
    /// The file of the state.
    var stateFile = ".build/torture-state.json"
    /// Indicates whether an earlier state is ignored.
    var isFresh = false
    /// Indicates whether the recorded streams of a folder are played instead.
    var playsCorpus = false
    /// Indicates whether only the usage is wanted.
    var wantsHelp = false

    /// Reads arguments.
    init(_ arguments: [String]) throws(Problem) {
        var rest = arguments[...]
        while let name = rest.popFirst() {
            switch name {
            case "--corpus": self.playsCorpus = true
            case "--fresh": self.isFresh = true
            case "--help", "-h": self.wantsHelp = true
            default:
                guard let value = rest.popFirst() else {
                    throw Problem(description: "\(name): unknown, or lacks a value")
                }
                try self.set(name, value)
            }
        }
    }

    private mutating func set(_ name: String, _ value: String) throws(Problem) {
        switch name {
        case "--sample": self.stride = try Self.stride(percent: value)
        case "--stride": self.stride = try Self.number(name, value)
        case "--stall-stride": self.stallStride = try Self.number(name, value)
        case "--sessions": self.sessions = Set(value.split(separator: ",").map(String.init))
        case "--wires": self.wires = try Self.list(name, value, Wire.init(rawValue:))
        case "--cuts": self.cuts = try Self.list(name, value, Cut.init(rawValue:))
        case "--replays": self.replays = try Self.list(name, value, Replay.init(rawValue:))
        case "--case":
            guard let only = TortureCase(name: value) else {
                throw Problem(description: "--case: cannot read \(value)")
            }
            self.onlyCase = only
        case "--jobs": self.jobs = try Self.number(name, value)
        case "--seed": self.seed = UInt64(try Self.number(name, value))
        case "--record": self.recordFile = value
        case "--record-every": self.recordStride = try Self.number(name, value)
        case "--time-limit": self.timeLimit = .seconds(try Self.number(name, value))
        case "--resume": self.stateFile = value
        default: throw Problem(description: "unknown option \(name)")
        }
    }

    private static func number(_ name: String, _ value: String) throws(Problem) -> Int {
        guard let number = Int(value), number > 0 else { throw Problem(description: "\(name): a number above 0") }
        return number
    }

    private static func stride(percent value: String) throws(Problem) -> Int {
        guard let percent = Double(value.filter { $0 != "%" }), percent > 0, percent <= 100 else {
            throw Problem(description: "--sample: a percentage")
        }
        return max(1, Int((100 / percent).rounded()))
    }

    private static func list<Value>(
        _ name: String, _ value: String, _ make: (String) -> Value?
    ) throws(Problem) -> [Value] {
        var values: [Value] = []
        for part in value.split(separator: ",") {
            guard let made = make(String(part)) else { throw Problem(description: "\(name): unknown \(part)") }
            values.append(made)
        }
        return values
    }
}
