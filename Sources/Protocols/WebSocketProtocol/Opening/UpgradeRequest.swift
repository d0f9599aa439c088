// The opening handshake of a server, without I/O or hash (RFC 6455 section 4.2).
// Values without an owner.

/// A client's request for a WebSocket.
package struct UpgradeRequest: Equatable, Sendable {
    /// The parts of the request that decide.
    package struct Head: Equatable, Sendable {
        /// The method.
        package var method: String
        /// Indicates whether the version is HTTP/1.1 or a later one of HTTP/1.
        package var isHTTP11: Bool
        /// The value of `Upgrade`; nil when there is none, as with the others.
        package var upgrade: String?
        /// The value of `Connection`.
        package var connection: String?
        /// The values of `Sec-WebSocket-Key`.
        package var keys: [String]
        /// The value of `Sec-WebSocket-Version`.
        package var version: String?
        /// The value of `Sec-WebSocket-Protocol`.
        package var subprotocols: String?

        /// Makes a head.
        package init(
            method: String, isHTTP11: Bool, upgrade: String?, connection: String?, keys: [String], version: String?,
            subprotocols: String?
        ) {
            self.method = method
            self.isHTTP11 = isHTTP11
            self.upgrade = upgrade
            self.connection = connection
            self.keys = keys
            self.version = version
            self.subprotocols = subprotocols
        }
    }

    /// The reason for which a request for a WebSocket cannot be accepted.
    package enum Failure: Error, Equatable, Sendable {
        /// A method other than GET, or a key that is not the base64 form of 16 bytes: the answer is 400.
        case malformed
        /// A version other than 13: the answer is 426 with the version (RFC 6455 section 4.4).
        case unsupportedVersion
    }

    /// The value of `Sec-WebSocket-Key`.
    package let key: String
    /// The subprotocols that the client offers, the preferred one first.
    package let subprotocols: [String]

    /// Reads a request; nil for one that asks for no WebSocket, which is an ordinary request.
    package static func read(_ head: Head) throws(Failure) -> Self? {
        let isUpgrade = Self.has("websocket", in: head.upgrade) && Self.has("upgrade", in: head.connection)
        // RFC 9110 section 7.8: `Upgrade` in a request of HTTP/1.0 is ignored.
        guard isUpgrade, head.isHTTP11 else { return nil }
        guard head.method == "GET" else { throw .malformed }
        guard let version = head.version, FieldValue.trimmed(version[...]) == "13" else { throw .unsupportedVersion }
        guard head.keys.count == 1, let key = head.keys.first, Self.isKey(key) else { throw .malformed }
        return Self(key: key, subprotocols: FieldValue.tokens(of: head.subprotocols ?? ""))
    }

    /// The input of the SHA-1 digest; base64 of the digest is the value of `Sec-WebSocket-Accept`.
    package var acceptInput: String { self.key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" }

    private static func has(_ word: String, in list: String?) -> Bool {
        FieldValue.tokens(of: list ?? "").contains { FieldValue.isEqual($0, word) }
    }

    /// Returns whether the text is base64 of 16 bytes: 22 digits, the last with four bits, and two of padding.
    private static func isKey(_ key: String) -> Bool {
        let bytes = Array(key.utf8)
        let isDigit: (UInt8) -> Bool = { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                true
            default: false
            }
        }
        return bytes.count == 24 && bytes[..<22].allSatisfy(isDigit)
            && bytes[22...].allSatisfy { $0 == UInt8(ascii: "=") }
    }
}
