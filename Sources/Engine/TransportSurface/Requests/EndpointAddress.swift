package import PlatformFoundation
package import StreamTransport

extension TransportEndpoint {
    /// Creates the address of a document below a base URL; nil when the URL has no host, or a scheme other than http,
    /// https, ws and wss.
    ///
    /// Of two queries the path's own comes first. A path that begins with `/../` omits the last segment of the base
    /// URL's path, and so on (RFC 3986 section 5.2.4).
    package init?(baseURL: URL, path: String) {
        var target = baseURL.path(percentEncoded: true)
        var path = path[...]
        while target.hasSuffix("/") { target.removeLast() }
        while path.hasPrefix("/../") {
            path = path.dropFirst(3)
            target = String(target[..<(target.lastIndex(of: "/") ?? target.startIndex)])
        }
        target += path
        if let query = baseURL.query(percentEncoded: true) { target += (path.contains("?") ? "&" : "?") + query }
        self.init(baseURL, target: target)
    }

    /// Returns the fault of a base URL; nil when requests can be sent there.
    package static func fault(ofBaseURL url: URL) -> String? { Self.fault(of: url, named: "baseURL") }

    /// Returns the fault of a URL, which begins with this name; nil when requests can be sent there.
    package static func fault(of url: URL, named name: String) -> String? {
        guard ["http", "https", "ws", "wss"].contains(url.scheme?.lowercased()) else {
            return "\(name) has another scheme than http, https, ws and wss"
        }
        guard let host = url.host(percentEncoded: false), !host.isEmpty else { return "\(name) has no host" }
        guard Self.port(of: url, default: 443) != nil else { return "\(name) has a port that is not from 1 to 65535" }
        return Self.isName(host) || Self.isAddress(host) ? nil : "\(name) has a host that is not a name or an address"
    }

    /// Returns whether a host can be a name (RFC 1123 section 2.1), with the underscores that some names have.
    private static func isName(_ host: String) -> Bool {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        // A name may end with the dot of the root.
        return (labels.last == "" && labels.count > 1 ? labels.dropLast() : labels[...]).allSatisfy { label in
            !label.isEmpty
                && label.utf8.allSatisfy { byte in
                    switch Unicode.Scalar(byte) {
                    case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
                    default: false
                    }
                }
        }
    }

    /// Returns whether a host is an IPv6 address, whose zone (RFC 4007 section 11) the system judges.
    private static func isAddress(_ host: String) -> Bool {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let address = isBracketed ? host.dropFirst().dropLast() : host[...]
        return IPAddress(String(address.prefix { $0 != "%" })) != nil
    }

    /// Creates the address that a URL names; nil as above.
    package init?(url: URL) {
        let path = url.path(percentEncoded: true)
        let query = url.query(percentEncoded: true).map { "?\($0)" } ?? ""
        self.init(url, target: (path.isEmpty ? "/" : path) + query)
    }

    private init?(_ url: URL, target: String) {
        guard let host = url.host(percentEncoded: false), !host.isEmpty else { return nil }
        let isSecure: Bool
        switch url.scheme?.lowercased() {
        case "http", "ws": isSecure = false
        case "https", "wss": isSecure = true
        default: return nil
        }
        guard let port = Self.port(of: url, default: isSecure ? 443 : 80) else { return nil }
        // Brackets belong to the URL's syntax, not to the address (RFC 3986 section 3.2.2).
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        self.init(
            isSecure: isSecure,
            host: isBracketed ? String(host.dropFirst().dropLast()) : host,
            port: port,
            target: target
        )
    }

    /// Returns the port in the URL's text, 1 to 65,535; nil for any other.
    ///
    /// `URL.port` is nil, or another port, where the digits exceed an integer.
    private static func port(of url: URL, default known: UInt16) -> UInt16? {
        let text = url.absoluteString.utf8
        guard let start = text.firstRange(of: "://".utf8)?.upperBound else { return nil }
        let authority = text[start...].prefix { !"/?#".utf8.contains($0) }
        // An IPv6 address has colons inside its brackets (RFC 3986 section 3.2.2), and a password may have some.
        let place = authority[(authority.lastIndex(of: UInt8(ascii: "@")) ?? start)...]
        let rest = place[(place.lastIndex(of: UInt8(ascii: "]")) ?? place.startIndex)...]
        guard let colon = rest.lastIndex(of: UInt8(ascii: ":")) else { return known }
        let digits = rest[rest.index(after: colon)...]
        if digits.isEmpty { return known }
        guard digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let port = UInt16(String(decoding: digits, as: UTF8.self)), port > 0
        else { return nil }
        return port
    }
}
