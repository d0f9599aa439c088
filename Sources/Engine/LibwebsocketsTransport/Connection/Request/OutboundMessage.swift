import Deflate
import StreamTransport
import WebSocketProtocol

/// A message on its way to the peer.
struct OutboundMessage: Sendable, Equatable {
    /// The bytes, compressed or not.
    let payload: [UInt8]
    /// The type of the message.
    let kind: OutboundKind
    /// Indicates whether the bytes are compressed with permessage-deflate (RFC 7692 section 6).
    let isCompressed: Bool

    /// Creates a message whose payload is sent as given.
    init(_ payload: [UInt8], kind: OutboundKind, isCompressed: Bool = false) {
        self.payload = payload
        self.kind = kind
        self.isCompressed = isCompressed
    }

    /// Creates a message that is compressed if compression was agreed and makes it smaller.
    ///
    /// No compressor is kept for the next message: its window takes 256 KiB.
    init(_ payload: [UInt8], kind: OutboundKind, compressedFor agreement: PerMessageDeflateAgreement) {
        let compressed: [UInt8]? = payload.withUnsafeBytes { message in
            guard CompressionChoice.isWorthwhile(message),
                let deflater = try? MessageDeflater(agreement: agreement)
            else { return nil }
            let output = PaddedBuffer()
            deflater.deflate(message, into: output)
            return output.count < message.count ? Array(output.bytes) : nil
        }
        self.init(compressed ?? payload, kind: kind, isCompressed: compressed != nil)
    }

    /// The number of bytes that the message takes of the room for those that wait.
    ///
    /// A short one takes as much as its places in memory and in the queue: otherwise any number of empty ones could
    /// wait.
    var weight: Int { max(Self.leastWeight, self.payload.count) }

    private static let leastWeight = 48

    /// The byte count of the message in one frame.
    var frameByteCount: Int {
        FrameWriter.headerByteCount(payloadByteCount: self.payload.count) + self.payload.count
    }

    /// The opcode of the message's first frame.
    var opcode: Opcode {
        switch self.kind {
        case .text: .text
        case .binary: .binary
        }
    }
}
