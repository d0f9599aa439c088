// Heads of requests (RFC 9112 sections 3 and 5).
// Values without an owner.

/// Writes the head of a request, and refuses input that could end it early or begin a second request.
package enum RequestHead {
    /// A part of a request that must not be sent.
    ///
    /// Field values are not in it: they may be secrets.
    package enum Failure: Error, Equatable, Sendable {
        /// An empty target, one with white space, control characters or bytes outside ASCII, or one for `CONNECT` that
        /// is not a host with a port (RFC 9112 section 3.2).
        case invalidTarget
        /// An empty host, or one with a byte that no host may have (RFC 3986 section 3.2.2).
        case invalidHost
        /// A field name that is no token (RFC 9110 section 5.1).
        case invalidFieldName(String)
        /// A field value with a control character other than HTAB (RFC 9110 section 5.5).
        case invalidFieldValue(name: String)
        /// A `Host` among the fields, where it would be the second one (RFC 9112 section 3.2).
        case secondHost
    }

    /// Returns the head: the request line, `Host`, the fields in their order, and the empty line.
    ///
    /// `target` is the request-target: a path with its query, a whole URI for a proxy, and host and port for `CONNECT`.
    /// `host` is the value of `Host`.
    package static func bytes(
        method: RequestMethod, target: String, host: String, fields: [(name: String, value: String)]
    ) throws(Failure) -> [UInt8] {
        guard Self.isPlain(target), method != .connect || Self.isAuthority(target) else { throw .invalidTarget }
        guard Self.isPlain(host), Self.isHost(host) else { throw .invalidHost }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(
            method.rawValue.utf8.count + target.utf8.count + host.utf8.count + 24
                + fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 })
        bytes += "\(method.rawValue) ".utf8
        bytes += target.utf8
        bytes += " HTTP/1.1\r\n".utf8
        Self.append("Host", host, to: &bytes)
        for field in fields {
            try Self.check(field)
            Self.append(field.name, field.value, to: &bytes)
        }
        bytes += "\r\n".utf8
        return bytes
    }

    private static func append(_ name: String, _ value: String, to bytes: inout [UInt8]) {
        bytes += name.utf8
        bytes += ": ".utf8
        bytes += value.utf8
        bytes += "\r\n".utf8
    }

    private static func check(_ field: (name: String, value: String)) throws(Failure) {
        guard !field.name.isEmpty, field.name.utf8.allSatisfy(\.isTokenByte) else {
            throw .invalidFieldName(field.name)
        }
        guard !field.value.utf8.contains(where: \.isForbiddenInValue) else {
            throw .invalidFieldValue(name: field.name)
        }
        guard !field.name.utf8.elementsEqual("host".utf8, by: { $0.lowercased == $1 }) else { throw .secondHost }
    }

    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }

    private static func isHost(_ text: String) -> Bool { !text.utf8.contains { "/?#@\\".utf8.contains($0) } }

    /// Returns whether the text is a host, a colon and a port (RFC 9112 section 3.2.3).
    private static func isAuthority(_ text: String) -> Bool {
        guard Self.isHost(text), let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return false }
        let port = text.utf8[colon...].dropFirst()
        return colon > text.startIndex && (1...5).contains(port.count) && port.allSatisfy(\.isDigit)
    }
}
