// The properties of a piece of a data message besides its bytes.
// Values without an owner.

/// The type of a data message's payload.
package enum MessageKind: Sendable {
    /// UTF-8 text.
    case text
    /// Any bytes.
    case binary
}

/// The place of a run of payload bytes in its message.
///
/// A message is one or more pieces, in order and never interleaved with another message's. The first has `isFirst`, the
/// last `isLast`; a piece is empty only when it is the last.
package struct MessagePiece: Equatable, Sendable {
    /// The kind of the whole message.
    package var kind: MessageKind
    /// Indicates whether the message is compressed with permessage-deflate (RFC 7692 section 6).
    package var isCompressed: Bool
    /// Indicates whether the message begins with this piece.
    package var isFirst: Bool
    /// Indicates whether the message ends with this piece.
    package var isLast: Bool

    /// Indicates whether the piece is the whole message.
    package var isWhole: Bool { self.isFirst && self.isLast }

    /// Makes the description of a piece.
    package init(kind: MessageKind, isCompressed: Bool = false, isFirst: Bool = true, isLast: Bool = true) {
        self.kind = kind
        self.isCompressed = isCompressed
        self.isFirst = isFirst
        self.isLast = isLast
    }
}
