/// A message of a WebSocket that several responses share, as far as it matters for whom it is.
package struct LaneMessage: Sendable, Equatable {
    /// What a message is for a lane.
    package enum Kind: Sendable, Equatable {
        /// A piece of a response.
        case content
        /// The end of a response.
        case end
        /// An error: the end of a response, or the refusal of a request.
        case error
        /// A sign of life, or news that concern everyone.
        case news
        /// The answer to what was put into a running response.
        case answer
        /// Nothing that can be read.
        case unreadable
    }

    /// The lane that the message names; nil when it names none.
    package var lane: String?
    /// What it is.
    package var kind: Kind
    /// The fingerprint of the identifier that it has, a response's or an item's; 0 when it has none.
    package var name: UInt64
    /// Whether the identifier begins with the message.
    package var isAnnouncement: Bool

    /// A message.
    package init(lane: String?, kind: Kind, name: UInt64 = 0, isAnnouncement: Bool = false) {
        self.lane = lane
        self.kind = kind
        self.name = name
        self.isAnnouncement = isAnnouncement
    }
}
