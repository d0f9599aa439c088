// The bytes that the server sends.

import Foundation

/// Writes an answer for an input.
struct ServerBytes {
    private let input: EngineInput
    private let request: ClientRequest?
    private var cuts: CutSequence

    /// Answers a request; nil when it has not been read.
    init(_ input: EngineInput, request: ClientRequest?) {
        self.input = input
        self.request = request
        self.cuts = CutSequence(input.cutSeed)
    }

    /// The whole answer.
    mutating func answer() -> [UInt8] {
        switch self.input.mode {
        case .raw: self.withAcceptValue(self.input.content)
        case .headed where self.input.isWebSocket: self.webSocketHead + self.input.content
        case .headed: self.response(self.input.content)
        case .lines: self.answer(Self.lines(of: self.input.content).map { ServerItem.event($0) })
        case .scripted: self.answer(self.input.script.items)
        }
    }

    /// The lines of an input, without carriage returns, which would end a line of an event stream.
    static func lines(of content: [UInt8]) -> [[UInt8]] {
        content.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }).map { Array($0) }
    }

    private mutating func answer(_ items: [ServerItem]) -> [UInt8] {
        guard !self.input.isWebSocket else {
            return self.webSocketHead + items.flatMap { self.frames(for: $0) }
        }
        var body: [UInt8] = self.input.shape & 8 == 0 ? [] : [0xEF, 0xBB, 0xBF]
        for item in items { body += self.lines(for: item) }
        return self.response(body)
    }

    // MARK: WebSocket

    /// The placeholder for the right `Sec-WebSocket-Accept` in a raw answer.
    private static let placeholder = Array("@ACCEPT@".utf8)

    private var acceptValue: String { SHA1.acceptValue(for: self.request?.webSocketKey ?? "") }

    private func withAcceptValue(_ bytes: [UInt8]) -> [UInt8] {
        guard let place = bytes.firstRange(of: Self.placeholder) else { return bytes }
        return Array(bytes[..<place.lowerBound]) + Array(self.acceptValue.utf8) + Array(bytes[place.upperBound...])
    }

    /// Indicates whether messages are compressed: it was offered, and the shape says so.
    private var isCompressed: Bool { self.input.shape & 1 != 0 && self.request?.offersMessageCompression == true }

    private var webSocketHead: [UInt8] {
        let names = self.input.shape & 8 == 0 ? ("Upgrade", "websocket") : ("upgrade", "WebSocket")
        var head = "HTTP/1.1 101 Switching Protocols\r\n\(names.0): \(names.1)\r\nConnection: keep-alive, Upgrade\r\n"
        head += "Sec-WebSocket-Accept: \(self.acceptValue)\r\n"
        if self.isCompressed { head += "Sec-WebSocket-Extensions: permessage-deflate\r\n" }
        return Array("\(head)\r\n".utf8)
    }

    private mutating func frames(for item: ServerItem) -> [UInt8] {
        guard case .event(let json) = item else { return self.controlFrame() }
        let payload = self.isCompressed ? StoredDeflate.blocks(json) + [0] : json
        // Every other shape is fragmented, with control frames between the fragments.
        guard self.input.shape & 2 != 0 else {
            return self.frame(opcode: 1, payload[...], isFinal: true, isCompressed: self.isCompressed)
        }
        var frames: [UInt8] = []
        let fragments = self.cuts.pieces(of: payload, atMost: 4)
        for (index, fragment) in fragments.enumerated() {
            let isFirst = index == 0
            frames += self.frame(
                opcode: isFirst ? 1 : 0, fragment, isFinal: index == fragments.count - 1,
                isCompressed: isFirst && self.isCompressed)
            if self.input.shape & 4 != 0 { frames += self.controlFrame() }
        }
        if fragments.isEmpty { frames += self.frame(opcode: 1, [], isFinal: true, isCompressed: false) }
        return frames
    }

    private mutating func controlFrame() -> [UInt8] {
        let payload = [UInt8](repeating: 0x70, count: self.cuts.next(below: 126))
        return self.frame(opcode: 9 + UInt8(self.cuts.next(below: 2)), payload[...], isFinal: true, isCompressed: false)
    }

    private func frame(opcode: UInt8, _ payload: ArraySlice<UInt8>, isFinal: Bool, isCompressed: Bool) -> [UInt8] {
        let first = opcode | (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0)
        let count = payload.count
        let bytes = { (width: Int) in (0..<width).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) } }
        let length = count < 126 ? bytes(1) : count < 65_536 ? [126] + bytes(2) : [127] + bytes(8)
        return [first] + length + payload
    }

    // MARK: Event stream

    private mutating func lines(for item: ServerItem) -> [UInt8] {
        let end = ["\n", "\r\n", "\r"][self.cuts.next(below: 3)]
        guard case .event(let json) = item else {
            let noise = [":", ": keepalive", "event: x", "id: 7", "retry: 5", "data", "unknown: field", ""]
            return Array((noise[self.cuts.next(below: noise.count)] + end + end).utf8)
        }
        // A line feed is white space in JSON.
        let isSplit = self.input.mode == .scripted && self.input.shape & 4 != 0
        let separator = isSplit ? "{\(end)data:" : "{"
        let data = json.first == UInt8(ascii: "{") ? Array(separator.utf8) + json.dropFirst() : json
        return Array("data: ".utf8) + data + Array((end + end).utf8)
    }

    /// A response with the body framed as the shape says.
    private mutating func response(_ body: [UInt8]) -> [UInt8] {
        var head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
        var body = body
        if self.input.shape & 3 == 3, self.input.offersCompression, self.input.mode != .headed {
            head += "Content-Encoding: deflate\r\n"
            body = StoredDeflate.stream(body)
        }
        switch self.input.shape & 3 {
        case 0: return Array("\(head)Connection: close\r\n\r\n".utf8) + body
        case 1: return Array("\(head)Content-Length: \(body.count)\r\n\r\n".utf8) + body
        default: return Array("\(head)Transfer-Encoding: chunked\r\n\r\n".utf8) + self.chunked(body)
        }
    }

    private mutating func chunked(_ body: [UInt8]) -> [UInt8] {
        let chunks = self.cuts.pieces(of: body, atMost: 8).filter { !$0.isEmpty }
        let written = chunks.flatMap { Array("\(String($0.count, radix: 16))\r\n".utf8) + $0 + Array("\r\n".utf8) }
        return written + Array("0\r\n\r\n".utf8)
    }
}

/// RFC 1951 and RFC 1950 without any compression.
enum StoredDeflate {
    /// Returns blocks of which none is the last.
    static func blocks(_ bytes: [UInt8]) -> [UInt8] {
        stride(from: 0, to: bytes.count, by: 65_535).flatMap { start in
            let block = bytes[start...].prefix(65_535)
            let (low, high) = (UInt8(block.count & 0xFF), UInt8(block.count >> 8))
            return [0, low, high, ~low, ~high] + block
        }
    }

    /// A whole zlib stream.
    static func stream(_ bytes: [UInt8]) -> [UInt8] {
        var (low, high) = (UInt32(1), UInt32(0))
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        let checksum = [high >> 8, high & 0xFF, low >> 8, low & 0xFF].map { UInt8($0) }
        return [0x78, 0x01] + self.blocks(bytes) + [1, 0, 0, 0xFF, 0xFF] + checksum
    }
}
