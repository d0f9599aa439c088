/// Reads the values of RESP2 from bytes that arrive in pieces.
///
/// It looks at each byte a constant number of times, allocates nothing because of a length that is only announced, and
/// stays failed behind a fault. It belongs to the connection's reader.
package struct RESPParser: Sendable {
    /// The largest values that are read.
    package struct Limits: Sendable, Equatable {
        /// The bytes of a line without its end; default 64 KiB.
        package var lineByteCount = 64 << 10
        /// The bytes of one text; default 512 MiB, which is Redis's own limit.
        package var bulkByteCount = 512 << 20
        /// The bytes of one value with everything in it; default 1 GiB.
        package var valueByteCount = 1 << 30
        /// The elements of one value, those of its arrays' arrays included; default 1,048,576.
        package var elementCount = 1 << 20
        /// The arrays in each other; default 8.
        package var depth = 8

        /// Creates the default limits.
        package init() {}
    }

    /// An array of which elements are missing.
    private struct Frame {
        var missing: Int
        var elements: [RESPValue] = []
    }

    private enum Expectation {
        /// A type and a line.
        case line
        /// The bytes of a text, and CR LF.
        case bulk(byteCount: Int)
    }

    /// The consumed bytes above which the buffer is moved.
    private static let slack = 64 << 10

    private let limits: Limits
    private var buffer: [UInt8] = []
    /// The first byte that was not read.
    private var position = 0
    /// The first byte that was not searched for the end of a line.
    private var searched = 0
    private var expectation = Expectation.line
    private var frames: [Frame] = []
    /// The bytes and elements of the value that is being read.
    private var byteCount = 0
    private var elementCount = 0
    private var fault: RESPError?

    /// Creates a parser at the beginning of a connection.
    package init(limits: Limits = Limits()) { self.limits = limits }

    /// The bytes that have arrived and belong to no complete value.
    package var pendingByteCount: Int { self.buffer.count - self.position }

    /// Adds bytes that have arrived.
    package mutating func append(_ bytes: some Collection<UInt8>) {
        if self.position == self.buffer.count {
            self.buffer.removeAll(keepingCapacity: self.buffer.count <= Self.slack)
            self.moved()
        } else if self.position > Self.slack, self.position > self.buffer.count / 2 {
            self.buffer.removeSubrange(..<self.position)
            self.moved()
        }
        self.buffer.append(contentsOf: bytes)
    }

    private mutating func moved() {
        self.searched = max(0, self.searched - self.position)
        self.position = 0
    }

    /// Returns the next complete value; nil until more bytes have arrived.
    ///
    /// Throws the same fault again once it has thrown one.
    package mutating func next() throws(RESPError) -> RESPValue? {
        if let fault = self.fault { throw fault }
        do throws(RESPError) {
            while true {
                guard let value = try self.step() else { return nil }
                if let whole = self.complete(value) { return whole }
            }
        } catch {
            self.fault = error
            self.buffer = []
            self.frames = []
            throw error
        }
    }

    /// Reads up to the end of a value that has no missing elements; nil until more bytes have arrived.
    private mutating func step() throws(RESPError) -> RESPValue? {
        while true {
            switch self.expectation {
            case .line:
                guard let line = try self.line() else { return nil }
                if let value = try self.value(ofLine: line) { return value }
            case .bulk(let byteCount):
                guard self.buffer.count - self.position >= byteCount + 2 else { return nil }
                let end = self.position + byteCount
                guard self.buffer[end] == 0x0d, self.buffer[end + 1] == 0x0a else { throw .missingTerminator }
                let bytes = Array(self.buffer[self.position..<end])
                self.position = end + 2
                self.expectation = .line
                return .bulk(bytes)
            }
        }
    }

    // MARK: Lines

    /// Takes the next line without its end; nil until it is complete.
    private mutating func line() throws(RESPError) -> ArraySlice<UInt8>? {
        if self.position < self.buffer.count, !Self.types.contains(self.buffer[self.position]) {
            throw .unknownType(self.buffer[self.position])
        }
        let start = max(self.searched, self.position)
        guard let end = self.buffer[start...].firstIndex(of: 0x0a) else {
            self.searched = self.buffer.count
            // The type and a CR are no part of the line.
            guard self.buffer.count - self.position <= self.limits.lineByteCount + 2 else {
                throw .lineTooLong(limit: self.limits.lineByteCount)
            }
            return nil
        }
        let line = self.buffer[self.position..<end]
        guard line.count <= self.limits.lineByteCount + 2 else { throw .lineTooLong(limit: self.limits.lineByteCount) }
        guard line.last == 0x0d else { throw .malformedLine }
        self.position = end + 1
        self.searched = end + 1
        try self.count(bytes: line.count + 1)
        return line.dropLast()
    }

    private static let types = Array("+-:$*".utf8)

    /// Reads a line; nil when a text or elements follow it.
    private mutating func value(ofLine line: ArraySlice<UInt8>) throws(RESPError) -> RESPValue? {
        let content = line.dropFirst()
        switch line.first {
        case UInt8(ascii: "+"): return .simple(try Self.text(content))
        case UInt8(ascii: "-"): return .error(try Self.text(content))
        case UInt8(ascii: ":"): return .integer(try Self.number(content))
        case UInt8(ascii: "$"): return try self.beginBulk(content)
        default: return try self.beginArray(content)
        }
    }

    private mutating func beginBulk(_ content: ArraySlice<UInt8>) throws(RESPError) -> RESPValue? {
        guard let byteCount = try Self.length(content) else { return .null }
        guard byteCount <= self.limits.bulkByteCount else { throw .bulkTooLarge(limit: self.limits.bulkByteCount) }
        try self.count(bytes: byteCount)
        self.expectation = .bulk(byteCount: byteCount)
        return nil
    }

    private mutating func beginArray(_ content: ArraySlice<UInt8>) throws(RESPError) -> RESPValue? {
        guard let count = try Self.length(content) else { return .null }
        guard count <= self.limits.elementCount - self.elementCount else {
            throw .tooManyElements(limit: self.limits.elementCount)
        }
        guard self.frames.count < self.limits.depth else { throw .tooDeep(limit: self.limits.depth) }
        self.elementCount += count
        if count == 0 { return .array([]) }
        self.frames.append(Frame(missing: count))
        return nil
    }

    private mutating func count(bytes: Int) throws(RESPError) {
        self.byteCount += bytes
        guard self.byteCount <= self.limits.valueByteCount else {
            throw .valueTooLarge(limit: self.limits.valueByteCount)
        }
    }

    // MARK: Values

    /// Puts a value into its array; returns the outermost value when that is complete.
    private mutating func complete(_ value: RESPValue) -> RESPValue? {
        var value = value
        while !self.frames.isEmpty {
            let last = self.frames.count - 1
            self.frames[last].elements.append(value)
            self.frames[last].missing -= 1
            guard self.frames[last].missing == 0 else { return nil }
            value = .array(self.frames.removeLast().elements)
        }
        self.byteCount = 0
        self.elementCount = 0
        return value
    }

    private static func text(_ bytes: ArraySlice<UInt8>) throws(RESPError) -> String {
        guard !bytes.contains(0x0d) else { throw .malformedLine }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads a length; nil for -1, the mark of an absent value.
    private static func length(_ bytes: ArraySlice<UInt8>) throws(RESPError) -> Int? {
        let number = try self.number(bytes)
        if number == -1 { return nil }
        guard number >= 0 else { throw .malformedNumber }
        return number
    }

    /// Reads an optional sign and 1 to 19 digits.
    private static func number(_ bytes: ArraySlice<UInt8>) throws(RESPError) -> Int {
        let isNegative = bytes.first == UInt8(ascii: "-")
        let digits = isNegative ? bytes.dropFirst() : bytes
        guard (1...19).contains(digits.count) else { throw .malformedNumber }
        var number = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { throw .malformedNumber }
            let (tens, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowsToo) =
                isNegative
                ? tens.subtractingReportingOverflow(Int(digit - 0x30)) : tens.addingReportingOverflow(Int(digit - 0x30))
            guard !overflows, !overflowsToo else { throw .malformedNumber }
            number = sum
        }
        return number
    }
}
