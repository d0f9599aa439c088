// Puts the pieces of data messages together, without a copy when there is nothing to put together.
// The owner is the one consumer of the connection's messages.

/// A whole message whose bytes are borrowed.
@unsafe package struct AssembledMessage {
    /// What the message is.
    package let kind: MessageKind
    /// Indicates whether the bytes are compressed.
    package let isCompressed: Bool
    /// The payload.
    ///
    /// The memory is the piece's when the message came in one, and the assembler's otherwise; then it is valid until
    /// the next piece, and 64 bytes past its end are readable.
    package let bytes: UnsafeRawBufferPointer
}

/// Makes messages of pieces.
package struct MessageAssembler {
    /// The most bytes a message may have.
    package let limit: Int

    private let buffer = PaddedBuffer()
    /// Nil between messages.
    private var current: MessagePiece?

    /// Makes an assembler for messages of at most `limit` bytes.
    package init(limit: Int = FrameReader.defaultMessageByteLimit) {
        precondition(limit >= 0, "a limit cannot be negative")
        self.limit = limit
    }

    /// Takes the next piece, and returns the message that it completes.
    package mutating func append(
        _ piece: MessagePiece, bytes: UnsafeRawBufferPointer
    ) throws(FrameError) -> AssembledMessage? {
        if piece.isFirst {
            precondition(self.current == nil, "the message before has not ended")
            self.buffer.removeAll()
        } else {
            precondition(self.current != nil, "no message was begun")
        }
        guard bytes.count <= self.limit - self.buffer.count else { throw .messageTooBig(limit: self.limit) }
        if piece.isFirst && piece.isLast {
            return unsafe AssembledMessage(kind: piece.kind, isCompressed: piece.isCompressed, bytes: bytes)
        }
        unsafe self.buffer.append(bytes)
        self.current = piece.isLast ? nil : piece
        guard piece.isLast else { return nil }
        return unsafe AssembledMessage(kind: piece.kind, isCompressed: piece.isCompressed, bytes: self.buffer.bytes)
    }

    /// Gives back the memory of a large message, unless one is in hand; the message that was lent last is gone.
    package func trim() {
        if self.current == nil { self.buffer.trim() }
    }

    /// Forgets a message that will not be completed, as when the connection was lost.
    package mutating func reset() {
        self.current = nil
        self.buffer.removeAll()
    }
}
