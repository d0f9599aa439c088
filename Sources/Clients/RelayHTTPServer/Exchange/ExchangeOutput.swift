// The messages from an exchange to the service thread.
// Values without an owner.

import WebSocketProtocol

/// A part of an answer, in the order in which it is sent.
enum ExchangeOutput: Sendable {
    /// A whole response.
    case response(HTTPServerResponse)
    /// The head of a streaming response.
    case head(statusCode: Int, fields: [(name: String, value: String)])
    /// The answer that opens a WebSocket.
    case acceptance(subprotocol: String?, fields: [(name: String, value: String)])
    /// A chunk of the response, or a text message.
    case bytes([UInt8])
    /// The end of the streaming response.
    case end
    /// A ping.
    case ping([UInt8])
    /// A close frame.
    case close(CloseFrame)

    /// The memory that the output counts for in the limit of its reader: with its bytes what keeps them, so that empty
    /// messages are limited as well.
    var cost: Int {
        switch self {
        case .response(let response): response.body.count + Self.overhead
        case .bytes(let bytes): bytes.count + Self.overhead
        case .ping(let payload): payload.count + Self.overhead
        case .head, .acceptance, .end, .close: Self.overhead
        }
    }

    static let overhead = 64
}

/// The limits of an exchange.
struct ExchangeLimits: Sendable {
    /// The cost from which on a writer is told that the buffer is full.
    var bufferedByteCount: Int
    /// The bytes of unread messages from which on no more are read.
    var inboxByteCount: Int
}
