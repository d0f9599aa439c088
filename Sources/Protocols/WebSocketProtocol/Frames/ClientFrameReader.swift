// Client frames, read from bytes in pieces of any size (RFC 6455 section 5). No I/O.
// The owner is the thread that receives the connection's bytes.

/// Reads the frames of a client, unmasks them and assembles messages, by every rule of RFC 6455 section 5.
///
/// No extension is negotiated. The result depends only on the bytes, not on how they are cut into pieces. After an error
/// the reader must not be used any further.
package struct ClientFrameReader: Sendable {
    /// The parts of the received bytes, in order.
    package enum Element: Equatable, Sendable {
        /// A whole message; a text message's bytes are not checked.
        case message(MessageKind, [UInt8])
        /// A ping, to be answered with its payload.
        case ping([UInt8])
        /// A pong.
        case pong([UInt8])
        /// The close frame. It is the last element: bytes after it are discarded.
        case close(CloseFrame)
    }

    private enum State {
        case header
        case payload(FrameStart)
        case closed
    }

    /// The header of the current frame, and what is missing of its payload.
    private struct FrameStart {
        let opcode: Opcode
        let isFinal: Bool
        var mask: ByteMask
        var missing: Int
    }

    /// The longest header: two bytes, eight of the length, and the masking key.
    private static let headerByteLimit = 14

    private let messageByteLimit: Int
    private var state: State = .header
    private var header: [UInt8] = []
    private var control: [UInt8] = []
    private var message: [UInt8] = []
    /// The kind of the message that is in fragments; nil between messages.
    private var messageKind: MessageKind?

    /// Begins right behind the request of the opening handshake.
    package init(messageByteLimit: Int) {
        precondition(messageByteLimit >= 0, "a limit cannot be negative")
        self.messageByteLimit = messageByteLimit
    }

    /// Reads from `position` on, and returns nil when the bytes are used up.
    package mutating func next(
        in bytes: UnsafeRawBufferPointer, at position: inout Int
    ) throws(FrameError) -> Element? {
        while true {
            switch self.state {
            case .closed:
                // RFC 6455 section 1.4: after the close frame any further data is discarded.
                position = bytes.count
                return nil
            case .header:
                guard position < bytes.count else { return nil }
                self.header.append(unsafe bytes[position])
                position += 1
                try self.readHeader()
            case .payload(var frame):
                let count = min(frame.missing, bytes.count - position)
                unsafe self.take(UnsafeRawBufferPointer(rebasing: bytes[position..<position + count]), of: &frame)
                position += count
                self.state = .payload(frame)
                guard frame.missing == 0 else { return nil }
                self.state = .header
                if let element = try self.end(frame) { return element }
            }
        }
    }

    private mutating func take(_ bytes: UnsafeRawBufferPointer, of frame: inout FrameStart) {
        frame.missing -= bytes.count
        if frame.opcode.isControl {
            unsafe Self.append(bytes, to: &self.control, unmaskedBy: &frame.mask)
        } else {
            unsafe Self.append(bytes, to: &self.message, unmaskedBy: &frame.mask)
        }
    }

    private static func append(
        _ bytes: UnsafeRawBufferPointer, to output: inout [UInt8], unmaskedBy mask: inout ByteMask
    ) {
        let start = output.count
        unsafe output.append(contentsOf: bytes)
        unsafe output.withUnsafeMutableBytes { memory in
            unsafe mask.apply(to: UnsafeMutableRawBufferPointer(rebasing: memory[start...]))
        }
    }

    // MARK: Headers

    private mutating func readHeader() throws(FrameError) {
        switch self.header.count {
        case 1: try self.checkFirstByte(self.header[0])
        case 2: try self.checkSecondByte(self.header[1])
        default: break
        }
        guard let count = self.headerByteCount, self.header.count == count else { return }
        guard let opcode = Opcode(rawValue: self.header[0] & 0x0F) else { return }
        let byteCount = try self.payloadByteCount()
        if !opcode.isControl {
            guard byteCount <= self.messageByteLimit - self.message.count else {
                throw .messageTooBig(limit: self.messageByteLimit)
            }
            if opcode != .continuation { self.messageKind = opcode == .text ? .text : .binary }
        }
        let key = self.header[(count - 4)...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        self.state = .payload(
            FrameStart(
                opcode: opcode, isFinal: self.header[0] & 0x80 != 0, mask: ByteMask(key: MaskingKey(rawValue: key)),
                missing: byteCount))
        self.header.removeAll(keepingCapacity: true)
    }

    /// The number of bytes of the header, as soon as it is known.
    private var headerByteCount: Int? {
        guard self.header.count >= 2 else { return nil }
        switch self.header[1] & 0x7F {
        case 126: return 8
        case 127: return Self.headerByteLimit
        default: return 6
        }
    }

    private func checkFirstByte(_ byte: UInt8) throws(FrameError) {
        guard let opcode = Opcode(rawValue: byte & 0x0F) else { throw .reservedOpcode(byte & 0x0F) }
        guard byte & 0x70 == 0 else { throw .reservedBitSet }
        switch opcode {
        case .close, .ping, .pong: guard byte & 0x80 != 0 else { throw .fragmentedControlFrame }
        case .continuation: guard self.messageKind != nil else { throw .unexpectedContinuation }
        case .text, .binary: guard self.messageKind == nil else { throw .unfinishedMessage }
        }
    }

    private func checkSecondByte(_ byte: UInt8) throws(FrameError) {
        guard byte & 0x80 != 0 else { throw .unmaskedFrame }
        let isControl = self.header[0] & 0x08 != 0
        guard !isControl || byte & 0x7F <= UInt8(Opcode.controlPayloadLimit) else { throw .controlFrameTooLong }
    }

    private func payloadByteCount() throws(FrameError) -> Int {
        let form = self.header[1] & 0x7F
        guard form > 125 else { return Int(form) }
        let length = self.header[2..<(self.header.count - 4)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard length >> 63 == 0, let byteCount = Int(exactly: length) else { throw .lengthOutOfRange }
        // RFC 6455 section 5.2: "the minimal number of bytes MUST be used to encode the length".
        guard byteCount > (form == 126 ? 125 : 0xFFFF) else { throw .nonMinimalLength }
        return byteCount
    }

    // MARK: Ends of frames

    private mutating func end(_ frame: FrameStart) throws(FrameError) -> Element? {
        guard frame.opcode.isControl else {
            guard frame.isFinal, let kind = self.messageKind else { return nil }
            let bytes = self.message
            (self.message, self.messageKind) = ([], nil)
            return .message(kind, bytes)
        }
        let payload = self.control
        self.control = []
        switch frame.opcode {
        case .ping: return .ping(payload)
        case .pong: return .pong(payload)
        case .close, .continuation, .text, .binary:
            self.state = .closed
            return .close(try CloseFrame(payload: payload))
        }
    }
}
