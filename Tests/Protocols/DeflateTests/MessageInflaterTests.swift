// Tests of MessageInflater: the examples of RFC 7692, windows, final blocks, limits, and broken data.

import Deflate
import Testing
import WebSocketProtocol

@Suite struct MessageInflaterTests {
    private static let hello = Array("Hello".utf8)
    private static let delta = Array("{\"type\":\"response.output_text.delta\",\"delta\":\"héllo 😀\"}".utf8)

    private let plain: PerMessageDeflateAgreement

    init() throws {
        let extensions = [WebSocketExtension(name: "permessage-deflate")]
        self.plain = try #require(try PerMessageDeflateAgreement(extensions, offer: PerMessageDeflateOffer()))
    }

    /// Creates agreements as a server's answer would.
    private func agreement(_ parameters: String = "") throws -> PerMessageDeflateAgreement {
        let extensions = try ExtensionListParser.parse("permessage-deflate" + parameters)
        return try #require(try PerMessageDeflateAgreement(extensions, offer: PerMessageDeflateOffer()))
    }

    private func inflater(_ parameters: String = "", limit: Int = 1 << 20) throws -> MessageInflater {
        MessageInflater(agreement: try self.agreement(parameters), limit: limit)
    }

    /// Inflates one message that arrives in the chunks given.
    private func inflate(
        _ payload: [UInt8], chunkSizes: [Int] = [], with inflater: MessageInflater
    ) throws(DeflateError) -> [UInt8] {
        let output = PaddedBuffer()
        let chunks = payload.chunks(of: chunkSizes)
        for (index, chunk) in chunks.enumerated() {
            try chunk.lend { bytes throws(DeflateError) in
                try inflater.inflate(bytes, isLast: index == chunks.count - 1, into: output)
            }
        }
        return Array(output.bytes)
    }

    /// Inflates one message at once, from memory that has room for its tail; the room must be as it was.
    private func inflateWhole(
        _ payload: [UInt8], with inflater: MessageInflater, into output: PaddedBuffer = PaddedBuffer()
    ) throws(DeflateError) -> [UInt8] {
        let behind: [UInt8] = [1, 2, 3, 4]
        var memory = payload + behind
        defer { #expect(Array(memory.suffix(behind.count)) == behind) }
        try memory.lendMutable { bytes throws(DeflateError) in
            try inflater.inflateWhole(
                UnsafeMutableRawBufferPointer(rebasing: bytes.dropLast(behind.count)), into: output)
        }
        return Array(output.bytes)
    }

    // MARK: RFC 7692 section 7.2.3

    @Test func inflatingWholeEqualsInflatingInPieces() throws {
        let final = OneCallZlib.raw(Self.delta)
        let payloads = [
            Self.oneBlock, Self.sharedWindow, Self.stored, Self.finalBlock, Self.twoBlocks, [0], [],
            OneCallZlib.message(Self.delta), OneCallZlib.finalMessage(Self.delta), final,
            final + OneCallZlib.message(Self.delta), final + final + [0],
            OneCallZlib.message([UInt8](repeating: 7, count: 100_000)),
        ]
        for parameters in ["", "; server_no_context_takeover"] {
            let pieces = try self.inflater(parameters)
            let whole = try self.inflater(parameters)
            // Without a window to look back into, one of them is corrupt.
            for payload in payloads where parameters.isEmpty || payload != Self.sharedWindow {
                #expect(
                    try self.inflateWhole(payload, with: whole)
                        == self.inflate(payload, chunkSizes: [payload.count / 2], with: pieces))
            }
        }
    }

    /// Output that ends where the memory ends, and one byte before and behind it.
    @Test(arguments: [false, true])
    func messageThatExactlyFillsItsBufferIsComplete(isIncompressible: Bool) throws {
        let inflater = try self.inflater()
        for count in 1...300 {
            let message = (0..<count).map { isIncompressible ? UInt8(truncatingIfNeeded: $0 &* 167) : UInt8($0 % 7) }
            for capacity in max(0, count - 1)...(count + 1) {
                let payload = OneCallZlib.message(message)
                let whole = PaddedBuffer(capacity: capacity)
                #expect(try self.inflateWhole(payload, with: inflater, into: whole) == message)
                let pieces = PaddedBuffer(capacity: capacity)
                try payload.lend { bytes throws(DeflateError) in
                    try inflater.inflate(bytes, isLast: true, into: pieces)
                }
                #expect(Array(pieces.bytes) == message)
            }
        }
    }

    /// The memory grows from 4,096 bytes on by doubling.
    @Test func messageThatExactlyFillsAGrownBufferIsComplete() throws {
        let inflater = try self.inflater()
        for count in [4_095, 4_096, 4_097, 8_192, 16_384, 65_536, 131_072] {
            let message = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 3) }
            #expect(try self.inflateWhole(OneCallZlib.message(message), with: inflater) == message)
        }
    }

    @Test func inflatingWholeEqualsInflatingInPiecesForTruncatedMessages() throws {
        let text = (0..<50).flatMap { _ in Array("abcdefghijklmnopqrstuvwxyz".utf8) } + Self.delta
        for payload in [OneCallZlib.message(text), OneCallZlib.raw(text), Self.stored, Self.twoBlocks] {
            for length in 1...payload.count {
                let part = Array(payload.prefix(length))
                let pieces = Result { try self.inflate(part, with: try self.inflater()) }
                let whole = Result { try self.inflateWhole(part, with: try self.inflater()) }
                switch (pieces, whole) {
                case (.success(let pieces), .success(let whole)): #expect(pieces == whole)
                case (.failure, .failure): break
                case (.success, .failure), (.failure, .success):
                    Issue.record("after \(length) bytes: \(pieces) and \(whole)")
                }
            }
        }
    }

    @Test(arguments: 0..<300)
    func damageIsFoundInWholeMessagesAsInPieces(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var payload = OneCallZlib.message(random.content(upTo: 2_000))
        for _ in 0..<3 {
            let position = Int.random(in: 0..<payload.count, using: &random)
            payload[position] = UInt8.random(in: 0 ... .max, using: &random)
        }
        let pieces = Result { try self.inflate(payload, chunkSizes: [1], with: try self.inflater()) }
        let whole = Result { try self.inflateWhole(payload, with: try self.inflater()) }
        #expect((try? pieces.get()) == (try? whole.get()))
    }

    @Test(arguments: [(-1, true), (0, false), (1, false)])
    func limitAppliesToWholeMessages(missing: Int, isTooLarge: Bool) throws {
        let content = [UInt8](repeating: 65, count: 10_000)
        let inflater = try self.inflater(limit: content.count + missing)
        if isTooLarge {
            #expect(throws: DeflateError.outputTooLarge(limit: content.count + missing)) {
                try self.inflateWhole(OneCallZlib.message(content), with: inflater)
            }
        } else {
            #expect(try self.inflateWhole(OneCallZlib.message(content), with: inflater) == content)
        }
    }

    private static let oneBlock: [UInt8] = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]
    private static let sharedWindow: [UInt8] = [0xf2, 0x00, 0x11, 0x00, 0x00]
    private static let stored: [UInt8] = [0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00]
    private static let finalBlock: [UInt8] = [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00]
    private static let twoBlocks: [UInt8] = [
        0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00,
    ]

    @Test(arguments: [Self.oneBlock, Self.stored, Self.finalBlock, Self.twoBlocks])
    func examplesOfRFC7692SplitAnywhereInflate(payload: [UInt8]) throws {
        for cut in 0...payload.count {
            let inflater = try self.inflater()
            #expect(try self.inflate(payload, chunkSizes: [cut], with: inflater) == Self.hello)
            // The next message must not suffer.
            #expect(try self.inflate(Self.oneBlock, chunkSizes: [min(cut, 7)], with: inflater) == Self.hello)
        }
        let single = [Int](repeating: 1, count: payload.count)
        #expect(try self.inflate(payload, chunkSizes: single, with: try self.inflater()) == Self.hello)
    }

    @Test func theWindowIsSharedBetweenMessages() throws {
        let inflater = try self.inflater()
        #expect(try self.inflate(Self.oneBlock, with: inflater) == Self.hello)
        #expect(try self.inflate(Self.sharedWindow, with: inflater) == Self.hello)
        #expect(try self.inflate(Self.sharedWindow, chunkSizes: [1, 1, 1, 1], with: inflater) == Self.hello)
    }

    @Test func theWindowIsNotSharedWithoutContextTakeover() throws {
        let inflater = try self.inflater("; server_no_context_takeover")
        #expect(try self.inflate(Self.oneBlock, with: inflater) == Self.hello)
        #expect(try self.inflate(Self.oneBlock, with: inflater) == Self.hello)
        #expect(throws: DeflateError.corruptData) { try self.inflate(Self.sharedWindow, with: inflater) }
    }

    @Test func theWindowOutlivesAFinalBlock() throws {
        let inflater = try self.inflater()
        #expect(try self.inflate(Self.finalBlock, with: inflater) == Self.hello)
        #expect(try self.inflate(Self.sharedWindow, with: inflater) == Self.hello)
    }

    @Test func anEmptyMessageIsOneZeroByte() throws {
        let inflater = try self.inflater()
        #expect(try self.inflate([0x00], with: inflater) == [])
        #expect(try self.inflate(Self.oneBlock, with: inflater) == Self.hello)
        #expect(try self.inflate([0x00], with: inflater) == [])
        #expect(try self.inflate(Self.sharedWindow, with: inflater) == Self.hello)
    }

    @Test func aPayloadOfNoBytesIsAnEmptyMessage() throws {
        let inflater = try self.inflater()
        #expect(try self.inflate([], with: inflater) == [])
        #expect(try self.inflate(Self.oneBlock, with: inflater) == Self.hello)
        #expect(try self.inflate([], chunkSizes: [0, 0], with: inflater) == [])
        #expect(try self.inflate(Self.sharedWindow, with: inflater) == Self.hello)
    }

    // MARK: Final blocks

    @Test func aFinalBlockMayStandAnywhere() throws {
        let inflater = try self.inflater()
        let final = OneCallZlib.raw(Self.delta)
        let plain = OneCallZlib.message(Self.delta)
        let twice = Self.delta + Self.delta
        for payload in [final + plain, final + final + [0]] {
            for cut in 0...payload.count {
                #expect(try self.inflate(payload, chunkSizes: [cut], with: inflater) == twice)
            }
        }
        #expect(try self.inflate(OneCallZlib.finalMessage(Self.delta), with: inflater) == Self.delta)
        #expect(try self.inflate(plain, with: inflater) == Self.delta)
    }

    @Test func aFinalBlockWithoutTheEmptyBlockAfterItEndsTheMessage() throws {
        let inflater = try self.inflater()
        #expect(try self.inflate(OneCallZlib.raw(Self.delta), with: inflater) == Self.delta)
        #expect(try self.inflate(OneCallZlib.message(Self.delta), with: inflater) == Self.delta)
    }

    @Test func manyFinalBlocksAreCheap() throws {
        let inflater = try self.inflater()
        var payload = OneCallZlib.message([UInt8](repeating: 1, count: 40_000)) + [0, 0, 0xFF, 0xFF]
        for _ in 0..<200_000 { payload += [0x03, 0x00] }
        #expect(try self.inflate(payload + [0], with: inflater).count == 40_000)
    }

    // MARK: Broken data

    @Test func corruptDataFailsAllLaterMessages() throws {
        let inflater = try self.inflater()
        let garbage: [UInt8] = [0xff, 0xff, 0xff, 0xff] + Array(" garbage".utf8)
        #expect(throws: DeflateError.corruptData) { try self.inflate(garbage, with: inflater) }
        #expect(throws: DeflateError.corruptData) { try self.inflate(Self.oneBlock, with: inflater) }
    }

    @Test func everyTruncationIsRefused() throws {
        let text = (0..<50).flatMap { _ in Array("abcdefghijklmnopqrstuvwxyz".utf8) } + Self.delta
        let payload = OneCallZlib.message(text)
        for length in 1..<payload.count {
            let inflater = try self.inflater()
            #expect(throws: DeflateError.self) { try self.inflate(Array(payload.prefix(length)), with: inflater) }
        }
    }

    @Test(arguments: 0..<300)
    func damagedMessagesNeverHang(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var payload = OneCallZlib.message(random.content(upTo: 2_000))
        for _ in 0..<3 {
            payload[Int.random(in: 0..<payload.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        let whole = Result { () throws(DeflateError) in
            try self.inflate(payload, with: MessageInflater(agreement: self.plain, limit: 10_000))
        }
        let sizes = random.chunkSizes(of: payload.count)
        let split = Result { () throws(DeflateError) in
            try self.inflate(
                payload, chunkSizes: sizes, with: MessageInflater(agreement: self.plain, limit: 10_000))
        }
        #expect(whole == split)
    }

    // MARK: Memory

    @Test(arguments: ["", "; server_no_context_takeover"])
    func aWindowThatIsNeededIsNotReleased(parameters: String) throws {
        let inflater = try self.inflater(parameters)
        let keepsWindow = parameters.isEmpty
        inflater.releaseWindow()
        for _ in 0..<2 {
            let output = PaddedBuffer()
            for (index, byte) in Self.oneBlock.enumerated() {
                try [byte].lend { bytes throws(DeflateError) in
                    try inflater.inflate(bytes, isLast: index == Self.oneBlock.count - 1, into: output)
                }
                #expect(inflater.isBetweenMessages == (index == Self.oneBlock.count - 1))
                inflater.releaseWindow()
            }
            #expect(Array(output.bytes) == Self.hello)
        }
        if keepsWindow { #expect(try self.inflate(Self.sharedWindow, with: inflater) == Self.hello) }
    }

    // MARK: Limits

    @Test(arguments: [0, 1, 4_095, 4_096, 4_097, 100_000])
    func theLimitCountsInflatedBytes(limit: Int) throws {
        for byteCount in [max(0, limit - 1), limit] {
            let bytes = [UInt8](repeating: 7, count: byteCount)
            let inflater = try self.inflater(limit: limit)
            #expect(try self.inflate(OneCallZlib.message(bytes), with: inflater) == bytes)
            // The next message begins at zero.
            #expect(try self.inflate(OneCallZlib.message(bytes), with: inflater) == bytes)
        }
        let inflater = try self.inflater(limit: limit)
        let tooBig = OneCallZlib.message([UInt8](repeating: 7, count: limit + 1))
        #expect(throws: DeflateError.outputTooLarge(limit: limit)) { try self.inflate(tooBig, with: inflater) }
    }

    @Test func limitCountsAllPiecesAndRemovedBytes() throws {
        let payload = OneCallZlib.message([UInt8](repeating: 7, count: 5_000), level: 0)
        let inflater = try self.inflater(limit: 4_999)
        let output = PaddedBuffer()
        #expect(throws: DeflateError.outputTooLarge(limit: 4_999)) {
            for chunk in payload.chunks(of: [Int](repeating: 100, count: 50)) {
                try chunk.lend { bytes throws(DeflateError) in
                    try inflater.inflate(bytes, isLast: false, into: output)
                }
                output.removeAll()
            }
        }
    }

    /// 32 bytes, and directly after them a distance that does not exist.
    @Test(arguments: [0, 1, 2])
    func limitIsReportedBeforeALaterDataError(cut: Int) throws {
        let payload: [UInt8] = [0xFA, 0x48]
        let output = PaddedBuffer()
        let inflater = try self.inflater(limit: 31)
        #expect(throws: DeflateError.outputTooLarge(limit: 31)) {
            for (index, chunk) in payload.chunks(of: [cut]).enumerated() {
                try chunk.lend { bytes throws(DeflateError) in
                    try inflater.inflate(bytes, isLast: index == 1, into: output)
                }
            }
        }
        #expect(output.count == 31)
    }

    @Test func aBombStopsAtTheLimitWithBoundedMemory() throws {
        let limit = 1 << 20
        let bomb = OneCallZlib.message([UInt8](repeating: 0, count: 64 << 20), level: 9)
        let inflater = try self.inflater(limit: limit)
        let output = PaddedBuffer()
        #expect(throws: DeflateError.outputTooLarge(limit: limit)) {
            try bomb.lend { bytes throws(DeflateError) in
                try inflater.inflate(bytes, isLast: true, into: output)
            }
        }
        #expect(output.count == limit)
        #expect(output.capacity <= limit + 1)
    }

    @Test func theLargestLimitDoesNotOverflow() throws {
        let inflater = try self.inflater(limit: .max)
        let output = PaddedBuffer()
        try Self.hello.lend { output.append($0) }
        try Self.oneBlock.lend { bytes throws(DeflateError) in
            try inflater.inflate(bytes, isLast: true, into: output)
        }
        #expect(Array(output.bytes) == Self.hello + Self.hello)
    }

    // MARK: Round trips

    @Test(arguments: [8, 9, 10, 15], [false, true])
    func manyMessagesGoThrough(windowBits: Int, takesOver: Bool) throws {
        var random = SeededGenerator(seed: UInt64(windowBits))
        // What the server deflates is what a client deflates: the two directions have the same rules.
        let bits = max(9, windowBits)
        let client = try self.agreement(
            "; client_max_window_bits=\(bits)" + (takesOver ? "" : "; client_no_context_takeover"))
        let server = try self.inflater(
            "; server_max_window_bits=\(windowBits)" + (takesOver ? "" : "; server_no_context_takeover"))
        let deflater = try #require(try MessageDeflater(agreement: client))
        for _ in 0..<40 {
            let message = random.content(upTo: 70_000)
            let output = PaddedBuffer()
            try message.lend { deflater.deflate($0, into: output) }
            let payload = Array(output.bytes)
            let sizes = random.chunkSizes(of: payload.count)
            #expect(try self.inflate(payload, chunkSizes: sizes, with: server) == message)
        }
    }

    @Test(arguments: [0, 1, 6, 9])
    func messagesOfEveryCompressionLevelInflate(level: Int32) throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<20 {
            let message = random.content(upTo: 5_000)
            let payload = OneCallZlib.message(message, level: level)
            let sizes = random.chunkSizes(of: payload.count)
            #expect(try self.inflate(payload, chunkSizes: sizes, with: try self.inflater()) == message)
        }
    }
}
