import StreamTransport

/// The source of a stream: one response, or a whole turn of a conversation.
///
/// `next(for:reusing:)` belongs to the stream's one consumer, whose task does the work. The others may be called from
/// any task.
package protocol StreamedTurn: AnyObject, Sendable {
    /// Reads the next events.
    ///
    /// - Parameters:
    ///   - form: the kind of consumer.
    ///   - memory: an array for them, empty.
    /// - Returns: the events, at least one; nil after `.completed`.
    /// - Throws: the error of the turn, once, after the events before it; `ChappieClientError.alreadyRead` while another
    ///   task reads.
    func next(
        for form: ReadingForm, reusing memory: consuming [ChappieStreamEvent]
    ) async throws -> [ChappieStreamEvent]?

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

extension StreamedTurn {
    /// Nil, as for a turn whose response the server does not keep.
    package var resumePoint: ChappieResumePoint? { nil }
}

/// The kind of consumer that the events of a turn are read for.
@usableFromInline
package enum ReadingForm: Sendable {
    /// A consumer that takes all events that are there.
    case batches
    /// A consumer that takes events from a batch and returns the batch's memory. The events of a response that can be
    /// resumed are read one by one, so that the position behind the taken ones is exact.
    case events
    /// A consumer that asks for each event. The events of a client's turn are read one by one, because its conversation
    /// shows the text that the consumer has taken.
    case stream
    /// Like `events`; the consumer calls `cancel()` when its task is cancelled.
    case scope
}
