// The pieces done and their results: on disk, so that a run can go on where it was stopped.
//
// A value; the runner guards it with a lock.
import Foundation

/// The results of one or more runs.
struct Tally: Codable, Sendable {
    /// Runs.
    var runs = 0
    /// Runs in which the second answer continued the first.
    var recovered = 0
    /// Runs in which the second answer was refused.
    var diverged = 0
    /// Runs that ended with an answer that contradicts itself.
    var contradicted = 0
    /// Runs in which the first answer was whole before the cut.
    var deliveredBeforeCut = 0
    /// Runs in which the server fell silent.
    var stalls = 0
    /// Broken promises, by kind.
    var violations: [String: Int] = [:]

    /// Adds results.
    mutating func add(_ other: Tally) {
        self.runs += other.runs
        self.recovered += other.recovered
        self.diverged += other.diverged
        self.contradicted += other.contradicted
        self.deliveredBeforeCut += other.deliveredBeforeCut
        self.stalls += other.stalls
        self.violations.merge(other.violations, uniquingKeysWith: +)
    }

    /// Adds one run.
    mutating func add(_ ending: RunEnding, isStall: Bool, violations: [Violation]) {
        self.runs += 1
        if isStall { self.stalls += 1 }
        switch ending {
        case .recovered: self.recovered += 1
        case .diverged: self.diverged += 1
        case .contradicted: self.contradicted += 1
        case .deliveredBeforeCut: self.deliveredBeforeCut += 1
        case .failed: break
        }
        for violation in violations { self.violations[violation.kind.rawValue, default: 0] += 1 }
    }
}

/// The results of all combinations.
struct TortureState: Codable, Sendable {
    /// One combination.
    struct Row: Codable, Sendable {
        /// The numbers of the pieces that are done.
        var finished: Set<Int> = []
        /// Their results.
        var tally = Tally()
    }

    /// The plan and the program that the results belong to.
    var fingerprint: String
    /// The combinations, by name.
    var rows: [String: Row] = [:]
    /// Leaks, which belong to no single run.
    var leaks = 0

    /// Creates an empty state.
    init(fingerprint: String) { self.fingerprint = fingerprint }

    /// The number of completed runs.
    var runCount: Int { self.rows.values.reduce(0) { $0 + $1.tally.runs } }

    /// The number of violations.
    var violationCount: Int {
        self.leaks + self.rows.values.reduce(0) { $0 + $1.tally.violations.values.reduce(0, +) }
    }

    /// Returns whether a piece is done.
    func isFinished(_ piece: TorturePlan.Piece) -> Bool {
        self.rows[piece.combination.name]?.finished.contains(piece.number) ?? false
    }

    /// Adds the results of a piece.
    mutating func finish(_ piece: TorturePlan.Piece, _ tally: Tally) {
        self.rows[piece.combination.name, default: Row()].finished.insert(piece.number)
        self.rows[piece.combination.name, default: Row()].tally.add(tally)
    }

    // MARK: The file

    /// Reads a state; nil when there is none or it is damaged.
    init?(file: String) {
        guard let bytes = FileManager.default.contents(atPath: file),
            let state = try? JSONDecoder().decode(Self.self, from: bytes)
        else { return nil }
        self = state
    }

    /// Writes the state so that a reader finds the old one or the new one, whole.
    func write(to file: String) throws {
        try JSONEncoder().encode(self).write(to: URL(fileURLWithPath: file), options: .atomic)
    }

    /// Identifies the program: its results do not apply to another one.
    static var programFingerprint: String {
        let path = Bundle.main.executablePath ?? CommandLine.arguments[0]
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let date = (attributes?[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
        return "\(attributes?[.size] as? Int ?? 0)@\(date) "
    }
}
