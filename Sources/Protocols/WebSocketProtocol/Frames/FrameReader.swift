// Server frames, read from bytes in chunks of any size (RFC 6455 section 5). No I/O, and only the payloads of control
// frames are copied.
// The owner is the thread that receives the connection's bytes.

/// Reads the frames of a server and checks every rule of RFC 6455 section 5.
///
/// The result depends only on the bytes, not on how they are cut into chunks, except for the cuts between the pieces of
/// one message.
package struct FrameReader: Sendable {
    /// The default limit of a message: 64 MiB.
    package static let defaultMessageByteLimit = 67_108_864

    /// The agreements of the connection that affect its frames.
    package struct Configuration: Equatable, Sendable {
        /// Indicates whether permessage-deflate was negotiated, which gives RSV1 its meaning.
        package var isCompressionNegotiated: Bool
        /// The largest payload of a message in bytes, all fragments together, as transmitted.
        package var messageByteLimit: Int

        /// Makes a configuration.
        package init(
            isCompressionNegotiated: Bool = false,
            messageByteLimit: Int = FrameReader.defaultMessageByteLimit
        ) {
            precondition(messageByteLimit >= 0, "a limit cannot be negative")
            self.isCompressionNegotiated = isCompressionNegotiated
            self.messageByteLimit = messageByteLimit
        }
    }

    /// The parts of the received bytes, in order.
    package enum Element: Equatable, Sendable {
        /// Payload of a data message: its place in the message, and in the chunk.
        case data(MessagePiece, Range<Int>)
        /// A ping, to be answered with `controlPayload`.
        case ping
        /// A pong with `controlPayload`.
        case pong
        /// The close frame, `closeFrame`. It is the last element: bytes after it are discarded.
        case close
    }

    private enum State {
        case firstByte
        case secondByte
        case extendedLength(missing: Int)
        case dataPayload
        case controlPayload
        case closed
        case failed(FrameError)
    }

    /// A data message between its first and its last frame.
    private struct OpenMessage {
        var piece: MessagePiece
        var byteCount: Int
    }

    /// The payload of the last control frame.
    ///
    /// Valid until the next call of `next(in:at:)`.
    package private(set) var controlPayload: [UInt8] = []
    /// The close frame, once it was received.
    package private(set) var closeFrame: CloseFrame?

    private let configuration: Configuration
    private var state: State = .firstByte
    private var opcode: Opcode = .continuation
    private var isFinal = false
    private var lengthForm: UInt8 = 0
    private var length: UInt64 = 0
    private var missingPayload = 0
    private var message: OpenMessage?

    /// Begins right after the head of the answer to the opening handshake.
    package init(configuration: Configuration) { self.configuration = configuration }

    /// Reads from `position` on, and returns nil when the chunk is used up.
    ///
    /// Call it until it returns nil, then with the next chunk at position 0. After an error, every call throws it
    /// again.
    package mutating func next(
        in chunk: UnsafeRawBufferPointer, at position: inout Int
    ) throws(FrameError) -> Element? {
        do throws(FrameError) {
            return unsafe try self.readElement(of: chunk, at: &position)
        } catch {
            self.state = .failed(error)
            throw error
        }
    }

    /// Returns the message that the chunk is, in one frame and with nothing around it; nil otherwise, with no change.
    ///
    /// An event that comes alone is such a chunk. Mutating so that other modules access the value in place: a copy of it
    /// costs 83 instructions, a retain and a release.
    package mutating func onlyMessage(in chunk: UnsafeRawBufferPointer) -> (piece: MessagePiece, range: Range<Int>)? {
        guard case .firstByte = self.state else { return nil }
        var position = 0
        guard case .data(let piece, let range)? = unsafe self.takeWholeMessage(of: chunk, at: &position),
            position == chunk.count
        else { return nil }
        return (piece, range)
    }

    private mutating func readElement(
        of chunk: UnsafeRawBufferPointer, at position: inout Int
    ) throws(FrameError) -> Element? {
        while position < chunk.count {
            switch self.state {
            case .firstByte:
                if let element = unsafe self.takeWholeMessage(of: chunk, at: &position) { return element }
                try self.readFirstByte(unsafe chunk[position])
                position += 1
            case .secondByte:
                let element = try self.readSecondByte(unsafe chunk[position], at: position + 1)
                position += 1
                if let element { return element }
            case .extendedLength(let missing):
                let element = try self.readLengthByte(unsafe chunk[position], missing: missing, at: position + 1)
                position += 1
                if let element { return element }
            case .dataPayload:
                return self.takeData(chunkByteCount: chunk.count, at: &position)
            case .controlPayload:
                if let element = unsafe try self.takeControl(of: chunk, at: &position) { return element }
            case .closed:
                // RFC 6455 section 1.4: after the close frame any further data is discarded.
                position = chunk.count
            case .failed(let error):
                throw error
            }
        }
        if case .failed(let error) = self.state { throw error }
        return nil
    }

    /// Takes a message of one frame of less than 64 KiB that lies whole in the chunk, the common case, in one step.
    ///
    /// All other input, errors included, is left to the byte-by-byte states. A message of 250 bytes takes 157
    /// instructions this way and 360 the other, as callgrind counts them.
    private func takeWholeMessage(of chunk: UnsafeRawBufferPointer, at position: inout Int) -> Element? {
        guard self.message == nil, chunk.count - position >= 4 else { return nil }
        let firstByte = unsafe chunk[position]
        // FIN with the opcode of a text or binary message, and RSV1 when that has a meaning.
        let isCompressed = firstByte & 0x40 != 0
        guard firstByte & 0xBF == 0x81 || firstByte & 0xBF == 0x82,
            !isCompressed || self.configuration.isCompressionNegotiated
        else { return nil }
        let secondByte = unsafe chunk[position + 1]
        let isShort = secondByte < 126
        let byteCount =
            unsafe isShort ? Int(secondByte) : Int(chunk[position + 2]) << 8 | Int(chunk[position + 3])
        let start = position + (isShort ? 2 : 4)
        guard isShort || (secondByte == 126 && byteCount > 125), byteCount <= chunk.count - start,
            byteCount <= self.configuration.messageByteLimit
        else { return nil }
        position = start + byteCount
        let kind: MessageKind = firstByte & 0x0F == 0x1 ? .text : .binary
        return .data(MessagePiece(kind: kind, isCompressed: isCompressed), start..<position)
    }

    // MARK: Header

    private mutating func readFirstByte(_ byte: UInt8) throws(FrameError) {
        guard let opcode = Opcode(rawValue: byte & 0x0F) else { throw .reservedOpcode(byte & 0x0F) }
        let isFinal = byte & 0x80 != 0
        let isCompressed = byte & 0x40 != 0
        guard byte & 0x30 == 0 else { throw .reservedBitSet }
        // RFC 7692 section 6: RSV1 belongs to the first frame of a data message.
        guard !isCompressed || (self.configuration.isCompressionNegotiated && (opcode == .text || opcode == .binary))
        else { throw .reservedBitSet }
        switch opcode {
        case .close, .ping, .pong:
            guard isFinal else { throw .fragmentedControlFrame }
        case .continuation:
            guard self.message != nil else { throw .unexpectedContinuation }
        case .text, .binary:
            guard self.message == nil else { throw .unfinishedMessage }
            let kind: MessageKind = opcode == .text ? .text : .binary
            self.message = OpenMessage(
                piece: MessagePiece(kind: kind, isCompressed: isCompressed, isFirst: true, isLast: false), byteCount: 0)
        }
        self.opcode = opcode
        self.isFinal = isFinal
        self.state = .secondByte
    }

    private mutating func readSecondByte(_ byte: UInt8, at position: Int) throws(FrameError) -> Element? {
        guard byte & 0x80 == 0 else { throw .maskedFrame }
        guard byte > UInt8(Opcode.controlPayloadLimit) else {
            return try self.beginPayload(byteCount: Int(byte), at: position)
        }
        guard !self.opcode.isControl else { throw .controlFrameTooLong }
        self.lengthForm = byte
        self.length = 0
        self.state = .extendedLength(missing: byte == 126 ? 2 : 8)
        return nil
    }

    private mutating func readLengthByte(
        _ byte: UInt8, missing: Int, at position: Int
    ) throws(FrameError) -> Element? {
        guard missing < 8 || byte & 0x80 == 0 else { throw .lengthOutOfRange }
        self.length = self.length << 8 | UInt64(byte)
        guard missing == 1 else {
            self.state = .extendedLength(missing: missing - 1)
            return nil
        }
        // RFC 6455 section 5.2: "the minimal number of bytes MUST be used to encode the length".
        guard self.length > (self.lengthForm == 126 ? 125 : 0xFFFF) else { throw .nonMinimalLength }
        guard let byteCount = Int(exactly: self.length) else {
            throw .messageTooBig(limit: self.configuration.messageByteLimit)
        }
        return try self.beginPayload(byteCount: byteCount, at: position)
    }

    /// Decides by the header alone whether the payload is allowed.
    private mutating func beginPayload(byteCount: Int, at position: Int) throws(FrameError) -> Element? {
        self.missingPayload = byteCount
        if self.opcode.isControl {
            self.controlPayload.removeAll(keepingCapacity: true)
            self.state = .controlPayload
            return byteCount == 0 ? try self.endControl() : nil
        }
        let receivedByteCount = self.message?.byteCount ?? 0
        guard byteCount <= self.configuration.messageByteLimit - receivedByteCount else {
            throw .messageTooBig(limit: self.configuration.messageByteLimit)
        }
        self.message?.byteCount = receivedByteCount + byteCount
        self.state = byteCount == 0 ? .firstByte : .dataPayload
        return byteCount == 0 && self.isFinal ? self.makeData(position..<position) : nil
    }

    // MARK: Payload

    private mutating func takeData(chunkByteCount: Int, at position: inout Int) -> Element? {
        let byteCount = min(self.missingPayload, chunkByteCount - position)
        let range = position..<(position + byteCount)
        position += byteCount
        self.missingPayload -= byteCount
        if self.missingPayload == 0 { self.state = .firstByte }
        return self.makeData(range)
    }

    private mutating func makeData(_ range: Range<Int>) -> Element? {
        guard var piece = self.message?.piece else { preconditionFailure("payload without a message") }
        piece.isLast = self.isFinal && self.missingPayload == 0
        if piece.isLast {
            self.message = nil
        } else {
            self.message?.piece.isFirst = false
        }
        return .data(piece, range)
    }

    private mutating func takeControl(
        of chunk: UnsafeRawBufferPointer, at position: inout Int
    ) throws(FrameError) -> Element? {
        let byteCount = min(self.missingPayload, chunk.count - position)
        self.controlPayload.reserveCapacity(Opcode.controlPayloadLimit)
        unsafe self.controlPayload.append(contentsOf: chunk[position..<(position + byteCount)])
        position += byteCount
        self.missingPayload -= byteCount
        return self.missingPayload == 0 ? try self.endControl() : nil
    }

    private mutating func endControl() throws(FrameError) -> Element? {
        self.state = .firstByte
        switch self.opcode {
        case .ping:
            return .ping
        case .pong:
            return .pong
        case .close:
            self.closeFrame = try CloseFrame(payload: self.controlPayload)
            self.state = .closed
            return .close
        case .continuation, .text, .binary:
            preconditionFailure("not a control frame")
        }
    }
}
