// The address of a server behind the fault proxy, as it is typed. Pure.
import ChappieTestServer

/// The server behind the proxy.
struct ServeUpstream: Equatable {
    /// Its host and port.
    let endpoint: FaultProxy.Endpoint
    /// The scheme of the address that clients get: `http` or `https`.
    let scheme: String
    /// The path of the address that clients get.
    let path: String

    /// Reads `http`, `https`, `ws` and `wss` URLs, and `HOST:PORT` with or without a path.
    init(_ text: String) throws(UsageError) {
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        let scheme = parts.count == 2 ? parts[0].lowercased() : nil
        let isSecure = try Self.isSecure(scheme, in: text)
        let rest = parts.last ?? ""
        let authority = rest.prefix { $0 != "/" }
        let path = String(rest.dropFirst(authority.count))
        guard !rest.contains(where: { "?#@ ".contains($0) || $0.isNewline }) else {
            throw UsageError("option --upstream takes a URL without user, query and fragment, not '\(text)'")
        }
        self.endpoint = try Self.endpoint(authority, defaultPort: scheme.map { _ in isSecure ? 443 : 80 }, in: text)
        self.scheme = isSecure ? "https" : "http"
        self.path = path.isEmpty ? "/v1" : path
    }

    private static func isSecure(_ scheme: String?, in text: String) throws(UsageError) -> Bool {
        switch scheme {
        case nil, "http", "ws": return false
        case "https", "wss": return true
        case .some(let scheme):
            let nearest = EditDistance.nearest(to: scheme, among: ["http", "https", "ws", "wss"]) ?? "http"
            throw UsageError("option --upstream takes no \(scheme) URL; did you mean \(nearest)?")
        }
    }

    private static func endpoint(
        _ authority: Substring, defaultPort: Int?, in text: String
    ) throws(UsageError) -> FaultProxy.Endpoint {
        let isBracketed = authority.hasPrefix("[")
        let hostEnd = isBracketed ? authority.firstIndex(of: "]") : authority.lastIndex(of: ":") ?? authority.endIndex
        guard let hostEnd else { throw UsageError("option --upstream has an address without its ']': '\(text)'") }
        let host = isBracketed ? authority[..<hostEnd].dropFirst() : authority[..<hostEnd]
        let tail = isBracketed ? authority[hostEnd...].dropFirst() : authority[hostEnd...]
        guard !host.isEmpty, isBracketed || !host.contains(":") else {
            throw UsageError("option --upstream needs a URL or HOST:PORT, not '\(text)'; IPv6 goes in brackets")
        }
        if tail.isEmpty, let defaultPort { return .init(host: String(host), port: defaultPort) }
        guard tail.hasPrefix(":"), let port = Int(tail.dropFirst()), (1...65_535).contains(port) else {
            throw UsageError("option --upstream needs a port from 1 to 65535, not '\(text)'")
        }
        return .init(host: String(host), port: port)
    }
}
