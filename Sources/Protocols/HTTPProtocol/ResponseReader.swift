// One response of a server, read from bytes in pieces of any size (RFC 9112). No I/O.
// The owner is the thread that receives the connection's bytes.

/// Reads the response to one request: its head, then its body.
///
/// The result depends only on the bytes, not on how they are cut into pieces, except for the cuts between the pieces of
/// the body. After an error, every call throws it again.
package struct ResponseReader: Sendable {
    private enum State {
        case head
        case fixedLength(missing: Int)
        case chunks
        case untilClose
        case complete
        case failed(HTTPError)
    }

    /// The framing of the body; nil until the head was read.
    package private(set) var bodyFraming: BodyFraming?

    private let method: RequestMethod
    private var state: State = .head
    private var headReader: ResponseHeadReader
    private var chunkReader: ChunkReader

    /// Begins at the first byte behind the previous response.
    ///
    /// `acceptsUpgrade` tells whether the request named a protocol to switch to, so that 101 can answer it.
    package init(method: RequestMethod, acceptsUpgrade: Bool, limits: HTTPLimits) {
        self.method = method
        self.headReader = ResponseHeadReader(acceptsUpgrade: acceptsUpgrade, limits: limits)
        self.chunkReader = ChunkReader(limits: limits)
    }

    /// Reads from `position` on, and returns the head of the final response when it is complete.
    ///
    /// Nil means that all bytes were read and more are needed. Interim responses are skipped. Must not be called again
    /// once it has returned a head.
    package mutating func readHead(
        _ bytes: UnsafeRawBufferPointer, at position: inout Int
    ) throws(HTTPError) -> ResponseMessageHead? {
        switch self.state {
        case .head: break
        case .failed(let error): throw error
        case .fixedLength, .chunks, .untilClose, .complete: preconditionFailure("the head was read before")
        }
        do throws(HTTPError) {
            guard let head = unsafe try self.headReader.read(bytes, at: &position) else { return nil }
            let framing = try BodyFraming(of: head, to: self.method)
            self.bodyFraming = framing
            self.state = Self.start(of: framing)
            return head
        } catch {
            self.state = .failed(error)
            throw error
        }
    }

    private static func start(of framing: BodyFraming) -> State {
        switch framing {
        case .none, .length(0): .complete
        case .length(let byteCount): .fixedLength(missing: byteCount)
        case .chunked: .chunks
        case .untilClose: .untilClose
        }
    }

    /// Reads the body in place, from the start of the buffer.
    ///
    /// The content of several chunks is moved together behind that of the first one; other content is not moved. Call
    /// it until the buffer is used up or the body is complete. When content precedes an error, the content is returned
    /// first and the next call throws.
    package mutating func readBody(_ buffer: UnsafeMutableRawBufferPointer) throws(HTTPError) -> BodyPiece {
        switch self.state {
        case .chunks:
            return unsafe try self.readChunks(buffer)
        case .fixedLength(let missing):
            let byteCount = min(missing, buffer.count)
            let isComplete = byteCount == missing
            self.state = isComplete ? .complete : .fixedLength(missing: missing - byteCount)
            return BodyPiece(content: 0..<byteCount, consumed: byteCount, isComplete: isComplete)
        case .untilClose:
            return BodyPiece(content: 0..<buffer.count, consumed: buffer.count, isComplete: false)
        case .complete:
            return BodyPiece(content: 0..<0, consumed: 0, isComplete: true)
        case .failed(let error):
            throw error
        case .head:
            preconditionFailure("the head was not read")
        }
    }

    private mutating func readChunks(_ buffer: UnsafeMutableRawBufferPointer) throws(HTTPError) -> BodyPiece {
        var piece = BodyPiece(content: 0..<0, consumed: 0, isComplete: false)
        do throws(HTTPError) {
            unsafe try self.chunkReader.read(buffer, into: &piece)
        } catch {
            self.state = .failed(error)
            guard !piece.content.isEmpty else { throw error }
            return piece
        }
        guard self.chunkReader.isComplete else { return piece }
        self.state = .complete
        piece.isComplete = true
        return piece
    }

    /// Returns when the response is complete at the end of the connection, and throws the missing part if not.
    package func connectionEnded() throws(HTTPError) {
        switch self.state {
        case .head: throw self.headReader.hasBegun ? .incompleteHead : .noResponse
        case .failed(let error): throw error
        case .fixedLength(let missing): throw .incompleteBody(missing: missing)
        case .chunks: if let error = self.chunkReader.endError { throw error }
        // RFC 9112 section 8: whether the body was truncated cannot be known.
        case .untilClose, .complete: return
        }
    }
}
