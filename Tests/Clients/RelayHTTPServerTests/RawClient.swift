// A client on a plain socket, so that tests see every byte that the server writes.
//
// Its calls block a thread of their own, and no thread of the cooperative pool. A receive time-out keeps a broken
// server from hanging the tests.

import PlatformC
import Testing

/// The end of reading.
enum ReadEnd: Error, Equatable {
    case endOfStream
    case reset
    case timedOut
}

/// A connection that could not be made.
struct ConnectFailure: Error {
    var code: CInt
}

/// A response as it was received.
struct RawResponse: Equatable {
    var statusCode: Int
    /// The fields, their names in lower case.
    var fields: [String: String]
    /// The body without its framing.
    var body: String
}

/// Runs a blocking closure on a thread of its own: those of a pool are few when many tests wait.
func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
        let hasStarted = SystemThread.startDetached { continuation.resume(with: Result { try body() }) }
        if !hasStarted { continuation.resume(throwing: ConnectFailure(code: EAGAIN)) }
    }
}

/// One connection to a server.
///
/// - Safety: one task uses it at a time.
final class RawClient: @unchecked Sendable {
    let descriptor: CInt
    private var buffer: [UInt8] = []

    /// Connects; a read waits for a minute at most.
    ///
    /// A small receive buffer makes a slow reader.
    init(port: UInt16, receiveBufferByteCount: CInt? = nil) throws {
        self.descriptor = SystemSocket.open(family: AF_INET)
        var timeout = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        if var byteCount = receiveBufferByteCount {
            setsockopt(self.descriptor, SOL_SOCKET, SO_RCVBUF, &byteCount, socklen_t(MemoryLayout<CInt>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let descriptor = self.descriptor
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw ConnectFailure(code: errno) }
    }

    deinit { PlatformC.close(self.descriptor) }

    // MARK: Writing

    func sendNow(_ bytes: [UInt8]) throws {
        var start = 0
        while start < bytes.count {
            let count = bytes[start...].withUnsafeBytes {
                PlatformC.send(self.descriptor, $0.baseAddress, $0.count, SystemSocket.sendingFlags)
            }
            guard count > 0 else { throw ReadEnd.reset }
            start += count
        }
    }

    func send(_ bytes: [UInt8]) async throws { try await blocking { try self.sendNow(bytes) } }

    func send(_ text: String) async throws { try await self.send(Array(text.utf8)) }

    /// Ends this side of the connection.
    func endOutput() { shutdown(self.descriptor, CInt(SHUT_WR)) }

    /// Closes with a reset.
    func reset() {
        var linger = PlatformC.linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<PlatformC.linger>.size))
        shutdown(self.descriptor, CInt(SHUT_RDWR))
    }

    // MARK: Reading

    /// Receives once; throws the end.
    func receiveMoreNow() throws {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = recv(self.descriptor, &bytes, bytes.count, 0)
        guard count >= 0 else { throw errno == EAGAIN ? ReadEnd.timedOut : ReadEnd.reset }
        guard count > 0 else { throw ReadEnd.endOfStream }
        self.buffer += bytes[..<count]
    }

    /// Takes what one read gives.
    func takeSomeNow() throws -> [UInt8] {
        if self.buffer.isEmpty { try self.receiveMoreNow() }
        return try self.takeNow(self.buffer.count)
    }

    func takeNow(_ count: Int) throws -> [UInt8] {
        while self.buffer.count < count { try self.receiveMoreNow() }
        defer { self.buffer.removeFirst(count) }
        return Array(self.buffer[..<count])
    }

    /// Takes a line without its CRLF.
    func takeLineNow() throws -> String {
        while true {
            if let end = self.buffer.firstIndex(of: 0x0A) {
                let line = try self.takeNow(end + 1)
                return String(decoding: line.dropLast(2), as: UTF8.self)
            }
            try self.receiveMoreNow()
        }
    }

    func takeHeadNow() throws -> RawResponse {
        let words = try self.takeLineNow().split(separator: " ")
        var response = RawResponse(statusCode: words.count > 1 ? Int(words[1]) ?? 0 : 0, fields: [:], body: "")
        while true {
            let line = try self.takeLineNow()
            if line.isEmpty { return response }
            let parts = line.split(separator: ":", maxSplits: 1)
            response.fields[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
    }

    /// Takes a chunk's data; empty for the last.
    func takeChunkNow() throws -> [UInt8] {
        let byteCount = try #require(Int(try self.takeLineNow(), radix: 16))
        let bytes = try self.takeNow(byteCount)
        _ = try self.takeNow(2)
        return bytes
    }

    func takeResponseNow(toHEAD: Bool = false) throws -> RawResponse {
        var response = try self.takeHeadNow()
        if toHEAD || response.statusCode == 204 || response.statusCode == 304 || response.statusCode < 200 {
            return response
        }
        if let length = response.fields["content-length"].flatMap({ Int($0) }) {
            response.body = String(decoding: try self.takeNow(length), as: UTF8.self)
        } else if response.fields["transfer-encoding"] == "chunked" {
            var body: [UInt8] = []
            while true {
                let chunk = try self.takeChunkNow()
                if chunk.isEmpty { break }
                body += chunk
            }
            response.body = String(decoding: body, as: UTF8.self)
        } else {
            #expect(self.readToEndNow() == .endOfStream)
            response.body = String(decoding: try self.takeNow(self.buffer.count), as: UTF8.self)
        }
        return response
    }

    /// Reads until the connection ends; the bytes stay to be taken.
    func readToEndNow() -> ReadEnd {
        while true {
            do {
                try self.receiveMoreNow()
            } catch {
                return error as? ReadEnd ?? .reset
            }
        }
    }

    func response(toHEAD: Bool = false) async throws -> RawResponse {
        try await blocking { try self.takeResponseNow(toHEAD: toHEAD) }
    }

    func head() async throws -> RawResponse { try await blocking { try self.takeHeadNow() } }

    func chunk() async throws -> String {
        try await blocking { String(decoding: try self.takeChunkNow(), as: UTF8.self) }
    }

    func bytes(_ count: Int) async throws -> [UInt8] { try await blocking { try self.takeNow(count) } }

    /// Waits for the end of the connection; returns it with the bytes before it.
    func end() async throws -> (end: ReadEnd, rest: String) {
        try await blocking {
            let end = self.readToEndNow()
            return (end, String(decoding: try self.takeNow(self.buffer.count), as: UTF8.self))
        }
    }

    // MARK: Frames

    /// A frame of a client, masked.
    static func frame(_ firstByte: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let key: [UInt8] = [0x11, 0x22, 0x33, 0x44]
        let length: [UInt8] =
            payload.count < 126
            ? [0x80 | UInt8(payload.count)]
            : payload.count < 65_536
                ? [0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
                : [0xFF] + stride(from: 56, through: 0, by: -8).map { UInt8(payload.count >> $0 & 0xFF) }
        return [firstByte] + length + key + payload.enumerated().map { $1 ^ key[$0 % 4] }
    }

    func sendFrame(_ firstByte: UInt8, _ payload: [UInt8] = []) async throws {
        try await self.send(Self.frame(firstByte, payload))
    }

    /// Takes a frame of the server: its first byte and its payload.
    func frame() async throws -> (firstByte: UInt8, payload: [UInt8]) {
        try await blocking {
            let start = try self.takeNow(2)
            var byteCount = Int(start[1])
            if byteCount > 125 {
                byteCount = try self.takeNow(byteCount == 126 ? 2 : 8).reduce(0) { $0 << 8 | Int($1) }
            }
            return (start[0], try self.takeNow(byteCount))
        }
    }

    /// Sends the example handshake of RFC 6455 section 1.3, and further bytes in the same call.
    func upgrade(path: String = "/socket", fields: String = "", followedBy bytes: [UInt8] = []) async throws {
        let head =
            "GET \(path) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\(fields)\r\n"
        try await self.send(Array(head.utf8) + bytes)
    }
}
