import Deflate
import EventSource
import Testing
import WebSocketProtocol

/// An answer that breaks a rule or a limit, and the consequence for its event source.
struct BadAnswer: CustomTestStringConvertible, Sendable {
    /// The limit of one event with which the answers are read.
    static let eventByteCount = 16 << 10
    /// The event that most answers have before their fault, with the data `a`.
    static let event = "id: 1\ndata: a\n\n"

    let name: String
    let bytes: [UInt8]
    let tag: String
    /// The data of the events before the fault.
    var data = ["a"]
    var category = ChappieErrorCategory.server
    /// Indicates whether the event source ends, because a repetition of the request would fail in the same way.
    var isFutile = false
    /// Indicates whether the server ends the connection behind the answer.
    var endsConnection = false

    var testDescription: String { self.name }

    static let all = Self.malformedHeads + Self.oversizeHeads + Self.chunks + Self.codings + Self.events

    // MARK: Heads (RFC 9112 sections 3 to 6)

    private static func head(_ name: String, _ head: String) -> Self {
        Self(name: name, bytes: Array("\(head)\r\n\r\n".utf8), tag: "http.not-http", data: [])
    }

    static let malformedHeads = [
        head("another protocol", "SSH-2.0-OpenSSH_9.2"),
        head("HTTP/2.0", "HTTP/2.0 200 OK\r\nContent-Type: text/event-stream"),
        head("status code of four digits", "HTTP/1.1 2000 OK\r\nContent-Type: text/event-stream"),
        head("field line without a colon", "HTTP/1.1 200 OK\r\nContent-Type text/event-stream"),
        head("space before the colon", "HTTP/1.1 200 OK\r\nContent-Type : text/event-stream"),
        head("field line without a name", "HTTP/1.1 200 OK\r\n: text/event-stream"),
        head("continuation of no field line", "HTTP/1.1 200 OK\r\n Content-Type: text/event-stream"),
        head("NUL in a value", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\0"),
        head("length below zero", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: -1"),
        head(
            "two lengths",
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 15\r\nContent-Length: 16"),
        Self(
            name: "head that is cut", bytes: Array("HTTP/1.1 200 OK\r\nContent-Type: text/ev".utf8),
            tag: "connection.lost", data: [], category: .network, endsConnection: true),
    ]

    private static func largeHead(_ name: String, _ bytes: String) -> Self {
        Self(
            name: name, bytes: Array(bytes.utf8), tag: "http.header-section-too-large", data: [], isFutile: true)
    }

    /// More than the client and the sockets between take.
    private static let long = String(repeating: "x", count: 8 << 20)

    static let oversizeHeads = [
        largeHead("reason phrase without an end", "HTTP/1.1 200 \(long)"),
        largeHead("field name without an end", "HTTP/1.1 200 OK\r\n\(long)"),
        largeHead("value without an end", "HTTP/1.1 200 OK\r\nX: \(long)"),
        largeHead("field lines without an end", "HTTP/1.1 200 OK\r\n" + String(repeating: "X: y\r\n", count: 100_000)),
        largeHead("interim responses without an end", String(repeating: "HTTP/1.1 103 \r\n\r\n", count: 100_000)),
    ]

    // MARK: Framing (RFC 9112 sections 6 and 7)

    private static let eventStream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

    /// A stream in chunks: the first one is an event, and the others are given as they are.
    private static func chunks(_ name: String, _ others: String) -> Self {
        let chunk = "\(String(Self.event.utf8.count, radix: 16))\r\n\(Self.event)\r\n"
        return Self(
            name: name, bytes: Array("\(Self.eventStream)Transfer-Encoding: chunked\r\n\r\n\(chunk)\(others)".utf8),
            tag: "http.malformed-body")
    }

    static let chunks =
        ["xyz", "-5", "+5", "0x5", "", "5 5", "8000000000000000", "ffffffffffffffffff"].map {
            chunks("chunk of the size \"\($0)\"", "\($0)\r\ndata: b\n\n\r\n0\r\n\r\n")
        } + [
            chunks("chunk longer than its size", "5\r\ndata: b\n\n\r\n0\r\n\r\n"),
            chunks("chunk line without an end", "5;\(long)"),
            chunks("trailer section without an end", "0\r\n" + String(repeating: "X: y\r\n", count: 100_000)),
            Self(
                name: "chunk larger than any memory",
                bytes: Array(
                    "\(eventStream)Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n\(event)data: cut\n".utf8),
                tag: "connection.lost", category: .network, endsConnection: true),
            Self(
                name: "content shorter than its length",
                bytes: Array("\(eventStream)Content-Length: 100\r\n\r\n\(event)data: b\n".utf8), tag: "connection.lost",
                category: .network, endsConnection: true),
            Self(
                name: "unknown transfer coding",
                bytes: Array("\(eventStream)Transfer-Encoding: gzip, chunked\r\n\r\n".utf8),
                tag: "http.transfer-coding",
                data: [], isFutile: true),
        ]

    // MARK: Content codings (RFC 9110 section 8.4)

    private static func coding(
        _ name: String, _ content: [UInt8], as coding: String = "gzip", _ tag: String = "http.corrupt-content-coding"
    ) -> Self {
        Self(
            name: name, bytes: Array("\(Self.eventStream)Content-Encoding: \(coding)\r\n\r\n".utf8) + content, tag: tag)
    }

    /// One gzip member without its end (RFC 1952 section 2.3), of a text and that many times 1 MiB of a letter.
    ///
    /// 1 MiB of a letter takes about 1 KB; behind the first they are all alike.
    private static func gzip(_ text: String, mebibytes: Int = 0) -> [UInt8] {
        guard let deflater = try? Deflater(format: .raw(windowBits: 15), level: 9) else { return [] }
        func deflated(_ bytes: [UInt8]) -> [UInt8] {
            let output = PaddedBuffer()
            bytes.withUnsafeBytes { deflater.deflate($0, flush: .sync, into: output) }
            return Array(output.bytes)
        }
        var member: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + deflated(Array(text.utf8))
        guard mebibytes > 0 else { return member }
        let letters = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        member += deflated(letters)
        let next = deflated(letters)
        for _ in 1..<mebibytes { member += next }
        return member
    }

    /// A stream of 1 GiB in 1 MB: an event, and a line of data without an end.
    static let bomb: Self = {
        var answer = coding("gzip bomb", gzip("\(event)data: ", mebibytes: 1_024), "event.too-large")
        answer.isFutile = true
        return answer
    }()

    static let codings: [Self] = {
        var plain = coding("content that is not compressed", Array(event.utf8))
        plain.data = []
        var cut = coding("compressed content that is cut", gzip(event))
        cut.endsConnection = true
        var unknown = coding("unknown content coding", [], as: "br", "http.content-coding")
        unknown.data = []
        unknown.isFutile = true
        // Bits 1 and 2 of a block's header are its type, of which 3 does not exist (RFC 1951 section 3.2.3).
        return [bomb, plain, cut, unknown, coding("compressed content that is damaged", gzip(event) + [0x07])]
    }()

    // MARK: Events (WHATWG HTML section 9.2.6)

    private static func largeEvent(_ name: String, _ rest: String) -> Self {
        Self(
            name: name, bytes: Array("\(Self.eventStream)\r\n\(Self.event)\(rest)".utf8), tag: "event.too-large",
            isFutile: true)
    }

    static let events = [
        largeEvent("line of data without an end", "data: \(long)"),
        largeEvent("event without an end", String(repeating: "data: xxxxxxxx\n", count: 100_000)),
        largeEvent("event of empty lines of data without an end", String(repeating: "data\n", count: 100_000)),
        largeEvent("type without an end", "event: \(long)"),
        largeEvent("ID without an end", "id: \(long)"),
        largeEvent("event one byte over the limit", "data: \(long.prefix(eventByteCount + 1))\n\n"),
    ]
}
