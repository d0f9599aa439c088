// Assembles the pieces of data messages, without a copy when a message has one piece.
// The owner is the one consumer of the connection's messages.

/// A whole message whose bytes are borrowed.
@unsafe package struct AssembledMessage {
    /// The kind of the message.
    package let kind: MessageKind
    /// Indicates whether the bytes are compressed.
    package let isCompressed: Bool
    /// The payload.
    ///
    /// The memory is the piece's when the message came in one, and the assembler's otherwise; the latter is valid until
    /// the next piece, and 64 bytes past its end are readable.
    package let bytes: UnsafeRawBufferPointer
}

/// Assembles messages from pieces.
package struct MessageAssembler {
    /// The largest number of bytes of a message.
    package let limit: Int

    /// The pieces so far, in memory that is made for the first message in pieces: few connections ever have one.
    private var buffer: PaddedBuffer?
    /// The last piece of the current message; nil between messages.
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
            self.buffer?.removeAll()
        } else {
            precondition(self.current != nil, "no message was begun")
        }
        guard bytes.count <= self.limit - (self.buffer?.count ?? 0) else { throw .messageTooBig(limit: self.limit) }
        if piece.isFirst && piece.isLast {
            return unsafe AssembledMessage(kind: piece.kind, isCompressed: piece.isCompressed, bytes: bytes)
        }
        let buffer = self.buffer ?? PaddedBuffer()
        self.buffer = buffer
        unsafe buffer.append(bytes)
        self.current = piece.isLast ? nil : piece
        guard piece.isLast else { return nil }
        return unsafe AssembledMessage(kind: piece.kind, isCompressed: piece.isCompressed, bytes: buffer.bytes)
    }

    /// Frees the memory of a large message, unless one is incomplete; the bytes that were lent last become invalid.
    package func trim() {
        if self.current == nil { self.buffer?.trim() }
    }
}
