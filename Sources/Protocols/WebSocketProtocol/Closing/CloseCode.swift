// The status codes of the closing handshake (RFC 6455 section 7.4 and the IANA registry).
// Values without an owner.

/// The status code with which a WebSocket connection was closed.
///
/// Codes that have no name here are kept as they are: 3000–3999 are registered by libraries, 4000–4999 are private.
package struct CloseCode: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    package let rawValue: UInt16

    /// Creates a code of any number, allowed on the wire or not.
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 1000: the purpose of the connection has been fulfilled.
    package static let normalClosure = Self(rawValue: 1000)
    /// 1001: an endpoint is going away.
    package static let goingAway = Self(rawValue: 1001)
    /// 1002: a protocol error.
    package static let protocolError = Self(rawValue: 1002)
    /// 1003: a type of data that the endpoint does not accept.
    package static let unsupportedData = Self(rawValue: 1003)
    /// 1005: the close frame carried no code.
    ///
    /// Never on the wire.
    package static let noStatusReceived = Self(rawValue: 1005)
    /// 1006: the connection ended without a close frame.
    ///
    /// Never on the wire.
    package static let abnormalClosure = Self(rawValue: 1006)
    /// 1007: data that is inconsistent with the type of the message, such as text that is not UTF-8.
    package static let invalidFramePayloadData = Self(rawValue: 1007)
    /// 1009: a message that is too big to process.
    package static let messageTooBig = Self(rawValue: 1009)
    /// 1011: an unexpected condition on the server.
    package static let internalError = Self(rawValue: 1011)

    /// Indicates whether a close frame may carry the code (RFC 6455 sections 7.4.1 and 7.4.2).
    package var isAllowedInFrame: Bool {
        switch self.rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
