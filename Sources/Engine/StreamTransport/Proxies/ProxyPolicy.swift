/// The choice of a proxy for each connection: none, one for all, or those that the environment names.
///
/// An immutable value. Its description is redacted.
package struct ProxyPolicy: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private typealias Proxy = Result<ProxyServer, TransportFailure>

    /// The proxy for `http` and `ws`; nil without one.
    private let plain: Proxy?
    /// The proxy for `https` and `wss`; nil without one.
    private let secure: Proxy?
    private let exceptions: ProxyExceptions

    /// The policy without a proxy.
    package static let none = ProxyPolicy(plain: nil, secure: nil, exceptions: ProxyExceptions(""))

    /// Returns a policy with one proxy for every connection.
    ///
    /// An empty URL is invalid: the caller asked for a proxy, so no connection is made directly.
    package static func url(_ url: String) -> ProxyPolicy {
        let proxy = Result { () throws(TransportFailure) in try ProxyServer(url: url) }
        return ProxyPolicy(plain: proxy, secure: proxy, exceptions: ProxyExceptions(""))
    }

    /// Returns a policy with the proxies that environment variables name.
    ///
    /// - `https_proxy`, `HTTPS_PROXY` for `https` and `wss`; `http_proxy`, `HTTP_PROXY` for `http` and `ws`.
    /// - `all_proxy`, `ALL_PROXY` where the variable of the scheme is not set.
    /// - `no_proxy`, `NO_PROXY` lists servers that are connected to directly.
    ///
    /// The lower-case spelling takes precedence, as in curl and Python: it is the older one, and the only one of
    /// `http_proxy` that is safe. A variable that is set and empty means no proxy, and no other variable is read.
    ///
    /// Where `REQUEST_METHOD` is set, `HTTP_PROXY` is ignored: in a CGI program it is the client's field `Proxy` (RFC
    /// 3875 section 4.1.18).
    package static func environment(_ environment: [String: String]) -> ProxyPolicy {
        let plain = Self.variable(isSecure: false, in: environment).flatMap { environment[$0] }
        let secure = Self.variable(isSecure: true, in: environment).flatMap { environment[$0] }
        let exceptions = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
        return ProxyPolicy(
            plain: plain.flatMap(Self.proxy), secure: secure.flatMap(Self.proxy),
            exceptions: ProxyExceptions(exceptions))
    }

    /// Returns the name of the variable that `environment(_:)` reads for a scheme, which may be empty; nil when none is
    /// set.
    package static func variable(isSecure: Bool, in environment: [String: String]) -> String? {
        var names = isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        if !isSecure, environment["REQUEST_METHOD"] == nil { names.append("HTTP_PROXY") }
        return (names + ["all_proxy", "ALL_PROXY"]).first { environment[$0] != nil }
    }

    /// Returns a policy with this proxy for every connection.
    package static func server(_ proxy: ProxyServer) -> ProxyPolicy {
        ProxyPolicy(plain: .success(proxy), secure: .success(proxy), exceptions: ProxyExceptions(""))
    }

    private init(plain: Proxy?, secure: Proxy?, exceptions: ProxyExceptions) {
        self.plain = plain
        self.secure = secure
        self.exceptions = exceptions
    }

    /// Returns the proxy that a variable names; nil for an empty one, which means no proxy.
    private static func proxy(_ url: String) -> Proxy? {
        guard !url.utf8[...].trimmed.isEmpty else { return nil }
        return Result { () throws(TransportFailure) in try ProxyServer(url: url) }
    }

    /// Returns the proxy for an endpoint; throws when its URL cannot be used.
    package func proxy(for endpoint: TransportEndpoint) throws(TransportFailure) -> ProxyServer? {
        guard let proxy = endpoint.isSecure ? self.secure : self.plain else { return nil }
        if self.exceptions.contains(host: endpoint.host, port: endpoint.port) { return nil }
        return try proxy.get()
    }

    /// Fixed text, because the policy may contain credentials.
    package var description: String { "ProxyPolicy(redacted)" }
    /// Fixed text, because the policy may contain credentials.
    package var debugDescription: String { self.description }
    /// No children, because the policy may contain credentials.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
