// One request of a client, read from bytes in pieces of any size (RFC 9112). No I/O.
// The owner is the thread that receives the connection's bytes.

/// The largest sizes of a request's parts that a server accepts.
package struct RequestLimits: Equatable, Sendable {
    /// The most bytes of a head, 16 KiB by default: the request line, the field lines and the empty line behind them.
    package var headByteCount: Int
    /// The most field lines of a head, 128 by default.
    package var fieldLineCount: Int
    /// The most bytes of a body, 16 MiB by default.
    package var bodyByteCount: Int

    /// Makes limits.
    package init(headByteCount: Int = 16_384, fieldLineCount: Int = 128, bodyByteCount: Int = 16_777_216) {
        precondition(headByteCount >= 0 && fieldLineCount >= 0 && bodyByteCount >= 0, "a limit cannot be negative")
        self.headByteCount = headByteCount
        self.fieldLineCount = fieldLineCount
        self.bodyByteCount = bodyByteCount
    }
}

/// Reads a request: its head, then its body.
///
/// The result depends only on the bytes, not on how they are cut into pieces. After an error the connection cannot be
/// read any further, as the end of the request is not known.
package struct RequestReader: Sendable {
    private enum State {
        /// Before the first byte of the request line; so many empty lines were passed over.
        case start(emptyLineCount: Int)
        case requestLine
        case fieldLine
        case fixedLength(missing: Int)
        case chunks
        case complete
    }

    /// The most empty lines before a request line (RFC 9112 section 2.2): some clients send one behind a body.
    private static let emptyLineLimit = 2

    private let limits: RequestLimits
    private var state: State = .start(emptyLineCount: 0)
    private var line: [UInt8] = []
    private var headRoom: Int
    private var requestLine: RequestLine?
    private var fields = FieldSection()
    private var chunkReader: ChunkReader?
    private var bodyByteCount = 0

    /// Begins at the first byte behind the previous request.
    package init(limits: RequestLimits) {
        self.limits = limits
        self.headRoom = limits.headByteCount
    }

    /// Indicates whether a byte of the request was read, empty lines before it excluded.
    package var hasBegun: Bool {
        if case .start = self.state { !self.line.isEmpty } else { true }
    }

    // MARK: Head

    /// Reads from `position` on, and returns the head when it is complete.
    ///
    /// Nil means that all bytes were read and more are needed. Must not be called again once it has returned a head.
    package mutating func readHead(
        _ bytes: UnsafeRawBufferPointer, at position: inout Int
    ) throws(RequestError) -> RequestMessageHead? {
        while position < bytes.count {
            if case .start = self.state, self.line.isEmpty, unsafe !Self.canBegin(with: bytes[position]) {
                // Another protocol, such as TLS, is refused at once: its bytes may never contain a line end.
                throw .invalidRequestLine
            }
            guard unsafe try self.takeLine(of: bytes, at: &position) else { return nil }
            if let head = try self.readLine() { return head }
            self.line.removeAll(keepingCapacity: true)
        }
        return nil
    }

    private static func canBegin(with byte: UInt8) -> Bool { byte.isTokenByte || byte == .carriageReturn }

    /// Adds bytes to the line; returns whether it is complete, in which case its CRLF is removed.
    ///
    /// RFC 9112 section 2.2 lets a server take a single LF for a line end. It is refused here: a proxy that does not
    /// would see another request.
    private mutating func takeLine(
        of bytes: UnsafeRawBufferPointer, at position: inout Int
    ) throws(RequestError) -> Bool {
        let start = position
        let end = start + min(self.headRoom, bytes.count - start)
        while unsafe position < end && bytes[position] != .lineFeed { position &+= 1 }
        let isWhole = position < end
        guard isWhole || bytes.count - start <= self.headRoom else {
            if case .fieldLine = self.state { throw .headTooLarge(limit: self.limits.headByteCount) }
            throw .targetTooLong(limit: self.limits.headByteCount)
        }
        unsafe self.line.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[start..<position]))
        if isWhole { position += 1 }
        self.headRoom -= position - start
        guard isWhole else { return false }
        guard self.line.last == .carriageReturn else {
            if case .fieldLine = self.state { throw .invalidField(.controlCharacter(.lineFeed)) }
            throw .invalidRequestLine
        }
        self.line.removeLast()
        return true
    }

    /// Reads a complete line; returns the head when it was the empty line at its end.
    private mutating func readLine() throws(RequestError) -> RequestMessageHead? {
        switch self.state {
        case .start(let emptyLineCount):
            guard self.line.isEmpty else { return try self.readRequestLine() }
            guard emptyLineCount < Self.emptyLineLimit else { throw .invalidRequestLine }
            self.state = .start(emptyLineCount: emptyLineCount + 1)
            return nil
        case .requestLine:
            return try self.readRequestLine()
        case .fieldLine:
            guard let first = self.line.first else { return try self.endHead() }
            // RFC 9112 section 5.2: a server may refuse lines that continue another one.
            guard !first.isWhitespace else { throw .invalidField(.invalidFieldLine) }
            guard self.fields.count < self.limits.fieldLineCount else {
                throw .headTooLarge(limit: self.limits.headByteCount)
            }
            do throws(HTTPError) {
                try self.fields.append(line: self.line[...])
            } catch {
                throw .invalidField(error)
            }
            return nil
        case .fixedLength, .chunks, .complete:
            preconditionFailure("the head was read before")
        }
    }

    private mutating func readRequestLine() throws(RequestError) -> RequestMessageHead? {
        self.requestLine = try RequestLine(self.line[...])
        self.state = .fieldLine
        return nil
    }

    private mutating func endHead() throws(RequestError) -> RequestMessageHead {
        guard let requestLine = self.requestLine else { preconditionFailure("a head begins with its request line") }
        try self.checkHost(minorVersion: requestLine.minorVersion)
        let framing = try BodyFraming(ofRequestWith: self.fields, minorVersion: requestLine.minorVersion)
        // RFC 9110 section 10.1.1: an expectation in a request of HTTP/1.0 is ignored.
        let expectation = requestLine.minorVersion > 0 ? self.fields.value(of: "expect")?.lowercased() : nil
        guard expectation == nil || expectation == "100-continue" else { throw .unsupportedExpectation }
        try self.beginBody(framing)
        let head = RequestMessageHead(
            method: requestLine.method, target: requestLine.target, path: requestLine.path, query: requestLine.query,
            minorVersion: requestLine.minorVersion, fields: self.fields, bodyFraming: framing,
            expectsContinue: expectation != nil && framing != .none)
        self.fields = FieldSection()
        self.line = []
        return head
    }

    private mutating func beginBody(_ framing: BodyFraming) throws(RequestError) {
        switch framing {
        case .none, .untilClose:
            self.state = .complete
        case .length(let byteCount):
            guard byteCount <= self.limits.bodyByteCount else {
                throw .bodyTooLarge(limit: self.limits.bodyByteCount)
            }
            self.state = .fixedLength(missing: byteCount)
        case .chunked:
            self.chunkReader = ChunkReader(limits: HTTPLimits())
            self.state = .chunks
        }
    }

    private func checkHost(minorVersion: Int) throws(RequestError) {
        let hosts = self.fields.rawValues(of: "host")
        guard hosts.count == 1 || (hosts.isEmpty && minorVersion == 0) else { throw .invalidHost }
        // RFC 3986 section 3.2.2: what ends a host in a URI, and what begins one, cannot be in it.
        let isPlain = hosts.allSatisfy { host in host.allSatisfy { 0x21...0x7E ~= $0 && !"/?#@\\,".utf8.contains($0) } }
        guard isPlain else { throw .invalidHost }
    }

    // MARK: Body

    /// Reads the body in place, from the start of the buffer.
    ///
    /// The content of several chunks is moved together. Call it until the buffer is used up or the body is complete.
    package mutating func readBody(_ buffer: UnsafeMutableRawBufferPointer) throws(RequestError) -> BodyPiece {
        switch self.state {
        case .fixedLength(let missing):
            let byteCount = min(missing, buffer.count)
            let isComplete = byteCount == missing
            self.state = isComplete ? .complete : .fixedLength(missing: missing - byteCount)
            return BodyPiece(content: 0..<byteCount, consumed: byteCount, isComplete: isComplete)
        case .chunks:
            return unsafe try self.readChunks(buffer)
        case .complete:
            return BodyPiece(content: 0..<0, consumed: 0, isComplete: true)
        case .start, .requestLine, .fieldLine:
            preconditionFailure("the head was not read")
        }
    }

    private mutating func readChunks(_ buffer: UnsafeMutableRawBufferPointer) throws(RequestError) -> BodyPiece {
        guard var reader = self.chunkReader else { preconditionFailure("a body in chunks has a reader") }
        self.chunkReader = nil
        var piece = BodyPiece(content: 0..<0, consumed: 0, isComplete: false)
        var invalidity: HTTPError?
        do throws(HTTPError) {
            unsafe try reader.read(buffer, into: &piece)
        } catch {
            invalidity = error
        }
        // The limit may be exceeded before the invalid byte.
        self.bodyByteCount += piece.content.count
        guard self.bodyByteCount <= self.limits.bodyByteCount else {
            throw .bodyTooLarge(limit: self.limits.bodyByteCount)
        }
        if let invalidity { throw .invalidChunk(invalidity) }
        piece.isComplete = reader.isComplete
        if piece.isComplete { self.state = .complete } else { self.chunkReader = reader }
        return piece
    }
}

/// A request line (RFC 9112 section 3).
private struct RequestLine: Sendable {
    let method: String
    let target: String
    let path: String
    let query: String?
    let minorVersion: Int

    init(_ line: ArraySlice<UInt8>) throws(RequestError) {
        let words = line.split(separator: .space, omittingEmptySubsequences: false)
        guard words.count == 3, !words[0].isEmpty, words[0].allSatisfy(\.isTokenByte), !words[1].isEmpty,
            words[1].allSatisfy({ 0x21...0x7E ~= $0 })
        else { throw .invalidRequestLine }
        self.minorVersion = try Self.minorVersion(of: words[2])
        self.method = String(decoding: words[0], as: UTF8.self)
        self.target = String(decoding: words[1], as: UTF8.self)
        guard self.method != "CONNECT" else { throw .unsupportedMethod }
        guard let local = Self.local(self.target, method: self.method) else { throw .invalidTarget }
        // A fragment is not part of a request-target.
        guard !local.utf8.contains(UInt8(ascii: "#")) else { throw .invalidTarget }
        let mark = local.utf8.firstIndex(of: UInt8(ascii: "?"))
        self.path = String(local[..<(mark ?? local.endIndex)])
        self.query = mark.map { String(local[local.utf8.index(after: $0)...]) }
    }

    private static func minorVersion(of word: ArraySlice<UInt8>) throws(RequestError) -> Int {
        let bytes = Array(word)
        guard bytes.count == 8, bytes.starts(with: "HTTP/".utf8), bytes[5].isDigit, bytes[6] == UInt8(ascii: "."),
            bytes[7].isDigit
        else { throw .invalidRequestLine }
        guard bytes[5] == UInt8(ascii: "1") else { throw .unsupportedVersion }
        return bytes[7] == .zero ? 0 : 1
    }

    /// Returns the target without the scheme and the authority of its absolute form; nil for an invalid one.
    private static func local(_ target: String, method: String) -> Substring? {
        if target.utf8.first == UInt8(ascii: "/") { return target[...] }
        if target == "*" { return method == "OPTIONS" ? target[...] : nil }
        let lowercased = target.lowercased()
        guard let scheme = ["http://", "https://"].first(where: { lowercased.hasPrefix($0) }) else { return nil }
        let rest = target.dropFirst(scheme.count)
        guard let end = rest.utf8.firstIndex(where: { "/?".utf8.contains($0) }) else { return rest.isEmpty ? nil : "/" }
        guard end > rest.startIndex else { return nil }
        return rest.utf8[end] == UInt8(ascii: "/") ? rest[end...] : Substring("/" + String(rest[end...]))
    }
}
