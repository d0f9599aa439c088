// Tests of ContentDecoder: codings, pieces, ends, and bombs.

import Deflate
import Testing
import WebSocketProtocol

@Suite struct ContentDecoderTests {
    private static let content = Array("data: one\n\ndata: two, which is longer than one\n\n".utf8)

    /// Decodes the chunks, with room for few bytes at a time, and ends.
    private func decode(
        _ input: [UInt8], _ contentEncoding: String?, chunkSizes: [Int] = [], room: Int = 65_536
    ) throws(DeflateError) -> [UInt8] {
        let decoder = try ContentDecoder(contentEncoding: contentEncoding)
        var decoded: [UInt8] = []
        for chunk in input.chunks(of: chunkSizes) { decoded += try self.feed(chunk, to: decoder, room: room) }
        try decoder.finish()
        return decoded
    }

    private func feed(
        _ chunk: [UInt8], to decoder: ContentDecoder, room: Int = 65_536
    ) throws(DeflateError) -> [UInt8] {
        try chunk.lend { bytes throws(DeflateError) in
            let output = PaddedBuffer()
            var decoded: [UInt8] = []
            var position = 0
            var isUsedUp = false
            while !isUsedUp {
                output.removeAll()
                isUsedUp = try decoder.decode(bytes, at: &position, into: output, upTo: room)
                #expect(output.count <= room)
                decoded += Array(output.bytes)
            }
            #expect(position == bytes.count)
            return decoded
        }
    }

    /// Content encoded as the value says.
    private static func encode(_ content: [UInt8], _ codings: [String]) -> [UInt8] {
        codings.reduce(content) { encoded, coding in
            switch coding {
            case "gzip": OneCallZlib.gzip(encoded)
            case "deflate": OneCallZlib.zlib(encoded)
            default: encoded
            }
        }
    }

    private static let codings: [[String]] = [
        [], ["identity"], ["gzip"], ["deflate"], ["identity", "gzip"], ["identity", "deflate", "identity"],
    ]

    @Test(arguments: Self.codings, [1, 2, 7, 65_536])
    func everyCodingIsUndoneWhateverTheChunksAndTheRoom(codings: [String], room: Int) throws {
        let encoded = Self.encode(Self.content, codings)
        let value = codings.joined(separator: ", ")
        for cut in 0...encoded.count {
            #expect(try self.decode(encoded, value, chunkSizes: [cut], room: room) == Self.content)
        }
        let single = [Int](repeating: 1, count: encoded.count)
        #expect(try self.decode(encoded, value, chunkSizes: single, room: room) == Self.content)
    }

    @Test(arguments: Self.codings, 0..<10)
    func randomContentIsDecoded(codings: [String], seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let content = random.content(upTo: 200_000)
        let encoded = Self.encode(content, codings)
        let sizes = random.chunkSizes(of: encoded.count)
        let room = Int.random(in: 1...70_000, using: &random) | 255
        #expect(try self.decode(encoded, codings.joined(separator: ","), chunkSizes: sizes, room: room) == content)
    }

    @Test(arguments: [nil, "", " ", "identity", "Identity, identity", "none", "None, identity", ","])
    func contentWithoutACodingPassesAsItIs(value: String?) throws {
        #expect(try self.decode(Self.content, value) == Self.content)
        #expect(try ContentDecoder(contentEncoding: value).isIdentity)
        #expect(!ContentDecoder.isCoded(value ?? ""))
    }

    @Test(arguments: ["gzip", "GZIP", "x-gzip", "X-Gzip", " gzip ", ",gzip,", "identity, gzip"])
    func gzipHasSeveralNames(value: String) throws {
        #expect(try self.decode(OneCallZlib.gzip(Self.content), value) == Self.content)
        #expect(try !ContentDecoder(contentEncoding: value).isIdentity)
    }

    @Test(arguments: ["br", "zstd", "compress", "gzip, br", "gzip2", "gzip;q=1", "x-deflate"])
    func unknownCodingsAreRefused(value: String) {
        #expect(throws: DeflateError.unknownContentCoding) { try ContentDecoder(contentEncoding: value) }
    }

    @Test(arguments: ["gzip, gzip", "deflate,gzip", "gzip, identity, deflate", "gzip,gzip,gzip,gzip"])
    func moreThanOneCodingIsRefused(value: String) {
        #expect(throws: DeflateError.tooManyContentCodings(limit: 1)) { try ContentDecoder(contentEncoding: value) }
    }

    /// A gzip member whose comment (RFC 1952 section 2.3) has no end: it produces no output.
    @Test func oneCallReadsAtMostASliceOfInputWithoutOutput() throws {
        let comment: [UInt8] = [0x1F, 0x8B, 8, 16, 0, 0, 0, 0, 0, 3] + [UInt8](repeating: 0x61, count: 200_000)
        let decoder = try ContentDecoder(contentEncoding: "gzip")
        let output = PaddedBuffer()
        var positions: [Int] = []
        try comment.lend { bytes throws(DeflateError) in
            var position = 0
            while try !decoder.decode(bytes, at: &position, into: output) { positions.append(position) }
            positions.append(position)
        }
        #expect(positions == [65_536, 131_072, 196_608, 200_010])
        #expect(output.count == 0)
    }

    @Test func deflateMayBeRaw() throws {
        #expect(try self.decode(OneCallZlib.raw(Self.content), "deflate") == Self.content)
    }

    // MARK: As it arrives

    @Test(arguments: [Deflater.Format.gzip, .zlib])
    func flushedDataIsOutputAtOnce(format: Deflater.Format) throws {
        let deflater = try Deflater(format: format)
        let decoder = try ContentDecoder(contentEncoding: format == .gzip ? "gzip" : "deflate")
        for number in 0..<50 {
            let event = Array("data: {\"type\":\"response.output_text.delta\",\"n\":\(number)}\n\n".utf8)
            let output = PaddedBuffer()
            try event.lend { deflater.deflate($0, flush: .sync, into: output) }
            #expect(try self.feed(Array(output.bytes), to: decoder) == event)
        }
        #expect(throws: DeflateError.truncatedData) { try decoder.finish() }
    }

    // MARK: Ends

    @Test func gzipMembersFollowEachOther() throws {
        let encoded = OneCallZlib.gzip(Self.content) + OneCallZlib.gzip([]) + OneCallZlib.gzip(Self.content)
        for cut in 0...encoded.count {
            #expect(try self.decode(encoded, "gzip", chunkSizes: [cut]) == Self.content + Self.content)
        }
        let sizes = [Int](repeating: 1, count: encoded.count)
        #expect(try self.decode(encoded, "gzip", chunkSizes: sizes, room: 3) == Self.content + Self.content)
    }

    @Test(arguments: ["gzip", "deflate"])
    func everyTruncationIsReportedAtTheEnd(value: String) throws {
        let encoded = Self.encode(Self.content, FieldValue.tokens(of: value))
        for length in 1..<encoded.count {
            #expect(throws: DeflateError.truncatedData) { try self.decode(Array(encoded.prefix(length)), value) }
        }
    }

    @Test(arguments: ["gzip", "deflate"])
    func contentOfNoBytesIsComplete(value: String) throws {
        #expect(try self.decode([], value) == [])
    }

    @Test func bytesAfterTheEndAreAnError() {
        #expect(throws: DeflateError.trailingData) { try self.decode(OneCallZlib.zlib([1]) + [0], "deflate") }
        #expect(throws: DeflateError.trailingData) { try self.decode(OneCallZlib.raw([1]) + [0], "deflate") }
        #expect(throws: DeflateError.corruptData) { try self.decode(OneCallZlib.gzip([1]) + [0, 0, 0], "gzip") }
        #expect(throws: DeflateError.truncatedData) { try self.decode(OneCallZlib.gzip([1]) + [0x1F], "gzip") }
    }

    @Test func anErrorIsThrownAgain() throws {
        let decoder = try ContentDecoder(contentEncoding: "gzip")
        #expect(throws: DeflateError.corruptData) { try self.feed([1, 2, 3], to: decoder) }
        #expect(throws: DeflateError.corruptData) { try self.feed([], to: decoder) }
        #expect(throws: DeflateError.corruptData) { try decoder.finish() }
    }

    @Test(arguments: ["gzip"])
    func aBombNeedsNoMoreMemoryThanTheRoom(value: String) throws {
        let byteCount = 64 << 20
        let codings = FieldValue.tokens(of: value)
        let bomb = Self.encode([UInt8](repeating: 0, count: byteCount), codings)
        let decoder = try ContentDecoder(contentEncoding: value)
        let output = PaddedBuffer()
        var total = 0
        try bomb.lend { bytes throws(DeflateError) in
            var position = 0
            var isUsedUp = false
            while !isUsedUp {
                output.removeAll()
                isUsedUp = try decoder.decode(bytes, at: &position, into: output)
                total += output.count
            }
        }
        try decoder.finish()
        #expect(total == byteCount)
        #expect(output.capacity <= 65_536)
    }
}
