// Client frames as bytes (RFC 6455 section 5.2). No I/O and no randomness: masking keys come from the caller.
// The buffers belong to the caller.

/// The first byte of a frame, as a value.
package struct FrameHeader: Equatable, Sendable {
    /// The opcode of the frame.
    package var opcode: Opcode
    /// Indicates whether the message ends with the frame.
    package var isFinal: Bool
    /// Indicates whether RSV1 is set: the first frame of a compressed message (RFC 7692 section 6).
    package var isCompressed: Bool

    /// Makes a header.
    package init(opcode: Opcode, isFinal: Bool = true, isCompressed: Bool = false) {
        self.opcode = opcode
        self.isFinal = isFinal
        self.isCompressed = isCompressed
    }
}

/// Writes masked frames, as a client must (RFC 6455 section 5.1).
package enum FrameWriter {
    /// Returns the number of bytes before a payload of that size: 6, 8 or 14.
    package static func headerByteCount(payloadByteCount: Int) -> Int {
        switch payloadByteCount {
        case ...125: 6
        case ...0xFFFF: 8
        default: 14
        }
    }

    /// Appends a whole frame.
    package static func append(
        _ header: FrameHeader,
        payload: UnsafeRawBufferPointer,
        maskingKey: MaskingKey,
        to output: inout [UInt8]
    ) {
        output.reserveCapacity(
            output.count + Self.headerByteCount(payloadByteCount: payload.count) + payload.count)
        Self.appendHeader(header, payloadByteCount: payload.count, maskingKey: maskingKey, to: &output)
        let payloadStart = output.count
        unsafe output.append(contentsOf: payload)
        var mask = ByteMask(key: maskingKey)
        unsafe output.withUnsafeMutableBytes { bytes in
            unsafe mask.apply(to: UnsafeMutableRawBufferPointer(rebasing: bytes[payloadStart...]))
        }
    }

    /// Appends a whole frame.
    package static func append(
        _ header: FrameHeader,
        payload: [UInt8],
        maskingKey: MaskingKey,
        to output: inout [UInt8]
    ) {
        unsafe payload.withUnsafeBytes { bytes in
            unsafe Self.append(header, payload: bytes, maskingKey: maskingKey, to: &output)
        }
    }

    /// Appends a close frame.
    package static func append(_ close: CloseFrame, maskingKey: MaskingKey, to output: inout [UInt8]) {
        Self.append(FrameHeader(opcode: .close), payload: close.payload, maskingKey: maskingKey, to: &output)
    }

    /// Appends the bytes before the payload, for a caller that masks the payload itself.
    package static func appendHeader(
        _ header: FrameHeader,
        payloadByteCount: Int,
        maskingKey: MaskingKey,
        to output: inout [UInt8]
    ) {
        precondition(payloadByteCount >= 0, "a payload cannot have a negative size")
        precondition(
            !header.opcode.isControl || (header.isFinal && payloadByteCount <= Opcode.controlPayloadLimit),
            "a control frame is never fragmented and never longer than 125 bytes")
        output.append((header.isFinal ? 0x80 : 0) | (header.isCompressed ? 0x40 : 0) | header.opcode.rawValue)
        switch payloadByteCount {
        case ...125:
            output.append(0x80 | UInt8(payloadByteCount))
        case ...0xFFFF:
            output.append(0x80 | 126)
            Self.appendBigEndian(UInt64(payloadByteCount), byteCount: 2, to: &output)
        default:
            output.append(0x80 | 127)
            Self.appendBigEndian(UInt64(payloadByteCount), byteCount: 8, to: &output)
        }
        Self.appendBigEndian(UInt64(maskingKey.rawValue), byteCount: 4, to: &output)
    }

    private static func appendBigEndian(_ value: UInt64, byteCount: Int, to output: inout [UInt8]) {
        for index in (0..<byteCount).reversed() {
            output.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index)))
        }
    }
}
