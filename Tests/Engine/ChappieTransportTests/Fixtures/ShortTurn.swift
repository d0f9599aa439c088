import StreamTransport

@testable import ChappieTransport

/// A turn that is over once its only batch was read, as a client's may be.
final class ShortTurn: StreamedTurn {
    private let batches = LockedValue<[[ChappieStreamEvent]]>([[.textDelta("a"), .completed]])

    func next(
        for form: ReadingForm, reusing memory: consuming [ChappieStreamEvent]
    ) async throws -> [ChappieStreamEvent]? {
        self.batches.withLock { $0.popLast() }
    }
    func cancel() {}
    func steer(_ input: [UInt8]) throws {}
    var serverMessage: String? { nil }
    var response: ChappieResponse? { nil }
    var report: ChappieStreamReport { ChappieStreamReport() }
}
