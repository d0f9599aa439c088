import Deflate
import LibwebsocketsTransport
import StreamTransport
import WebSocketProtocol

/// A consumer that sends every message back, and the server's end of its connection.
struct WebSocketEcho {
    let connection: any TransportConnection
    let peer: RawPeer
    /// Everything that the consumer was told, once the connection has ended.
    let reported: Task<[Reported], Never>

    /// Establishes a WebSocket; `extensions` is the server's answer to the offer.
    init(
        to server: RawServer, offering offer: MessageCompressionOffer? = nil, extensions: String? = nil,
        _ change: (inout TransportRequest) -> Void = { _ in }
    ) async throws {
        (self.connection, self.peer) = try await server.connect(.webSocket(compression: offer), change)
        if let extensions {
            await self.peer.acceptWebSocket("Sec-WebSocket-Extensions: \(extensions)")
        } else {
            await self.peer.acceptWebSocket()
        }
        let connection = self.connection
        self.reported = Task { await Self.run(connection) }
    }

    private static func run(_ connection: any TransportConnection) async -> [Reported] {
        var reported: [Reported] = []
        while true {
            guard let event = connection.next() else {
                _ = await connection.wait(for: nil)
                continue
            }
            // A text that is not UTF-8 is no message: its consumer fails the connection.
            if case .payload(let payload) = event, payload.kind == .text,
                String(validating: payload.bytes, as: UTF8.self) == nil
            {
                connection.fail(code: 1007)
                continue
            }
            reported.append(Reported(event))
            switch event {
            case .payload(let payload):
                connection.send(Array(payload.bytes), as: payload.kind == .text ? .text : .binary)
            case .ended:
                return reported
            case .ready, .pong, .opened:
                break
            }
        }
    }
}

/// The compression of a server's messages, and the inflation of a client's.
enum RawCompression {
    /// The payload of a compressed message; with `isFinal` it ends in a block that says so (RFC 7692 section 7.2.3.4).
    static func message(_ bytes: [UInt8], level: Int = 6, isFinal: Bool = false) throws -> [UInt8] {
        let deflater = try Deflater(format: .raw(windowBits: 15), level: level)
        let output = PaddedBuffer()
        bytes.withUnsafeBytes { deflater.deflate($0, flush: isFinal ? .finish : .sync, into: output) }
        return isFinal ? Array(output.bytes) + [0x00] : Array(output.bytes.dropLast(4))
    }

    /// The payloads of messages that share a window.
    static func messages(_ texts: [[UInt8]]) throws -> [[UInt8]] {
        let deflater = try Deflater(format: .raw(windowBits: 15))
        return texts.map { text in
            let output = PaddedBuffer()
            text.withUnsafeBytes { deflater.deflate($0, flush: .sync, into: output) }
            return Array(output.bytes.dropLast(4))
        }
    }

    /// The payload of a message of zeros, that many times 1 MiB: about 1 KB for each.
    ///
    /// After the first they are all alike, so that four thousand of them cost no time to make.
    static func zeros(mebibytes: Int) throws -> [UInt8] {
        let deflater = try Deflater(format: .raw(windowBits: 15), level: 9)
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        func next() -> [UInt8] {
            let output = PaddedBuffer()
            zeros.withUnsafeBytes { deflater.deflate($0, flush: .sync, into: output) }
            return Array(output.bytes)
        }
        var payload = next()
        let piece = next()
        for _ in 1..<max(2, mebibytes) { payload += piece }
        return payload.dropLast(4)
    }

    /// Returns the text of a client's message that was compressed by itself.
    static func inflate(_ frame: RawPeer.Frame, windowBits: Int = 15) throws -> [UInt8] {
        guard frame.isCompressed else { return frame.payload }
        let inflater = Inflater(format: .raw(windowBits: windowBits))
        let output = PaddedBuffer()
        let bytes = frame.payload + [0x00, 0x00, 0xFF, 0xFF]
        var position = 0
        _ = try bytes.withUnsafeBytes { try inflater.inflate($0, at: &position, into: output) }
        return Array(output.bytes)
    }
}
