// Tests of FrameReader: the examples of RFC 6455, cuts everywhere, and random traffic.

import Testing
import WebSocketProtocol

@Suite struct FrameReaderTests {
    private static let hello = Array("Hello".utf8)

    // MARK: RFC 6455 section 5.7

    @Test func unmaskedExampleOfRFC6455IsRead() {
        #expect(FrameCollector.read([0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]) == [.text("Hello")])
    }

    // MARK: One message alone

    private static func only(_ chunk: [UInt8], behind earlier: [UInt8] = [], limit: Int = 1_000) -> Range<Int>? {
        var reader = FrameReader(configuration: FrameReader.Configuration(messageByteLimit: limit))
        return earlier.withUnsafeBytes { earlier in
            var position = 0
            while (try? reader.next(in: earlier, at: &position)) ?? nil != nil {}
            return chunk.withUnsafeBytes { bytes in
                let range = reader.onlyMessage(in: bytes)?.range
                // It has changed nothing: the chunk is read as ever.
                position = 0
                let element = (try? reader.next(in: bytes, at: &position)) ?? nil
                if let range { #expect(element == .data(MessagePiece(kind: .text), range)) }
                return range
            }
        }
    }

    @Test(arguments: [2, 125, 126, 300])
    func messageThatIsAllOfAChunkIsFoundWithItsPlace(byteCount: Int) {
        let message = ServerFrame.text(String(repeating: "x", count: byteCount))
        #expect(Self.only(message) == message.count - byteCount..<message.count)
        #expect(Self.only(message, behind: message) == message.count - byteCount..<message.count)
        #expect(Self.only(message, limit: byteCount - 1) == nil)
        #expect(Self.only(message, behind: [0x81]) == nil)
        #expect(Self.only(message, behind: ServerFrame.text("a", isFinal: false)) == nil)
    }

    /// Chunks that are not one whole text message alone.
    private static let otherChunks: [[UInt8]] = {
        let message = ServerFrame.text("ab")
        let two: [UInt8] = message + ServerFrame.text("c")
        let surplus: [UInt8] = message + [0x81]
        let cut: [UInt8] = Array(message.dropLast())
        return [
            two, surplus, cut, ServerFrame.text("ab", isFinal: false), ServerFrame.text("ab", reservedBits: 4),
            ServerFrame.ping("ab"), ServerFrame.close(1000), [],
        ]
    }()

    @Test(arguments: otherChunks) func anyOtherChunkIsLeftToTheReader(chunk: [UInt8]) {
        #expect(Self.only(chunk) == nil)
    }

    @Test func fragmentedExampleOfRFC6455IsRead() {
        let bytes: [UInt8] = [0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f]
        #expect(FrameCollector.read(bytes) == [.text("Hello")])
    }

    @Test func pingExampleOfRFC6455IsRead() {
        #expect(FrameCollector.read([0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]) == [.ping(Self.hello)])
    }

    @Test func maskedExamplesOfRFC6455AreRefusedFromAServer() {
        let text: [UInt8] = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]
        let pong: [UInt8] = [0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]
        #expect(FrameCollector.read(text) == [.failure(.maskedFrame)])
        #expect(FrameCollector.read(pong) == [.failure(.maskedFrame)])
    }

    @Test(arguments: [256, 65_536])
    func binaryExamplesOfRFC6455AreRead(byteCount: Int) {
        let header: [UInt8] =
            byteCount == 256 ? [0x82, 0x7E, 0x01, 0x00] : [0x82, 0x7F, 0, 0, 0, 0, 0, 0x01, 0, 0]
        let payload = [UInt8](repeating: 0xA5, count: byteCount)
        #expect(FrameCollector.read(header + payload) == [.message(.binary, isCompressed: false, payload)])
    }

    // MARK: Chunks

    /// One of everything: fragments, control frames between them, empty frames, all three forms of the length.
    private static let traffic: [UInt8] = [
        ServerFrame.text("Hello"), ServerFrame.text("fra", isFinal: false), ServerFrame.ping("p1"),
        ServerFrame.continuation(Array("gmen".utf8), isFinal: false), ServerFrame.continuation([], isFinal: false),
        ServerFrame.pong(""), ServerFrame.continuation(Array("ted".utf8), isFinal: true),
        ServerFrame.text(""), ServerFrame.text("", isFinal: false), ServerFrame.continuation([1], isFinal: true),
        ServerFrame.binary([9], isFinal: false), ServerFrame.continuation([], isFinal: true),
        ServerFrame.binary([UInt8](repeating: 7, count: 130)), ServerFrame.ping(String(repeating: "z", count: 125)),
        ServerFrame.close(1001, reason: Array("byé".utf8)), [0xFF, 0xFF],
    ].flatMap { $0 }

    private static let trafficElements: [ReadElement] = [
        .text("Hello"), .ping(Array("p1".utf8)), .pong([]), .text("fragmented"), .text(""),
        .message(.text, isCompressed: false, [1]), .message(.binary, isCompressed: false, [9]),
        .message(.binary, isCompressed: false, [UInt8](repeating: 7, count: 130)),
        .ping([UInt8](repeating: UInt8(ascii: "z"), count: 125)),
        .close(CloseFrame(code: .goingAway, reason: "byé")),
    ]

    @Test(arguments: 0...Self.traffic.count)
    func splittingTheInputDoesNotChangeTheElements(at cut: Int) {
        #expect(FrameCollector.read(Self.traffic, chunkSizes: [cut]) == Self.trafficElements)
    }

    @Test func readingByteByByteDoesNotChangeTheElements() {
        let sizes = [Int](repeating: 1, count: Self.traffic.count)
        #expect(FrameCollector.read(Self.traffic, chunkSizes: sizes) == Self.trafficElements)
    }

    @Test(arguments: [125, 126, 127, 65_535, 65_536, 65_537])
    func framesSplitInTheirHeaderAreRead(byteCount: Int) {
        let payload = SeededBytes.make(byteCount)
        let bytes = ServerFrame.binary(payload)
        for cut in 0...16 {
            let elements = FrameCollector.read(bytes, chunkSizes: [cut])
            #expect(elements == [.message(.binary, isCompressed: false, payload)])
        }
    }

    @Test func aMessageInOneChunkIsOnePiece() {
        var collector = FrameCollector()
        collector.feed(ServerFrame.text("one") + ServerFrame.text("two"))
        #expect(collector.pieceCount == 2)
    }

    @Test func emptyChunksAreHarmless() {
        var collector = FrameCollector()
        collector.feed([])
        collector.feed(ServerFrame.text("a"))
        collector.feed([])
        #expect(collector.elements == [.text("a")])
    }

    // MARK: Random traffic

    @Test(arguments: 0..<200)
    func randomTrafficReadInRandomChunksEqualsTheWhole(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let (bytes, expected) = RandomTraffic.make(using: &random)
        let configuration = FrameReader.Configuration(isCompressionNegotiated: true)
        #expect(FrameCollector.read(bytes, configuration: configuration) == expected)
        let sizes = RandomTraffic.chunkSizes(of: bytes.count, using: &random)
        #expect(FrameCollector.read(bytes, chunkSizes: sizes, configuration: configuration) == expected)
    }

    @Test(arguments: 0..<500)
    func anyBytesGiveTheSameElementsWholeOrInChunks(seed: UInt64) {
        var random = SeededGenerator(seed: seed &+ 1_000_000)
        var (bytes, _) = RandomTraffic.make(using: &random)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        let configuration = FrameReader.Configuration(
            isCompressionNegotiated: Bool.random(using: &random), messageByteLimit: 1_000)
        let whole = FrameCollector.read(bytes, configuration: configuration)
        let sizes = RandomTraffic.chunkSizes(of: bytes.count, using: &random)
        #expect(FrameCollector.read(bytes, chunkSizes: sizes, configuration: configuration) == whole)
        let single = [Int](repeating: 1, count: bytes.count)
        #expect(FrameCollector.read(bytes, chunkSizes: single, configuration: configuration) == whole)
    }
}

/// Bytes that repeat too late to hide a mistake.
enum SeededBytes {
    static func make(_ count: Int, seed: UInt64 = 42) -> [UInt8] {
        var random = SeededGenerator(seed: seed)
        return random.bytes(count)
    }
}

/// Legal traffic of a server.
enum RandomTraffic {
    static func make(using random: inout SeededGenerator) -> ([UInt8], [ReadElement]) {
        var bytes: [UInt8] = []
        var elements: [ReadElement] = []
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            Self.addMessage(to: &bytes, elements: &elements, using: &random)
        }
        return (bytes, elements)
    }

    static func chunkSizes(of count: Int, using random: inout SeededGenerator) -> [Int] {
        var sizes: [Int] = []
        var rest = count
        while rest > 0 {
            let size = Int.random(in: 0...min(rest, Int.random(in: 1...200, using: &random)), using: &random)
            sizes.append(size)
            rest -= size
        }
        return sizes
    }

    private static func addMessage(
        to bytes: inout [UInt8], elements: inout [ReadElement], using random: inout SeededGenerator
    ) {
        let isText = Bool.random(using: &random)
        let isCompressed = Bool.random(using: &random)
        let fragmentCount = Int.random(in: 1...4, using: &random)
        var payload: [UInt8] = []
        for index in 0..<fragmentCount {
            let size = [0, 1, 3, 125, 126, 200, 700].randomElement(using: &random) ?? 0
            let fragment = random.bytes(size)
            payload += fragment
            bytes +=
                ServerFrame(
                    opcode: index > 0 ? 0 : isText ? 1 : 2, payload: fragment, isFinal: index == fragmentCount - 1,
                    reservedBits: index == 0 && isCompressed ? 4 : 0
                ).bytes
            if index < fragmentCount - 1, Bool.random(using: &random) {
                let control = random.bytes(Int.random(in: 0...125, using: &random))
                let isPing = Bool.random(using: &random)
                bytes += ServerFrame(opcode: isPing ? 9 : 10, payload: control).bytes
                elements.append(isPing ? .ping(control) : .pong(control))
            }
        }
        elements.append(.message(isText ? .text : .binary, isCompressed: isCompressed, payload))
    }
}
