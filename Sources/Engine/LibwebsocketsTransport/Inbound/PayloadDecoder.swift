import Deflate
import StreamTransport
import WebSocketProtocol

/// Decodes the received records into whole messages and plain body bytes.
///
/// It belongs to the connection's consumer. The text of a message that arrives in pieces is checked piece by piece, so
/// that the first invalid byte ends the connection (RFC 6455 section 8.1). A message that arrives whole is left to the
/// consumer, which reads every byte anyway.
struct PayloadDecoder {
    /// The received bytes cannot be decoded.
    struct Failure: Error {
        let cause: TransportFailure.Cause
        /// The close code for a WebSocket's peer.
        let closeCode: CloseCode?
    }

    private enum Content {
        /// Messages, none of which may be compressed; or a body without a content coding.
        case plain
        case messages(MessageInflater)
        case body(ContentDecoder)
    }

    /// The most bytes of a body that are decoded at a time: a small piece may inflate to a thousand times its size.
    private static let pieceByteCount = 64 << 10

    /// The count of compressed bytes and of their inflated size.
    let count = InflationCount()

    private let limit: Int
    private var content = Content.plain
    private var assembler: MessageAssembler
    /// The validator of the current message, when it is text in pieces.
    private var validator = UTF8Validator()
    private let output = PaddedBuffer()
    /// The piece of a body that has more output.
    private var pending: UnsafeRawBufferPointer?
    private var pendingPosition = 0

    init(messageByteCountLimit: Int) {
        self.limit = messageByteCountLimit
        self.assembler = MessageAssembler(limit: messageByteCountLimit)
    }

    /// Sets the coding of the records that follow.
    mutating func begin(_ coding: PayloadCoding) throws(Failure) {
        do throws(DeflateError) {
            switch coding {
            case .none: self.content = .plain
            case .messages(let agreement):
                self.content = .messages(MessageInflater(agreement: agreement, limit: self.limit))
            case .content(let value): self.content = .body(try ContentDecoder(contentEncoding: value))
            }
        } catch {
            throw Failure(error)
        }
    }

    /// Indicates whether `rest()` has to be called: for output, or for the failure behind it.
    var hasRest: Bool { self.pending != nil }

    /// Takes the bytes of the next record: of a message, or, without a piece, of a body.
    ///
    /// Returns nil when they complete no payload. The four bytes behind them are overwritten and restored: the bytes
    /// lie in an `InboundBuffer`, which has room for that.
    mutating func decode(_ bytes: UnsafeRawBufferPointer, as piece: MessagePiece?) throws(Failure) -> InboundPayload? {
        guard let piece else { return try self.decodeBody(bytes) }
        if self.lends(piece, byteCount: bytes.count) {
            return InboundPayload(kind: piece.kind.payloadKind, bytes: bytes)
        }
        if piece.isCompressed {
            return piece.isWhole ? try self.inflateWhole(bytes, as: piece.kind) : try self.inflate(bytes, of: piece)
        }
        if !piece.isWhole { try self.validate(bytes, of: piece) }
        do throws(FrameError) {
            guard let message = try self.assembler.append(piece, bytes: bytes) else { return nil }
            return InboundPayload(kind: message.kind.payloadKind, bytes: message.bytes)
        } catch {
            throw Failure(cause: .messageTooLarge(limit: self.limit), closeCode: .messageTooBig)
        }
    }

    /// Indicates the usual case: a whole message that needs no assembly and no check here, and is lent as it is.
    func lends(_ piece: MessagePiece, byteCount: Int) -> Bool {
        piece.isFirst && piece.isLast && !piece.isCompressed && byteCount <= self.limit
    }

    private mutating func decodeBody(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> InboundPayload? {
        guard case .body(let decoder) = self.content else { return InboundPayload(kind: .body, bytes: bytes) }
        if !decoder.isIdentity { self.count.add(compressed: bytes.count) }
        self.pending = bytes
        self.pendingPosition = 0
        return try self.rest()
    }

    /// Returns more output of the record that was taken last.
    mutating func rest() throws(Failure) -> InboundPayload? {
        guard let pending = self.pending, case .body(let decoder) = self.content else { return nil }
        self.output.removeAll()
        do throws(DeflateError) {
            let isDone = try decoder.decode(
                pending, at: &self.pendingPosition, into: self.output, upTo: Self.pieceByteCount)
            if isDone { self.pending = nil }
        } catch {
            // The output before the damage comes first; then the decoder fails again.
            guard self.output.count > 0 else {
                self.pending = nil
                throw Failure(error)
            }
        }
        self.count.add(inflated: self.output.count)
        return self.output.count == 0 ? nil : InboundPayload(kind: .body, bytes: self.output.bytes)
    }

    /// Returns the failure of a body that ends too early.
    func finish() -> Failure? {
        guard case .body(let decoder) = self.content else { return nil }
        do throws(DeflateError) {
            try decoder.finish()
            return nil
        } catch {
            return Failure(error)
        }
    }

    /// Frees memory that is not needed until the next record arrives.
    ///
    /// The bytes that were lent last become invalid.
    mutating func becomeIdle() {
        self.assembler.trim()
        guard case .messages(let inflater) = self.content, inflater.isBetweenMessages else { return }
        inflater.releaseWindow()
        self.output.trim()
    }

    /// Inflates a message that arrived whole, as most do.
    private func inflateWhole(
        _ bytes: UnsafeRawBufferPointer, as kind: MessageKind
    ) throws(Failure) -> InboundPayload {
        // The frame reader lets no message be marked when that was not agreed.
        guard case .messages(let inflater) = self.content else { throw .invalidPayload }
        self.output.removeAll()
        do throws(DeflateError) {
            try inflater.inflateWhole(UnsafeMutableRawBufferPointer(mutating: bytes), into: self.output)
        } catch {
            throw Failure(inMessage: error)
        }
        let inflated = self.output.bytes
        self.count.add(compressed: bytes.count, inflated: inflated.count)
        return InboundPayload(kind: kind.payloadKind, bytes: inflated)
    }

    private mutating func inflate(
        _ bytes: UnsafeRawBufferPointer, of piece: MessagePiece
    ) throws(Failure) -> InboundPayload? {
        guard case .messages(let inflater) = self.content else { throw .invalidPayload }
        if piece.isFirst { self.output.removeAll() }
        let start = self.output.count
        do throws(DeflateError) {
            try inflater.inflate(bytes, isLast: piece.isLast, into: self.output)
        } catch {
            throw Failure(inMessage: error)
        }
        self.count.add(compressed: bytes.count, inflated: self.output.count - start)
        try self.validate(UnsafeRawBufferPointer(rebasing: self.output.bytes[start...]), of: piece)
        return piece.isLast ? InboundPayload(kind: piece.kind.payloadKind, bytes: self.output.bytes) : nil
    }

    private mutating func validate(_ bytes: UnsafeRawBufferPointer, of piece: MessagePiece) throws(Failure) {
        guard piece.kind == .text else { return }
        if piece.isFirst { self.validator.reset() }
        let isValid = self.validator.validate(bytes)
        guard isValid, !piece.isLast || self.validator.finish() else { throw .invalidPayload }
    }
}

extension PayloadDecoder.Failure {
    /// Text that is not UTF-8, or a compressed message that cannot be inflated.
    ///
    /// RFC 7692 section 7.2.2 leaves the code of the latter open; 1007 describes the payload.
    fileprivate static let invalidPayload = Self(
        cause: .protocolViolation(closeCode: CloseCode.invalidFramePayloadData.rawValue),
        closeCode: .invalidFramePayloadData)

    /// Creates the connection's failure for a fault in a compressed message.
    fileprivate init(inMessage error: DeflateError) {
        switch error {
        case .outputTooLarge(let limit):
            self.init(cause: .messageTooLarge(limit: limit), closeCode: .messageTooBig)
        case .outOfMemory:
            self.init(cause: .unavailable, closeCode: .internalError)
        case .corruptData, .truncatedData, .trailingData, .unknownContentCoding, .tooManyContentCodings:
            self = .invalidPayload
        }
    }

    /// Creates the connection's failure for a fault in a content coding.
    init(_ error: DeflateError) {
        switch error {
        case .unknownContentCoding, .tooManyContentCodings: self.init(cause: .unsupportedContentCoding, closeCode: nil)
        case .corruptData, .truncatedData, .trailingData: self.init(cause: .corruptContentCoding, closeCode: nil)
        case .outputTooLarge(let limit): self.init(cause: .messageTooLarge(limit: limit), closeCode: nil)
        case .outOfMemory: self.init(cause: .unavailable, closeCode: nil)
        }
    }
}

extension MessageKind {
    /// The kind of the payload.
    var payloadKind: InboundPayload.Kind {
        switch self {
        case .text: .text
        case .binary: .binary
        }
    }
}
