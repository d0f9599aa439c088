// Tests of RequestReader, RequestMessageHead, ResponseHeadWriter and the dates that are written.

import HTTPProtocol
import Testing

/// What a reader makes of bytes.
struct ReadRequest: Equatable {
    var head: RequestMessageHead?
    var body: [UInt8] = []
    var isComplete = false
    var error: RequestError?
    /// The number of bytes behind the request.
    var restCount = 0

    /// Reads bytes in pieces of these sizes, the last for all that is left.
    static func read(_ bytes: [UInt8], pieces: [Int] = [], limits: RequestLimits = RequestLimits()) -> Self {
        var result = Self()
        var reader = RequestReader(limits: limits)
        var start = 0
        var sizes = pieces[...]
        while start < bytes.count {
            let end = min(bytes.count, start + max(1, sizes.popFirst() ?? bytes.count))
            var piece = Array(bytes[start..<end])
            start = end
            var position = 0
            result.error = piece.withUnsafeMutableBytes { result.take($0, by: &reader, at: &position) }
            if result.error != nil { return result }
            if result.isComplete {
                result.restCount = bytes.count - end + piece.count - position
                return result
            }
        }
        return result
    }

    private mutating func take(
        _ buffer: UnsafeMutableRawBufferPointer, by reader: inout RequestReader, at position: inout Int
    ) -> RequestError? {
        do throws(RequestError) {
            if self.head == nil {
                self.head = try reader.readHead(UnsafeRawBufferPointer(buffer), at: &position)
            }
            while self.head != nil, !self.isComplete {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[position...])
                let read = try reader.readBody(rest)
                self.body += rest[read.content]
                position += read.consumed
                self.isComplete = read.isComplete
                if position == buffer.count { break }
            }
            return nil
        } catch {
            return error
        }
    }

    static func read(_ text: String, limits: RequestLimits = RequestLimits()) -> Self {
        Self.read(Array(text.utf8), limits: limits)
    }
}

@Suite struct RequestReaderTests {
    private func error(_ text: String, limits: RequestLimits = RequestLimits()) -> RequestError? {
        ReadRequest.read(text, limits: limits).error
    }

    @Test func headHasItsParts() throws {
        let request = ReadRequest.read("GET /a/b?c=d HTTP/1.1\r\nHost: x:80\r\nA: b \r\n\r\nrest")
        let head = try #require(request.head)
        #expect(head.method == "GET")
        #expect(head.target == "/a/b?c=d")
        #expect(head.path == "/a/b")
        #expect(head.query == "c=d")
        #expect(head.minorVersion == 1)
        #expect(head.fields.value(of: "a") == "b")
        #expect(head.bodyFraming == .none)
        #expect(head.allowsAnotherRequest)
        #expect(!head.expectsContinue)
        #expect(request.restCount == 4)
    }

    @Test(arguments: [
        ("http://host/a?b", "/a", "b"), ("http://host", "/", nil), ("HTTPS://h?q", "/", "q"), ("/", "/", nil),
        ("/?", "/", ""), ("//x", "//x", nil),
    ])
    func targetFormsHaveAPath(target: String, path: String, query: String?) {
        let head = ReadRequest.read("GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n").head
        #expect(head?.path == path)
        #expect(head?.query == query)
    }

    @Test func asteriskIsForOPTIONSOnly() {
        #expect(ReadRequest.read("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").head?.path == "*")
        #expect(self.error("GET * HTTP/1.1\r\nHost: h\r\n\r\n") == .invalidTarget)
        #expect(self.error("CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n") == .unsupportedMethod)
    }

    @Test(arguments: [
        "GET  / HTTP/1.1", " GET / HTTP/1.1", "GET / HTTP/1.1 ", "GET /", "GET / HTTP/11", "GET / http/1.1",
        "GET /\u{e9} HTTP/1.1", "G(T / HTTP/1.1", "GET\t/ HTTP/1.1", "GET / HTTP/1.x", "/ HTTP/1.1",
    ])
    func otherRequestLinesAreRefused(line: String) {
        #expect(self.error("\(line)\r\nHost: h\r\n\r\n") == .invalidRequestLine)
    }

    @Test func versionsOtherThan1AreRefused() {
        #expect(self.error("GET / HTTP/2.0\r\nHost: h\r\n\r\n") == .unsupportedVersion)
        #expect(self.error("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == .unsupportedVersion)
        #expect(ReadRequest.read("GET / HTTP/1.0\r\n\r\n").head?.minorVersion == 0)
    }

    @Test func anotherProtocolIsRefusedAtItsFirstByte() {
        #expect(ReadRequest.read([0x16, 0x03, 0x01]).error == .invalidRequestLine)
        #expect(ReadRequest.read([0]).error == .invalidRequestLine)
    }

    @Test func emptyLinesBeforeARequestArePassedOver() {
        #expect(ReadRequest.read("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n").isComplete)
        #expect(self.error("\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n") == .invalidRequestLine)
    }

    @Test func singleLineFeedsAreRefused() {
        #expect(self.error("GET / HTTP/1.1\nHost: h\r\n\r\n") == .invalidRequestLine)
        #expect(self.error("GET / HTTP/1.1\r\nHost: h\n\r\n") == .invalidField(.controlCharacter(0x0A)))
        #expect(self.error("GET / HTTP/1.1\r\nHost: h\r\n\n") == .invalidField(.controlCharacter(0x0A)))
    }

    @Test(arguments: ["nocolon", "A : b", ": b", "A: b\r\n continued", "A(: b"])
    func otherFieldLinesAreRefused(line: String) {
        #expect(self.error("GET / HTTP/1.1\r\nHost: h\r\n\(line)\r\n\r\n") == .invalidField(.invalidFieldLine))
    }

    @Test(arguments: [
        "", "Host: a\r\nHost: a\r\n", "Host: a/b\r\n", "Host: a b\r\n", "Host: a, b\r\n", "Host: u@h\r\n",
    ])
    func hostIsThereOnce(fields: String) {
        #expect(self.error("GET / HTTP/1.1\r\n\(fields)\r\n") == .invalidHost)
    }

    @Test(arguments: [
        ("Content-Length: 5\r\nContent-Length: 6", HTTPError.conflictingLengths),
        ("Content-Length: 5, 6", .conflictingLengths),
        ("Content-Length: -1", .invalidContentLength), ("Content-Length: 5x", .invalidContentLength),
        ("Content-Length: +5", .invalidContentLength), ("Content-Length:", .invalidContentLength),
        ("Content-Length: 0x5", .invalidContentLength),
        ("Content-Length: 99999999999999999999", .invalidContentLength),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", .conflictingLengths),
        ("Transfer-Encoding: chunked, chunked", .unsupportedTransferCoding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", .unsupportedTransferCoding),
        ("Transfer-Encoding:", .unsupportedTransferCoding),
    ])
    func unclearLengthsAreRefused(fields: String, error: HTTPError) {
        #expect(self.error("POST / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n\r\n") == .invalidBodyLength(error))
    }

    @Test(arguments: ["gzip", "gzip, chunked", "chunked, gzip", "identity", "xchunked", "chunked;a=b"])
    func unknownTransferCodingsAreNotImplemented(value: String) {
        let error = self.error("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \(value)\r\n\r\n")
        #expect(error == .unsupportedTransferCoding)
        #expect(error?.statusCode == 501)
    }

    @Test func transferCodingOfHTTP10IsRefused() {
        #expect(
            self.error("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n")
                == .invalidBodyLength(.transferEncodingInHTTP10))
    }

    @Test func limitsAreExact() {
        let head = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
        var limits = RequestLimits(headByteCount: head.utf8.count, bodyByteCount: 3)
        #expect(ReadRequest.read(head, limits: limits).isComplete)
        limits.headByteCount -= 1
        #expect(self.error(head, limits: limits) == .headTooLarge(limit: head.utf8.count - 1))
        limits.headByteCount = 10
        #expect(self.error(head, limits: limits) == .targetTooLong(limit: 10))
        limits = RequestLimits(fieldLineCount: 1, bodyByteCount: 3)
        #expect(self.error("GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\n", limits: limits) == .headTooLarge(limit: 16_384))
        limits.fieldLineCount = 9
        let post = "POST / HTTP/1.1\r\nHost: h\r\n"
        #expect(ReadRequest.read(post + "Content-Length: 3\r\n\r\nabc", limits: limits).body == Array("abc".utf8))
        #expect(self.error(post + "Content-Length: 4\r\n\r\n", limits: limits) == .bodyTooLarge(limit: 3))
        let chunks = "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"
        #expect(ReadRequest.read(post + chunks + "1\r\nc\r\n0\r\n\r\n", limits: limits).body == Array("abc".utf8))
        #expect(self.error(post + chunks + "2\r\ncd\r\n0\r\n\r\n", limits: limits) == .bodyTooLarge(limit: 3))
        // However the bytes come, the limit is exceeded before the invalid byte.
        #expect(self.error(post + chunks + "2\r\ncd..", limits: limits) == .bodyTooLarge(limit: 3))
    }

    @Test func expectationsAreUnderstoodOrRefused() {
        let post = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n"
        #expect(ReadRequest.read(post + "Expect: 100-Continue\r\n\r\n").head?.expectsContinue == true)
        #expect(self.error(post + "Expect: something\r\n\r\n") == .unsupportedExpectation)
        let get = "GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n"
        #expect(ReadRequest.read(get).head?.expectsContinue == false)
        let old = "POST / HTTP/1.0\r\nContent-Length: 1\r\nExpect: x\r\n\r\n"
        #expect(ReadRequest.read(old).head?.expectsContinue == false)
    }

    @Test(arguments: [
        ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close\r\n", false),
        ("HTTP/1.1", "Connection: x, Close\r\n", false), ("HTTP/1.0", "", false),
        ("HTTP/1.0", "Connection: Keep-Alive\r\n", true),
    ])
    func connectionsArePersistentByVersionAndField(version: String, field: String, isKept: Bool) {
        let head = ReadRequest.read("GET / \(version)\r\nHost: h\r\n\(field)\r\n").head
        #expect(head?.allowsAnotherRequest == isKept)
    }

    @Test func splittingTheInputDoesNotChangeTheRequest() {
        let texts = [
            "\r\nPOST /p?q HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n"
                + "0\r\nT: u\r\n\r\nGET",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
            "GET / HTTP/1.1\r\nHost h\r\n\r\n",
        ]
        for text in texts {
            let bytes = Array(text.utf8)
            let whole = ReadRequest.read(bytes)
            for cut in 1..<bytes.count {
                var split = ReadRequest.read(bytes, pieces: [cut])
                // Content before an error may have been delivered.
                if whole.error != nil { split.body = whole.body }
                #expect(split == whole)
            }
            var single = ReadRequest.read(bytes, pieces: Array(repeating: 1, count: bytes.count))
            if whole.error != nil { single.body = whole.body }
            #expect(single == whole)
        }
    }
}

@Suite struct ResponseHeadWriterTests {
    @Test func headIsWritten() {
        let bytes = ResponseHeadWriter.bytes(statusCode: 404, fields: [("A", "b"), ("C", "")])
        #expect(String(decoding: bytes, as: UTF8.self) == "HTTP/1.1 404 Not Found\r\nA: b\r\nC: \r\n\r\n")
    }

    @Test func headsThatWouldEndEarlyAreRefused() {
        func failure(_ statusCode: Int, _ name: String, _ value: String) -> ResponseHeadWriter.Failure? {
            do throws(ResponseHeadWriter.Failure) {
                try ResponseHeadWriter.check(statusCode: statusCode, fields: [(name, value)])
                return nil
            } catch {
                return error
            }
        }
        #expect(failure(200, "A", "b\tc") == nil)
        #expect(failure(200, "A", "b\r\nSet-Cookie: x") == .invalidFieldValue(name: "A"))
        #expect(failure(200, "A", "b\n") == .invalidFieldValue(name: "A"))
        #expect(failure(200, "A\r\nB", "c") == .invalidFieldName("A\r\nB"))
        #expect(failure(200, "", "c") == .invalidFieldName(""))
        #expect(failure(200, "content-LENGTH", "1") == .reservedField("content-LENGTH"))
        #expect(failure(100, "A", "b") == .invalidStatusCode(100))
        #expect(failure(600, "A", "b") == .invalidStatusCode(600))
    }

    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
        (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
    ])
    func datesAreWrittenAsTheyAreRead(seconds: Int, text: String) {
        #expect(HTTPDate.text(secondsSince1970: seconds) == text)
        #expect(HTTPDate.secondsSince1970(text, now: seconds) == seconds)
    }
}
