import StreamSession
import StreamTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension TransportEndpoint {
    /// The place of `responses`, or of another document, below a base URL; nil when the URL has no host, or a scheme
    /// that is none of http, https, ws and wss.
    ///
    /// Of two queries the path's own goes first.
    init?(baseURL: URL, path: String = "/responses") {
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
        target += path
        if let query = baseURL.query(percentEncoded: true) { target += (path.contains("?") ? "&" : "?") + query }
        // Brackets belong to the URL's syntax, not to the address (RFC 3986 section 3.2.2).
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        self.init(
            isSecure: isSecure,
            host: isBracketed ? String(host.dropFirst().dropLast()) : host,
            port: port,
            target: target
        )
    }

    /// The place of a response, and where in it to go on.
    mutating func resume(at cursor: ResumeCursor) {
        let parts = self.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let id = Self.pathSegment(cursor.responseID)
        var query = "stream=true"
        if let number = cursor.lastSequenceNumber { query += "&starting_after=\(number)" }
        if parts.count > 1 { query += "&" + parts[1] }
        self.target = "\(parts[0])/\(id)?\(query)"
    }

    /// Percent-encodes everything but the unreserved characters (RFC 3986 section 2.3).
    private static func pathSegment(_ text: String) -> String {
        text.utf8.reduce(into: "") { segment, byte in
            let scalar = Unicode.Scalar(byte)
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~": segment.unicodeScalars.append(scalar)
            default: segment += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
    }
}
