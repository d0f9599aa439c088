// One response of a server from bytes, in pieces of any size (RFC 9112). No I/O.
// The owner is the thread that receives the connection's bytes.

/// Reads the response to one request: its head, then its body.
///
/// Everything depends on the bytes alone, not on how they are cut into pieces, except the cuts between the pieces of
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

    /// How the body is framed; nil until the head was read.
    package private(set) var bodyFraming: BodyFraming?

    private let method: RequestMethod
    private var state: State = .head
    private var headReader: ResponseHeadReader
    private var chunkReader: ChunkReader

    /// Begins at the first byte behind the response before.
    ///
    /// `acceptsUpgrade` says whether the request named a protocol to switch to, so that 101 can answer it.
    package init(method: RequestMethod, acceptsUpgrade: Bool, limits: HTTPLimits) {
        self.method = method
        self.headReader = ResponseHeadReader(acceptsUpgrade: acceptsUpgrade, limits: limits)
        self.chunkReader = ChunkReader(limits: limits)
    }

    /// Reads on from `position`, and returns the head of the final response when it has ended.
    ///
    /// Nil means that all bytes were read and more are needed. Interim responses are passed over. Must not be called
    /// again once it has returned a head.
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
    /// The content of several chunks is moved together to where that of the first one lies; otherwise nothing moves.
    /// Call it until the buffer is used up or the body is complete. An error behind content is thrown by the next
    /// call, the content first.
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

    /// Returns when the response is complete now that the connection has ended, and throws what is missing if not.
    package func connectionEnded() throws(HTTPError) {
        switch self.state {
        case .head: throw self.headReader.hasBegun ? .incompleteHead : .noResponse
        case .failed(let error): throw error
        case .fixedLength(let missing): throw .incompleteBody(missing: missing)
        case .chunks: if let error = self.chunkReader.endError { throw error }
        // RFC 9112 section 8: nothing tells whether more was meant to come.
        case .untilClose, .complete: return
        }
    }
}
