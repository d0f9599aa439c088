/// A proxy that is asked for a tunnel to the server (RFC 9110 section 9.3.6).
///
/// Its description never has the credential.
package struct ProxyServer: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    package let host: String
    /// 1–65,535.
    package let port: UInt16
    /// The value of `Proxy-Authorization`, such as `Basic …` (RFC 7617); nil when the proxy wants none.
    package let authorization: String?

    /// A proxy.
    package init(host: String, port: UInt16, authorization: String? = nil) {
        self.host = host
        self.port = port
        self.authorization = authorization
    }

    /// Where it is, and no more.
    package var description: String { "\(self.host):\(self.port)" }
    /// Where it is, and no more.
    package var debugDescription: String { self.description }
    /// Nothing.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
