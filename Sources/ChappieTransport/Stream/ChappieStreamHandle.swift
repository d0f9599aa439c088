import ResponseEvents

/// What a stream reads from: one response, or a whole turn of a conversation.
///
/// `next()` and `nextBatch()` belong to the stream's one consumer, whose task does the work. The others may be called
/// from anywhere.
package protocol StreamedTurn: AnyObject, Sendable {
    /// The next event; nil after `.completed`.
    nonisolated(nonsending) func next() async throws -> ChappieStreamEvent?

    /// The events that are ready, never none; nil after the batch with `.completed`.
    nonisolated(nonsending) func nextBatch() async throws -> [ChappieStreamEvent]?

    /// Closes the connection and ends the stream with `CancellationError`.
    func cancel()

    /// Puts items, a JSON array, into the response that is being made.
    func steer(_ input: [UInt8]) throws

    /// The server's own words about the error that ended the turn; nil when there are none.
    var serverMessage: String? { get }

    /// What the turn went through so far.
    var report: ChappieStreamReport { get }
}

/// A running stream, and the way to stop it.
public struct ChappieStreamHandle: Sendable {
    /// The events.
    ///
    /// For one consumer.
    public let events: AsyncThrowingStream<ChappieStreamEvent, any Error>
    private let turn: any StreamedTurn

    /// A handle on a turn that nobody reads yet.
    package init<Turn: StreamedTurn>(turn: Turn) {
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
    public func batches() -> AsyncThrowingStream<[ChappieStreamEvent], any Error> { self.batches(of: self.turn) }

    private func batches<Turn: StreamedTurn>(of turn: Turn) -> AsyncThrowingStream<[ChappieStreamEvent], any Error> {
        // `events` goes with it, because the token that is in there closes the connection with the handle.
        let token = StreamToken(turn: turn, keeping: self.events)
        return AsyncThrowingStream { try await token.turn.nextBatch() }
    }

    /// Ends the stream at once and closes the connection: a consumer that waits gets `CancellationError`.
    ///
    /// A WebSocket sends a close frame (1001), and its socket is closed when the server closes its end, after 500 ms at
    /// the latest. A WebSocket that takes no more bytes, and a connection for HTTP, is closed at once.
    ///
    /// A closure of the program's that is being asked meanwhile, such as a source of credentials, is cancelled and not
    /// waited for. May be called from any task, more than once, and after the end.
    public func cancel() {
        self.turn.cancel()
    }

    /// Puts a message of the user into the response that is being made.
    ///
    /// The response ends where it is, and another one goes on from there: the stream goes on with it, and text that is
    /// delivered stays delivered. It works over a WebSocket only, with a server that knows `response.steer`; the
    /// diagnostics say what has become of it. From then on the request is not sent again by itself, because that would
    /// lose the message: a failure of the connection ends the stream. A response that calls tools ends by itself; in a
    /// client's turn the message goes to the model with their outputs. One that comes when the response is complete is
    /// lost: then the diagnostics say `steerFailed`.
    ///
    /// May be called from any task. Throws `ChappieSteeringError` when there is nothing to steer; nothing is sent then.
    public func steer(_ text: String) throws {
        guard !text.isEmpty else { throw ChappieSteeringError.invalidInput }
        try self.turn.steer(SteeringMessage.input(text))
    }

    /// The server's own words about the error that ended the stream, as one line for the person at the program.
    ///
    /// Nil while the stream runs, and when the server said nothing. It is the error's own `serverMessage`, but for a
    /// refused credential: `reauthenticationRequired` has the code, such as `invalid_api_key`, and this is the sentence
    /// beside it. Like the error's, it is not for logs and reports.
    public var serverMessage: String? { self.turn.serverMessage }

    /// What the stream has gone through so far.
    public var report: ChappieStreamReport { self.turn.report }
}

/// Held by the stream alone: when the stream is dropped, so is the turn.
final class StreamToken<Turn: StreamedTurn>: Sendable {
    let turn: Turn
    private let other: AsyncThrowingStream<ChappieStreamEvent, any Error>?

    /// Holds a turn, and another stream of it, which lives as long.
    init(turn: Turn, keeping other: AsyncThrowingStream<ChappieStreamEvent, any Error>? = nil) {
        self.turn = turn
        self.other = other
    }

    deinit {
        self.turn.cancel()
    }
}
