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

    init(status: Status, lastPosition: Int, hasProducer: Bool) {
        self.status = status
        self.lastPosition = lastPosition
        self.hasProducer = hasProducer
        (self.failure, self.responseID, self.model) = (nil, nil, nil)
    }

    init(_ end: JournaledEnd, lastPosition: Int) {
        self.status =
            switch end.status {
            case .completed: .completed
            case .failed: .failed
            case .cancelled: .cancelled
            }
        self.lastPosition = lastPosition
        self.hasProducer = false
        self.failure = end.failure
        self.responseID = end.response?.id
        self.model = end.response?.model
    }
}
