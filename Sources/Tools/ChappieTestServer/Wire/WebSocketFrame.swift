// Frames of RFC 6455: reading the client's, making the server's.
//
// Pure values apart from reading the stream that the connection thread owns.

/// One frame, unmasked.
struct WebSocketFrame: Sendable {
    /// The opcode of the frame (RFC 6455 section 5.2).
    enum Opcode: UInt8, Sendable {
        case continuation = 0x0
        case text = 0x1
        case binary = 0x2
        case close = 0x8
        case ping = 0x9
        case pong = 0xA

        /// Indicates whether the frame is a control frame.
        var isControl: Bool { self.rawValue >= 0x8 }
    }

    /// A frame that ends the connection with a close code.
    struct Violation: Error {
        var code: Int
    }

    var opcode: Opcode
    var isFinal = true
    /// RSV1: the message is compressed (RFC 7692 section 6).
    var isCompressed = false
    var payload: [UInt8]

    /// The frame as a server sends it: without a mask.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(self.payload.count + 10)
        bytes.append((self.isFinal ? 0x80 : 0) | (self.isCompressed ? 0x40 : 0) | self.opcode.rawValue)
        switch self.payload.count {
        case ...125: bytes.append(UInt8(self.payload.count))
        case ...0xFFFF:
            bytes.append(126)
            Self.append(self.payload.count, byteCount: 2, to: &bytes)
        default:
            bytes.append(127)
            Self.append(self.payload.count, byteCount: 8, to: &bytes)
        }
        bytes.append(contentsOf: self.payload)
        return bytes
    }

    private static func append(_ count: Int, byteCount: Int, to bytes: inout [UInt8]) {
        for shift in stride(from: (byteCount - 1) * 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: count >> shift))
        }
    }

    /// Returns a close frame with a code and a reason, or an empty one without a code.
    static func close(code: Int?, reason: String) -> Self {
        guard let code else { return Self(opcode: .close, payload: []) }
        let number = UInt16(truncatingIfNeeded: code)
        let text = reason.utf8.prefix(123)
        return Self(opcode: .close, payload: [UInt8(number >> 8), UInt8(number & 0xFF)] + text)
    }

    /// The code of a Close frame; 1005 for one without a code (RFC 6455 section 7.1.5).
    var closeCode: Int { self.payload.count < 2 ? 1005 : Int(self.payload[0]) << 8 | Int(self.payload[1]) }

    /// The reason of a Close frame.
    var closeReason: String { String(decoding: self.payload.dropFirst(2), as: UTF8.self) }

    /// Reads a client's frame, waiting for it.
    ///
    /// `limit` is the largest payload of a data frame.
    static func read(from stream: ByteStream, limit: Int, allowsCompression: Bool) throws -> Self {
        let first = try stream.readByte()
        let second = try stream.readByte()
        guard let opcode = Opcode(rawValue: first & 0x0F), first & 0x30 == 0 else { throw Violation(code: 1002) }
        let isCompressed = first & 0x40 != 0
        // A client masks every frame (RFC 6455 section 5.1), and only the first frame of a message may have RSV1.
        guard second & 0x80 != 0, !isCompressed || (allowsCompression && (opcode == .text || opcode == .binary)) else {
            throw Violation(code: 1002)
        }
        let isFinal = first & 0x80 != 0
        let count = try self.readLength(second & 0x7F, from: stream)
        if opcode.isControl && (count > 125 || !isFinal) { throw Violation(code: 1002) }
        if count > UInt64(max(0, limit)) && !opcode.isControl { throw Violation(code: 1009) }
        var mask: [UInt8] = []
        try stream.read(4, into: &mask)
        var payload: [UInt8] = []
        try stream.read(Int(count), into: &payload)
        self.unmask(&payload, with: mask)
        return Self(opcode: opcode, isFinal: isFinal, isCompressed: isCompressed, payload: payload)
    }

    private static func readLength(_ short: UInt8, from stream: ByteStream) throws -> UInt64 {
        guard short > 125 else { return UInt64(short) }
        var bytes: [UInt8] = []
        try stream.read(short == 126 ? 2 : 8, into: &bytes)
        let count = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // The most significant bit is 0 and the shortest form is used (RFC 6455 section 5.2).
        guard count >> 63 == 0, count > (short == 126 ? 125 : 0xFFFF) else { throw Violation(code: 1002) }
        return count
    }

    private static func unmask(_ payload: inout [UInt8], with mask: [UInt8]) {
        payload.withUnsafeMutableBufferPointer { bytes in
            for index in bytes.indices { bytes[index] ^= mask[index & 3] }
        }
    }
}
