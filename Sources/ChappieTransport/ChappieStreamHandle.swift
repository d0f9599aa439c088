/// A running stream, and the way to stop it.
public struct ChappieStreamHandle: Sendable {
    /// The events.
    ///
    /// For one consumer.
    public let events: AsyncThrowingStream<ChappieStreamEvent, any Error>
    private let turn: TurnDriver

    init(turn: TurnDriver) {
        // The stream alone holds the token: when it is dropped, or its task is cancelled, the connection is closed.
        let token = StreamToken(turn: turn)
        self.events = AsyncThrowingStream { try await token.turn.next() }
        self.turn = turn
    }

    /// The same events, several at a time: those that are ready, in order, and never none.
    ///
    /// For one consumer, which reads either this or `events`. They end with the same errors. A batch costs what an
    /// element of `events` costs, however many events are in it: read this way what has to be fast, or is read on the
    /// main actor. Dropping this stream, and cancelling the task that reads it, close the connection.
    public func batches() -> AsyncThrowingStream<[ChappieStreamEvent], any Error> {
        // `events` goes with it, because the token that is in there closes the connection with the handle.
        let token = StreamToken(turn: self.turn, keeping: self.events)
        return AsyncThrowingStream { try await token.turn.nextBatch() }
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
