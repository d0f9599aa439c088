import ResponseEvents
import StreamTransport

/// The source of a stream: one response, or a whole turn of a conversation.
///
/// `next()` and `nextBatch()` belong to the stream's one consumer, whose task does the work. The others may be called
/// from any task.
package protocol StreamedTurn: AnyObject, Sendable {
    /// Returns the next event; nil after `.completed`.
    nonisolated(nonsending) func next() async throws -> ChappieStreamEvent?

    /// Returns the events that are ready, at least one; nil after the batch with `.completed`.
    nonisolated(nonsending) func nextBatch() async throws -> [ChappieStreamEvent]?

    /// Returns the next events for a sequence that hands them out one by one.
    nonisolated(nonsending) func nextOfSequence() async throws -> [ChappieStreamEvent]?

    /// Indicates whether a sequence reads the turn in steps, off its consumer's actor.
    var readsInSteps: Bool { get }

    /// Begins to read the next events for such a sequence, without waiting; `memory` is an array for them, empty.
    ///
    /// The steps `wait` and `pause` are followed by `stepOfSequence(after:)`, after that wait or pause.
    func beginStepOfSequence(reusing memory: consuming [ChappieStreamEvent]) -> SequenceStep

    /// Continues after a wait with this outcome, or after a pause.
    func stepOfSequence(after outcome: TransportWaitOutcome) -> SequenceStep

    /// Continues after the step `other`, for the task whose step it was.
    nonisolated(nonsending) func restOfSequence() async throws -> [ChappieStreamEvent]?

    /// Closes the connection and ends the stream with `CancellationError`.
    func cancel()

    /// Adds items, a JSON array, to the response that is being made.
    func steer(_ input: [UInt8]) throws

    /// The server's message about the error that ended the turn; nil when there is none.
    var serverMessage: String? { get }

    /// The complete response, without its text; nil while the stream runs, and when it has failed.
    var response: ChappieResponse? { get }

    /// The position behind the events that the consumer has taken; nil when another turn could not continue there.
    var resumePoint: ChappieResumePoint? { get }

    /// The turn's report so far.
    var report: ChappieStreamReport { get }
}

/// The next step of the reader of a turn's events.
package enum SequenceStep {
    /// There are events, at least one.
    case events([ChappieStreamEvent])
    /// The connection is waited for, for so many nanoseconds at most; nil without a limit.
    case wait(any TransportConnection, nanoseconds: Int64?)
    /// Other tasks work, once; then the reading continues.
    case pause
    /// `restOfSequence()` continues: the turn has ended, was cancelled, races two connections, or has more to do than to
    /// read.
    case other
    /// Another task reads the turn, which goes on.
    case refused
}

extension StreamedTurn {
    /// Returns the next batch.
    nonisolated(nonsending) package func nextOfSequence() async throws -> [ChappieStreamEvent]? {
        try await self.nextBatch()
    }

    /// False, as for a turn that consists of several.
    package var readsInSteps: Bool { false }

    /// Leaves everything to `restOfSequence()`.
    package func beginStepOfSequence(reusing memory: consuming [ChappieStreamEvent]) -> SequenceStep { .other }

    /// Leaves everything to `restOfSequence()`.
    package func stepOfSequence(after outcome: TransportWaitOutcome) -> SequenceStep { .other }

    /// Returns the next events.
    nonisolated(nonsending) package func restOfSequence() async throws -> [ChappieStreamEvent]? {
        try await self.nextOfSequence()
    }

    /// Nil, as for a turn whose response the server does not keep.
    package var resumePoint: ChappieResumePoint? { nil }
}

/// A running stream that can be cancelled.
public struct ChappieStreamHandle: Sendable {
    /// The events.
    ///
    /// For one consumer: a second task that reads while another one does gets `ChappieClientError.alreadyRead`, and the
    /// first one reads on.
    public let events: AsyncThrowingStream<ChappieStreamEvent, any Error>
    private let turn: any StreamedTurn
    private let cancellation = EventBatchReader.Cancellation()

    /// Creates a handle on a turn that is not read yet.
    package init<Turn: StreamedTurn>(turn: Turn) {
        // The stream alone holds the token: when it is dropped, or its task is cancelled, the connection is closed.
        let token = StreamToken(turn: turn)
        self.events = AsyncThrowingStream { try await token.turn.next() }
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
        let reader = self.reader
        return AsyncThrowingStream { try await reader.nextBatch() }
    }

    /// The reader keeps `events` alive, whose token closes the connection with the handle.
    private var reader: EventBatchReader { EventBatchReader(turn: self.turn, self.cancellation, keeping: self.events) }

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
        self.cancellation.set()
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

    /// The stream's report so far.
    public var report: ChappieStreamReport { self.turn.report }
}

/// A token that the stream alone holds: when the stream is dropped, so is the turn.
final class StreamToken<Turn: StreamedTurn>: Sendable {
    let turn: Turn

    /// Creates the token of a turn.
    init(turn: Turn) { self.turn = turn }

    deinit {
        self.turn.cancel()
    }
}
