/// The reason why the events of a stream of a hub end early, or why a stream cannot be started.
///
/// A minor version may add cases.
public enum ChappieHubError: Error, Sendable, Hashable {
    /// The stream is unknown, deleted, or its retention is over.
    case unknownStream
    /// `ChappieHub.cancel(_:)` has ended the stream.
    case cancelled
    /// The response has failed: what its producer was told.
    case failed(ChappieHubFailure)
    /// The journal cannot be used.
    case journal(ChappieJournalError)
    /// The hub is shut down: the stream goes on in another process, or in this one when it runs again.
    case shutDown
    /// The hub has as many running streams as its configuration allows.
    case tooManyStreams(limit: Int)
}

extension ChappieHubError: CustomStringConvertible {
    /// One line for a log, without content of streams.
    public var description: String {
        switch self {
        case .unknownStream: "the stream is unknown or expired"
        case .cancelled: "the stream was cancelled"
        case .failed(let failure): "\(failure.tag): \(failure.message)"
        case .journal(let error): error.description
        case .shutDown: "the hub is shut down"
        case .tooManyStreams(let limit): "\(limit) streams run, which is the limit"
        }
    }
}

/// A failure of a response, as its stream's journal keeps it.
public struct ChappieHubFailure: Sendable, Hashable, Codable {
    /// The stable tag, such as `http.429`; those of a hub of its own begin with `relay.`.
    public var tag: String
    /// One line without content or secrets (`ChappieClientError.safeDescription`).
    public var message: String
    /// Indicates whether the same request may succeed later.
    public var isRetryable: Bool

    /// Creates a failure.
    package init(tag: String, message: String, isRetryable: Bool) {
        self.tag = tag
        self.message = message
        self.isRetryable = isRetryable
    }
}
