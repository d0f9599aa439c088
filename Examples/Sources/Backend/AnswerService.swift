// The language model as the rest of a program knows it: one protocol and one error, without a type of any transport.

/// Answers questions.
public protocol AnswerService: Sendable {
    /// Passes on the answer to a question, piece by piece and in order.
    ///
    /// The next piece is read when `receive` has returned. Throws `AnswerError`, `CancellationError` when the task is
    /// cancelled, and any error of `receive`, which ends the answer.
    func answer(_ question: String, receive: (String) async throws -> Void) async throws
}

/// The reason why an answer is not complete, as far as the program reacts to it.
public enum AnswerError: Error, Equatable {
    /// The key is missing or refused: a person has to act.
    case keyRefused
    /// No piece was passed on, and the question may be asked again after this time.
    case unavailable(retryAfter: Duration)
    /// The answer ended after some pieces; another one may say something else.
    case brokenOff
    /// The question cannot be answered; the tag is for logs, and has no content.
    case failed(tag: String)
}
