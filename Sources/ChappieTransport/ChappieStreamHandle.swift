/// A running stream, and the way to stop it.
public struct ChappieStreamHandle: Sendable {
    /// The events.
    ///
    /// For one consumer.
    public let events: AsyncThrowingStream<ChappieStreamEvent, any Error>
    private let turn: TurnDriver

    init(events: AsyncThrowingStream<ChappieStreamEvent, any Error>, turn: TurnDriver) {
        self.events = events
        self.turn = turn
    }

    /// Closes the connection at once and ends the stream: a consumer that waits gets `CancellationError`.
    ///
    /// May be called from any task, more than once, and after the end.
    public func cancel() {
        self.turn.cancel()
    }

    /// What the stream has gone through so far.
    public var report: ChappieStreamReport { self.turn.report }
}
