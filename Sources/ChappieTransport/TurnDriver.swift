/// Performs one turn.
final class TurnDriver: Sendable {
    var report: ChappieStreamReport { ChappieStreamReport() }
    func cancel() {}
    func next() async throws -> ChappieStreamEvent? { nil }
}
