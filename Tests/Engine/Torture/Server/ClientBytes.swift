// Clients' bytes, read as far as the server needs them.
//
// Pure values.

/// A request's header section.
struct RequestHead {
    /// Its length.
    var byteCount: Int
    /// The run that the client names.
    var run = 0
    /// The key of an opening handshake; nil for a POST.
    var key: ArraySlice<UInt8>?
    /// The length of the content.
    var contentByteCount = 0

    /// Reads a header section; nil while it is not whole.
    init?(_ bytes: [UInt8]) {
        var lineStart = 0
        var end: Int?
        for index in bytes.indices where bytes[index] == 0x0A && index > 0 && bytes[index - 1] == 0x0D {
            let line = bytes[lineStart..<index - 1]
            lineStart = index + 1
            if line.isEmpty {
                end = index + 1
                break
            }
        }
        guard let end else { return nil }
        self.byteCount = end
        for line in bytes[..<end].split(separator: 0x0A) { self.readField(line.dropLast()) }
    }

    private mutating func readField(_ line: ArraySlice<UInt8>) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        let value = line[(colon + 1)...].drop { $0 == 0x20 }
        switch String(decoding: line[..<colon], as: UTF8.self).lowercased() {
        case ReplayServer.runField: self.run = Int(String(decoding: value, as: UTF8.self)) ?? 0
        case "sec-websocket-key": self.key = value
        case "content-length": self.contentByteCount = Int(String(decoding: value, as: UTF8.self)) ?? 0
        default: break
        }
    }
}

/// A frame of a client (RFC 6455 section 5.2), unmasked.
struct ClientFrame {
    /// The opcodes that are answered.
    static let close: UInt8 = 0x8
    /// A ping.
    static let ping: UInt8 = 0x9

    /// The opcode of the frame.
    var opcode: UInt8
    /// Its length, the header included.
    var byteCount: Int
    /// The payload of a control frame; empty for other frames.
    var payload: [UInt8] = []

    /// Indicates whether it is a control frame, or only a piece of the message.
    var isControl: Bool { self.opcode >= 0x8 || !self.isFinal }
    private var isFinal: Bool

    /// Reads the first frame; nil while it is not whole.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 6 else { return nil }
        self.opcode = bytes[0] & 0x0F
        self.isFinal = bytes[0] & 0x80 != 0
        var count = Int(bytes[1] & 0x7F)
        var start = 2
        if count > 125 {
            let lengthByteCount = count == 126 ? 2 : 8
            guard bytes.count >= 2 + lengthByteCount else { return nil }
            count = bytes[2..<2 + lengthByteCount].reduce(0) { $0 << 8 | Int($1) }
            start += lengthByteCount
        }
        self.byteCount = start + 4 + count
        guard bytes.count >= self.byteCount else { return nil }
        guard self.opcode >= 0x8 else { return }
        let mask = bytes[start..<start + 4]
        self.payload = (0..<count).map { bytes[start + 4 + $0] ^ mask[start + $0 % 4] }
    }
}
