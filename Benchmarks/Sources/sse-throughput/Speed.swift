// The speed of a pass that was repeated.

import BenchmarkResults

/// Bytes a second: of each pass, and what they come to on a core that nobody shares.
struct Speed: Codable {
    /// Of each pass, as the clock says.
    var runs: [Double]
    /// Which share of its speed the core had in each; nil when that is not known.
    var paces: [Double]?
    /// In the middle of the calmer half of the passes, read by their paces; of the fastest when nothing is known.
    var calm: Double

    /// What the passes come to.
    init(_ passes: PacedRuns) {
        self.runs = passes.runs
        self.paces = passes.paces
        self.calm = passes.paces == nil ? passes.runs.max() ?? 0 : passes.median
    }
}
