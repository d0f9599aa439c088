/// The routing information of a message on a WebSocket that several responses share.
package struct LaneMessage: Sendable, Equatable {
    /// The significance of a message for a lane.
    package enum Kind: Sendable, Equatable {
        /// The beginning of a response.
        case created
        /// A piece of a response.
        case content
        /// The end of a response.
        case end
        /// An error: the end of a response, or the refusal of a request.
        case error
        /// A sign of life, or information for all members.
        case news
        /// The answer to input that was added to a running response.
        case answer(SteeringAnswer)
        /// A message that cannot be read.
        case unreadable
    }

    /// The meaning of an answer to added input.
    package enum SteeringAnswer: Sendable, Equatable {
        /// The server has accepted it: a successor of the response will answer it.
        case accepted
        /// It waits for the next request, so that no successor comes by itself.
        case pending
        /// The server has refused it, at once or behind its acceptance.
        case failed
    }

    /// The lane that the message names; nil when it names none.
    package var lane: String?
    /// The message's kind.
    package var kind: Kind
    /// The fingerprint of the identifier in the message, of a response or an item; 0 when it has none.
    package var name: UInt64
    /// Indicates whether the message announces the identifier.
    package var isAnnouncement: Bool

    /// Creates a message.
    package init(lane: String?, kind: Kind, name: UInt64 = 0, isAnnouncement: Bool = false) {
        self.lane = lane
        self.kind = kind
        self.name = name
        self.isAnnouncement = isAnnouncement
    }
}
