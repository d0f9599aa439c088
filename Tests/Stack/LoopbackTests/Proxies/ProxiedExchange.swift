import LibwebsocketsTransport
import StreamTransport

/// An exchange with a server that is not there, `origin.invalid:4433`, through a proxy that is a `RawServer`.
enum ProxiedExchange: CaseIterable, Sendable {
    case webSocket, post, get

    private var exchange: TransportRequest.Exchange {
        switch self {
        case .webSocket: .webSocket(offersCompression: false)
        case .post: .post(body: Array("{}".utf8))
        case .get: .get
        }
    }

    /// Connects by the proxy's URL without its port; returns the connection, and its socket at the proxy.
    func connect(
        through server: RawServer, url: String, isSecure: Bool, _ change: (inout TransportRequest) -> Void
    ) async throws -> (connection: any TransportConnection, peer: RawPeer) {
        let endpoint = TransportEndpoint(
            isSecure: isSecure, host: "origin.invalid", port: 4433, target: "/v1/responses")
        var request = TransportRequest(endpoint: endpoint, exchange: self.exchange)
        request.fields = [HTTPField("Authorization", "Bearer secret")]
        change(&request)
        let connection = LibwebsocketsTransport(proxies: ProxyPolicy.url("\(url):\(server.port)")).connect(request)
        return (connection, try await server.accept())
    }
}
