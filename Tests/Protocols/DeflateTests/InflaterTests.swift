// Tests of Inflater and Deflater against zlib in one call.

import Deflate
import Testing
import WebSocketProtocol

@Suite struct InflaterTests {
    private func inflate(
        _ input: [UInt8], format: Inflater.Format, chunkSizes: [Int] = []
    ) throws(DeflateError) -> ([UInt8], Inflater.Progress) {
        let inflater = Inflater(format: format)
        let output = PaddedBuffer()
        var progress = Inflater.Progress.needsInput
        for chunk in input.chunks(of: chunkSizes) {
            progress = try chunk.lend { bytes throws(DeflateError) in
                var position = 0
                return try inflater.inflate(bytes, at: &position, into: output)
            }
        }
        return (Array(output.bytes), progress)
    }

    private func compress(_ input: [UInt8], _ format: Inflater.Format) -> [UInt8] {
        switch format {
        case .raw(let bits): OneCallZlib.compress(input, windowBits: -Int32(max(9, bits)))
        case .gzip: OneCallZlib.gzip(input)
        case .zlib, .zlibOrRaw: OneCallZlib.zlib(input)
        }
    }

    private static let formats: [Inflater.Format] = [
        .raw(windowBits: 8), .raw(windowBits: 9), .raw(windowBits: 15), .gzip, .zlib, .zlibOrRaw,
    ]

    @Test(arguments: Self.formats)
    func shortStreamsSplitAnywhereInflate(format: Inflater.Format) throws {
        let content = Array("data: {\"type\":\"response.output_text.delta\"}\n\ndata: {\"type\":\"\"}\n\n".utf8)
        let stream = self.compress(content, format)
        for cut in 0...stream.count {
            let (output, progress) = try self.inflate(stream, format: format, chunkSizes: [cut])
            #expect(output == content)
            #expect(progress == .streamEnd)
        }
    }

    @Test(arguments: Self.formats, 0..<20)
    func randomStreamsInRandomChunksInflate(format: Inflater.Format, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let content = random.content(upTo: 150_000)
        let stream = self.compress(content, format)
        let sizes = random.chunkSizes(of: stream.count)
        let (output, progress) = try self.inflate(stream, format: format, chunkSizes: sizes)
        #expect(output == content)
        #expect(progress == .streamEnd)
    }

    @Test func rawDataAreRecognised() throws {
        for content in [[], Array("Hello".utf8), [UInt8](repeating: 1, count: 1_000)] as [[UInt8]] {
            let stream = OneCallZlib.raw(content)
            let sizes = [Int](repeating: 1, count: stream.count)
            #expect(try self.inflate(stream, format: .zlibOrRaw).0 == content)
            #expect(try self.inflate(stream, format: .zlibOrRaw, chunkSizes: sizes).0 == content)
        }
    }

    @Test func outputContinuesAfterTheLimitOfACall() throws {
        let content = [UInt8](repeating: 9, count: 10_000)
        let stream = OneCallZlib.zlib(content)
        let inflater = Inflater(format: .zlib)
        let output = PaddedBuffer()
        var position = 0
        var collected: [UInt8] = []
        var progress = Inflater.Progress.outputFull
        try stream.lend { bytes throws(DeflateError) in
            while progress == .outputFull {
                output.removeAll()
                progress = try inflater.inflate(bytes, at: &position, into: output, upTo: 1_000)
                #expect(output.count <= 1_000)
                collected += Array(output.bytes)
            }
        }
        #expect(progress == .streamEnd)
        #expect(collected == content)
    }

    @Test func inputAfterTheStreamIsNotUsed() throws {
        let stream = OneCallZlib.gzip([1, 2, 3])
        let inflater = Inflater(format: .gzip)
        let output = PaddedBuffer()
        try (stream + [0xAA, 0xBB]).lend { bytes throws(DeflateError) in
            var position = 0
            #expect(try inflater.inflate(bytes, at: &position, into: output) == .streamEnd)
            #expect(position == stream.count)
            #expect(try inflater.inflate(bytes, at: &position, into: output) == .streamEnd)
            #expect(position == stream.count)
        }
    }

    @Test func checksumsAreVerified() throws {
        for format in [Inflater.Format.gzip, .zlib] {
            var stream = self.compress([1, 2, 3, 4], format)
            stream[stream.count - (format == .gzip ? 5 : 1)] ^= 1
            #expect(throws: DeflateError.corruptData) { try self.inflate(stream, format: format) }
        }
    }

    @Test func presetDictionaryIsRefused() {
        #expect(throws: DeflateError.corruptData) {
            try self.inflate([0x78, 0xBB, 0, 0, 0, 1, 3, 0], format: .zlib)
        }
    }

    // MARK: Deflater

    @Test(arguments: 0..<20)
    func dataDeflatedInPiecesIsInflatedInOneCall(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let content = random.content(upTo: 200_000)
        let formats: [(Deflater.Format, Inflater.Format)] = [
            (.gzip, .gzip), (.zlib, .zlib), (.raw(windowBits: 12), .raw(windowBits: 12)),
        ]
        for (written, read) in formats {
            let deflater = try Deflater(format: written)
            let output = PaddedBuffer()
            for chunk in content.chunks(of: random.chunkSizes(of: content.count)) {
                let flush: Deflater.Flush = Bool.random(using: &random) ? .sync : .none
                try chunk.lend { deflater.deflate($0, flush: flush, into: output) }
            }
            deflater.deflate(UnsafeRawBufferPointer(start: nil, count: 0), flush: .finish, into: output)
            let (inflated, progress) = try self.inflate(Array(output.bytes), format: read)
            #expect(inflated == content)
            #expect(progress == .streamEnd)
        }
    }

    @Test func emptyMessageIsWrittenAsInTheSpecification() throws {
        let extensions = [WebSocketExtension(name: "permessage-deflate")]
        let agreement = try #require(try PerMessageDeflateAgreement(extensions, offer: PerMessageDeflateOffer()))
        let deflater = try #require(try MessageDeflater(agreement: agreement))
        let output = PaddedBuffer()
        for _ in 0..<2 { deflater.deflate(UnsafeRawBufferPointer(start: nil, count: 0), into: output) }
        try Array("Hello".utf8).lend { deflater.deflate($0, into: output) }
        #expect(Array(output.bytes) == [0x00, 0x00, 0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00])
    }
}
