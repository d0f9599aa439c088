// Compressed messages of a client (RFC 7692 section 7.2.1).
// The owner is the writer of the connection's messages.

package import WebSocketProtocol

/// Compresses the messages of one connection, one after the other.
///
/// A sender may begin a message with an empty window whatever was agreed (RFC 7692 section 7.1.1), so a compressor may
/// also be used for one message only: it takes about 256 KiB.
package final class MessageDeflater {
    /// zlib's level: at 1 a JSON request shrinks to 0.30 of its size at 120 MB/s; at 3 to 0.27 at 90, at 6 to 0.24 at
    /// 40.
    private static let level = 1

    private let deflater: Deflater
    private let keepsWindow: Bool

    /// Creates a compressor for a client that agreed to these parameters; nil when zlib cannot comply with them.
    ///
    /// That is the case for a client's window of 8 bits. Messages may always be sent uncompressed (RFC 7692 section 6),
    /// so the agreement remains valid.
    package init?(agreement: PerMessageDeflateAgreement) throws(DeflateError) {
        guard agreement.allowsClientCompression else { return nil }
        self.keepsWindow = !agreement.clientNoContextTakeover
        self.deflater = try Deflater(format: .raw(windowBits: agreement.clientMaxWindowBits), level: Self.level)
    }

    /// Appends the payload of a whole compressed message.
    package func deflate(_ message: UnsafeRawBufferPointer, into output: PaddedBuffer) {
        guard !message.isEmpty else {
            // RFC 7692 section 7.2.3.6. zlib would write no output for a second flush in a row.
            [UInt8(0)].withUnsafeBytes { output.append($0) }
            return
        }
        self.deflater.deflate(message, flush: .sync, into: output)
        // RFC 7692 section 7.2.1: the 00 00 FF FF of the flush is not sent.
        output.removeLast(4)
        if !self.keepsWindow { self.deflater.reset() }
    }
}
