// What is measured.

/// A thing to measure, in a process of its own.
struct Figure {
    let name: String
    /// What it can be called besides: names of some of its readings.
    var aliases: [String] = []
    let summary: String
    let measure: @Sendable (Options) async throws -> [Reading]

    /// All of them.
    static let all = ThroughputFigures.all + MemoryFigures.all + [LatencyFigure.figure, SlowReaderFigure.figure]

    /// Whether a filter is part of one of its names.
    func matches(_ filter: String) -> Bool {
        filter.isEmpty || ([self.name] + self.aliases).contains { $0.contains(filter) }
    }
}
