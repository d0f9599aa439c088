// Server frames as bytes (RFC 6455 section 5.2). No I/O.
// The buffers belong to the caller.

/// Writes frames without a mask, as a server must (RFC 6455 section 5.1).
package enum ServerFrameWriter {
    /// Returns the bytes before the payload of a whole message or of a control frame: 2, 4 or 10.
    package static func header(_ opcode: Opcode, payloadByteCount: Int) -> [UInt8] {
        precondition(
            !opcode.isControl || payloadByteCount <= Opcode.controlPayloadLimit,
            "a control frame is never longer than 125 bytes")
        let first = 0x80 | opcode.rawValue
        switch payloadByteCount {
        case ...125:
            return [first, UInt8(payloadByteCount)]
        case ...0xFFFF:
            return [first, 126, UInt8(payloadByteCount >> 8), UInt8(truncatingIfNeeded: payloadByteCount)]
        default:
            let length = UInt64(payloadByteCount)
            return [first, 127] + stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: length >> $0) }
        }
    }
}
