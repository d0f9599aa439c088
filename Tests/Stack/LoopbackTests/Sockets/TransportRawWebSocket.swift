import Foundation

/// A WebSocket server's side, byte by byte: it checks no rules, so that a test can break every one.
extension RawPeer {
    /// A client's frame, unmasked.
    struct Frame: Equatable, Sendable {
        var opcode: UInt8
        var payload: [UInt8]
        var isFinal = true
        var isCompressed = false
    }

    /// Reads the opening handshake and accepts it, with these field lines besides those it must have.
    @discardableResult
    func acceptWebSocket(_ fields: String...) async -> String {
        let head = await self.read(until: "\r\n\r\n")
        self.write(Self.acceptance(of: head, fields))
        return head
    }

    /// The answer that accepts an opening handshake.
    static func acceptance(of head: String, _ fields: [String] = []) -> String {
        let lines = head.split(separator: "\r\n")
        let key = lines.first { $0.lowercased().hasPrefix("sec-websocket-key:") }
            .map { $0.split(separator: ":", maxSplits: 1)[1].trimmingCharacters(in: .whitespaces) }
        let digest = SHA1.digest(of: Array("\(key ?? "")258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))
        return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(Data(digest).base64EncodedString())\r\n"
            + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    /// Reads one frame; nil when the connection ends before it does.
    func readFrame() async -> Frame? {
        let head = await self.read(count: 2)
        guard head.count == 2 else { return nil }
        var count = Int(head[1] & 0x7F)
        if count >= 126 {
            let length = await self.read(count: count == 126 ? 2 : 8)
            guard length.count == (count == 126 ? 2 : 8) else { return nil }
            count = length.reduce(0) { $0 << 8 | Int($1) }
        }
        let rest = await self.read(count: 4 + count)
        guard rest.count == 4 + count else { return nil }
        return Frame(
            opcode: head[0] & 0x0F, payload: rest[4...].enumerated().map { $1 ^ rest[$0 & 3] },
            isFinal: head[0] & 0x80 != 0, isCompressed: head[0] & 0x40 != 0)
    }

    /// Reads a control frame, or the frames of one message without control frames in between.
    func readMessage() async -> Frame? {
        guard var message = await self.readFrame() else { return nil }
        while !message.isFinal {
            guard let next = await self.readFrame(), next.opcode == 0, !next.isCompressed else { return nil }
            message.payload += next.payload
            message.isFinal = next.isFinal
        }
        return message
    }

    /// Reads frames until the code of a close frame; 1005 when it has none, nil when there is no close frame.
    func readCloseCode() async -> Int? {
        while let frame = await self.readFrame() {
            guard frame.opcode == 8 else { continue }
            return frame.payload.count < 2 ? 1005 : Int(frame.payload[0]) << 8 | Int(frame.payload[1])
        }
        return nil
    }

    /// A server's frame.
    static func frame(
        _ opcode: UInt8, _ payload: [UInt8] = [], isFinal: Bool = true, reserved: UInt8 = 0
    ) -> [UInt8] {
        let length: [UInt8] =
            switch payload.count {
            case ...125: [UInt8(payload.count)]
            case ...0xFFFF: [126] + (0..<2).map { UInt8(truncatingIfNeeded: payload.count >> (8 - 8 * $0)) }
            default: [127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
            }
        return [(isFinal ? 0x80 : 0) | reserved << 4 | opcode] + length + payload
    }

    /// Writes one frame of less than 126 bytes.
    func writeFrame(opcode: UInt8, _ payload: [UInt8] = []) {
        self.write([0x80 | opcode, UInt8(payload.count)] + payload)
    }

    /// Writes a text message.
    func writeText(_ text: String) {
        self.writeFrame(opcode: 1, Array(text.utf8))
    }
}

/// RFC 3174, for the server's side of the opening handshake.
enum SHA1 {
    static func digest(of message: [UInt8]) -> [UInt8] {
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        var bytes = message + [0x80]
        while bytes.count % 64 != 56 { bytes.append(0) }
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: (message.count * 8) >> (56 - 8 * $0)) }
        for start in stride(from: 0, to: bytes.count, by: 64) { Self.add(bytes[start..<start + 64], to: &state) }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
    }

    private static func add(_ block: ArraySlice<UInt8>, to state: inout [UInt32]) {
        var words = (0..<16).map { index in
            (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(block[block.startIndex + 4 * index + $1]) }
        }
        func rotated(_ word: UInt32, by count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
        for index in 16..<80 {
            words.append(rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], by: 1))
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
            let (mix, constant): (UInt32, UInt32) =
                switch index / 20 {
                case 0: (b & c | ~b & d, 0x5A82_7999)
                case 1: (b ^ c ^ d, 0x6ED9_EBA1)
                case 2: (b & c | b & d | c & d, 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next = rotated(a, by: 5) &+ mix &+ e &+ constant &+ words[index]
            (e, d, c, b, a) = (d, c, rotated(b, by: 30), a, next)
        }
        for (index, value) in [a, b, c, d, e].enumerated() { state[index] &+= value }
    }
}
