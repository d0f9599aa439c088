import PlatformFoundation
package import StreamTransport

/// The choice of the proxy for connections, WebSockets and HTTP alike.
///
/// A proxy is asked for a tunnel to every server, with or without TLS, and looks up the server's name except for
/// `socks5`:
///
/// - `http` by CONNECT (RFC 9110 section 9.3.6), port 80 unless the URL says otherwise;
/// - `https` by CONNECT inside TLS, port 443. The proxy's certificate is verified for the host in the URL, with the
///   trust anchors and the oldest version of ``ChappieTLSPolicy``; pinned keys and the client's certificate are for the
///   server;
/// - `socks5` and `socks5h` by SOCKS 5 (RFC 1928), port 1080. For `socks5` the server's name is looked up here.
///
/// Its description is redacted.
public enum ChappieProxyPolicy: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The proxies that the environment names when the instance is made.
    ///
    /// `HTTPS_PROXY` is for `https`, `HTTP_PROXY` for `http`, `ALL_PROXY` for the schemes without one of these, and
    /// `NO_PROXY` has the servers that are connected to directly: names (with the names below them), addresses, CIDR
    /// blocks, each with a port or without, or `*`. Lower-case spellings have precedence.
    case environment
    /// No proxy.
    case none
    /// This one, for every server: `SCHEME://[USER[:PASSWORD]@]HOST[:PORT]`, `http` without a scheme.
    ///
    /// User name and password are percent-encoded; for SOCKS (RFC 1929) they have at most 255 bytes each. An empty URL,
    /// like any other that cannot be used, fails the turn with `proxy.invalid`: no direct connection is made.
    case url(String)

    /// A description without the URL.
    public var description: String {
        switch self {
        case .environment: "environment"
        case .none: "none"
        case .url: "url(redacted)"
        }
    }

    /// A description without the URL.
    public var debugDescription: String { self.description }
    /// A mirror without the URL.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension ChappieProxyPolicy {
    /// The passwords of the proxies, with the current environment: in their written form, behind the user name, and as
    /// they are sent (RFC 7617 section 2).
    ///
    /// A proxy is an intermediary, so it can put them into an apparent answer of the server.
    package var secrets: [String] {
        switch self {
        case .environment:
            ProcessInfo.processInfo.environment.filter { $0.key.lowercased().hasSuffix("_proxy") }
                .flatMap { Self.secrets(of: $0.value) }
        case .none: []
        case .url(let url): Self.secrets(of: url)
        }
    }

    private static func secrets(of url: String) -> [String] {
        guard let proxy = try? ProxyServer(url: url), let credential = proxy.credential else { return [] }
        let decoded = String(decoding: credential.password, as: UTF8.self)
        let written = url.prefix(upTo: url.lastIndex(of: "@") ?? url.startIndex)
        let userInformation = written.firstRange(of: "://").map { written[$0.upperBound...] } ?? written
        let password = userInformation.firstIndex(of: ":").map { String(userInformation[$0...].dropFirst()) }
        let sent: [String] =
            switch proxy.scheme {
            case .http, .https:
                FieldSecrets.secrets(of: (name: "Proxy-Authorization", value: credential.basicAuthorization))
            case .socks5: []
            }
        return sent + [decoded, password].compactMap(\.self)
    }
}

extension ProxyPolicy {
    /// Returns the policy, with the current environment.
    package static func policy(_ policy: ChappieProxyPolicy) -> ProxyPolicy {
        switch policy {
        case .environment: .environment(ProcessInfo.processInfo.environment)
        case .none: .none
        case .url(let url): .url(url)
        }
    }
}
