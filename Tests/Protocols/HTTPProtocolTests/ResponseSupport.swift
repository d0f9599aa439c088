// Responses read in pieces of any size, for the tests of this module.

import HTTPProtocol

/// The result of reading a response.
struct ReadResponse: Equatable {
    var head: ResponseMessageHead?
    var framing: BodyFraming?
    var content: [UInt8] = []
    var isComplete = false
    /// The number of bytes that were read; nil after an error, because the place of its detection is not promised.
    var byteCount: Int? = 0
    /// The error of the bytes.
    var error: HTTPError?
    /// The error that an end of the connection means behind the bytes.
    var endError: HTTPError?

    var contentText: String { String(decoding: self.content, as: UTF8.self) }

    /// The field lines as text, which is easier to compare.
    var fields: [String] { self.head?.fields.map { "\($0.name): \($0.value)" } ?? [] }

    /// Reads the bytes in pieces of the sizes given, the rest at once.
    static func read(
        _ bytes: [UInt8], to method: RequestMethod = .get, acceptsUpgrade: Bool = false,
        limits: HTTPLimits = HTTPLimits(), pieceSizes: [Int] = []
    ) -> Self {
        var collector = ResponseCollector(
            ResponseReader(method: method, acceptsUpgrade: acceptsUpgrade, limits: limits))
        var start = 0
        for size in pieceSizes {
            collector.feed(bytes[start..<(start + size)])
            start += size
        }
        collector.feed(bytes[start...])
        return collector.end()
    }

    /// Reads text.
    static func read(
        _ text: String, to method: RequestMethod = .get, acceptsUpgrade: Bool = false,
        limits: HTTPLimits = HTTPLimits(), pieceSizes: [Int] = []
    ) -> Self {
        Self.read(
            Array(text.utf8), to: method, acceptsUpgrade: acceptsUpgrade, limits: limits, pieceSizes: pieceSizes)
    }

    /// Reads a body in chunks.
    static func readChunks(_ text: String, limits: HTTPLimits = HTTPLimits(), pieceSizes: [Int] = []) -> Self {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let sizes = pieceSizes.isEmpty ? [] : [head.utf8.count] + pieceSizes
        return Self.read(head + text, limits: limits, pieceSizes: sizes)
    }
}

/// Drives a reader as a connection would, and checks the conditions of every call.
struct ResponseCollector {
    private(set) var response = ReadResponse()
    private var reader: ResponseReader

    init(_ reader: ResponseReader) { self.reader = reader }

    /// Reads one piece; no effect once the response is complete or an error was thrown.
    mutating func feed(_ piece: ArraySlice<UInt8>) {
        guard self.response.error == nil, !self.response.isComplete else { return }
        var copy = Array(piece)
        copy.withUnsafeMutableBytes { buffer in
            do throws(HTTPError) {
                try self.read(buffer)
            } catch {
                self.response.error = error
                self.response.byteCount = nil
            }
        }
    }

    private mutating func read(_ buffer: UnsafeMutableRawBufferPointer) throws(HTTPError) {
        var position = 0
        if self.response.head == nil {
            self.response.head = try self.reader.readHead(UnsafeRawBufferPointer(buffer), at: &position)
            self.response.byteCount? += position
            self.response.framing = self.reader.bodyFraming
            guard self.response.head != nil else {
                precondition(position == buffer.count, "a reader that needs more has read everything")
                return
            }
        }
        repeat {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[position...])
            let piece = try self.reader.readBody(rest)
            precondition((0...piece.consumed).contains(piece.content.lowerBound), "content begins in what was read")
            precondition(piece.content.upperBound <= piece.consumed, "content ends in what was read")
            self.response.content += rest[piece.content]
            self.response.byteCount? += piece.consumed
            self.response.isComplete = piece.isComplete
            position += piece.consumed
        } while position < buffer.count && !self.response.isComplete
    }

    /// Ends the connection.
    mutating func end() -> ReadResponse {
        do throws(HTTPError) {
            try self.reader.connectionEnded()
        } catch {
            self.response.endError = error
        }
        return self.response
    }
}

/// Repeatable random numbers (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var word = self.state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }

    /// Sizes of pieces that bytes are cut into.
    mutating func pieceSizes(of count: Int) -> [Int] {
        var sizes: [Int] = []
        var rest = count
        while rest > 0 {
            let size = Int.random(in: 0...min(rest, Int.random(in: 1...200, using: &self)), using: &self)
            sizes.append(size)
            rest -= size
        }
        return sizes
    }
}
