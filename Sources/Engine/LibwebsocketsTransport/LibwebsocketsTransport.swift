package import StreamTransport

/// WebSocket and HTTP connections on service threads of the process, whose event loop is libwebsockets'.
package struct LibwebsocketsTransport: StreamTransport {
    private let tls: ChappieTLSPolicy
    private let proxies: ProxyPolicy
    private let serviceThreadCount: Int
    private let pool: ServicePool

    /// Creates a transport on the first `serviceThreadCount` service threads of the process, 1 to 64.
    ///
    /// A thread starts with its first connection.
    package init(
        tls: ChappieTLSPolicy = ChappieTLSPolicy(), proxies: ProxyPolicy = .none, serviceThreadCount: Int = 1
    ) {
        self.init(tls: tls, proxies: proxies, serviceThreadCount: serviceThreadCount, pool: .shared)
    }

    /// Creates a transport on threads of its own.
    init(
        tls: ChappieTLSPolicy = ChappieTLSPolicy(), proxies: ProxyPolicy = .none, serviceThreadCount: Int = 1,
        pool: ServicePool
    ) {
        self.tls = tls
        self.proxies = proxies
        self.serviceThreadCount = serviceThreadCount
        self.pool = pool
    }

    package func connect(_ request: TransportRequest) -> any TransportConnection { self.connection(for: request) }

    /// Starts an exchange that asks for a WebSocket, and returns at once.
    package func openWebSocket(_ request: TransportRequest) -> any OwnedWebSocket { self.connection(for: request) }

    private func connection(for request: TransportRequest) -> LibwebsocketsConnection {
        LibwebsocketsConnection(
            request: request, route: self.route(to: request.endpoint),
            service: self.pool.service(among: self.serviceThreadCount))
    }

    /// The executor of one of the service threads, in turn.
    package var consumerExecutor: (any TaskExecutor)? { self.pool.service(among: self.serviceThreadCount) }

    /// Does the same as `connect(_:)`, and calls `observer` at the end of the TLS handshake with the server: on the
    /// service thread, so that it has to return at once.
    package func connect(
        _ request: TransportRequest, observer: @escaping @Sendable (TLSOutcome) -> Void
    ) -> any TransportConnection {
        LibwebsocketsConnection(
            request: request, route: self.route(to: request.endpoint),
            service: self.pool.service(among: self.serviceThreadCount), observer: observer)
    }

    /// Waits until the current closing handshakes are over; their sockets are closed after `duration`.
    ///
    /// A process that exits earlier resets the sockets that have unread bytes.
    package static func finishClosing(within duration: Duration) async {
        await ServicePool.shared.finishClosing(within: duration)
    }

    private func route(to endpoint: TransportEndpoint) -> Result<Route, TransportFailure> {
        Result { () throws(TransportFailure) in
            let proxy = try self.proxies.proxy(for: endpoint)
            return Route(
                tls: endpoint.isSecure ? self.tls : nil, proxy: proxy,
                proxyTLS: proxy?.scheme == .https ? self.tls.ofProxies : nil)
        }
    }
}

/// The route of a connection to its endpoint.
struct Route: Sendable, Hashable {
    /// Nil for a connection without TLS.
    var tls: ChappieTLSPolicy?
    /// Nil for a direct connection.
    var proxy: ProxyServer?
    /// Nil for a connection to the proxy without TLS.
    var proxyTLS: ChappieTLSPolicy?
}
