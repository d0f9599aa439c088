import Deflate
import StreamTransport
import WebSocketProtocol

/// Makes whole messages and plain body bytes of what arrived.
///
/// It belongs to the connection's consumer.
struct PayloadDecoder {
    /// What came cannot be decoded.
    struct Failure: Error {
        let cause: TransportFailure.Cause
        /// What a WebSocket's peer is told.
        let closeCode: CloseCode?
    }

    private enum Content {
        /// Messages, none of which may be compressed; or a body without a content coding.
        case plain
        case messages(MessageInflater)
        case body(ContentDecoder)
    }

    /// How much of a body is decoded at a time: a small piece may inflate to a thousand times its size.
    private static let pieceByteCount = 64 << 10

    private let limit: Int
    private var content = Content.plain
    private var assembler: MessageAssembler
    private let output = PaddedBuffer()
    /// The piece of a body that has more to give.
    private var pending: UnsafeRawBufferPointer?
    private var pendingPosition = 0

    init(messageByteCountLimit: Int) {
        self.limit = messageByteCountLimit
        self.assembler = MessageAssembler(limit: messageByteCountLimit)
    }

    /// Says how what follows is coded.
    mutating func begin(_ coding: PayloadCoding) throws(Failure) {
        do throws(DeflateError) {
            switch coding {
            case .none: self.content = .plain
            case .messages(let agreement):
                self.content = .messages(try MessageInflater(agreement: agreement, limit: self.limit))
            case .content(let value): self.content = .body(try ContentDecoder(contentEncoding: value))
            }
        } catch {
            throw Failure(error)
        }
    }

    /// Whether `rest()` has something.
    var hasRest: Bool { self.pending != nil }

    /// Takes the bytes of the next record: of a message, or, without a piece, of a body.
    ///
    /// Nil when they complete nothing. Four bytes behind them are written to, and put back: they are of an
    /// `InboundBuffer`, which has them.
    mutating func decode(_ bytes: UnsafeRawBufferPointer, as piece: MessagePiece?) throws(Failure) -> InboundPayload? {
        switch (piece, self.content) {
        case (let piece?, .messages(let inflater)) where piece.isCompressed:
            return try self.inflate(bytes, of: piece, with: inflater)
        case (let piece?, _):
            do throws(FrameError) {
                guard let message = try self.assembler.append(piece, bytes: bytes) else { return nil }
                return InboundPayload(kind: message.kind == .text ? .text : .binary, bytes: message.bytes)
            } catch {
                throw Failure(cause: .messageTooLarge(limit: self.limit), closeCode: .messageTooBig)
            }
        case (nil, .body):
            self.pending = bytes
            self.pendingPosition = 0
            return try self.rest()
        case (nil, _):
            return InboundPayload(kind: .body, bytes: bytes)
        }
    }

    /// More of the record that was taken last.
    mutating func rest() throws(Failure) -> InboundPayload? {
        guard let pending = self.pending, case .body(let decoder) = self.content else { return nil }
        self.output.removeAll()
        do throws(DeflateError) {
            let isDone = try decoder.decode(
                pending, at: &self.pendingPosition, into: self.output, upTo: Self.pieceByteCount)
            if isDone { self.pending = nil }
        } catch {
            self.pending = nil
            throw Failure(error)
        }
        return self.output.count == 0 ? nil : InboundPayload(kind: .body, bytes: self.output.bytes)
    }

    /// What is missing at the end of a body.
    func finish() -> Failure? {
        guard case .body(let decoder) = self.content else { return nil }
        do throws(DeflateError) {
            try decoder.finish()
            return nil
        } catch {
            return Failure(error)
        }
    }

    private func inflate(_ bytes: UnsafeRawBufferPointer, of piece: MessagePiece, with inflater: MessageInflater)
        throws(Failure) -> InboundPayload?
    {
        if piece.isFirst { self.output.removeAll() }
        do throws(DeflateError) {
            if piece.isFirst && piece.isLast {
                try inflater.inflateWhole(UnsafeMutableRawBufferPointer(mutating: bytes), into: self.output)
            } else {
                try inflater.inflate(bytes, isLast: piece.isLast, into: self.output)
            }
        } catch .outputTooLarge(let limit) {
            throw Failure(cause: .messageTooLarge(limit: limit), closeCode: .messageTooBig)
        } catch {
            // RFC 7692 section 7.2.2 leaves the code open; 1007 is what the payload is.
            let code = CloseCode.invalidFramePayloadData
            throw Failure(cause: .protocolViolation(closeCode: code.rawValue), closeCode: code)
        }
        guard piece.isLast else { return nil }
        return InboundPayload(kind: piece.kind == .text ? .text : .binary, bytes: self.output.bytes)
    }
}

extension PayloadDecoder.Failure {
    /// What a fault in a content coding means to a connection.
    init(_ error: DeflateError) {
        switch error {
        case .unknownContentCoding, .tooManyContentCodings: self.init(cause: .unsupportedContentCoding, closeCode: nil)
        case .corruptData, .truncatedData, .trailingData: self.init(cause: .corruptContentCoding, closeCode: nil)
        case .outputTooLarge(let limit): self.init(cause: .messageTooLarge(limit: limit), closeCode: nil)
        case .outOfMemory: self.init(cause: .unavailable, closeCode: nil)
        }
    }
}
