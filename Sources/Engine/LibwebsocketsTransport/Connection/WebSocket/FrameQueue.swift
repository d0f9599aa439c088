import WebSocketProtocol

/// The frames to be written on a WebSocket, in order.
///
/// It belongs to the service thread.
///
/// A message larger than a fragment is sent in fragments, so that a pong never waits for a whole upload (RFC 6455
/// section 5.4): servers drop a connection whose pongs are late.
struct FrameQueue {
    /// The handling of messages that were not begun when the connection is closed.
    enum Rest {
        /// They are sent before the close frame, up to the first that takes more than one frame.
        case isSent
        /// All of them are sent before the close frame.
        case isSentWhole
        /// They are dropped, because the peer no longer reads.
        case isDropped
    }

    private static let fragmentByteCount = 64 << 10
    /// The most bytes of unsent control frames, so that a peer that pings without reading cannot fill the memory.
    private static let controlByteLimit = 64 << 10
    /// The most memory that is kept when everything was written.
    private static let keptCapacity = 4 << 10

    private var control: [UInt8] = []
    /// The answer to the newest ping, when there was no room for it.
    ///
    /// Only the newest ping has to be answered (RFC 6455 section 5.5.3).
    private var latestPong: [UInt8]?
    private var messages = OutboundMessageQueue()
    /// The number of bytes of the first message that are in frames.
    private var messageOffset = 0
    private var hasDroppedMessages = false
    /// The last frame.
    private var close: [UInt8] = []
    /// The frame that did not fit into a buffer whole, or control frames.
    private var frame: [UInt8] = []
    private var frameOffset = 0
    /// The weight of the message that ends with it; 0 when none does.
    private var endedWeight = 0
    /// The weight of messages that were moved out whole since it was taken.
    private var movedWeight = 0

    /// Indicates whether everything was written.
    ///
    /// It is asked for with every read, and stored for that: its parts lie in several cache lines.
    private(set) var isEmpty = true

    /// Indicates whether every message went out whole.
    var hasSentMessages: Bool {
        self.messages.isEmpty && self.frameOffset == self.frame.count && !self.hasDroppedMessages
    }

    mutating func append(_ message: OutboundMessage) {
        self.isEmpty = false
        self.messages.append(message)
    }

    mutating func appendPing(_ payload: [UInt8]) {
        guard self.control.count < Self.controlByteLimit else { return }
        self.appendControl(.ping, payload: payload)
    }

    mutating func appendPong(_ payload: [UInt8]) {
        self.isEmpty = false
        if self.control.count < Self.controlByteLimit {
            self.appendControl(.pong, payload: payload)
        } else {
            self.latestPong = payload
        }
    }

    /// Appends the last frame; no frame may be appended after it.
    ///
    /// A message whose first fragments were sent already stays unfinished.
    mutating func appendClose(_ close: CloseFrame, rest: Rest) {
        if rest != .isSentWhole { self.dropMessages(after: rest == .isSent ? self.sendableCount : 0) }
        self.isEmpty = false
        FrameWriter.append(close, maskingKey: .random(), to: &self.close)
    }

    /// The number of messages before the first that takes more than one frame; none when its fragments are being sent.
    private var sendableCount: Int {
        guard self.messageOffset == 0 else { return 0 }
        return self.messages.count(before: { $0.payload.count > Self.fragmentByteCount })
    }

    private mutating func dropMessages(after count: Int) {
        if count < self.messages.count { self.hasDroppedMessages = true }
        self.messages.removeAll(after: count)
        self.messageOffset = 0
    }

    /// Moves bytes into a buffer; returns their number.
    ///
    /// A message's frame that fits is made in the buffer. `keys` gives the keys of messages; a control frame is rare,
    /// and has one of its own.
    mutating func fill(_ buffer: UnsafeMutableBufferPointer<UInt8>, masking keys: inout MaskingKeyBlock) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableBufferPointer(rebasing: buffer[filled...])
            if self.frameOffset == self.frame.count {
                if let count = self.writeFragment(to: UnsafeMutableRawBufferPointer(rest), masking: &keys) {
                    filled += count
                    continue
                }
                if !self.beginFrame(masking: &keys) { break }
            }
            let count = min(rest.count, self.frame.count - self.frameOffset)
            _ = rest.update(fromContentsOf: self.frame[self.frameOffset..<self.frameOffset + count])
            self.frameOffset += count
            filled += count
            if self.frameOffset == self.frame.count { self.movedFrame() }
        }
        self.isEmpty =
            self.frameOffset == self.frame.count && self.control.isEmpty && self.latestPong == nil
            && self.messages.isEmpty && self.close.isEmpty
        return filled
    }

    private mutating func movedFrame() {
        self.movedWeight += self.endedWeight
        self.endedWeight = 0
    }

    /// Returns, once, the weight of messages that `fill` has moved out to their last byte.
    ///
    /// A message waits as long as a part of it does: it stays in memory until then.
    mutating func takeMovedWeight() -> Int {
        defer { self.movedWeight = 0 }
        return self.movedWeight
    }

    private mutating func appendControl(_ opcode: Opcode, payload: [UInt8]) {
        self.isEmpty = false
        FrameWriter.append(FrameHeader(opcode: opcode), payload: payload, maskingKey: .random(), to: &self.control)
    }

    /// Makes the next bytes to write: the control frames, a fragment, or the close frame.
    ///
    /// Returns false when the queue is empty.
    private mutating func beginFrame(masking keys: inout MaskingKeyBlock) -> Bool {
        self.frame.removeAll(keepingCapacity: true)
        self.frameOffset = 0
        if self.control.isEmpty, let payload = self.latestPong.take() { self.appendControl(.pong, payload: payload) }
        if !self.control.isEmpty {
            swap(&self.frame, &self.control)
            return true
        }
        if self.beginFragment(masking: &keys) { return true }
        guard !self.close.isEmpty else {
            if self.frame.capacity > Self.keptCapacity { self.frame = [] }
            return false
        }
        swap(&self.frame, &self.close)
        return true
    }

    // MARK: Fragments

    /// The next frame of a message.
    private struct Fragment {
        let header: FrameHeader
        let range: Range<Int>
        let message: OutboundMessage

        /// The weight of the message that ends with it; 0 when more follows.
        var endedWeight: Int { self.header.isFinal ? self.message.weight : 0 }
    }

    private var nextFragment: Fragment? {
        guard let message = self.messages.first else { return nil }
        let isFirst = self.messageOffset == 0
        let end = min(message.payload.count, self.messageOffset + Self.fragmentByteCount)
        let header = FrameHeader(
            opcode: isFirst ? message.opcode : .continuation, isFinal: end == message.payload.count,
            // RFC 7692 section 6.1: the bit belongs to the first fragment alone.
            isCompressed: isFirst && message.isCompressed)
        return Fragment(header: header, range: self.messageOffset..<end, message: message)
    }

    /// Notes that a fragment is in a frame.
    private mutating func took(_ fragment: Fragment) {
        self.messageOffset = fragment.range.upperBound
        guard fragment.header.isFinal else { return }
        self.messages.removeFirst()
        self.messageOffset = 0
    }

    /// Writes the next fragment to memory; returns nil when there is none, it does not fit whole, or control frames
    /// come first.
    private mutating func writeFragment(
        to memory: UnsafeMutableRawBufferPointer, masking keys: inout MaskingKeyBlock
    ) -> Int? {
        guard self.control.isEmpty, self.latestPong == nil, let fragment = self.nextFragment else { return nil }
        let byteCount = fragment.range.count
        guard FrameWriter.headerByteCount(payloadByteCount: byteCount) + byteCount <= memory.count else { return nil }
        let key = keys.next()
        let count = fragment.message.payload.withUnsafeBytes { bytes in
            let payload = UnsafeRawBufferPointer(rebasing: bytes[fragment.range])
            return FrameWriter.write(fragment.header, payload: payload, maskingKey: key, to: memory)
        }
        self.took(fragment)
        self.movedWeight += fragment.endedWeight
        return count
    }

    private mutating func beginFragment(masking keys: inout MaskingKeyBlock) -> Bool {
        guard let fragment = self.nextFragment else { return false }
        let key = keys.next()
        fragment.message.payload.withUnsafeBytes { bytes in
            let payload = UnsafeRawBufferPointer(rebasing: bytes[fragment.range])
            FrameWriter.append(fragment.header, payload: payload, maskingKey: key, to: &self.frame)
        }
        self.took(fragment)
        self.endedWeight = fragment.endedWeight
        return true
    }
}
