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

    /// Writes a whole frame to the beginning of a buffer that has room for it; returns the number of bytes.
    ///
    /// The payload lies elsewhere.
    package static func write(
        _ header: FrameHeader,
        payload: UnsafeRawBufferPointer,
        maskingKey: MaskingKey,
        to buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        let start = unsafe Self.writeHeader(
            header, payloadByteCount: payload.count, maskingKey: maskingKey, to: buffer)
        var mask = ByteMask(key: maskingKey)
        unsafe mask.apply(from: payload, to: UnsafeMutableRawBufferPointer(rebasing: buffer[start...]))
        return start + payload.count
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
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.headerByteLimit, alignment: 8) { bytes in
            let count = unsafe Self.writeHeader(
                header, payloadByteCount: payloadByteCount, maskingKey: maskingKey, to: bytes)
            unsafe output.append(contentsOf: bytes[..<count])
        }
    }

    /// The most bytes before a payload.
    private static let headerByteLimit = 14

    /// Writes the bytes before a payload to the beginning of a buffer; returns their number.
    private static func writeHeader(
        _ header: FrameHeader,
        payloadByteCount: Int,
        maskingKey: MaskingKey,
        to buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        precondition(payloadByteCount >= 0, "a payload cannot have a negative size")
        precondition(
            !header.opcode.isControl || (header.isFinal && payloadByteCount <= Opcode.controlPayloadLimit),
            "a control frame is never fragmented and never longer than 125 bytes")
        let count = Self.headerByteCount(payloadByteCount: payloadByteCount)
        precondition(count <= buffer.count, "there is no room for the header of a frame")
        let first = (header.isFinal ? 0x80 : 0) | (header.isCompressed ? 0x40 : 0) | header.opcode.rawValue
        unsafe buffer.storeBytes(of: first, as: UInt8.self)
        switch payloadByteCount {
        case ...125:
            unsafe buffer.storeBytes(of: 0x80 | UInt8(payloadByteCount), toByteOffset: 1, as: UInt8.self)
        case ...0xFFFF:
            unsafe buffer.storeBytes(of: 0x80 | 126, toByteOffset: 1, as: UInt8.self)
            unsafe buffer.storeBytes(of: UInt16(payloadByteCount).bigEndian, toByteOffset: 2, as: UInt16.self)
        default:
            unsafe buffer.storeBytes(of: 0x80 | 127, toByteOffset: 1, as: UInt8.self)
            unsafe buffer.storeBytes(of: UInt64(payloadByteCount).bigEndian, toByteOffset: 2, as: UInt64.self)
        }
        unsafe buffer.storeBytes(of: maskingKey.rawValue.bigEndian, toByteOffset: count - 4, as: UInt32.self)
        return count
    }
}
