// What is measured.

/// A thing to measure, in a process of its own.
struct Figure {
    /// What it is called.
    let name: String
    /// What it can be called besides: names of some of its readings.
    var aliases: [String] = []
    /// What it measures, in a line.
    let summary: String
    /// Measures it.
    let measure: @Sendable (Options) async throws -> [Reading]

    /// All of them, with the groups of results that they belong to.
    private static let groups: [(group: String, figures: [Self])] = [
        ("machine", MachineFigures.all), ("end-to-end", EndToEndFigures.all + ThroughputFigures.all),
        ("memory", MemoryFigures.all + [SlowReaderFigure.figure]), ("processor", ProcessorFigures.all),
        ("connections", ConnectionFigures.all), ("latency", LatencyFigures.all),
    ]

    /// All of them.
    static let all = Self.groups.flatMap(\.figures)

    /// Those that a filter names, or, when none has this name, those with it in their names.
    ///
    /// A name may have the group and a slash before it.
    static func matching(_ filter: String) -> [Self] {
        let candidates = Self.groups.flatMap { group, figures in
            figures.map { figure in (figure, ([figure.name] + figure.aliases).map { "\(group)/\($0)" }) }
        }
        let named = candidates.filter { $0.1.contains { $0 == filter || $0.hasSuffix("/\(filter)") } }
        let found =
            named.isEmpty ? candidates.filter { $0.1.contains { filter.isEmpty || $0.contains(filter) } } : named
        return found.map(\.0)
    }
}
