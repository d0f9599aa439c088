import ResponseEvents

/// A running stream that can be cancelled.
public struct ChappieStreamHandle: Sendable {
    /// The events.
    ///
    /// For one consumer: a second task that reads while another one does gets `ChappieClientError.alreadyRead`, and the
    /// first one reads on.
    public let events: AsyncThrowingStream<ChappieStreamEvent, any Error>
    private let turn: any StreamedTurn
    private let shared = TurnReader.Shared()

    /// Creates a handle on a turn that is not read yet.
    package init(turn: any StreamedTurn) {
        // The stream alone holds its reader: when it is dropped, or its task is cancelled, the connection is closed.
        self.events = TurnReader(turn, self.shared).stream()
        self.turn = turn
    }

    /// Returns the same events as a sequence whose elements cost less than those of `events`.
    ///
    /// For one consumer, which reads either this or `events`. While the stream has not ended, `cancel()` drops the
    /// events that were read and not taken.
    public func sequence() -> ChappieEventSequence {
        ChappieEventSequence(self.reader)
    }

    /// Returns the same events in batches: those that are ready, in order, and at least one.
    ///
    /// For one consumer, which reads either this or `events`. They end with the same errors. A batch costs as much as
    /// one element of `events`, with any number of events: use it for a consumer that has to be fast or runs on the
    /// main actor. Dropping this stream, or cancelling the task that reads it, closes the connection.
    public func batches() -> AsyncThrowingStream<[ChappieStreamEvent], any Error> {
        self.reader.batches()
    }

    /// The reader keeps `events` alive, whose own closes the connection with the handle.
    private var reader: TurnReader { TurnReader(self.turn, self.shared, keeping: self.events) }

    /// Ends the stream at once and closes the connection: a waiting consumer gets `CancellationError`.
    ///
    /// A WebSocket sends a close frame (1001), and its socket is closed when the server closes its end, after 500 ms at
    /// the latest. A WebSocket that takes no more bytes, and a connection for HTTP, is closed at once.
    ///
    /// A closure of the program that is running at that time, such as a source of credentials, is cancelled and not
    /// awaited. May be called from any task, more than once, and after the end.
    public func cancel() {
        // In this order: a sequence that finds the stream cancelled asks the turn, which has then no further events.
        self.turn.cancel()
        self.shared.cancel()
    }

    /// Adds a message of the user to the response that is being made.
    ///
    /// The response ends at that point, or normally, and the server begins another one that continues from there: the
    /// stream continues with it, and delivered text stays delivered. It works over a WebSocket only, with a server that
    /// supports `response.steer`; the diagnostics report the outcome. From then on the request is not sent again
    /// automatically, because that would lose the message: a failure of the connection ends the stream.
    ///
    /// The stream does not end before the server has used the message, refused it or put it off. A response that calls
    /// tools ends normally; in a client's turn the message goes to the model with their outputs. When a complete response
    /// has no successor within `timeouts.firstEvent`, the stream ends: a client's turn sends the message with its next
    /// request, and otherwise the diagnostics report `steerFailed`, as for a message that the server refuses, such as
    /// one that comes when the response is complete.
    ///
    /// May be called from any task. Throws `ChappieSteeringError` when no response can be steered; no message is sent
    /// then.
    public func steer(_ text: String) throws {
        guard !text.isEmpty else { throw ChappieSteeringError.invalidInput }
        try self.turn.steer(SteeringMessage.input(text))
    }

    /// Adds messages of the user with pictures or files: a JSON array of items, as in the `input` of a request.
    ///
    /// Servers take messages with the role `user`, whose content is a text or an array of parts of the types
    /// `input_text`, `input_image` and `input_file`. Otherwise it does the same as `steer(_:)`.
    public func steer(inputJSON: String) throws {
        try self.turn.steer(Array(inputJSON.utf8))
    }

    /// The server's message about the error that ended the stream, as one line for the program's user.
    ///
    /// Nil while the stream runs, and when the server sent no message. It is the error's own `serverMessage`, except
    /// for a refused credential: `reauthenticationRequired` has the code, such as `invalid_api_key`, and this is its
    /// sentence. Like the error's, it is not for logs and reports.
    public var serverMessage: String? { self.turn.serverMessage }

    /// The complete response: its identifier, model, service tier and usage.
    ///
    /// Nil before `.completed` was delivered, and when the stream has failed: then the error has the response, if the
    /// server sent one (`ChappieClientError.responseIncomplete`, `.responseFailed`). For a turn that was steered, and for a
    /// client's turn with tools, `usage` is the sum of all its responses, and the other properties are those of the last
    /// one. `outputText` is empty, as the stream has delivered the text. May be read from any task.
    public var response: ChappieResponse? { self.turn.response }

    /// The position behind the events that the program has taken so far, from which another process can continue
    /// (`ChappieStreamingTransport.resume(_:after:)`).
    ///
    /// Known for a response that the server keeps (`background` and `store` in the request) once it has numbered
    /// events; nil before, for any other response, and behind output without a number. It stays readable after the end
    /// of the stream, and behind a failure or a cancellation it is the position that was reached. With `batches()` it
    /// is behind the whole batch. One event of the server may lead to several here: the position changes with the last
    /// of them, so a program stores it when it changes, together with all that it has made of the events up to there.
    /// May be read from any task.
    ///
    /// For a client's turn it is a position in the newest response, and what continues there is no turn of the
    /// conversation. Calls of tools are delivered at the end of their response: once one was read, the position stays
    /// before it, and is nil as soon as more was delivered, the response is complete, or the call has run. The next
    /// response has positions of its own: its request has told the server everything before it.
    public var resumePoint: ChappieResumePoint? { self.turn.resumePoint }

    /// The result of the complete response, with its items; for the task that has read the events, and nil for a
    /// client's turn.
    package var completedResponse: CompletedResponse? { (self.turn as? TurnDriver)?.completedResponse }

    /// The stream's report so far.
    public var report: ChappieStreamReport { self.turn.report }
}
