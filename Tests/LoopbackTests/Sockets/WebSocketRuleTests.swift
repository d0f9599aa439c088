import Deflate
import LibwebsocketsTransport
import StreamTransport
import Testing

/// Rules of RFC 6455 and RFC 7692, against a server that keeps or breaks them byte by byte.
///
/// They are those that conformance suites do not ask together with compression, and those that clients are known to
/// get wrong.
@Suite(.timeLimit(.minutes(10))) struct WebSocketRuleTests {
    /// The client's expected outcome for some bytes.
    enum Outcome: Equatable, Sendable {
        /// These messages, all of which are echoed, and these pongs.
        case messages([String], pongs: [[UInt8]] = [])
        /// The connection is failed with this code.
        case failure(UInt16)
        /// The closing handshake, with this code.
        case closed(UInt16)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let isCompressed: Bool
        let bytes: [UInt8]
        let outcome: Outcome

        /// `isCompressed`: permessage-deflate was agreed.
        init(_ description: String, isCompressed: Bool = false, _ bytes: [UInt8], _ outcome: Outcome) {
            self.testDescription = description
            self.isCompressed = isCompressed
            self.bytes = bytes
            self.outcome = outcome
        }
    }

    private static let text = "{\"type\":\"response.output_text.delta\",\"delta\":\"héllo 😀\"}"
    private static let plain = Array(text.utf8)

    private static func frame(
        _ opcode: UInt8, _ payload: [UInt8] = [], isFinal: Bool = true, reserved: UInt8 = 0
    ) -> [UInt8] {
        RawPeer.frame(opcode, payload, isFinal: isFinal, reserved: reserved)
    }

    /// RSV1, which says that a message is compressed.
    private static let marked: UInt8 = 4

    /// A message in fragments that end at these places.
    private static func fragments(_ payload: [UInt8], cuts: [Int], reserved: UInt8, between: [UInt8] = []) -> [UInt8] {
        let bounds = [0] + cuts + [payload.count]
        return zip(bounds, bounds.dropFirst()).enumerated().flatMap { index, range in
            Self.frame(
                index == 0 ? 1 : 0, Array(payload[range.0..<range.1]), isFinal: index == cuts.count,
                reserved: index == 0 ? reserved : 0)
                + (index == 0 ? between : [])
        }
    }

    /// Messages with a control frame in their midst.
    private static func joined(_ messages: [[UInt8]], around control: [UInt8]) -> [UInt8] {
        let middle = messages.count / 2
        return Array(messages[..<middle].joined()) + control + Array(messages[middle...].joined())
    }

    // MARK: Broken rules

    private static let masked: [UInt8] = [0x81, 0x82, 1, 2, 3, 4, 0x69, 0x6B]

    static func broken() throws -> [Case] {
        let packed = try RawCompression.message(Self.plain)
        let long = try RawCompression.message(Array(String(repeating: "abcdefghij", count: 100).utf8))
        let cutScalar = Array("abc".utf8) + [0xF0, 0x9F, 0x98]
        return [
            Case("a masked frame", Self.masked, .failure(1002)),
            Case("RSV1 that was not agreed", Self.frame(1, packed, reserved: 4), .failure(1002)),
            Case("RSV2", isCompressed: true, Self.frame(1, [0x61], reserved: 2), .failure(1002)),
            Case("RSV3", isCompressed: true, Self.frame(1, [0x61], reserved: 1), .failure(1002)),
            Case("RSV1 on a ping", isCompressed: true, Self.frame(9, [0x61], reserved: 4), .failure(1002)),
            Case("RSV1 on a close frame", isCompressed: true, Self.frame(8, [3, 0xE8], reserved: 4), .failure(1002)),
            Case(
                "RSV1 on a continuation", isCompressed: true,
                Self.frame(1, Array(packed[..<10]), isFinal: false, reserved: 4)
                    + Self.frame(0, Array(packed[10...]), reserved: 4), .failure(1002)),
            Case("a length with bit 63", [0x81, 0x7F] + [UInt8](repeating: 0xFF, count: 8) + [0x61], .failure(1002)),
            Case("a length in too many bytes", [0x81, 0x7E, 0x00, 0x05] + Array("hello".utf8), .failure(1002)),
            Case("a close reason that is not UTF-8", Self.frame(8, [0x03, 0xE8, 0xFF, 0xFE]), .failure(1007)),
            Case(
                "data that are not deflate's", isCompressed: true, Self.frame(1, [0xFF, 0xFF, 0x20], reserved: 4),
                .failure(1007)),
            Case(
                "deflate data that are cut", isCompressed: true, Self.frame(1, Array(long.prefix(20)), reserved: 4),
                .failure(1007)),
            Case(
                "compressed text that is not UTF-8", isCompressed: true,
                Self.frame(1, try RawCompression.message([0x61, 0xFF, 0xFE]), reserved: 4), .failure(1007)),
            Case(
                "compressed text that ends in a scalar", isCompressed: true,
                Self.frame(1, try RawCompression.message(cutScalar), reserved: 4), .failure(1007)),
            Case("text that is not UTF-8", isCompressed: true, Self.frame(1, [0x61, 0xFF, 0xFE]), .failure(1007)),
            Case("text that ends in a scalar", isCompressed: true, Self.frame(1, cutScalar), .failure(1007)),
            Case(
                "a fragment that is not UTF-8",
                Self.frame(1, Array("abc".utf8), isFinal: false)
                    + Self.frame(0, [0xFF], isFinal: false), .failure(1007)),
            Case("the beginning of a frame that is not UTF-8", [0x81, 0x10, 0x61, 0xFF], .failure(1007)),
        ]
    }

    @Test(arguments: try Self.broken())
    func protocolViolationFailsTheConnection(_ testCase: Case) async throws {
        try await self.check(testCase)
    }

    // MARK: Kept rules

    static func kept() throws -> [Case] {
        let packed = try RawCompression.message(Self.plain)
        let final = try RawCompression.message(Self.plain, isFinal: true)
        let many = (0..<200).map { "\($0) \(Self.text)" }
        // More than one read brings.
        let long = (0..<40).map { "\($0) " + String(repeating: "x", count: 3_000 + $0) }
        let large = String(repeating: "x", count: 3_000_000)
        let emoji = String(repeating: "aé😀", count: 20_011)
        let marked = Self.frame(1, packed, reserved: Self.marked)
        let plainFrame = Self.frame(1, Self.plain)
        return [
            Case("a compressed text", isCompressed: true, marked, .messages([Self.text])),
            Case(
                "a plain text although compression was agreed", isCompressed: true, plainFrame, .messages([Self.text])),
            Case(
                "a compressed text in fragments around a ping", isCompressed: true,
                Self.fragments(packed, cuts: [9, 20], reserved: 4, between: Self.frame(9, [1])),
                .messages([Self.text], pongs: [[1]])),
            Case(
                "a compressed text in fragments of a byte", isCompressed: true,
                Self.fragments(packed, cuts: Array(1..<packed.count), reserved: 4), .messages([Self.text])),
            Case("an empty compressed message", isCompressed: true, Self.frame(1, [0], reserved: 4), .messages([""])),
            Case("a compressed message of no bytes", isCompressed: true, Self.frame(1, reserved: 4), .messages([""])),
            Case("a final block", isCompressed: true, Self.frame(1, final, reserved: 4), .messages([Self.text])),
            Case(
                "a message after a final block", isCompressed: true, Self.frame(1, final, reserved: 4) + marked,
                .messages([Self.text, Self.text])),
            Case(
                "stored blocks", isCompressed: true,
                Self.frame(1, try RawCompression.message(Self.plain, level: 0), reserved: 4), .messages([Self.text])),
            Case(
                "three megabytes in three kilobytes", isCompressed: true,
                Self.frame(1, try RawCompression.message(Array(large.utf8)), reserved: 4), .messages([large])),
            Case(
                "a window that is kept", isCompressed: true,
                try RawCompression.messages([Self.plain, Self.plain]).flatMap { Self.frame(1, $0, reserved: 4) },
                .messages([Self.text, Self.text])),
            Case(
                "200 compressed messages at once", isCompressed: true,
                try RawCompression.messages(many.map { Array($0.utf8) }).flatMap { Self.frame(1, $0, reserved: 4) },
                .messages(many)),
            Case("200 messages at once", many.flatMap { Self.frame(1, Array($0.utf8)) }, .messages(many)),
            Case(
                "200 compressed messages around a ping", isCompressed: true,
                Self.joined(
                    try RawCompression.messages(many.map { Array($0.utf8) }).map { Self.frame(1, $0, reserved: 4) },
                    around: Self.frame(9, [4])),
                .messages(many, pongs: [[4]])),
            Case(
                "long messages around a ping",
                Self.joined(long.map { Self.frame(1, Array($0.utf8)) }, around: Self.frame(9, [5])),
                .messages(long, pongs: [[5]])),
            Case(
                "a text in fragments around a ping",
                Self.fragments(Self.plain, cuts: [5], reserved: 0, between: Self.frame(9, [2])),
                .messages([Self.text], pongs: [[2]])),
            Case(
                "a plain text in fragments around a ping although compression was agreed", isCompressed: true,
                Self.fragments(Self.plain, cuts: [5, 9], reserved: 0, between: Self.frame(9, [3])),
                .messages([Self.text], pongs: [[3]])),
            Case("a ping of 125 bytes", Self.frame(9, .counting(125)), .messages([], pongs: [.counting(125)])),
            Case("a pong that nobody asked for", Self.frame(10, [1, 2]) + plainFrame, .messages([Self.text])),
            Case(
                "a pong that nobody asked for and a compressed text", isCompressed: true,
                Self.frame(10, [1, 2]) + marked, .messages([Self.text])),
            Case(
                "a long plain text although compression was agreed", isCompressed: true,
                Self.frame(1, Array(String(repeating: "y", count: 100_000).utf8)),
                .messages([String(repeating: "y", count: 100_000)])),
            Case(
                "compressed, plain, compressed", isCompressed: true, marked + plainFrame + marked,
                .messages([Self.text, Self.text, Self.text])),
            Case("an empty plain text", isCompressed: true, Self.frame(1), .messages([""])),
            Case(
                "a long compressed text of several bytes a scalar", isCompressed: true,
                Self.frame(1, try RawCompression.message(Array(emoji.utf8)), reserved: 4), .messages([emoji])),
            Case("the end behind a text", plainFrame + Self.frame(8, [0x03, 0xE8]), .closed(1000)),
        ]
    }

    @Test(arguments: try Self.kept())
    func validFramesAreRead(_ testCase: Case) async throws {
        try await self.check(testCase)
    }

    @Test func messagesMayComeByteByByte() async throws {
        let echo = try await WebSocketEcho(to: RawServer())
        for byte in Self.frame(1, Self.plain) + Self.frame(1, Self.plain) + Self.frame(1, Self.plain) {
            echo.peer.write([byte])
        }
        for _ in 0..<3 { #expect(await echo.peer.readMessage()?.payload == Self.plain) }
        echo.peer.writeFrame(opcode: 8, [0x03, 0xE8])
        #expect(await echo.reported.value.count == 5)
    }

    // MARK: Judging

    private func check(_ testCase: Case, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let echo = try await WebSocketEcho(
            to: RawServer(), offering: testCase.isCompressed ? MessageCompressionOffer() : nil,
            extensions: testCase.isCompressed ? "permessage-deflate" : nil)
        echo.peer.write(testCase.bytes)
        switch testCase.outcome {
        case .failure(let code):
            #expect(await echo.peer.readCloseCode() == Int(code), sourceLocation: sourceLocation)
            #expect(
                await echo.reported.value.last == .failed(.stream, .protocolViolation(closeCode: code)),
                sourceLocation: sourceLocation)
        case .closed(let code):
            #expect(await echo.peer.readCloseCode() == Int(code), sourceLocation: sourceLocation)
            #expect(
                await echo.reported.value == [
                    .opened(101), .text(Self.text), .ended(.closed(code: code, reason: "")),
                ], sourceLocation: sourceLocation)
        case .messages(let texts, let pongs):
            var answers: [String] = []
            var answeredPings: [[UInt8]] = []
            while answers.count < texts.count || answeredPings.count < pongs.count {
                guard let frame = await echo.peer.readMessage() else { break }
                if frame.opcode == 10 {
                    answeredPings.append(frame.payload)
                } else {
                    answers.append(String(decoding: try RawCompression.inflate(frame), as: UTF8.self))
                }
            }
            #expect(answers == texts, sourceLocation: sourceLocation)
            #expect(answeredPings == pongs, sourceLocation: sourceLocation)
            echo.peer.writeFrame(opcode: 8, [0x03, 0xE8])
            #expect(await echo.peer.readCloseCode() == 1000, sourceLocation: sourceLocation)
            #expect(
                await echo.reported.value
                    == [.opened(101)] + texts.map { .text($0) } + [.ended(.closed(code: 1000, reason: ""))],
                sourceLocation: sourceLocation)
        }
    }
}
