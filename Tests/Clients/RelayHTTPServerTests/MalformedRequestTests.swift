// Requests that break a rule: each is answered, and the connection closed, however its bytes are cut.

import HTTPProtocol
import RelayHTTPServer
import StreamTransport
import Testing

@Suite struct MalformedRequestTests {
    private static let post = "POST / HTTP/1.1\r\nHost: h\r\n"

    static let table: [(bytes: String, statusCode: Int)] = [
        ("GET /\r\n\r\n", 400), ("\u{0}\u{1}\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: h\n\n", 400), ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nnocolon\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n A: b\r\nHost: h\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: h\r\nA: \u{1}\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nA: b\rc\r\n\r\n", 400), ("GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET a HTTP/1.1\r\nHost: h\r\n\r\n", 400), ("GET http:// HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET /#f HTTP/1.1\r\nHost: h\r\n\r\n", 400), ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505),
        ("CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", 501),
        (post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400), (post + "Content-Length: -1\r\n\r\n", 400),
        (post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (post + "Transfer-Encoding: gzip\r\n\r\n", 501), (post + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
        (post + "Transfer-Encoding: chunked, chunked\r\n\r\n", 400),
        (post + "Transfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        (post + "Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        (post + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400),
        (post + "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n", 400),
        (post + "Transfer-Encoding: chunked\r\n\r\n80000000\r\n" + String(repeating: "x", count: 3_000), 413),
        (post + "Content-Length: 2049\r\n\r\n", 413), (post + "Expect: else\r\n\r\n", 417),
        ("GET /" + String(repeating: "a", count: 2_000) + " HTTP/1.1\r\nHost: h\r\n\r\n", 414),
        ("GET / HTTP/1.1\r\nHost: h\r\nA: " + String(repeating: "a", count: 2_000) + "\r\n\r\n", 431),
        ("GET / HTTP/1.1\r\nHost: h\r\n" + String(repeating: "A: b\r\n", count: 129) + "\r\n", 431),
        ("GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n", 426),
        (
            "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Key: x\r\n\r\n", 400
        ),
    ]

    @Test(arguments: Self.table)
    func requestIsRefusedAndTheConnectionClosed(bytes: String, statusCode: Int) async throws {
        try await withServer(
            {
                $0.limits.request = RequestLimits(headByteCount: 1_000, bodyByteCount: 2_048)
            },
            handler: echo
        ) { server in
            let client = try RawClient(port: server.port)
            try await client.send(bytes)
            let response = try await client.response()
            #expect(response.statusCode == statusCode)
            #expect(response.fields["connection"] == "close")
            #expect(try await client.end() == (.endOfStream, ""))
            // Byte by byte, and with bytes behind it that would be a request of their own.
            let slow = try RawClient(port: server.port)
            try await blocking {
                for byte in Array(bytes.utf8) {
                    // The answer may come, and the connection be closed, before the last byte.
                    do { try slow.sendNow([byte]) } catch { break }
                }
                try? slow.sendNow(Array("GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n".utf8))
            }
            let end = try await slow.end()
            #expect(end.rest.hasPrefix("HTTP/1.1 \(statusCode) "))
            #expect(!end.rest.contains("smuggled"))
            // The server goes on.
            let next = try RawClient(port: server.port)
            try await next.send("GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await next.response().body == "GET /next ")
        }
    }

    /// Requests of the table with bytes changed, left out, repeated and cut: the server answers or closes, and goes on.
    @Test(arguments: 0..<16)
    func damagedRequestsEndInAnAnswerOrAClosedConnection(seed: Int) async throws {
        try await withServer(
            {
                $0.limits.request = RequestLimits(headByteCount: 1_000, bodyByteCount: 2_048)
                $0.timeouts.closing = .milliseconds(200)
            },
            handler: echo
        ) { server in
            var random = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
            func next(_ bound: Int) -> Int {
                random ^= random << 13
                random ^= random >> 7
                random ^= random << 17
                return Int(random % UInt64(max(1, bound)))
            }
            let good = [
                "GET /a?b HTTP/1.1\r\nHost: h\r\n\r\n",
                Self.post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nT: u\r\n\r\n",
                Self.post + "Content-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
            ]
            for _ in 0..<12 {
                var bytes = Array((good[next(3)] + (next(2) == 0 ? good[next(3)] : Self.table[next(20)].bytes)).utf8)
                for _ in 0...next(4) {
                    let place = next(bytes.count)
                    switch next(4) {
                    case 0: bytes[place] = UInt8(next(256))
                    case 1: bytes.remove(at: place)
                    case 2: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 8)], at: next(bytes.count))
                    default: bytes.removeLast(min(bytes.count - 1, next(8)))
                    }
                }
                let client = try RawClient(port: server.port)
                try? await client.send(bytes)
                client.endOutput()
                let end = try await client.end()
                #expect(end.end != .timedOut)
                #expect(end.rest.isEmpty || end.rest.hasPrefix("HTTP/1.1 "))
            }
            let client = try RawClient(port: server.port)
            try await client.send("GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await client.response().body == "GET /next ")
        }
    }
}
