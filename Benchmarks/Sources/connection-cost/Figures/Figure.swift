// The figures that can be measured.

/// A measurement in a process of its own.
struct Figure {
    /// The group and the workload of its results, such as `latency/websocket-1000`.
    let name: String
    /// A description in a line.
    let summary: String
    /// Measures it; the argument is the number of repetitions.
    let measure: @Sendable (Int) async throws -> [Reading]

    /// All of them.
    static let all =
        EndToEndFigures.all + SendingFigures.all + LatencyFigures.all + MemoryFigures.all + ProcessorFigures.all

    /// Returns the figures that a filter names, with or without the group, or else those with it in their names.
    static func matching(_ filter: String) -> [Self] {
        let named = self.all.filter { $0.name == filter || $0.name.hasSuffix("/\(filter)") }
        return named.isEmpty ? self.all.filter { filter.isEmpty || $0.name.contains(filter) } : named
    }
}
