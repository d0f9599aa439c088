// What is measured.

/// A thing to measure, in a process of its own.
struct Figure {
    let name: String
    /// What it can be called besides: names of some of its readings.
    var aliases: [String] = []
    let summary: String
    let measure: @Sendable (Options) async throws -> [Reading]

    /// All of them.
    static let all =
        MachineFigures.all + EndToEndFigures.all + ThroughputFigures.all + MemoryFigures.all
        + [LatencyFigure.figure, SlowReaderFigure.figure]

    /// Those that a filter names, or, when none has this name, those with it in their names.
    static func matching(_ filter: String) -> [Self] {
        let named = Self.all.filter { ([$0.name] + $0.aliases).contains(filter) }
        return named.isEmpty ? Self.all.filter { $0.matches(filter) } : named
    }

    /// Whether a filter is part of one of its names.
    private func matches(_ filter: String) -> Bool {
        filter.isEmpty || ([self.name] + self.aliases).contains { $0.contains(filter) }
    }
}
