// Tests of how a body's length is found (RFC 9112 section 6.3), and of bodies that are not in chunks.

import HTTPProtocol
import Testing

@Suite struct BodyFramingTests {
    private static func read(
        _ fields: String, body: String = "", status: String = "200 OK", minorVersion: Int = 1,
        to method: RequestMethod = .get
    ) -> ReadResponse {
        ReadResponse.read("HTTP/1.\(minorVersion) \(status)\r\n\(fields)\r\n\(body)", to: method)
    }

    // MARK: No body

    static let announcements = [
        "", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Content-Length: x\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
    ]

    @Test(arguments: ["204 No Content", "304 Not Modified"], Self.announcements)
    func statusCodesWithoutContentEndWithTheHead(status: String, fields: String) {
        for method in [RequestMethod.get, .post, .connect] {
            let response = Self.read(fields, body: "hello", status: status, to: method)
            #expect(response.framing == BodyFraming.none)
            #expect(response.isComplete)
            #expect(response.content.isEmpty)
            #expect(response.byteCount == "HTTP/1.1 \(status)\r\n\(fields)\r\n".utf8.count)
            #expect(response.endError == nil)
        }
    }

    @Test(arguments: ["200 Connection established", "204 x", "299 x"], Self.announcements)
    func successfulConnectEndsWithTheHead(status: String, fields: String) {
        let response = Self.read(fields, body: "\u{16}\u{3}\u{1}", status: status, to: .connect)
        #expect(response.framing == BodyFraming.none)
        #expect(response.byteCount == "HTTP/1.1 \(status)\r\n\(fields)\r\n".utf8.count)
    }

    @Test(arguments: ["200 OK", "404 x", "503 x"], Self.announcements)
    func answerToHeadEndsWithTheHead(status: String, fields: String) {
        let response = Self.read(fields, body: "hello", status: status, to: .head)
        #expect(response.framing == BodyFraming.none)
        #expect(response.byteCount == "HTTP/1.1 \(status)\r\n\(fields)\r\n".utf8.count)
    }

    @Test(arguments: ["300 x", "407 Proxy Authentication Required", "502 Bad Gateway"])
    func refusedConnectHasABody(status: String) {
        let response = Self.read("Content-Length: 2\r\n", body: "no", status: status, to: .connect)
        #expect(response.contentText == "no")
        #expect(response.isComplete)
    }

    @Test(arguments: Self.announcements)
    func switchingProtocolsEndsWithTheHead(fields: String) {
        let head = "HTTP/1.1 101 x\r\n\(fields)\r\n"
        let response = ReadResponse.read(head + "\u{1}\u{2}", acceptsUpgrade: true)
        #expect(response.framing == BodyFraming.none)
        #expect(response.byteCount == head.utf8.count)
        #expect(response.isComplete)
    }

    // MARK: Transfer-Encoding

    @Test(arguments: ["chunked", "Chunked", "CHUNKED", " \t chunked\t ", "cHuNkEd "])
    func chunkedIsReadInAnyCaseAndWithSpaceAroundIt(value: String) {
        let response = Self.read("TRANSFER-encoding:\(value)\r\n", body: "2\r\nok\r\n0\r\n\r\n")
        #expect(response.framing == .chunked)
        #expect(response.contentText == "ok")
        #expect(response.isComplete)
    }

    /// An application repeats the field line of its framework.
    @Test(arguments: ["chunked\r\nTransfer-Encoding: chunked", "chunked\r\ntransfer-encoding: Chunked \r\nA: b"])
    func repeatedLineWithChunkedIsOne(value: String) {
        let response = Self.read("Transfer-Encoding: \(value)\r\n", body: "2\r\nok\r\n0\r\n\r\n")
        #expect(response.framing == .chunked)
        #expect(response.contentText == "ok")
        #expect(response.isComplete)
    }

    @Test(arguments: [
        "identity", "gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked", "chunked,", ",chunked", "", "x",
        "xchunked",
        "chunkedx", "chunked;q=1", "\"chunked\"", "chun ked",
        "chunked\r\nTransfer-Encoding: chunked, chunked",
        "chunked, chunked\r\nTransfer-Encoding: chunked, chunked", "chunked\r\nTransfer-Encoding: identity",
        "identity\r\nTransfer-Encoding: chunked",
        "\r\nTransfer-Encoding: chunked", "chunked\r\nTransfer-Encoding:",
    ])
    func everyOtherTransferCodingIsRefused(value: String) {
        #expect(Self.read("Transfer-Encoding: \(value)\r\n").error == .unsupportedTransferCoding)
    }

    @Test(arguments: ["\u{b}chunked", "chunked\u{c}", "chunked\u{0}"])
    func controlCharacterIsNotSpaceAroundACoding(value: String) {
        guard case .controlCharacter = Self.read("Transfer-Encoding: \(value)\r\n").error else {
            Issue.record("no control character was found")
            return
        }
    }

    @Test(arguments: ["5", "0", "x", "5, 6"])
    func transferCodingWinsOverALengthBesideIt(length: String) {
        for lines in [
            ["Content-Length: \(length)\r\n", "Transfer-Encoding: chunked\r\n"],
            ["Transfer-Encoding: chunked\r\n", "Content-Length: \(length)\r\n"],
        ] {
            #expect(Self.read(lines.joined()).framing == .chunked)
        }
        #expect(
            Self.read("Content-Length: \(length)\r\nTransfer-Encoding: gzip\r\n").error == .unsupportedTransferCoding)
    }

    @Test(arguments: ["chunked", "gzip"])
    func transferCodingInHTTP10IsAnError(coding: String) {
        #expect(
            Self.read("Transfer-Encoding: \(coding)\r\n", minorVersion: 0).error == .transferEncodingInHTTP10)
        #expect(
            Self.read("Transfer-Encoding: \(coding)\r\nContent-Length: 5\r\n", minorVersion: 0).error
                == .transferEncodingInHTTP10)
    }

    // MARK: Content-Length

    @Test(arguments: [
        ("Content-Length: 5\r\n", 5), ("content-length:5\r\n", 5), ("Content-Length: 005 \r\n", 5),
        ("Content-Length: 5, 5\r\n", 5), ("Content-Length: 5,5 ,\t5\r\n", 5), ("Content-Length: 5, 05\r\n", 5),
        ("Content-Length: 5\r\nContent-Length: 5\r\n", 5), ("Content-Length: 5\r\nContent-Length: 5, 5\r\n", 5),
        ("Content-Length: 9223372036854775807\r\n", .max),
        ("Content-Length: 00000000000000000000000000000000000000007\r\n", 7),
    ])
    func lengthIsReadFromAllLines(fields: String, length: Int) {
        let response = Self.read(fields, body: "hello")
        #expect(response.framing == .length(length))
        #expect(response.contentText == "hello")
        #expect(response.isComplete == (length == 5))
    }

    @Test(arguments: ["5, 6", "5\r\nContent-Length: 6", "0, 1", "5, 5, 4", "5\r\nX: y\r\nContent-Length: 55"])
    func lengthsThatDifferAreAConflict(value: String) {
        #expect(Self.read("Content-Length: \(value)\r\n").error == .conflictingLengths)
    }

    @Test(arguments: [
        "", "x", "+5", "-5", "-3", "5.0", "5e3", "0x5", "5 5", "5;", "5,", ",5", "5,,5", "\u{663}", "five",
        "9223372036854775808", "18446744073709551616", "18446744073709551621", "99999999999999999999999", "5, x",
        "5\r\nContent-Length:",
    ])
    func lengthThatIsNoNumberIsAnError(value: String) {
        #expect(Self.read("Content-Length: \(value)\r\n").error == .invalidContentLength)
    }

    @Test func bodyOfALengthEndsExactlyThere() {
        for length in 0...6 {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n"
            let response = ReadResponse.read(head + "hello!HTTP/1.1 200 OK\r\n")
            #expect(response.contentText == String("hello!".prefix(length)))
            #expect(response.isComplete)
            #expect(response.byteCount == head.utf8.count + length)
        }
    }

    // MARK: Until the connection ends

    @Test(arguments: [0, 1])
    func bodyWithoutALengthEndsWithTheConnection(minorVersion: Int) {
        let response = Self.read("a: b\r\n", body: "hello", minorVersion: minorVersion)
        #expect(response.framing == .untilClose)
        #expect(response.contentText == "hello")
        #expect(!response.isComplete)
        #expect(response.endError == nil)
    }

    @Test func framingIsUnknownBeforeTheHeadHasEnded() {
        #expect(ReadResponse.read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n").framing == nil)
    }

    // MARK: In place

    @Test func contentThatIsNotInChunksStaysWhereItIs() throws {
        var reader = ResponseReader(method: .get, acceptsUpgrade: false, limits: HTTPLimits())
        let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n".utf8)
        var position = 0
        _ = try head.withUnsafeBytes { try reader.readHead($0, at: &position) }
        var first = Array("abc".utf8)
        var second = Array("defgXY".utf8)
        let pieces =
            try first.withUnsafeMutableBytes { [try reader.readBody($0)] }
            + second.withUnsafeMutableBytes { [try reader.readBody($0), try reader.readBody($0)] }
        #expect(
            pieces == [
                BodyPiece(content: 0..<3, consumed: 3, isComplete: false),
                BodyPiece(content: 0..<4, consumed: 4, isComplete: true),
                BodyPiece(content: 0..<0, consumed: 0, isComplete: true),
            ])
        #expect(second == Array("defgXY".utf8))
    }

    @Test func emptyBufferIsHarmless() {
        for fields in ["Content-Length: 1\r\n", "Transfer-Encoding: chunked\r\n", ""] {
            let text = "HTTP/1.1 200 OK\r\n\(fields)\r\n"
            let response = ReadResponse.read(text, pieceSizes: [0, text.utf8.count, 0])
            #expect(response.error == nil)
            #expect(!response.isComplete)
        }
    }
}
