package import PlatformFoundation
import StreamSession
package import StreamTransport

/// The scheme of the address to which a request was sent, which decides the advice about its port, and the server in it.
///
/// A value without an owner.
package struct RequestScheme: Sendable, Equatable {
    /// The address, as the program has given it.
    package enum Address: Sendable {
        /// An engine's base URL, with `http` or `https`.
        case baseURL
        /// The URL of a request, with `http` or `https`.
        case url
        /// The URL of a WebSocket, with `ws` or `wss`.
        case webSocketURL
    }

    /// Indicates whether the request goes through TLS.
    package let isSecure: Bool
    /// The address.
    package let address: Address
    /// The host, as in the address, with the port unless that is the scheme's own; nil for an unknown one.
    package let server: String?

    /// Creates the scheme of an address.
    package init(isSecure: Bool, of address: Address, server: String? = nil) {
        self.isSecure = isSecure
        self.address = address
        self.server = server
    }

    /// Creates the scheme of an endpoint's address.
    package init(_ endpoint: TransportEndpoint, of address: Address) {
        // An IPv6 address has brackets in a URL (RFC 3986 section 3.2.2).
        let host = endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host
        let isUsual = endpoint.port == (endpoint.isSecure ? 443 : 80)
        self.init(
            isSecure: endpoint.isSecure, of: address, server: isUsual ? host : "\(host):\(endpoint.port)")
    }

    /// Creates the scheme of an engine's base URL; nil for one that cannot be used.
    package init?(baseURL: URL) {
        guard let endpoint = TransportEndpoint(baseURL: baseURL, path: "") else { return nil }
        self.init(endpoint, of: .baseURL)
    }

    /// The clause about an address with the other scheme.
    var otherWords: String {
        switch self.address {
        case .baseURL: "the base URL begins with \(self.isSecure ? "http" : "https")"
        case .url: "the URL begins with \(self.isSecure ? "http" : "https")"
        case .webSocketURL: "the URL begins with \(self.isSecure ? "ws" : "wss")"
        }
    }
}

extension ChappieTransportFailure {
    /// Indicates whether the server may speak TLS where it was not asked for, or the other way round.
    ///
    /// A server with TLS seldom answers plain HTTP in a way that differs from a broken connection. A server without TLS
    /// answers a handshake with something else, or not at all, and never with an alert (RFC 8446 section 6). Output
    /// that was delivered before has come through the same port.
    var mayNeedOtherScheme: Bool {
        guard let scheme = self.details.scheme else { return false }
        switch self.replaySafety {
        case .notSent, .sentNoOutput: break
        case .outputDelivered, .completed: return false
        }
        return switch (self.code, self.phase) {
        case (.tlsHandshakeFailed, .tls): scheme.isSecure && self.details.systemCode == nil
        case (.connectionLost, .upgrade): !scheme.isSecure && self.details.receivedByteCount == 0
        case (.notHTTP, .upgrade): !scheme.isSecure
        default: false
        }
    }
}
