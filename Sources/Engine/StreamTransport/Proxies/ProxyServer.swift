/// A proxy that is asked for a tunnel to the server, by CONNECT (RFC 9110 section 9.3.6) or by SOCKS 5 (RFC 1928).
///
/// Its description never contains the credential.
package struct ProxyServer: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The protocol that the proxy speaks.
    package enum Scheme: String, Sendable, Hashable, CaseIterable {
        /// CONNECT over TCP.
        case http
        /// CONNECT inside TLS, whose certificate is verified for the proxy's host.
        case https
        /// SOCKS 5 over TCP.
        case socks5

        /// The port of a URL without one.
        ///
        /// For `http` and `https` it is that of the scheme (RFC 9110 sections 4.2.1 and 4.2.2), where curl takes 1080
        /// for `http`; 1080 is the port of SOCKS (RFC 1928 section 3).
        package var defaultPort: UInt16 {
            switch self {
            case .http: 80
            case .https: 443
            case .socks5: 1080
            }
        }
    }

    /// The protocol that the proxy speaks.
    package let scheme: Scheme
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    package let host: String
    /// The port, 1–65,535.
    package let port: UInt16
    /// The login; nil without one.
    package let credential: Credential?

    /// Indicates whether the proxy is given the server's name; otherwise it is given an address that was looked up
    /// here.
    package let resolvesNames: Bool

    /// Creates a proxy.
    package init(
        scheme: Scheme = .http, host: String, port: UInt16, credential: Credential? = nil, resolvesNames: Bool = true
    ) {
        self.scheme = scheme
        self.resolvesNames = resolvesNames
        self.host = host
        self.port = port
        self.credential = credential
    }

    /// The host and the port only.
    package var description: String { "\(self.host):\(self.port)" }
    /// The host and the port only.
    package var debugDescription: String { self.description }
    /// No children.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
