// A plain reading of a response that lies there whole.

import HTTPProtocol

/// A response, or as much of it as is there.
struct ModelResponse: Equatable {
    var statusCode: Int?
    var minorVersion: Int?
    /// Names and values.
    var fields: [[String]] = []
    var framing: BodyFraming?
    var content: [UInt8] = []
    var isComplete = false
    /// The bytes of it; nil after an error.
    var byteCount: Int?
    var error: HTTPError?
    var endError: HTTPError?
}

/// Reads a response by looking at all of it as often as it likes.
struct ResponseModel {
    private enum Stop: Error {
        case wrong(HTTPError)
        case ended(HTTPError)
    }

    private let bytes: [UInt8]
    private let method: RequestMethod
    private let acceptsUpgrade: Bool
    private let limits: HTTPLimits
    private var index = 0
    private var response = ModelResponse()

    static func read(
        _ bytes: [UInt8], to method: RequestMethod, acceptsUpgrade: Bool, limits: HTTPLimits
    ) -> ModelResponse {
        var model = Self(bytes: bytes, method: method, acceptsUpgrade: acceptsUpgrade, limits: limits)
        do throws(Stop) {
            try model.readHeads()
            try model.readBody()
            model.response.isComplete = model.response.framing != .untilClose
        } catch {
            switch error {
            case .wrong(let error):
                model.response.error = error
                model.response.endError = error
            case .ended(let error):
                model.response.endError = error
                model.index = bytes.count
            }
        }
        if model.response.error == nil { model.response.byteCount = model.index }
        return model.response
    }

    private init(bytes: [UInt8], method: RequestMethod, acceptsUpgrade: Bool, limits: HTTPLimits) {
        self.bytes = bytes
        self.method = method
        self.acceptsUpgrade = acceptsUpgrade
        self.limits = limits
    }

    // MARK: Heads

    private func headByte(_ index: Int) throws(Stop) -> UInt8 {
        guard index < self.bytes.count else { throw .ended(index == 0 ? .noResponse : .incompleteHead) }
        guard index < self.limits.headByteCount else { throw .wrong(.headTooLarge(limit: self.limits.headByteCount)) }
        return self.bytes[index]
    }

    private mutating func readHeads() throws(Stop) {
        var emptyLineCount = 0
        while true {
            while try [0x0A, 0x0D].contains(self.headByte(self.index)) {
                if self.bytes[self.index] == 0x0D {
                    self.index += 1
                    guard try self.headByte(self.index) == 0x0A else { throw .wrong(.notHTTP) }
                }
                self.index += 1
                emptyLineCount += 1
                guard emptyLineCount <= 4 else { throw .wrong(.notHTTP) }
            }
            let minorVersion = try self.readVersion()
            let statusCode = try self.readStatusCode()
            let fields = try self.readFields()
            guard statusCode < 200, statusCode != 101 else {
                let framing = try Self.framing(
                    of: fields, statusCode: statusCode, minorVersion: minorVersion, to: self.method)
                self.response.statusCode = statusCode
                self.response.minorVersion = minorVersion
                self.response.fields = fields.map { $0.map { String(decoding: $0, as: UTF8.self) } }
                self.response.framing = framing
                return
            }
        }
    }

    private mutating func readVersion() throws(Stop) -> Int {
        for byte in "HTTP/1.".utf8 {
            guard try self.headByte(self.index) == byte else { throw .wrong(.notHTTP) }
            self.index += 1
        }
        let digit = try self.headByte(self.index)
        guard 0x30...0x39 ~= digit else { throw .wrong(.notHTTP) }
        guard try self.headByte(self.index + 1) == 0x20 else { throw .wrong(.notHTTP) }
        self.index += 2
        return Int(digit) - 0x30
    }

    /// Reads to the end of the status line.
    private mutating func readStatusCode() throws(Stop) -> Int {
        var code = 0
        for place in 0..<3 {
            let digit = try self.headByte(self.index)
            guard 0x30...0x39 ~= digit, place > 0 || digit != 0x30 else { throw .wrong(.notHTTP) }
            code = code * 10 + Int(digit) - 0x30
            self.index += 1
        }
        guard try [0x20, 0x0D, 0x0A].contains(self.headByte(self.index)) else { throw .wrong(.notHTTP) }
        if code == 101, !self.acceptsUpgrade { throw .wrong(.unexpectedSwitchingProtocols) }
        let reason = try self.readLine(room: .max)
        if let byte = reason.first(where: Self.isControl) { throw .wrong(.controlCharacter(byte)) }
        return code
    }

    /// The next line without its end, of at most so many bytes with it.
    private mutating func readLine(room: Int) throws(Stop) -> ArraySlice<UInt8> {
        let start = self.index
        let end = self.bytes[start...].firstIndex(of: 0x0A)
        let byteCount = (end.map { $0 + 1 } ?? self.bytes.count) - start
        let headRoom = self.limits.headByteCount - start
        if byteCount > min(room, headRoom) {
            throw headRoom <= room
                ? .wrong(.headTooLarge(limit: self.limits.headByteCount))
                : .wrong(.fieldLineTooLong(limit: self.limits.fieldLineByteCount))
        }
        guard let end else { throw .ended(.incompleteHead) }
        self.index = end + 1
        let line = self.bytes[start..<end]
        return line.last == 0x0D ? line.dropLast() : line
    }

    private mutating func readFields() throws(Stop) -> [[[UInt8]]] {
        var fields: [[[UInt8]]] = []
        var fieldStart = self.index
        var spaces = 0
        while true {
            let start = self.index
            let isContinuation = start < self.bytes.count && [0x20, 0x09].contains(self.bytes[start])
            if !isContinuation { fieldStart = start }
            let line = try self.readLine(room: self.limits.fieldLineByteCount - (start - fieldStart))
            if line.isEmpty { return fields }
            if isContinuation {
                guard let value = fields.last?[1] else { throw .wrong(.invalidFieldLine) }
                let content = try Self.trimmed(line)
                spaces += 1
                guard !content.isEmpty else { continue }
                let gap = value.isEmpty ? [] : [UInt8](repeating: 0x20, count: spaces)
                fields[fields.count - 1][1] = value + gap + content
            } else {
                guard fields.count < self.limits.fieldLineCount else {
                    throw .wrong(.tooManyFieldLines(limit: self.limits.fieldLineCount))
                }
                let name = line.prefix { $0 != 0x3A }
                guard name.count < line.count, Self.isToken(name) else { throw .wrong(.invalidFieldLine) }
                fields.append([Array(name), try Self.trimmed(line.dropFirst(name.count + 1))])
            }
            spaces = 0
        }
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

    private static func isToken(_ name: ArraySlice<UInt8>) -> Bool {
        !name.isEmpty && name.allSatisfy { 0x21...0x7E ~= $0 && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) throws(Stop) -> [UInt8] {
        if let byte = value.first(where: Self.isControl) { throw .wrong(.controlCharacter(byte)) }
        let start = value.drop { $0 == 0x20 || $0 == 0x09 }
        return Array(start.reversed().drop { $0 == 0x20 || $0 == 0x09 }.reversed())
    }

    // MARK: Framing

    private static func framing(
        of fields: [[[UInt8]]], statusCode: Int, minorVersion: Int, to method: RequestMethod
    ) throws(Stop) -> BodyFraming {
        if [101, 204, 304].contains(statusCode) || (method == .connect && statusCode < 300) { return .none }
        func values(_ name: String) -> [String] {
            fields.filter { String(decoding: $0[0], as: UTF8.self).lowercased() == name }
                .map { String(decoding: $0[1], as: UTF8.self) }
        }
        let (codings, lengths) = (values("transfer-encoding"), values("content-length"))
        if !codings.isEmpty {
            if minorVersion == 0 { throw .wrong(.transferEncodingInHTTP10) }
            let isChunked = codings.count == 1 && codings[0].utf8.count == 7 && codings[0].lowercased() == "chunked"
            if !isChunked { throw .wrong(.unsupportedTransferCoding) }
            return .chunked
        }
        var length: Int?
        for element in lengths.joined(separator: ",").utf8.split(separator: 0x2C, omittingEmptySubsequences: false)
        where !lengths.isEmpty {
            let digits = try Self.trimmed(Array(element)[...])
            let isNumber = !digits.isEmpty && digits.allSatisfy { 0x30...0x39 ~= $0 }
            guard isNumber, let number = Int(String(decoding: digits, as: UTF8.self)) else {
                throw .wrong(.invalidContentLength)
            }
            if let length, length != number { throw .wrong(.conflictingLengths) }
            length = number
        }
        return length.map { .length($0) } ?? .untilClose
    }

    // MARK: Bodies

    private mutating func readBody() throws(Stop) {
        switch self.response.framing {
        case .some(.none), nil: return
        case .untilClose: self.take(.max)
        case .length(let byteCount):
            let missing = byteCount - self.take(byteCount)
            guard missing == 0 else { throw .ended(.incompleteBody(missing: missing)) }
        case .chunked:
            while true {
                let size = try self.readChunkLine()
                guard size > 0 else { break }
                let missing = size - self.take(size)
                guard missing == 0 else { throw .ended(.incompleteChunk(missing: missing)) }
                for byte in [0x0D, 0x0A] as [UInt8] {
                    guard self.index < self.bytes.count else { throw .ended(.missingLastChunk) }
                    guard self.bytes[self.index] == byte else { throw .wrong(.missingChunkTerminator) }
                    self.index += 1
                }
            }
            try self.skipTrailers()
        }
    }

    @discardableResult
    private mutating func take(_ byteCount: Int) -> Int {
        let taken = self.bytes[self.index...].prefix(byteCount)
        self.response.content += taken
        self.index += taken.count
        return taken.count
    }

    /// The first fault of a chunk line, or its size and its number of bytes; the line may be cut.
    private func judge(_ line: ArraySlice<UInt8>) -> (wrong: (Int, HTTPError)?, size: Int, byteCount: Int?) {
        var size = 0
        var index = line.startIndex
        while index < line.endIndex, let digit = Character(UnicodeScalar(line[index])).hexDigitValue, line[index] < 128
        {
            let (product, overflow) = size.multipliedReportingOverflow(by: 16)
            if overflow { return ((index, .chunkSizeOverflow), 0, nil) }
            size = product + digit
            index += 1
        }
        if index == line.startIndex, index < line.endIndex { return ((index, .invalidChunkLine), 0, nil) }
        while index < line.endIndex, line[index] == 0x20 || line[index] == 0x09 { index += 1 }
        if index < line.endIndex, line[index] == 0x3B {
            var quote: UInt8?
            while index < line.endIndex, quote != nil || line[index] != 0x0D {
                if Self.isControl(line[index]) { return ((index, .invalidChunkLine), 0, nil) }
                if quote == 0x5C {
                    quote = 0x22
                } else if line[index] == 0x22 {
                    quote = quote == nil ? 0x22 : nil
                } else if line[index] == 0x5C, quote != nil {
                    quote = 0x5C
                }
                index += 1
            }
        }
        for byte in [0x0D, 0x0A] as [UInt8] {
            guard index < line.endIndex else { return (nil, size, nil) }
            guard line[index] == byte else { return ((index, .invalidChunkLine), 0, nil) }
            index += 1
        }
        return (nil, size, index - line.startIndex)
    }

    private mutating func readChunkLine() throws(Stop) -> Int {
        let rest = self.bytes[self.index...]
        let verdict = self.judge(rest)
        let limit = self.limits.chunkLineByteCount
        let known = verdict.wrong.map { $0.0 - self.index + 1 } ?? verdict.byteCount ?? rest.count
        guard known <= limit else { throw .wrong(.chunkLineTooLong(limit: limit)) }
        if let (_, error) = verdict.wrong { throw .wrong(error) }
        guard let byteCount = verdict.byteCount else { throw .ended(.missingLastChunk) }
        self.index += byteCount
        return verdict.size
    }

    private mutating func skipTrailers() throws(Stop) {
        let start = self.index
        var isWhole = false
        while !isWhole, let end = self.bytes[self.index...].firstIndex(of: 0x0A) {
            isWhole = self.bytes[self.index..<end].elementsEqual([0x0D]) || end == self.index
            self.index = end + 1
        }
        let limit = self.limits.trailerSectionByteCount
        let byteCount = (isWhole ? self.index : self.bytes.count) - start
        guard byteCount <= limit else { throw .wrong(.trailerSectionTooLarge(limit: limit)) }
        guard isWhole else { throw .ended(.incompleteTrailerSection) }
    }
}
