// Holds the decoder of HTTP content against zlib.

import Deflate
import Invariants
import WebSocketProtocol

/// Content, and how it was encoded.
struct ContentCheck {
    private let fieldValue: String
    /// In the order of the field: the first was applied first.
    private let codings: [ContentCoding]
    private let content: [UInt8]

    private static let fieldValues: [(String, [ContentCoding])] = [
        ("gzip", [.gzip]), ("deflate", [.deflate]), ("X-GZIP", [.gzip]), ("identity", []), (" , Deflate,", [.deflate]),
        ("gzip, identity", [.gzip]), ("identity,deflate", [.deflate]), ("x-gzip", [.gzip]),
        ("identity, identity", []),
    ]

    /// Takes the settings from the input, and the content from its rest.
    init(_ reader: inout InputReader) {
        (self.fieldValue, self.codings) = Self.fieldValues[reader.choice(of: Self.fieldValues.count)]
        let settings = reader.byte()
        let rest = Array(reader.rest)
        guard settings & 1 == 1 else {
            self.content = rest
            return
        }
        var content = self.codings.reduce(rest) {
            $1.encode($0, level: Int(settings >> 2 & 3) * 3, isRaw: settings & 2 != 0)
        }
        // What follows, and damage, for those that have any.
        if settings & 16 != 0 { content += content }
        if settings & 32 != 0, !content.isEmpty { content[rest.count * 7 % content.count] ^= 1 << (settings >> 6) }
        self.content = content
    }

    /// Decodes the content in pieces of all kinds, with little and with much room; otherwise in one of these ways.
    func run(_ random: inout InputHash, isDeep: Bool) {
        guard let expected = Self.decode(self.content, self.codings), expected.output.count < 200_000 else { return }
        let pieces = [(Int.max, Int.max), (1, 1 << 16), (64, 64), (Int.max, 1 + expected.output.count / 7)]
        let first = Int.random(in: 0..<pieces.count, using: &random)
        for (longest, room) in isDeep ? pieces[...] : pieces[first...first] {
            guard let decoder = try? ContentDecoder(contentEncoding: self.fieldValue) else {
                breakInvariant("there is no decoder")
            }
            require(decoder.isIdentity == self.codings.isEmpty, "it is the identity when there is no coding")
            var reading = Reading(decoder: decoder, room: room)
            reading.read(self.content, longest: longest, &random) { known in
                isDeep ? Self.decode(Array(self.content[..<known]), self.codings)?.output : nil
            }
            self.compare(reading, expected)
        }
    }

    private func compare(_ reading: Reading, _ expected: ContentResult) {
        let words = "\(self.fieldValue): \(reading.output.count) bytes, \(String(describing: reading.error)), and not"
        let error = expected.error ?? (expected.isComplete ? nil : .truncatedData)
        require(reading.output == expected.output && reading.error == error, "\(words) \(expected)")
    }

    /// Returns zlib's decoding of the content; nil when it is too large.
    private static func decode(_ content: [UInt8], _ codings: [ContentCoding]) -> ContentResult? {
        var result = ContentResult(output: content, isComplete: true)
        for coding in codings.reversed() {
            let part = coding.decode(result.output)
            if part.isTooLarge { return nil }
            result = ContentResult(
                output: part.output, error: result.error ?? part.error,
                isComplete: result.isComplete && part.isComplete)
        }
        // Content of no bytes at all is whole.
        if content.isEmpty { result.isComplete = true }
        return result
    }
}

/// Reads content through a decoder.
private struct Reading {
    let decoder: ContentDecoder
    /// The largest room for output at a time, in bytes.
    let room: Int
    private(set) var output: [UInt8] = []
    private(set) var error: DeflateError?
    private let buffer = PaddedBuffer()

    init(decoder: ContentDecoder, room: Int) {
        self.decoder = decoder
        self.room = room
    }

    /// Decodes the content in pieces; `known` says what zlib makes of the beginning of it.
    mutating func read(_ content: [UInt8], longest: Int, _ random: inout InputHash, known: (Int) -> [UInt8]?) {
        var position = 0
        let observed = Int.random(in: 0...content.count, using: &random)
        do throws(DeflateError) {
            while position < content.count {
                let end = position + min(content.count - position, Int.random(in: 1...longest, using: &random))
                try ExactCopy.lend(content[position..<end]) { piece throws(DeflateError) in
                    try self.read(piece, &random)
                }
                if position..<end ~= observed, let known = known(end) {
                    require(self.output == known, "\(self.output.count) bytes came, and \(known.count) are known")
                }
                position = end
            }
            try self.decoder.finish()
        } catch {
            self.output += self.buffer.bytes
            self.error = error
            self.repeatError(error)
        }
    }

    private mutating func read(_ piece: UnsafeRawBufferPointer, _ random: inout InputHash) throws(DeflateError) {
        var position = 0
        while true {
            let start = self.buffer.count
            let (sum, isLarge) = start.addingReportingOverflow(Int.random(in: 1...self.room, using: &random))
            let limit = isLarge ? Int.max : sum
            let isDone = try self.decoder.decode(piece, at: &position, into: self.buffer, upTo: limit)
            require(self.buffer.count <= limit, "more was written than there was room for")
            require(isDone || self.buffer.count == limit, "it stops with room left")
            require(!isDone || position == piece.count, "it is done with input left")
            MemoryReading.read(
                UnsafeRawBufferPointer(start: self.buffer.bytes.baseAddress, count: self.buffer.count + 64))
            self.output += self.buffer.bytes
            self.buffer.removeAll()
            if isDone { return }
        }
    }

    private func repeatError(_ error: DeflateError) {
        do throws(DeflateError) {
            try self.decoder.finish()
            breakInvariant("an error is forgotten")
        } catch let second {
            require(second == error, "an error does not change")
        }
    }
}
