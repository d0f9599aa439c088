// A blocking client on a plain socket, so that tests see every byte that the server writes.
//
// Owned by the test that makes it. A receive time-out keeps a broken server from hanging the tests.
import Testing

@testable import ChappieTestServer

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The end of reading.
enum ReadEnd: Equatable {
    case endOfStream
    case reset
    case timedOut
}

/// The end of reading, as an error.
struct ReadFailure: Error, Equatable {
    var end: ReadEnd
}

/// An answer's head.
struct AnswerHead {
    var status: Int
    var fields: [String: String]
    var byteCount: Int
}

/// One connection to a server.
final class RawClient {
    private let descriptor: CInt
    private var buffer: [UInt8] = []
    /// The number of received bytes.
    private(set) var receivedByteCount = 0

    /// Connects; a read waits for `receiveTimeout` seconds, which are long enough for a machine with much else to do.
    init(port: Int, receiveTimeout: Int = 60) throws {
        self.descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var timeout = timeval(tv_sec: receiveTimeout, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let descriptor = self.descriptor
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0)
    }

    deinit { close(self.descriptor) }

    // MARK: Writing

    func send(_ bytes: [UInt8]) throws {
        var start = 0
        while start < bytes.count {
            let count = bytes.withUnsafeBytes { storage in
                Glibc.send(
                    self.descriptor, storage.baseAddress?.advanced(by: start), bytes.count - start,
                    CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw ReadFailure(end: .reset) }
            start += count
        }
    }

    func send(_ text: String) throws { try self.send(Array(text.utf8)) }

    func post(_ body: String, path: String = "/v1/responses", fields: [String] = []) throws {
        let extra = fields.map { $0 + "\r\n" }.joined()
        try self.send(
            "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\(extra)"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// Sends the example handshake of RFC 6455 section 1.3, and further bytes in the same call.
    func upgrade(path: String = "/v1/responses", fields: [String] = [], followedBy bytes: [UInt8] = []) throws {
        let extra = fields.map { $0 + "\r\n" }.joined()
        let head =
            "GET \(path) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\(extra)\r\n"
        try self.send(Array(head.utf8) + bytes)
    }

    /// Returns the bytes of a masked frame.
    static func maskedFrame(
        _ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, isCompressed: Bool = false
    ) -> [UInt8] {
        var frame: [UInt8] = [(isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode]
        switch payload.count {
        case ...125: frame.append(0x80 | UInt8(payload.count))
        case ...0xFFFF: frame += [0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] as [UInt8]
        default:
            frame.append(0x80 | 127)
            frame += stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: payload.count >> $0) }
        }
        let mask: [UInt8] = [0x11, 0x22, 0x33, 0x44]
        let masked = payload.enumerated().map { $1 ^ mask[$0 & 3] }
        return frame + mask + masked
    }

    /// Sends a masked frame.
    func sendFrame(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, isCompressed: Bool = false) throws {
        let frame = Self.maskedFrame(opcode, payload, isFinal: isFinal, isCompressed: isCompressed)
        try self.send(frame)
    }

    func sendText(_ text: String) throws { try self.sendFrame(1, Array(text.utf8)) }

    /// Sends text messages in one call, so that no pause separates them.
    func sendTexts(_ texts: [String]) throws {
        var bytes: [UInt8] = []
        for text in texts { bytes += Self.maskedFrame(1, Array(text.utf8)) }
        try self.send(bytes)
    }

    // MARK: Reading

    private func fill() throws {
        var scratch = [UInt8](repeating: 0, count: 65536)
        let count = recv(self.descriptor, &scratch, scratch.count, 0)
        if count == 0 { throw ReadFailure(end: .endOfStream) }
        if count < 0 { throw ReadFailure(end: errno == ECONNRESET ? .reset : .timedOut) }
        self.receivedByteCount += count
        self.buffer += scratch[..<count]
    }

    func read(_ count: Int) throws -> [UInt8] {
        while self.buffer.count < count { try self.fill() }
        defer { self.buffer.removeFirst(count) }
        return Array(self.buffer[..<count])
    }

    /// Returns all bytes up to the end of the connection, and the way in which it ended.
    func readToEnd() -> (bytes: [UInt8], end: ReadEnd) {
        while true {
            do { try self.fill() } catch {
                defer { self.buffer = [] }
                return (self.buffer, (error as? ReadFailure)?.end ?? .timedOut)
            }
        }
    }

    private func readLine() throws -> String {
        var index = 0
        while true {
            while index < self.buffer.count {
                if self.buffer[index] == 0x0A {
                    let line = try self.read(index + 1).dropLast()
                    return String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
                }
                index += 1
            }
            try self.fill()
        }
    }

    func readHead() throws -> AnswerHead {
        var line = try self.readLine()
        var head = AnswerHead(
            status: Int(line.split(separator: " ")[1]) ?? 0, fields: [:], byteCount: line.utf8.count + 2)
        while true {
            line = try self.readLine()
            head.byteCount += line.utf8.count + 2
            if line.isEmpty { return head }
            let colon = try #require(line.firstIndex(of: ":"))
            head.fields[line[..<colon].lowercased()] = String(line[line.index(after: colon)...].drop { $0 == " " })
        }
    }

    /// The body that follows a head.
    func readBody(_ head: AnswerHead) throws -> [UInt8] {
        if let length = head.fields["content-length"].flatMap({ Int($0) }) { return try self.read(length) }
        guard head.fields["transfer-encoding"] == "chunked" else { return self.readToEnd().bytes }
        var body: [UInt8] = []
        while true {
            let size = try #require(Int(self.readLine(), radix: 16))
            body += try self.read(size)
            _ = try self.readLine()
            if size == 0 { return body }
        }
    }

    /// A frame as it arrives.
    struct Frame: Equatable {
        var opcode: UInt8
        var isFinal: Bool
        var isCompressed: Bool
        var payload: [UInt8]
        var text: String { String(decoding: self.payload, as: UTF8.self) }
        var closeCode: Int? { self.payload.count < 2 ? nil : Int(self.payload[0]) << 8 | Int(self.payload[1]) }
    }

    func readFrame() throws -> Frame {
        let head = try self.read(2)
        try #require(head[1] & 0x80 == 0)
        var count = Int(head[1])
        if count == 126 { count = try self.read(2).reduce(0) { $0 << 8 | Int($1) } }
        if count == 127 { count = try self.read(8).reduce(0) { $0 << 8 | Int($1) } }
        return Frame(
            opcode: head[0] & 0x0F, isFinal: head[0] & 0x80 != 0, isCompressed: head[0] & 0x40 != 0,
            payload: try self.read(count))
    }

    /// The text messages up to a terminal event; fragments are joined, control frames skipped.
    func readEvents() throws -> [JSONValue] {
        var events: [JSONValue] = []
        while true {
            events.append(try self.readEvent())
            if events.last.map(isTerminal) == true { return events }
        }
    }

    /// The next text message.
    func readEvent() throws -> JSONValue {
        var message: [UInt8] = []
        while true {
            let frame = try self.readFrame()
            guard frame.opcode < 8 else { continue }
            message += frame.payload
            if frame.isFinal { return JSONValue(message) ?? .string(String(decoding: message, as: UTF8.self)) }
        }
    }
}

func isTerminal(_ event: JSONValue) -> Bool {
    ["response.completed", "response.failed", "response.incomplete", "error"].contains(event["type"]?.string ?? "")
}

/// The events of an event stream's text.
func events(inStream text: String) -> [JSONValue] {
    text.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("data: ") }.map { line in
        JSONValue(Array(line.dropFirst(6).utf8)) ?? .string(String(line.dropFirst(6)))
    }
}

/// Returns the text that the deltas of a response form.
func text(of events: [JSONValue]) -> String {
    events.filter { $0["type"]?.string == "response.output_text.delta" }.compactMap { $0["delta"]?.string }.joined()
}

let plainRequest = #"{"type":"response.create","model":"gpt-5.5","input":"hi","stream":true}"#
let toolRequest =
    #"{"type":"response.create","model":"m","stream":true,"input":[{"role":"user","content":"Weather?"}],"#
    + #""tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","#
    + #""properties":{"city":{"type":"string"}},"required":["city"]}}]}"#

/// Runs a test with a server and stops it.
func withServer<Result>(
    _ configure: (inout ChappieTestServer.Configuration) -> Void = { _ in },
    _ body: (ChappieTestServer) throws -> Result
) throws -> Result {
    var configuration = ChappieTestServer.Configuration()
    configure(&configuration)
    let server = try ChappieTestServer(configuration: configuration)
    defer { server.stop() }
    return try body(server)
}

/// Posts a body to a server of its own; returns the data of the events, or the body of an answer that is no event stream.
func streamedAnswer(
    to body: String, path: String, fields: [String] = [], _ configure: (inout ChappieTestServer.Configuration) -> Void
) throws -> (status: Int, lines: [String]) {
    try withServer(configure) { server in
        let client = try RawClient(port: server.port)
        try client.post(body, path: path, fields: fields)
        let head = try client.readHead()
        let text = String(decoding: try client.readBody(head), as: UTF8.self)
        guard head.fields["content-type"]?.hasPrefix("text/event-stream") == true else { return (head.status, [text]) }
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("data: ") }.map { String($0.dropFirst(6)) }
        return (head.status, lines)
    }
}
