package import LibwebsocketsTransport
import PlatformFoundation
import StreamSession
package import StreamTransport

/// The requests with which a path is examined: the engine's own, with its address, fields, limits and proxy.
///
/// An immutable value. Its description is redacted.
package struct ProbeRequests: Sendable, CustomStringConvertible {
    private let configuration: ChappieTransportConfiguration
    private let environment: [String: String]
    /// The address of a request for a response.
    package let endpoint: TransportEndpoint

    /// Creates the requests of a configuration; throws when no request can be sent with it.
    package init(_ configuration: ChappieTransportConfiguration) throws(ChappieArgumentError) {
        let configuration = configuration.bounded
        if let fault = configuration.fault { throw ChappieArgumentError("configuration", "cannot be used: \(fault)") }
        guard let endpoint = TransportEndpoint(baseURL: configuration.baseURL, path: configuration.dialect.path) else {
            throw ChappieArgumentError("configuration", "cannot be used: baseURL is not an address")
        }
        self.configuration = configuration
        self.endpoint = endpoint
        self.environment = ProcessInfo.processInfo.environment
    }

    /// The transport of the engine.
    package var transport: LibwebsocketsTransport {
        LibwebsocketsTransport(tls: self.configuration.tls, proxies: .policy(self.configuration.proxy))
    }

    /// Returns the engine's transport through this proxy for every connection; nil for none.
    package func transport(through proxy: ProxyServer?) -> LibwebsocketsTransport {
        LibwebsocketsTransport(tls: self.configuration.tls, proxies: proxy.map { .server($0) } ?? .none)
    }

    /// Returns the proxy for the server, or nil for none; throws when its URL cannot be used.
    package func proxy() throws(TransportFailure) -> ProxyServer? {
        try ProxyPolicy.policy(self.configuration.proxy).proxy(for: self.endpoint)
    }

    /// The name of the variable that names the proxy for the URL's scheme; nil where the environment does not count, or
    /// names none.
    package var proxyVariable: String? { self.proxyVariable(isSecure: self.endpoint.isSecure) }

    /// The name of the variable that names a proxy for the other scheme only; nil as above.
    package var otherSchemeVariable: String? { self.proxyVariable(isSecure: !self.endpoint.isSecure) }

    private func proxyVariable(isSecure: Bool) -> String? {
        guard self.configuration.proxy == .environment,
            let name = ProxyPolicy.variable(isSecure: isSecure, in: self.environment),
            let value = self.environment[name], !value.allSatisfy(\.isWhitespace)
        else { return nil }
        return name
    }

    /// The path of the file of trust anchors; nil when they are the system's.
    package var trustFile: String? {
        switch self.configuration.tls.trust {
        case .file(let path): path
        case .system: self.environment["SSL_CERT_FILE"].flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    /// Returns the credential of the configuration; nil without one, or when its source fails.
    package func credential(
        for request: ChappieTransportConfiguration.CredentialRequest = .connecting
    ) async throws(CancellationError) -> ChappieCredential? {
        let source = self.configuration.credential
        do {
            let credential = try await ProgramTask { try await source(request) }.result().get()
            return credential?.fault == nil ? credential : nil
        } catch {
            // A source reports about the account, and not about the path.
            if Task.isCancelled { throw CancellationError() }
            return nil
        }
    }

    /// Returns the GET for a document, or for the path of the responses when `path` is nil.
    ///
    /// It has not the caller's fields where no credential is sent: they may be secrets too.
    package func document(
        at path: String? = nil, credential: ChappieCredential?, capturing names: [String]
    ) -> TransportRequest? {
        var request = self.builder(credential).document(at: path ?? self.configuration.dialect.path)
        request?.capturedFieldNames = names
        return request
    }

    /// Returns the GET for a document of a probe server below the base URL, of the given media type.
    package func probe(at path: String, accepting type: String) -> TransportRequest? {
        var request = self.document(at: path, credential: nil, capturing: ["content-type"])
        request?.fields.removeAll { $0.name.lowercased() == "accept" }
        request?.fields.append(HTTPField("Accept", type))
        // A silence is what a probe server is asked for.
        request?.timeouts.pingInterval = nil
        return request
    }

    /// Returns a POST for a response without content, in which no server finds a request to a model.
    package func emptyPost(credential: ChappieCredential?, capturing names: [String]) -> TransportRequest? {
        var request = self.builder(credential).document(at: self.configuration.dialect.path, content: [])
        request?.capturedFieldNames = names
        return request
    }

    /// Returns the opening handshake, with or without the configuration's offer of compression; nil when the policy
    /// never opens a WebSocket.
    package func upgrade(
        credential: ChappieCredential?, isCompressed: Bool, capturing names: [String]
    ) -> TransportRequest? {
        guard self.configuration.policy.prefersWebSocket, var request = self.builder(credential).upgrade() else {
            return nil
        }
        if !isCompressed { request.exchange = .webSocket(compression: nil) }
        request.capturedFieldNames = names
        return request
    }

    /// Indicates whether the configuration offers compression on a WebSocket.
    package var offersCompression: Bool {
        self.configuration.offersCompression && self.configuration.webSocketCompression.offer != nil
    }

    /// Indicates whether the policy opens WebSockets.
    package var opensWebSockets: Bool { self.configuration.policy.prefersWebSocket }

    private func builder(_ credential: ChappieCredential?) -> TransportRequestBuilder {
        var configuration = self.configuration
        if credential == nil { configuration.additionalFields = [] }
        return TransportRequestBuilder(configuration: configuration, credential: credential)
    }

    /// Fixed text, because the configuration may contain credentials.
    package var description: String { "ProbeRequests(redacted)" }
}
