// The opcodes of RFC 6455 section 5.2.
// Values without an owner.

/// The type of a frame.
package enum Opcode: UInt8, Sendable {
    /// A further fragment of a message.
    case continuation = 0x0
    /// A text message, or its first fragment.
    case text = 0x1
    /// A binary message, or its first fragment.
    case binary = 0x2
    /// The close frame.
    case close = 0x8
    /// A ping.
    case ping = 0x9
    /// A pong, solicited or not.
    case pong = 0xA

    /// Indicates whether this is a control frame: never fragmented, never longer than 125 bytes (RFC 6455 section 5.5).
    package var isControl: Bool { self.rawValue & 0x8 != 0 }

    /// The longest payload of a control frame (RFC 6455 section 5.5).
    package static let controlPayloadLimit = 125
}
