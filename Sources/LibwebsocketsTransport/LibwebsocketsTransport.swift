package import StreamTransport

/// Which certification authorities a connection trusts.
package enum TrustAnchors: Sendable, Hashable {
    /// The system's, or those of the file that `SSL_CERT_FILE` names.
    case system
    /// Those in a PEM file, and no others.
    case file(path: String)
}

/// WebSocket and HTTP connections by libwebsockets, all on one service thread of the process.
package struct LibwebsocketsTransport: StreamTransport {
    private let trust: TrustAnchors

    /// A transport; the service thread starts with the first connection.
    package init(trust: TrustAnchors = .system) {
        self.trust = trust
    }

    package func connect(_ request: TransportRequest) -> any TransportConnection {
        LibwebsocketsConnection(request: request, trust: self.trust, service: .shared)
    }
}
