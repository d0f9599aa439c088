// Tests of bodies in chunks (RFC 9112 section 7.1).

import HTTPProtocol
import Testing

@Suite struct ChunkReaderTests {
    private func expectContent(
        _ content: String, of text: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for sizes in [[], [Int](repeating: 1, count: text.utf8.count)] {
            let response = ReadResponse.readChunks(text, pieceSizes: sizes)
            #expect(response.contentText == content, sourceLocation: sourceLocation)
            #expect(response.isComplete, sourceLocation: sourceLocation)
            #expect(response.error == nil, sourceLocation: sourceLocation)
        }
    }

    private func expectError(
        _ error: HTTPError, of text: String, content: String = "", limits: HTTPLimits = HTTPLimits(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for sizes in [[], [Int](repeating: 1, count: text.utf8.count)] {
            let response = ReadResponse.readChunks(text, limits: limits, pieceSizes: sizes)
            #expect(response.error == error, sourceLocation: sourceLocation)
            #expect(response.contentText == content, sourceLocation: sourceLocation)
            #expect(!response.isComplete, sourceLocation: sourceLocation)
            #expect(response.endError == error, sourceLocation: sourceLocation)
        }
    }

    // MARK: Sizes

    @Test func chunksArePutTogether() {
        self.expectContent("hello world", of: "5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n")
        self.expectContent("", of: "0\r\n\r\n")
    }

    @Test(arguments: [1, 9, 10, 15, 16, 255, 256, 257, 4_095, 4_096, 65_535, 65_536, 70_000])
    func sizesAreReadInHexadecimalDigitsOfAnyCase(byteCount: Int) {
        let payload = String(repeating: "x", count: byteCount)
        for size in [String(byteCount, radix: 16), String(byteCount, radix: 16, uppercase: true)] {
            for zeros in 0...20 {
                let chunk = "\(String(repeating: "0", count: zeros))\(size)\r\n\(payload)\r\n"
                let response = ReadResponse.readChunks(chunk + "2\r\nok\r\n0\r\n\r\n")
                #expect(response.contentText == payload + "ok")
                #expect(response.isComplete)
            }
        }
    }

    @Test(arguments: ["0", "00", "000000", "0000000000000000000000"])
    func sizeOfZeroInAnyNumberOfDigitsIsTheLastChunk(size: String) {
        self.expectContent("ok", of: "2\r\nok\r\n\(size)\r\n\r\n")
    }

    @Test(arguments: [
        "7fffffffffffffff", "100000005", "FFFFFFFF", "80000000", "8000000", "0000000000000000007FFFFFFFFFFFFFFF",
    ])
    func hugeSizeIsReadWithoutBeingReserved(size: String) throws {
        let number = try #require(Int(size, radix: 16))
        let response = ReadResponse.readChunks("\(size)\r\nhello")
        #expect(response.contentText == "hello")
        #expect(response.error == nil)
        #expect(response.endError == .incompleteChunk(missing: number - 5))
    }

    @Test(arguments: [
        "8000000000000000", "ffffffffffffffff", "FFFFFFFFFFFFFFFFF", "10000000000000005", "100000000000000000000000005",
    ])
    func sizeThatOverflowsIsAnError(size: String) {
        self.expectError(.chunkSizeOverflow, of: "\(size)\r\nhello\r\n0\r\n\r\n")
        self.expectError(.chunkSizeOverflow, of: "2\r\nok\r\n\(size)\r\nhello\r\n0\r\n\r\n", content: "ok")
    }

    @Test(arguments: [
        "", "\r\n", " 5\r\n", "\t5\r\n", "+5\r\n", "-5\r\n", "0x5\r\n", "5x\r\n", "g\r\n", "xyz\r\n", "5 5\r\n",
        "5,5\r\n",
        "5\n", "5\r", "5\rx", "5\u{0}\r\n", "5\u{b}\r\n", "\u{665}\r\n", ";a\r\n", "5:\r\n", "5/\r\n", "5@\r\n",
        "5G\r\n",
        "5`\r\n", "ff\n", "fff\n", "5\r\r\n",
    ])
    func sizeThatIsNoNumberIsAnError(line: String) {
        self.expectError(.invalidChunkLine, of: "\(line)hello\r\n0\r\n\r\n", content: "")
        self.expectError(.invalidChunkLine, of: "2\r\nok\r\n\(line)hello\r\n0\r\n\r\n", content: "ok")
    }

    @Test func everyByteThatIsNoHexadecimalDigitIsAnErrorInASize() {
        let digits = Set("0123456789abcdefABCDEF".utf8)
        for byte in UInt8.min...UInt8.max where !digits.contains(byte) {
            for size in [[byte], [byte, 0x31], [0x31, byte], [0x31, byte, 0x31], [0x31, 0x31, byte, 0x31]] {
                // These may stand behind the digits; what follows is wrong then, or an extension.
                if size.count > 1, size[0] != byte, " \t\r;".utf8.contains(byte) { continue }
                let bytes = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8) + size
                let response = ReadResponse.read(bytes + Array("\r\nhello\r\n0\r\n\r\n".utf8))
                #expect(response.error == .invalidChunkLine, "byte \(byte)")
            }
        }
    }

    // MARK: Line ends

    @Test(arguments: ["helloXX", "hello", "hello\n", "hello\r", "hello\rX", "hello!\r\n", "hello\n\r\n", "hello\n\r"])
    func dataWithoutALineEndBehindThemAreAnError(data: String) {
        self.expectError(.missingChunkTerminator, of: "5\r\n\(data)0\r\n\r\n", content: "hello")
    }

    @Test func dataShorterThanTheirSizeAreAnError() {
        self.expectError(.missingChunkTerminator, of: "5\r\nhell\r\n0\r\n\r\n", content: "hell\r")
    }

    // MARK: Extensions (RFC 9112 section 7.1.1)

    @Test(arguments: [
        ";a", ";a=b", ";a=\"b\"", ";a=\"b;c\"", ";a=\"b\\\"c\"", ";a=\"\\\\\"", " ; a = b", "\t;a", ";a;b=c;d=\"e\"",
        ";",
        ";;", " ", "  ", "\t", ";\u{e9}", ";a=\"5 5\"", ";0\t5", ";a=\" \t\"",
    ])
    func extensionsArePassedOver(extensions: String) {
        self.expectContent("hello", of: "5\(extensions)\r\nhello\r\n0\(extensions)\r\n\r\n")
        self.expectContent(
            String(repeating: "x", count: 26) + "ok",
            of: "1a\(extensions)\r\n\(String(repeating: "x", count: 26))\r\n2\r\nok\r\n0\r\n\r\n")
    }

    @Test(arguments: [
        ";a\n", ";a\rb\r\n", ";a=\"b\r\n", ";a=\"\r\n\"\r\n", ";a=\"\\\r\n", ";a=\"b\n\"\r\n", ";a\u{0}\r\n",
        ";a\u{7f}\r\n",
        ";a=\"\u{1}\"\r\n", ";a=\"\\\u{1}\"\r\n", " \n", " x\r\n", " 5\r\n", "\t5;a\r\n",
    ])
    func extensionThatCouldHideALineEndIsAnError(extensions: String) {
        self.expectError(.invalidChunkLine, of: "5\(extensions)hello\r\n0\r\n\r\n")
    }

    // MARK: Trailer section (RFC 9112 section 7.1.2)

    @Test(arguments: [
        "X: y\r\n", "X: y\r\nA: b\r\n", "X: y\n", "X: y\r\n z\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "no field\r\n", "\u{0}\u{1}\r\n", "\rX: y\r\n", "\r\r\n", " \r\n", "X: \r\r\n",
    ])
    func trailerSectionIsPassedOver(trailers: String) {
        self.expectContent("ok", of: "2\r\nok\r\n0\r\n\(trailers)\r\n")
        self.expectContent("ok", of: "2\r\nok\r\n0\r\n\(trailers)\n")
    }

    @Test func bytesBehindTheLastChunkAreNotRead() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for body in ["0\r\n\r\n", "2\r\nok\r\n0\r\n\r\n", "2\r\nok\r\n0;a=b\r\nX: y\r\n\r\n"] {
            let response = ReadResponse.read(head + body + "\r\nHTTP/1.1 200 OK\r\n\r\n")
            #expect(response.byteCount == (head + body).utf8.count)
            #expect(response.isComplete)
        }
    }

    // MARK: In place

    /// A reader behind a head that announces chunks.
    private func reader() throws -> ResponseReader {
        var reader = ResponseReader(method: .get, acceptsUpgrade: false, limits: HTTPLimits())
        var position = 0
        _ = try Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
            .withUnsafeBytes { try reader.readHead($0, at: &position) }
        return reader
    }

    @Test func firstDataStayWhereTheyAreAndTheOthersFollowThem() throws {
        var reader = try self.reader()
        var buffer = Array("3\r\nabc\r\n10;x\r\n0123456789abcdef\r\n2\r\nde\r\n0\r\n\r\nXY".utf8)
        let (piece, content) = try buffer.withUnsafeMutableBytes { buffer in
            let piece = try reader.readBody(buffer)
            return (piece, String(decoding: buffer[piece.content], as: UTF8.self))
        }
        #expect(piece == BodyPiece(content: 3..<24, consumed: buffer.count - 2, isComplete: true))
        #expect(content == "abc0123456789abcdefde")
        #expect(buffer.suffix(2) == Array("XY".utf8)[...])
    }

    @Test func rightChunksBeforeAnErrorAreDeliveredFirst() throws {
        var reader = try self.reader()
        var buffer = Array("2\r\nok\r\nxyz\r\n".utf8)
        let piece = try buffer.withUnsafeMutableBytes { try reader.readBody($0) }
        #expect(piece == BodyPiece(content: 3..<5, consumed: 7, isComplete: false))
        for _ in 0..<2 {
            #expect(throws: HTTPError.invalidChunkLine) {
                try buffer.withUnsafeMutableBytes { try reader.readBody($0) }
            }
        }
    }

    @Test(arguments: 0..<40)
    func manyChunksInOneReadAreMovedTogether(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var content: [UInt8] = []
        var text: [UInt8] = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        for _ in 0..<200 {
            let byteCount = Int.random(in: 1...Int.random(in: 1...600, using: &random), using: &random)
            let payload = (0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &random) }
            content += payload
            text += Array(String(byteCount, radix: 16, uppercase: Bool.random(using: &random)).utf8)
            if Int.random(in: 0..<20, using: &random) == 0 { text += Array(";a=\"b\"".utf8) }
            text += [0x0D, 0x0A] + payload + [0x0D, 0x0A]
        }
        text += Array("0\r\n\r\n".utf8)
        let whole = ReadResponse.read(text)
        #expect(whole.content == content)
        #expect(whole.isComplete)
        #expect(ReadResponse.read(text, pieceSizes: random.pieceSizes(of: text.count)) == whole)
    }
}
