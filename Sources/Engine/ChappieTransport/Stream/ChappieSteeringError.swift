public import PlatformFoundation

/// The reason why a response could not be steered; no message was sent, and the stream continues unchanged.
///
/// A minor version may add cases.
public enum ChappieSteeringError: Error, Sendable, Equatable, CaseIterable {
    /// No response is being made: the stream was not read yet, is between two attempts, or is over.
    case notRunning
    /// The server has not named the response yet (`response.created`): try again in a moment.
    case notCreated
    /// The response comes over HTTP, which cannot be steered.
    case notOverWebSocket
    /// The input is empty, is not a list of items, or is larger than a message may be.
    case invalidInput
}

extension ChappieSteeringError: LocalizedError {
    /// The description of the problem, in a sentence that is fit to show.
    public var errorDescription: String? {
        switch self {
        case .notRunning: "No response is being made that could be steered."
        case .notCreated: "The server has not begun the response yet; try again in a moment."
        case .notOverWebSocket: "A response that comes over HTTP cannot be steered."
        case .invalidInput: "What is to be put into the response is empty, not a list of items, or too large."
        }
    }
}
