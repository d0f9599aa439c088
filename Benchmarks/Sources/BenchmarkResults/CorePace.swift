// How fast the core was while a run was measured, and what the run would have been on a core that nobody shares.
import CMachine

/// The core that something is measured on, looked at while it is measured.
///
/// A machine may share its cores with others, and a core that is shared is half as fast, now and then and for as long as
/// it pleases the others. A loop that always does the same is timed every other millisecond, at higher priority than
/// what is measured, of which it takes half a percent. One core of a process can be looked at.
public enum CorePace {
    /// Begins to look, until the process ends; nothing comes of it where the system does not do it.
    /// - Parameter core: the number that the system gives it; a negative one is none
    public static func start(onCore core: CInt) { _ = cmachine_pace_start(core) }

    /// The moment, in seconds of a clock that never goes back.
    public static var now: Double { cmachine_moment() }

    /// Which share of its speed the core had since a moment, 1 at most; nil when nobody has looked.
    public static func share(since start: Double) -> Double? { self.share(from: start, to: self.now) }

    /// The same between two moments; what is shorter than the time between two looks needs the one behind it.
    public static func share(from start: Double, to end: Double) -> Double? {
        let share = cmachine_pace(start, end)
        return share.isFinite ? share : nil
    }
}

/// Runs of which it is known how fast the core was meanwhile.
public struct PacedRuns: Equatable, Sendable {
    /// A run that had so much of its core is a calm one.
    public static let calmShare = 0.9

    /// The value of each run, by the clock.
    public private(set) var runs: [Double] = []
    /// Which share of its speed the core had in each; nil when that is not known of all.
    public private(set) var paces: [Double]? = []
    /// Which way is better: what it takes to read a run by its pace.
    private let better: ResultFigure.Direction

    /// Makes an empty list.
    public init(better: ResultFigure.Direction) { self.better = better }

    /// Makes a list of runs with their paces.
    public init(_ runs: [(value: Double, pace: Double?)], better: ResultFigure.Direction) {
        self.init(better: better)
        for run in runs { self.add(run.value, pace: run.pace) }
    }

    /// Makes a list of runs of which nothing is known.
    public init(_ runs: [Double]) { self.init(runs.map { ($0, nil) }, better: .higher) }

    /// Adds a run.
    public mutating func add(_ run: Double, pace: Double?) {
        self.runs.append(run)
        if let pace { self.paces?.append(pace) } else { self.paces = nil }
    }

    /// The calmer half of the runs, and three of them at least, as they would have been on a core that nobody shares, and
    /// none better than the best of all runs: nothing is claimed that no run has reached.
    ///
    /// All runs as they were when nothing is known of the core.
    public var undisturbed: [Double] {
        guard let paces = self.paces, let lowest = self.runs.min(), let highest = self.runs.max() else {
            return self.runs
        }
        return self.calmest(of: paces).map {
            self.better == .higher ? min(self.runs[$0] / paces[$0], highest) : max(self.runs[$0] * paces[$0], lowest)
        }
    }

    /// The value in the middle of those; NaN when there are no runs.
    public var median: Double { Self.middle(of: self.undisturbed) }

    /// The pace in the middle of the calmer half; nil when nothing is known of the core.
    public var pace: Double? {
        guard let paces = self.paces, !paces.isEmpty else { return nil }
        return Self.middle(of: self.calmest(of: paces).map { paces[$0] })
    }

    /// Whether another run is wanted behind those with these paces, a pace nil when it is not known.
    ///
    /// There are `count` at least. As long as fewer than half of so many were calm, there are up to `most`: twice as many
    /// when nothing is said.
    public static func needsMore(after paces: [Double?], of count: Int, most: Int? = nil) -> Bool {
        if paces.count < count { return true }
        guard paces.count < most ?? 2 * count, !paces.contains(nil) else { return false }
        return 2 * paces.count { ($0 ?? 0) >= Self.calmShare } < count
    }

    /// Whether another run is wanted behind these.
    public func needAnother(of count: Int) -> Bool {
        Self.needsMore(after: self.paces ?? self.runs.map { _ in nil }, of: count)
    }

    /// Whether half of so many runs were calm; true when nothing is known of the core.
    public func areCalm(of count: Int) -> Bool {
        guard let paces = self.paces else { return true }
        return 2 * paces.count { $0 >= Self.calmShare } >= count
    }

    private func calmest(of paces: [Double]) -> ArraySlice<Int> {
        paces.indices.sorted { (-paces[$0], $0) < (-paces[$1], $1) }.prefix(max(3, (paces.count + 1) / 2))
    }

    private static func middle(of values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return .nan }
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }
}
