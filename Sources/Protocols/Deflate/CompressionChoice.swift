// Decides whether a message to the server is worth compressing (RFC 7692 section 6: any message may be sent
// uncompressed). It has no state.

internal import WebSocketProtocol

/// Decides whether a message is compressed before it is sent.
///
/// The decision depends on the message alone: its size, and how well a sample of it compresses. Text and JSON shrink to
/// a third to two thirds of their size; base64 to three quarters, at a third of the speed, and images do not shrink.
package enum CompressionChoice {
    /// Shorter messages are not compressed.
    ///
    /// Below it a message saves less than two TCP segments.
    package static let minimumByteCount = 4_096
    /// The sample's share of its size, in hundredths, above which the message is sent as it is.
    ///
    /// Samples of JSON, text and Chinese are at 42 to 66, of base64 at 76 to 79.
    package static let worthwhilePercentage = 70

    /// The sample is that many pieces, from the beginning to the end of the message: a long prompt often holds a short
    /// text and a large picture.
    private static let pieceCount = 8
    private static let pieceByteCount = 512

    /// Returns whether it pays to compress the message.
    package static func isWorthwhile(_ message: UnsafeRawBufferPointer) -> Bool {
        guard message.count >= Self.minimumByteCount,
            let deflater = try? Deflater(format: .raw(windowBits: 15), level: 1)
        else { return false }
        let output = PaddedBuffer()
        for index in 0..<Self.pieceCount {
            let start = (message.count - Self.pieceByteCount) * index / (Self.pieceCount - 1)
            let piece = UnsafeRawBufferPointer(rebasing: message[start..<start + Self.pieceByteCount])
            deflater.deflate(piece, flush: index == Self.pieceCount - 1 ? .finish : .none, into: output)
        }
        return output.count * 100 <= Self.pieceCount * Self.pieceByteCount * Self.worthwhilePercentage
    }
}
