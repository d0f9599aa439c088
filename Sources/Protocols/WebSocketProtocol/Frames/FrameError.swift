// The errors of a peer's frames.
// Values without an owner.

/// The reason for which the connection must be failed (RFC 6455 section 7.1.7).
package enum FrameError: Error, Equatable, Sendable {
    /// A frame from the server was masked (RFC 6455 section 5.1).
    case maskedFrame
    /// A frame from the client was not masked (RFC 6455 section 5.1).
    case unmaskedFrame
    /// A reserved bit was set to which no negotiated extension gives a meaning in this frame.
    case reservedBitSet
    /// An opcode that RFC 6455 section 5.2 reserves.
    case reservedOpcode(UInt8)
    /// A control frame without FIN.
    case fragmentedControlFrame
    /// A control frame of more than 125 bytes.
    case controlFrameTooLong
    /// A continuation frame outside a fragmented message.
    case unexpectedContinuation
    /// A text or binary frame before the last fragment of the current message.
    case unfinishedMessage
    /// A 64-bit length with the most significant bit set.
    case lengthOutOfRange
    /// A length that was not encoded in the fewest bytes.
    case nonMinimalLength
    /// A message over the limit, by its frame headers or while it was collected.
    case messageTooBig(limit: Int)
    /// A close frame with a payload of one byte.
    case incompleteCloseCode
    /// A close code that must not be in a frame.
    case closeCodeNotAllowed(UInt16)
    /// A close reason that is not UTF-8.
    case closeReasonNotUTF8

    /// The code to send when the connection is failed for this.
    package var closeCode: CloseCode {
        switch self {
        case .messageTooBig:
            .messageTooBig
        case .closeReasonNotUTF8:
            .invalidFramePayloadData
        case .maskedFrame, .unmaskedFrame, .reservedBitSet, .reservedOpcode, .fragmentedControlFrame,
            .controlFrameTooLong,
            .unexpectedContinuation, .unfinishedMessage, .lengthOutOfRange, .nonMinimalLength, .incompleteCloseCode,
            .closeCodeNotAllowed:
            .protocolError
        }
    }
}
