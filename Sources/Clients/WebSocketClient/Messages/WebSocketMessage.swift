/// One message of a WebSocket (RFC 6455 section 5.6), whatever its fragments were.
public enum WebSocketMessage: Sendable, Hashable {
    /// Text, which is UTF-8 on the wire.
    case text(String)
    /// Binary data.
    case binary([UInt8])

    /// The type of a message.
    public enum Kind: Sendable, Hashable, CaseIterable {
        /// Text, which is valid UTF-8.
        case text
        /// Binary data.
        case binary
    }

    /// The type of the message.
    public var kind: Kind {
        switch self {
        case .text: .text
        case .binary: .binary
        }
    }
}
