// The head of a response, read from bytes in chunks of any size (RFC 9112 sections 2 to 5). No I/O.
// The owner is the `ResponseReader` it is part of.

/// Reads the head of the final response, and skips those of interim responses before it.
///
/// A line is buffered until it is complete; its bytes are examined once when they arrive and once when it is read.
struct ResponseHeadReader: Sendable {
    private enum State {
        /// In the beginning `HTTP/1.1 200`, of which `byteCount` bytes were valid.
        case statusLine(byteCount: Int)
        /// After the CR of an empty line before the status line.
        case emptyLine
        /// Behind the status code.
        case reasonPhrase
        /// In a field line or the empty line that ends the head.
        case fieldLine
    }

    /// The largest total number of empty lines that are tolerated before status lines.
    ///
    /// RFC 9112 section 2.2 recommends it before a request line, and does not mention a status line.
    private static let emptyLineLimit = 4
    private static let beginning: StaticString = "HTTP/1."

    private let acceptsUpgrade: Bool
    private let limits: HTTPLimits
    private var state: State = .statusLine(byteCount: 0)
    private var headRoom: Int
    private var lineRoom = Int.max
    private var line: [UInt8] = []
    private var emptyLineCount = 0
    private var statusCode = 0
    private var minorVersion = 0
    private var fields = FieldSection()

    init(acceptsUpgrade: Bool, limits: HTTPLimits) {
        self.acceptsUpgrade = acceptsUpgrade
        self.limits = limits
        self.headRoom = limits.headByteCount
    }

    /// Indicates whether any byte was read.
    var hasBegun: Bool { self.headRoom < self.limits.headByteCount }

    /// Reads from `position` on; nil when the bytes are used up.
    mutating func read(
        _ bytes: UnsafeRawBufferPointer, at position: inout Int
    ) throws(HTTPError) -> ResponseMessageHead? {
        while position < bytes.count {
            switch self.state {
            case .statusLine, .emptyLine:
                guard self.headRoom > 0 else { throw .headTooLarge(limit: self.limits.headByteCount) }
                self.headRoom -= 1
                try self.readBeginning(unsafe bytes[position])
                position += 1
            case .reasonPhrase:
                guard unsafe try self.takeLine(of: bytes, at: &position) else { return nil }
                if let byte = self.line.first(where: \.isForbiddenInValue) { throw .controlCharacter(byte) }
                self.beginFields()
            case .fieldLine:
                guard unsafe try self.takeLine(of: bytes, at: &position) else { return nil }
                if let head = try self.readFieldLine() { return head }
            }
        }
        return nil
    }

    // MARK: Status line

    /// Reads a byte of `HTTP/1.1 200` or the one behind it, so that the first invalid byte reveals another protocol.
    private mutating func readBeginning(_ byte: UInt8) throws(HTTPError) {
        guard case .statusLine(let byteCount) = self.state else {
            guard byte == .lineFeed else { throw .notHTTP }
            return try self.endEmptyLine()
        }
        let isRight =
            switch byteCount {
            case 0 where byte == .carriageReturn: true
            case 0 where byte == .lineFeed: true
            case 7: byte.isDigit
            case 8: byte == .space
            // A status code has three digits (RFC 9110 section 15), and the first of them is not 0.
            case 9: byte.isDigit && byte != .zero
            case 10, 11: byte.isDigit
            // Many servers leave out the space when there is no reason phrase.
            case 12: byte == .space || byte == .carriageReturn || byte == .lineFeed
            default: unsafe byte == Self.beginning.utf8Start[byteCount]
            }
        guard isRight else { throw .notHTTP }
        switch byteCount {
        case 0 where byte == .carriageReturn: self.state = .emptyLine
        case 0 where byte == .lineFeed: try self.endEmptyLine()
        case 12: try self.endStatusCode(with: byte)
        default:
            if byteCount == 7 { self.minorVersion = Int(byte - .zero) }
            if byteCount > 8 { self.statusCode = self.statusCode * 10 + Int(byte - .zero) }
            self.state = .statusLine(byteCount: byteCount + 1)
        }
    }

    private mutating func endEmptyLine() throws(HTTPError) {
        self.emptyLineCount += 1
        guard self.emptyLineCount <= Self.emptyLineLimit else { throw .notHTTP }
        self.state = .statusLine(byteCount: 0)
    }

    private mutating func endStatusCode(with byte: UInt8) throws(HTTPError) {
        if self.statusCode == 101, !self.acceptsUpgrade { throw .unexpectedSwitchingProtocols }
        guard byte != .lineFeed else { return self.beginFields() }
        self.line.append(byte)
        self.lineRoom = Int.max
        self.state = .reasonPhrase
    }

    /// Indicates whether another head follows (RFC 9110 section 15.2): after every 1xx except 101, known or not.
    private var isInterim: Bool { 100..<200 ~= self.statusCode && self.statusCode != 101 }

    // MARK: Field lines

    private mutating func beginFields() {
        self.line.removeAll(keepingCapacity: true)
        self.lineRoom = self.limits.fieldLineByteCount
        self.state = .fieldLine
    }

    /// Adds bytes to the line; returns whether it is complete, in which case its line end is removed.
    ///
    /// RFC 9112 section 2.2: a single LF may end a status line or a field line.
    private mutating func takeLine(
        of bytes: UnsafeRawBufferPointer, at position: inout Int
    ) throws(HTTPError) -> Bool {
        if case .fieldLine = self.state, self.line.isEmpty, unsafe !bytes[position].isWhitespace {
            self.lineRoom = self.limits.fieldLineByteCount
        }
        let start = position
        let room = min(self.headRoom, self.lineRoom)
        let end = start + min(room, bytes.count - start)
        while unsafe position < end && bytes[position] != .lineFeed { position &+= 1 }
        let isWhole = position < end
        guard isWhole || bytes.count - start <= room else {
            throw self.headRoom <= self.lineRoom
                ? .headTooLarge(limit: self.limits.headByteCount)
                : .fieldLineTooLong(limit: self.limits.fieldLineByteCount)
        }
        unsafe self.line.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[start..<position]))
        if isWhole { position += 1 }
        self.headRoom -= position - start
        self.lineRoom -= position - start
        guard isWhole else { return false }
        if self.line.last == .carriageReturn { self.line.removeLast() }
        return true
    }

    /// Reads a complete line; returns the head when it was the empty line behind the final one.
    private mutating func readFieldLine() throws(HTTPError) -> ResponseMessageHead? {
        guard let first = self.line.first else { return self.endHead() }
        if first.isWhitespace {
            // RFC 9112 section 2.2: white space before the first field line may be rejected, which is done here.
            try self.fields.append(continuation: self.line[...])
        } else {
            guard self.fields.count < self.limits.fieldLineCount else {
                throw .tooManyFieldLines(limit: self.limits.fieldLineCount)
            }
            try self.fields.append(line: self.line[...])
        }
        self.line.removeAll(keepingCapacity: true)
        return nil
    }

    private mutating func endHead() -> ResponseMessageHead? {
        let head = ResponseMessageHead(
            statusCode: self.statusCode, minorVersion: self.minorVersion, fields: self.fields)
        let isInterim = self.isInterim
        self.fields = FieldSection()
        self.line = []
        self.statusCode = 0
        self.state = .statusLine(byteCount: 0)
        return isInterim ? nil : head
    }
}
