import StreamTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension TransportEndpoint {
    /// The place of `responses` below a base URL; nil when the URL has no host, or a scheme that is none of http,
    /// https, ws and wss.
    init?(baseURL: URL) {
        guard let host = baseURL.host(percentEncoded: false), !host.isEmpty else { return nil }
        let isSecure: Bool
        switch baseURL.scheme?.lowercased() {
        case "http", "ws": isSecure = false
        case "https", "wss": isSecure = true
        default: return nil
        }
        guard let port = UInt16(exactly: baseURL.port ?? (isSecure ? 443 : 80)), port > 0 else { return nil }
        var target = baseURL.path(percentEncoded: true)
        while target.hasSuffix("/") { target.removeLast() }
        target += "/responses"
        if let query = baseURL.query(percentEncoded: true) { target += "?" + query }
        // Brackets belong to the URL's syntax, not to the address (RFC 3986 section 3.2.2).
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        self.init(
            isSecure: isSecure,
            host: isBracketed ? String(host.dropFirst().dropLast()) : host,
            port: port,
            target: target
        )
    }
}
