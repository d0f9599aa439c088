// An answer as bytes: what the test server sent, and what is known about it.
//
// Immutable values, made once at the start.

/// One answer on one wire.
struct RenderedAnswer: Sendable {
    /// Everything that the server sent.
    var bytes: [UInt8]
    /// The number of bytes of the header section.
    var headByteCount: Int
    /// The offset of a 101's accept key, which depends on the handshake and is replaced.
    var acceptKeyOffset: Int?
    /// The least number of bytes with which a client can know that the response is complete.
    var earliestEnd: Int
    /// The number of bytes with which a client has to know it.
    var latestEnd: Int
    /// The output of the response.
    var output: ResponseOutput

    /// Describes what a server sent.
    init?(_ bytes: [UInt8], wire: Wire, output: ResponseOutput) {
        guard let end = Self.end(of: Array("\r\n\r\n".utf8), in: bytes) else { return nil }
        self.bytes = bytes
        self.headByteCount = end
        self.output = output
        if wire.isWebSocket {
            guard let key = Self.end(of: Array("sec-websocket-accept: ".utf8), in: bytes) else { return nil }
            self.acceptKeyOffset = key
            // The last frame is the terminal event.
            (self.earliestEnd, self.latestEnd) = (bytes.count, bytes.count)
        } else {
            // Behind the terminal event stand its empty line, the end of its chunk, the content coding's end and the
            // last chunk. How much of that a client needs depends on its decoder.
            guard let last = Self.start(ofLast: wire, in: bytes) else { return nil }
            (self.earliestEnd, self.latestEnd) = (last.earliest, last.latest)
        }
    }

    /// Returns the end of the first occurrence of a pattern.
    private static func end(of pattern: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= pattern.count else { return nil }
        return (0...bytes.count - pattern.count).first { bytes[$0...].starts(with: pattern) }.map { $0 + pattern.count }
    }

    private static func start(ofLast wire: Wire, in bytes: [UInt8]) -> (earliest: Int, latest: Int)? {
        guard bytes.suffix(5).elementsEqual("0\r\n\r\n".utf8) else { return nil }
        if !wire.isCompressed {
            let mark = wire == .chatCompletions ? UInt8(ascii: "]") : UInt8(ascii: "}")
            guard let brace = bytes.lastIndex(of: mark) else { return nil }
            // Two line ends, each of one byte or two, perhaps with a chunk's frame between any two bytes.
            return (brace + 3, bytes.count - 5)
        }
        // The trailer of gzip is 8 bytes, the last block a few, and both may be divided into chunks.
        return (max(0, bytes.count - 120), bytes.count - 5)
    }
}
