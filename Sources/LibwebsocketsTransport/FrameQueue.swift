import WebSocketProtocol

/// What is to be written on a WebSocket, in the order in which it may be.
///
/// It belongs to the service thread.
///
/// A message larger than a fragment goes out in fragments, so that a pong never waits for a whole upload
/// (RFC 6455 section 5.4): servers give a connection up when it does.
struct FrameQueue {
    private static let fragmentByteCount = 64 << 10
    /// More unsent control frames than this are not kept: only the newest ping has to be answered
    /// (RFC 6455 section 5.5.3), and a peer that reads nothing must not fill the memory.
    private static let controlByteLimit = 64 << 10

    private var control: [UInt8] = []
    private var messages: [(payload: [UInt8], opcode: Opcode)] = []
    private var messageOffset = 0
    private var frame: [UInt8] = []
    private var frameOffset = 0

    /// Whether everything was written.
    var isEmpty: Bool { self.frameOffset == self.frame.count && self.control.isEmpty && self.messages.isEmpty }

    /// Whether no message is left, not even in part.
    var hasSentMessages: Bool { self.messages.isEmpty && self.frameOffset == self.frame.count }

    mutating func appendMessage(_ payload: [UInt8], as opcode: Opcode) {
        self.messages.append((payload, opcode))
    }

    mutating func appendControl(_ opcode: Opcode, payload: [UInt8]) {
        guard self.control.count < Self.controlByteLimit else { return }
        FrameWriter.append(FrameHeader(opcode: opcode), payload: payload, maskingKey: .random(), to: &self.control)
    }

    /// The last frame: what was not begun is not sent any more.
    mutating func appendClose(_ close: CloseFrame) {
        self.messages.removeAll()
        self.messageOffset = 0
        FrameWriter.append(close, maskingKey: .random(), to: &self.control)
    }

    /// Moves bytes into a buffer; how many.
    mutating func fill(_ buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var filled = 0
        while filled < buffer.count {
            if self.frameOffset == self.frame.count, !self.beginFrame() { break }
            let count = min(buffer.count - filled, self.frame.count - self.frameOffset)
            let part = self.frame[self.frameOffset..<self.frameOffset + count]
            _ = UnsafeMutableBufferPointer(rebasing: buffer[filled..<filled + count]).update(fromContentsOf: part)
            self.frameOffset += count
            filled += count
        }
        return filled
    }

    /// Makes the next bytes to write: the control frames, or a fragment.
    ///
    /// False when there is nothing.
    private mutating func beginFrame() -> Bool {
        self.frame.removeAll(keepingCapacity: true)
        self.frameOffset = 0
        if !self.control.isEmpty {
            swap(&self.frame, &self.control)
            return true
        }
        guard let (message, opcode) = self.messages.first else { return false }
        let end = min(message.count, self.messageOffset + Self.fragmentByteCount)
        let header = FrameHeader(
            opcode: self.messageOffset == 0 ? opcode : .continuation, isFinal: end == message.count)
        message.withUnsafeBytes { bytes in
            let payload = UnsafeRawBufferPointer(rebasing: bytes[self.messageOffset..<end])
            FrameWriter.append(header, payload: payload, maskingKey: .random(), to: &self.frame)
        }
        self.messageOffset = end
        if header.isFinal {
            self.messages.removeFirst()
            self.messageOffset = 0
        }
        return true
    }
}

extension MaskingKey {
    /// A fresh key, as unpredictable as RFC 6455 section 5.3 wants it.
    static func random() -> MaskingKey { MaskingKey(rawValue: .random(in: 0...UInt32.max)) }
}
