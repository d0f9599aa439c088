// Tests of every limit: at it, below and above.

import HTTPProtocol
import Testing

@Suite struct HTTPLimitsTests {
    /// Reads at once and byte by byte, which must be the same.
    private func read(
        _ text: String, _ limits: HTTPLimits, sourceLocation: SourceLocation = #_sourceLocation
    ) -> ReadResponse {
        let whole = ReadResponse.read(text, limits: limits)
        let single = ReadResponse.read(text, limits: limits, pieceSizes: [Int](repeating: 1, count: text.utf8.count))
        #expect(single == whole, sourceLocation: sourceLocation)
        return whole
    }

    // MARK: Heads

    @Test(arguments: [
        "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n", "HTTP/1.1 204\n\n", "\r\n\nHTTP/1.1 204 x\r\na: b\r\n c\r\n\r\n",
        "HTTP/1.1 100 x\r\n\r\nHTTP/1.1 103 x\r\nA: b\r\n\r\nHTTP/1.1 204 x\r\n\r\n",
    ])
    func headMayHaveExactlyItsLimit(text: String) {
        let byteCount = text.utf8.count
        for limit in 0..<byteCount {
            #expect(self.read(text, HTTPLimits(headByteCount: limit)).error == .headTooLarge(limit: limit))
        }
        for limit in [byteCount, byteCount + 1] {
            let response = self.read(text + "rest", HTTPLimits(headByteCount: limit))
            #expect(response.head?.statusCode == 204)
            #expect(response.byteCount == byteCount)
        }
    }

    @Test(arguments: [65_535, 65_536, 65_537])
    func headHas64KiBByDefault(byteCount: Int) {
        let start = "HTTP/1.1 204 x\r\n"
        let line = "A: \(String(repeating: "a", count: 30_000))\r\n"
        let rest = byteCount - start.utf8.count - 2 * line.utf8.count - "B: \r\n\r\n".utf8.count
        let text = "\(start)\(line)\(line)B: \(String(repeating: "b", count: rest))\r\n\r\n"
        #expect(text.utf8.count == byteCount)
        #expect(ReadResponse.read(text).error == (byteCount > 65_536 ? .headTooLarge(limit: 65_536) : nil))
    }

    @Test func bodyDoesNotCountForTheHead() {
        let head = "HTTP/1.1 200 OK\r\n\r\n"
        let response = self.read(head + "hello", HTTPLimits(headByteCount: head.utf8.count))
        #expect(response.contentText == "hello")
    }

    /// The limits stop a peer that never ends a line, a head or a row of interim responses.
    @Test(arguments: [
        ("HTTP/1.1 200 ", "a", HTTPError.headTooLarge(limit: 65_536)),
        ("HTTP/1.1 200 OK\r\n", "a", .fieldLineTooLong(limit: 32_768)),
        ("HTTP/1.1 200 OK\r\nA: ", "b", .fieldLineTooLong(limit: 32_768)),
        ("HTTP/1.1 200 OK\r\nA: b", "\r\n c", .fieldLineTooLong(limit: 32_768)),
        ("HTTP/1.1 200 OK\r\nA: b", "\r\n ", .fieldLineTooLong(limit: 32_768)),
        ("HTTP/1.1 200 OK\r\n", "A:\r\n", .tooManyFieldLines(limit: 512)),
        ("HTTP/1.1 200 OK\r\n", "A: \("b".padded(to: 1_000))\r\n", .headTooLarge(limit: 65_536)),
        ("", "HTTP/1.1 100\r\n\r\n", .headTooLarge(limit: 65_536)),
        ("", "HTTP/1.1 103 x\r\nA: \("b".padded(to: 2_000))\r\n\r\n", .headTooLarge(limit: 65_536)),
    ])
    func endlessHeadIsStopped(start: String, repeated: String, error: HTTPError) {
        let bytes = Array((start + String(repeating: repeated, count: 2_000_000 / repeated.utf8.count)).utf8)
        let whole = ReadResponse.read(bytes)
        #expect(whole.error == error)
        let small = ReadResponse.read(bytes, pieceSizes: [Int](repeating: 61, count: 2_000))
        #expect(small == whole)
    }

    // MARK: Field lines

    @Test(arguments: [
        ("A: b\r\n", 6), ("A: b\n", 5), ("A: b\r\n c\r\n", 10), ("A: b\r\n \r\n\tc\n", 12), ("no field\r\n", 10),
    ])
    func fieldLineMayHaveExactlyItsLimit(line: String, byteCount: Int) {
        let text = "HTTP/1.1 204 a long reason phrase\r\nX:\r\n\(line)Y:\r\n\r\n"
        for limit in 4...(byteCount + 1) {
            let response = self.read(text, HTTPLimits(fieldLineByteCount: limit))
            let error = line.hasPrefix("no") ? HTTPError.invalidFieldLine : nil
            #expect(response.error == (limit < byteCount ? .fieldLineTooLong(limit: limit) : error))
        }
    }

    @Test func limitOfALineIsNotUsedUpByTheLinesBeforeIt() {
        let lines = String(repeating: "A: b\r\n", count: 20)
        let text = "HTTP/1.1 100 a long phrase\r\n\(lines)\r\nHTTP/1.1 204 a long phrase\r\n\(lines)\r\n"
        #expect(self.read(text, HTTPLimits(fieldLineByteCount: 6)).head?.fields.count == 20)
    }

    @Test(arguments: [0, 1, 2, 3, 4])
    func headMayHaveExactlyItsNumberOfLines(limit: Int) {
        let interim = "HTTP/1.1 103 x\r\nA: b\r\n\r\n"
        let text = "\(interim)HTTP/1.1 204 x\r\nA: b\r\nC: d\r\n e\r\n f\r\nG: h\r\n\r\n"
        let response = self.read(text, HTTPLimits(fieldLineCount: limit))
        #expect(response.error == (limit < 3 ? .tooManyFieldLines(limit: limit) : nil))
    }

    // MARK: Interim responses

    @Test func interimResponsesArePassedOverUpToTheLimitOfHeads() {
        let interim = "HTTP/1.1 100 x\r\n\r\n"
        let final = "HTTP/1.1 204 x\r\n\r\n"
        let count = (65_536 - final.utf8.count) / interim.utf8.count
        #expect(self.read(String(repeating: interim, count: count) + final, HTTPLimits()).head?.statusCode == 204)
        let tooMany = self.read(String(repeating: interim, count: count + 1) + final, HTTPLimits())
        #expect(tooMany.error == .headTooLarge(limit: 65_536))
    }

    // MARK: Chunks

    @Test(arguments: [
        ("2\r\n", 3), ("02\r\n", 4), ("00002\r\n", 7), ("000002\r\n", 8), ("0000002\r\n", 9), ("2;a=b\r\n", 7),
        ("2 \r\n", 4), ("2;a=\"b\\\"\"\r\n", 11),
    ])
    func chunkLineMayHaveExactlyItsLimit(line: String, byteCount: Int) {
        for limit in 3...12 {
            for body in ["\(line)ok\r\n0\r\n\r\n", "2\r\nok\r\n\(line)ok\r\n0\r\n\r\n"] {
                let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(body)"
                let response = self.read(text, HTTPLimits(chunkLineByteCount: limit))
                #expect(response.error == (limit < byteCount ? .chunkLineTooLong(limit: limit) : nil))
                #expect(response.isComplete == (limit >= byteCount))
            }
        }
    }

    @Test(arguments: [("2", "0"), ("2;", "a"), ("2;a=\"", "b"), ("2", " "), ("0", "0"), ("0;", "x")])
    func endlessChunkLineIsStopped(start: String, repeated: String) {
        let text = start + String(repeating: repeated, count: 4_096)
        #expect(
            ReadResponse.readChunks(text).error
                == (start + repeated == "20" ? .chunkSizeOverflow : .chunkLineTooLong(limit: 4_096)))
        let atLimit = start + String(repeating: repeated, count: 4_096 - start.utf8.count)
        if repeated != "0" || start == "0" { #expect(ReadResponse.readChunks(atLimit).error == nil) }
    }

    @Test(arguments: ["\r\n", "\n", "X: y\r\n\r\n", "X: y\n\n", "X: y\r\n z\r\n\r\n"])
    func trailerSectionMayHaveExactlyItsLimit(trailers: String) {
        let byteCount = trailers.utf8.count
        for limit in 0...(byteCount + 1) {
            let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0;x\r\n\(trailers)rest"
            let response = self.read(text, HTTPLimits(trailerSectionByteCount: limit))
            #expect(response.error == (limit < byteCount ? .trailerSectionTooLarge(limit: limit) : nil))
            #expect(response.contentText == "ok")
        }
    }

    @Test(arguments: ["X: y\r\n", "x", " \r\n"])
    func endlessTrailerSectionIsStopped(repeated: String) {
        let trailers = String(repeating: repeated, count: 20_000)
        let response = ReadResponse.readChunks("2\r\nok\r\n0\r\n" + trailers)
        #expect(response.error == .trailerSectionTooLarge(limit: 16_384))
        #expect(response.contentText == "ok")
    }

    @Test func limitsDoNotAddUpOverChunks() {
        let chunk = "2;abcdef\r\nok\r\n"
        let response = ReadResponse.readChunks(
            String(repeating: chunk, count: 1_000) + "0\r\n\r\n",
            limits: HTTPLimits(chunkLineByteCount: 10, trailerSectionByteCount: 2))
        #expect(response.isComplete)
        #expect(response.content.count == 2_000)
    }
}

extension String {
    fileprivate func padded(to count: Int) -> String { self + String(repeating: self, count: count - self.utf8.count) }
}
