/// The state of a stream of a hub.
///
/// A value.
public struct ChappieStreamState: Sendable, Hashable {
    /// The progress of a stream.
    ///
    /// A minor version may add cases.
    public enum Status: String, Sendable {
        /// Its events come, or will come when a process has taken it.
        case running
        /// The response is complete.
        case completed
        /// The response has failed.
        case failed
        /// It was cancelled.
        case cancelled
    }

    /// The progress of the stream.
    public let status: Status
    /// The position of the last event; 0 before the first.
    public let lastPosition: Int
    /// Indicates whether a process makes the stream now.
    public let hasProducer: Bool
    /// The failure of a stream that has failed.
    public let failure: ChappieHubFailure?
    /// The upstream's identifier of the complete response.
    public let responseID: String?
    /// The model that answered.
    public let model: String?

    /// Creates the state of a stream; `end` is nil while it runs.
    init(_ stream: ChappieJournaledStream, _ end: JournaledEnd?) {
        self.status =
            switch end?.status {
            case nil: .running
            case .completed: .completed
            case .failed: .failed
            case .cancelled: .cancelled
            }
        self.lastPosition = stream.lastPosition
        self.hasProducer = end == nil && stream.owner != nil
        self.failure = end?.failure
        self.responseID = end?.response?.id
        self.model = end?.response?.model
    }
}
