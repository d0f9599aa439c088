package import StreamTransport

/// WebSocket and HTTP connections by libwebsockets, on service threads of the process.
package struct LibwebsocketsTransport: StreamTransport {
    private let tls: TLSPolicy
    private let proxies: any ProxySelection

    /// A transport; a service thread starts with its first connection.
    package init(tls: TLSPolicy = TLSPolicy(), proxies: any ProxySelection = DirectConnection()) {
        self.tls = tls
        self.proxies = proxies
    }

    package func connect(_ request: TransportRequest) -> any TransportConnection {
        LibwebsocketsConnection(request: request, way: self.way(to: request.endpoint), service: .shared)
    }

    private func way(to endpoint: TransportEndpoint) -> Result<Way, TransportFailure> {
        Result { () throws(TransportFailure) in
            Way(tls: endpoint.isSecure ? self.tls : nil, proxy: try self.proxies.proxy(for: endpoint))
        }
    }
}

/// How a connection gets to its endpoint.
struct Way: Sendable, Hashable {
    /// Nil for a connection without TLS.
    var tls: TLSPolicy?
    /// Nil for a direct connection.
    var proxy: ProxyServer?
}
