// Tests of connections that end: at every byte of every kind of response (RFC 9112 section 8).

import HTTPProtocol
import Testing

@Suite struct ConnectionEndTests {
    /// Expects `ends[count]` when the connection ends after `count` bytes of the body.
    private func expectEnds(
        _ ends: [HTTPError?], after body: String, fields: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let head = Array("HTTP/1.1 103 x\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\(fields)\r\n".utf8)
        let bytes = head + Array(body.utf8)
        for count in 0...bytes.count {
            let response = ReadResponse.read(Array(bytes[..<count]))
            let expected = count == 0 ? .noResponse : count < head.count ? .incompleteHead : ends[count - head.count]
            #expect(response.endError == expected, "after \(count) bytes", sourceLocation: sourceLocation)
            #expect(response.error == nil, sourceLocation: sourceLocation)
        }
    }

    @Test func bodyOfALengthMissesTheRestOfIt() {
        self.expectEnds(
            [
                .incompleteBody(missing: 3), .incompleteBody(missing: 2), .incompleteBody(missing: 1), nil, nil,
            ], after: "abcX", fields: "Content-Length: 3\r\n")
    }

    @Test func bodyWithoutContentIsComplete() {
        self.expectEnds([nil, nil], after: "X", fields: "Content-Length: 0\r\n")
    }

    @Test func bodyThatEndsWithTheConnectionIsComplete() {
        self.expectEnds([nil, nil, nil], after: "ab", fields: "")
    }

    @Test func truncatedChunkedBodyReportsItsPlace() {
        self.expectEnds(
            [
                .missingLastChunk, .missingLastChunk, .missingLastChunk,  // 2 CR
                .incompleteChunk(missing: 2), .incompleteChunk(missing: 1),  // LF o
                .missingLastChunk, .missingLastChunk, .missingLastChunk,  // k CR LF
                .missingLastChunk, .missingLastChunk, .missingLastChunk,  // 1 ; a
                .missingLastChunk, .incompleteChunk(missing: 1),  // CR LF
                .missingLastChunk, .missingLastChunk, .missingLastChunk,  // x CR LF
                .missingLastChunk, .missingLastChunk, .incompleteTrailerSection,  // 0 CR LF
                .incompleteTrailerSection, .incompleteTrailerSection, .incompleteTrailerSection,  // A : CR
                .incompleteTrailerSection, .incompleteTrailerSection, nil, nil,  // LF CR LF X
            ], after: "2\r\nok\r\n1;a\r\nx\r\n0\r\nA:\r\n\r\nX", fields: "Transfer-Encoding: chunked\r\n")
    }

    @Test func errorOfTheBytesIsAlsoThatOfTheEnd() {
        for text in ["SSH-2.0", "HTTP/1.1 200 OK\r\n: \r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"] {
            let response = ReadResponse.read(text)
            #expect(response.error != nil)
            #expect(response.endError == response.error)
        }
    }

    @Test func errorIsThrownAgainByEveryCall() {
        var reader = ResponseReader(method: .get, acceptsUpgrade: false, limits: HTTPLimits())
        for text in ["SSH", "HTTP/1.1 200 OK\r\n\r\n", ""] {
            #expect(throws: HTTPError.notHTTP) {
                var position = 0
                _ = try Array(text.utf8).withUnsafeBytes { try reader.readHead($0, at: &position) }
            }
        }
        #expect(throws: HTTPError.notHTTP) {
            var buffer: [UInt8] = [1]
            _ = try buffer.withUnsafeMutableBytes { try reader.readBody($0) }
        }
        #expect(reader.bodyFraming == nil)
    }

    @Test func emptyLineAloneIsNotAResponse() {
        #expect(ReadResponse.read("\r\n").endError == .incompleteHead)
        #expect(ReadResponse.read("").endError == .noResponse)
    }
}
