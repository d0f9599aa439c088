// The messages of one WebSocket on the server's side: assembly, control frames, the closing handshake.
//
// Owned by the connection thread.

/// Sends and receives messages.
final class WebSocketConnection {
    /// A whole message of the client.
    struct Message {
        var isText: Bool
        var payload: [UInt8]
    }

    /// The time limit for the client's Close frame, in milliseconds.
    private static let closingMilliseconds = 2000

    private let exchange: Exchange
    private let codec: MessageCodec?
    private let limit: Int
    private var fragments: [UInt8] = []
    private var fragmentedMessage: (isText: Bool, isCompressed: Bool)?
    private var waiting: [Message] = []
    private var pings = PingCadence()
    /// The client's Close frame; nil before it has arrived.
    private(set) var closeFrame: WebSocketFrame?

    private var writer: WireWriter { self.exchange.writer }

    /// Takes over the socket after the 101.
    init(_ exchange: Exchange, agreement: CompressionAgreement?) {
        self.exchange = exchange
        self.limit = max(0, exchange.parts.configuration.maximumMessageByteCount)
        self.pings.start(exchange.parts.configuration)
        if let agreement, case .deflate(let parameters) = exchange.parts.configuration.messageCompression {
            self.codec = MessageCodec(agreement, minimumByteCount: parameters.minimumByteCount)
        } else {
            self.codec = nil
        }
    }

    // MARK: Sending

    /// Adds a message to the batch.
    func send(_ payload: [UInt8], opcode: WebSocketFrame.Opcode) throws(ConnectionEnd) {
        let compressed = self.codec?.compress(payload)
        let frame = WebSocketFrame(opcode: opcode, isCompressed: compressed != nil, payload: compressed ?? payload)
        if let fragmentation = self.exchange.faults.fragmentation {
            return try self.sendFragments(of: frame, byteCount: fragmentation.byteCount, pings: fragmentation.pings)
        }
        try self.writer.append(frame.bytes)
    }

    private func sendFragments(of frame: WebSocketFrame, byteCount: Int, pings: Bool) throws(ConnectionEnd) {
        var start = 0
        repeat {
            let end = min(start + byteCount, frame.payload.count)
            let isFirst = start == 0
            let fragment = WebSocketFrame(
                opcode: isFirst ? frame.opcode : .continuation,
                isFinal: end == frame.payload.count,
                isCompressed: isFirst && frame.isCompressed,
                payload: Array(frame.payload[start..<end])
            )
            if pings && !isFirst { try self.sendPing() }
            try self.writer.append(fragment.bytes)
            start = end
        } while start < frame.payload.count
    }

    /// Adds a ping to the batch, with a payload of its own.
    func sendPing() throws(ConnectionEnd) {
        let payload = self.pings.nextPayload()
        self.exchange.parts.log.addSentPing(payload, attempt: self.exchange.attempt)
        try self.writer.append(WebSocketFrame(opcode: .ping, payload: payload).bytes)
    }

    /// Sends a Close frame, waits for the client's for a limited time, and ends the connection.
    func close(code: Int?, reason: String) throws(ConnectionEnd) -> Never {
        try self.writer.append(WebSocketFrame.close(code: code, reason: reason).bytes)
        try self.writer.flush()
        self.readToCloseFrame(waiting: Self.closingMilliseconds)
        throw .finished
    }

    /// Reads frames up to the client's Close frame, waiting at most `milliseconds` for each.
    func readToCloseFrame(waiting milliseconds: Int) {
        while self.exchange.stream.isReadable(within: milliseconds) {
            let frame = try? WebSocketFrame.read(
                from: self.exchange.stream, limit: self.limit, allowsCompression: true)
            guard let frame else { return }
            if frame.opcode.isControl { self.note(frame) }
            if frame.opcode == .close { return }
        }
    }

    // MARK: Receiving

    /// Returns the next message, waiting for it until `end`, or without limit.
    ///
    /// Nil when none arrived before that. Frames that have arrived are handled even after `end`.
    func receive(before end: ContinuousClock.Instant?) throws(ConnectionEnd) -> Message? {
        while self.waiting.isEmpty {
            guard try self.isReadable(before: end) else { return nil }
            try self.receiveFrame()
        }
        return self.waiting.removeFirst()
    }

    /// Waits until bytes can be read; returns false when there are none before `end`.
    ///
    /// Pings are sent when they are due.
    private func isReadable(before end: ContinuousClock.Instant?) throws(ConnectionEnd) -> Bool {
        while true {
            let due = [end, self.pings.nextInstant].compactMap { $0 }.min()
            let remaining = due.map { Int((($0 - ContinuousClock.now) / .milliseconds(1)).rounded(.up)) }
            if self.exchange.stream.isReadable(within: remaining.map { max(0, $0) } ?? -1) { return true }
            let now = ContinuousClock.now
            if self.pings.isOverdue(at: now) { try self.close(code: 1011, reason: "keepalive ping timeout") }
            if self.pings.isDue(at: now) {
                self.pings.sent(at: now)
                try self.sendPing()
                try self.writer.flush()
            }
            if let end, end <= now { return false }
        }
    }

    private func receiveFrame() throws(ConnectionEnd) {
        do {
            let frame = try WebSocketFrame.read(
                from: self.exchange.stream,
                limit: self.limit - self.fragments.count,
                allowsCompression: self.codec != nil
            )
            if frame.opcode.isControl { try self.handleControl(frame) } else { try self.assemble(frame) }
        } catch let violation as WebSocketFrame.Violation {
            try self.close(code: violation.code, reason: "")
        } catch let end as ConnectionEnd {
            throw end
        } catch {
            throw .peerGone
        }
    }

    private func note(_ frame: WebSocketFrame) {
        self.exchange.parts.log.addControlFrame(frame, attempt: self.exchange.attempt)
        if frame.opcode == .close { self.closeFrame = frame }
    }

    private func handleControl(_ frame: WebSocketFrame) throws {
        self.note(frame)
        switch frame.opcode {
        case .ping:
            try self.writer.append(WebSocketFrame(opcode: .pong, payload: frame.payload).bytes)
            try self.writer.flush()
        case .close:
            // The code is sent back (RFC 6455 section 5.5.1).
            try self.writer.append(WebSocketFrame(opcode: .close, payload: Array(frame.payload.prefix(2))).bytes)
            try self.writer.flush()
            throw ConnectionEnd.finished
        case .pong: self.pings.answered()
        case .continuation, .text, .binary: break
        }
    }

    private func assemble(_ frame: WebSocketFrame) throws {
        // A continuation needs a message and a message no unfinished one (RFC 6455 section 5.4).
        guard (frame.opcode == .continuation) == (self.fragmentedMessage != nil) else {
            throw WebSocketFrame.Violation(code: 1002)
        }
        let message = self.fragmentedMessage ?? (frame.opcode == .text, frame.isCompressed)
        self.fragments += frame.payload
        self.fragmentedMessage = frame.isFinal ? nil : message
        guard frame.isFinal else { return }
        var payload = self.fragments
        self.fragments = []
        if message.isCompressed {
            guard let inflated = self.codec?.decompress(payload, limit: self.limit) else {
                throw WebSocketFrame.Violation(code: 1009)
            }
            payload = inflated
        }
        if message.isText && String(validating: payload, as: UTF8.self) == nil {
            throw WebSocketFrame.Violation(code: 1007)
        }
        self.waiting.append(Message(isText: message.isText, payload: payload))
    }
}
