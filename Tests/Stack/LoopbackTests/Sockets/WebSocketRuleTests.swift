import Deflate
import LibwebsocketsTransport
import StreamTransport
import Testing
import WebSocketClient

/// Rules of RFC 6455 and RFC 7692, against a server that keeps or breaks them byte by byte.
///
/// They are those that conformance suites do not ask together with compression, and those that clients are known to
/// get wrong. Each case runs over the internal transport, and over a `WebSocketConnection` in each way to read it.
@Suite(.timeLimit(.minutes(10))) struct WebSocketRuleTests {
    /// The client's expected outcome for some bytes.
    enum Outcome: Equatable, Sendable {
        /// These messages, all of which are echoed, and these pongs; then the server closes.
        case messages([String], pongs: [[UInt8]] = [])
        /// These messages, then the connection is failed with this code.
        case failure(UInt16, after: [String] = [])
        /// These messages, then the server's closing handshake with this code and reason.
        case closed(UInt16, reason: String = "", after: [String])
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

        /// The same violation behind a message, which is delivered.
        var behindAMessage: Self? {
            guard case .failure(let code, let texts) = self.outcome, texts.isEmpty else { return nil }
            return Self(
                "\(self.testDescription), behind a message", isCompressed: self.isCompressed,
                WebSocketRuleTests.frame(1, Array("before".utf8)) + self.bytes, .failure(code, after: ["before"]))
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
        let cases = [
            Case("a masked frame", Self.masked, .failure(1002)),
            Case("a masked frame with a key of zeros", [0x81, 0x81, 0, 0, 0, 0, 0x61], .failure(1002)),
            Case("a reserved opcode", Self.frame(3), .failure(1002)),
            Case("a continuation of no message", Self.frame(0, [0x61]), .failure(1002)),
            Case("a ping in fragments", Self.frame(9, [0x61], isFinal: false), .failure(1002)),
            Case("a ping of 126 bytes", Self.frame(9, [UInt8](repeating: 0, count: 126)), .failure(1002)),
            Case("a close frame of one byte", Self.frame(8, [3]), .failure(1002)),
            Case("a close frame with 1005", Self.frame(8, [0x03, 0xED]), .failure(1002)),
            Case("RSV1 that was not agreed", Self.frame(1, packed, reserved: 4), .failure(1002)),
            Case("RSV2 without compression", Self.frame(1, [0x61], reserved: 2), .failure(1002)),
            Case("RSV2", isCompressed: true, Self.frame(1, [0x61], reserved: 2), .failure(1002)),
            Case("RSV3", isCompressed: true, Self.frame(1, [0x61], reserved: 1), .failure(1002)),
            Case("RSV1 on a ping", isCompressed: true, Self.frame(9, [0x61], reserved: 4), .failure(1002)),
            Case("RSV1 on a close frame", isCompressed: true, Self.frame(8, [3, 0xE8], reserved: 4), .failure(1002)),
            Case(
                "RSV1 on a continuation", isCompressed: true,
                Self.frame(1, Array(packed[..<10]), isFinal: false, reserved: 4)
                    + Self.frame(0, Array(packed[10...]), reserved: 4), .failure(1002)),
            Case("a length with bit 63", [0x81, 0x7F] + [UInt8](repeating: 0xFF, count: 8) + [0x61], .failure(1002)),
            Case(
                "a binary message's length with bit 63", [0x82, 0x7F] + [UInt8](repeating: 0xFF, count: 8),
                .failure(1002)),
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
            Case("text that is not UTF-8 without compression", Self.frame(1, [0x61, 0xFF]), .failure(1007)),
            Case(
                "fragments that end in a scalar",
                Self.frame(1, [0x61, 0xF0], isFinal: false) + Self.frame(0, [0x9F]), .failure(1007)),
            Case(
                "a fragment that is not UTF-8",
                Self.frame(1, Array("abc".utf8), isFinal: false)
                    + Self.frame(0, [0xFF], isFinal: false), .failure(1007)),
            Case("the beginning of a frame that is not UTF-8", [0x81, 0x10, 0x61, 0xFF], .failure(1007)),
        ]
        return cases + cases.compactMap(\.behindAMessage)
    }

    @Test(arguments: try Self.broken(), WebSocketReading.allCases)
    func protocolViolationFailsTheConnection(_ testCase: Case, reading: WebSocketReading) async throws {
        try await self.check(testCase, reading: reading)
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
            Case("the end behind a text", plainFrame + Self.frame(8, [0x03, 0xE8]), .closed(1000, after: [Self.text])),
            Case("an end without a code", plainFrame + Self.frame(8), .closed(1005, after: [Self.text])),
            Case(
                "an end with a code of the application and a reason",
                plainFrame + Self.frame(8, [0x0F, 0xA0] + Array("why 😀".utf8)),
                .closed(4000, reason: "why 😀", after: [Self.text])),
        ]
    }

    @Test(arguments: try Self.kept(), WebSocketReading.allCases)
    func validFramesAreRead(_ testCase: Case, reading: WebSocketReading) async throws {
        try await self.check(testCase, reading: reading)
    }

    @Test(arguments: WebSocketReading.allCases)
    func messagesMayComeByteByByte(reading: WebSocketReading) async throws {
        let bytes = [[UInt8]](repeating: Self.frame(1, Self.plain), count: 3).flatMap(\.self)
        try await self.check(
            Case("texts in bytes", bytes, .messages([Self.text, Self.text, Self.text])), reading: reading,
            writeByteCount: 1)
    }

    // MARK: Judging

    /// The close frame of the server behind messages that were echoed.
    private static let end = (frame: frame(8, [0x03, 0xE8] + Array("done".utf8)), reason: "done")

    private func check(
        _ testCase: Case, reading: WebSocketReading, writeByteCount: Int = .max,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let server = try RawServer()
        let extensions = testCase.isCompressed ? "permessage-deflate" : nil
        switch reading {
        case .events:
            let echo = try await WebSocketEcho(
                to: server, offering: testCase.isCompressed ? MessageCompressionOffer() : nil, extensions: extensions)
            try await self.play(testCase, to: echo.peer, writeByteCount, sourceLocation)
            #expect(await echo.reported.value == Self.reports(of: testCase.outcome), sourceLocation: sourceLocation)
        case .messages, .receive, .lent:
            let echo = try await WebSocketClientEcho(to: server, reading: reading, extensions: extensions)
            try await self.play(testCase, to: echo.peer, writeByteCount, sourceLocation)
            try await self.expect(testCase.outcome, of: echo, sourceLocation)
        }
    }

    /// Writes the bytes of a case as the server, and compares the frames of the client.
    private func play(
        _ testCase: Case, to peer: RawPeer, _ writeByteCount: Int, _ sourceLocation: SourceLocation
    ) async throws {
        var rest = testCase.bytes[...]
        while !rest.isEmpty {
            peer.write(Array(rest.prefix(writeByteCount)))
            rest = rest.dropFirst(writeByteCount)
        }
        switch testCase.outcome {
        case .failure(let code, _), .closed(let code, _, _):
            #expect(await peer.readCloseCode() == Int(code), sourceLocation: sourceLocation)
        case .messages(let texts, let pongs):
            var answers: [String] = []
            var answeredPings: [[UInt8]] = []
            while answers.count < texts.count || answeredPings.count < pongs.count {
                guard let frame = await peer.readMessage() else { break }
                if frame.opcode == 10 {
                    answeredPings.append(frame.payload)
                } else {
                    answers.append(String(decoding: try RawCompression.inflate(frame), as: UTF8.self))
                }
            }
            #expect(answers == texts, sourceLocation: sourceLocation)
            #expect(answeredPings == pongs, sourceLocation: sourceLocation)
            peer.write(Self.end.frame)
            #expect(await peer.readCloseCode() == 1000, sourceLocation: sourceLocation)
        }
    }

    /// The events of the internal transport.
    private static func reports(of outcome: Outcome) -> [Reported] {
        let (texts, end): ([String], Reported) =
            switch outcome {
            case .messages(let texts, _): (texts, .ended(.closed(code: 1000, reason: Self.end.reason)))
            case .closed(let code, let reason, let texts): (texts, .ended(.closed(code: code, reason: reason)))
            case .failure(let code, let texts): (texts, .failed(.stream, .protocolViolation(closeCode: code)))
            }
        return [.opened(101)] + texts.map { .text($0) } + [end]
    }

    /// Compares the messages and the end that a program is told.
    private func expect(
        _ outcome: Outcome, of echo: WebSocketClientEcho, _ sourceLocation: SourceLocation
    ) async throws {
        switch outcome {
        case .messages(let texts, _):
            try await self.expect(1000, Self.end.reason, after: texts, of: echo, sourceLocation)
        case .closed(let code, let reason, let texts):
            try await self.expect(Int(code), reason, after: texts, of: echo, sourceLocation)
        case .failure(let code, let texts):
            let (messages, error) = await echo.received.value
            #expect(messages == texts.map { .text($0) }, sourceLocation: sourceLocation)
            guard case .transport(let failure) = error else {
                Issue.record("\(String(describing: error))", sourceLocation: sourceLocation)
                return
            }
            #expect(
                failure.code == .protocolViolation && failure.details.closeCode == Int(code),
                sourceLocation: sourceLocation)
            #expect(failure.phase == (texts.isEmpty ? .firstEvent : .stream), sourceLocation: sourceLocation)
            #expect(
                failure.replaySafety == (texts.isEmpty ? .notSent : .outputDelivered), sourceLocation: sourceLocation)
            #expect(echo.connection.closed == nil, sourceLocation: sourceLocation)
            #expect(echo.connection.report.outcome == "ws.protocol-violation", sourceLocation: sourceLocation)
            // Closing a connection that has failed, and receiving again, have the same error.
            await #expect(throws: WebSocketError.transport(failure), sourceLocation: sourceLocation) {
                try await echo.connection.close()
            }
            let (more, again) = await echo.connection.messagesToEnd()
            #expect(more.isEmpty && again as? WebSocketError == error, sourceLocation: sourceLocation)
        }
    }

    /// Compares the messages and the closing handshake that the server began.
    private func expect(
        _ code: Int, _ reason: String, after texts: [String], of echo: WebSocketClientEcho,
        _ sourceLocation: SourceLocation
    ) async throws {
        let close = WebSocketClose(code: code, reason: reason, initiator: .server)
        let end: WebSocketError? = [1000, 1001, 1005].contains(code) ? nil : .closed(close)
        let (messages, error) = await echo.received.value
        #expect(messages == texts.map { .text($0) }, sourceLocation: sourceLocation)
        #expect(error == end, sourceLocation: sourceLocation)
        #expect(echo.connection.closed == close, sourceLocation: sourceLocation)
        #expect(echo.connection.report.outcome == end?.tag ?? "completed", sourceLocation: sourceLocation)
        #expect(try await echo.connection.close() == close, sourceLocation: sourceLocation)
        let (more, again) = await echo.connection.messagesToEnd()
        #expect(more.isEmpty && again as? WebSocketError == end, sourceLocation: sourceLocation)
    }
}
