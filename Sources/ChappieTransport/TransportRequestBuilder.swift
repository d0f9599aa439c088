import ResponseEvents
import StreamSession
import StreamTransport

/// Makes the transport's request from the configuration and the credential.
struct TransportRequestBuilder {
    let configuration: ChappieTransportConfiguration
    let credential: ChappieCredential?
    /// A request of its own, such as an opening handshake that no turn waits for, has a name of its own.
    var identity = RequestIdentity()

    /// Fields of a response that the engine looks at.
    static let capturedFieldNames =
        [
            "content-type", "x-request-id", "x-oai-request-id", "retry-after", "retry-after-ms", "traceresponse",
            "traceparent",
        ]
        + UsageLimitHeaders.fieldNames

    /// The upgrade to a WebSocket; nil when the base URL cannot be used.
    func upgrade() -> TransportRequest? {
        let compression = self.configuration.offersCompression ? self.configuration.webSocketCompression.offer : nil
        return self.request(.webSocket(compression: compression), for: .webSocket)
    }

    /// The request over HTTP; nil when the base URL cannot be used.
    func post(_ body: [UInt8]) -> TransportRequest? { self.request(.post(body: body), for: .httpSSE) }

    /// Asks for the events of a response behind a place; nil when the base URL cannot be used.
    func resumption(at cursor: ResumeCursor) -> TransportRequest? {
        var request = self.request(.get, for: .httpSSE)
        request?.endpoint.resume(at: cursor)
        return request
    }

    private func request(_ exchange: TransportRequest.Exchange, for kind: ChappieTransportKind) -> TransportRequest? {
        guard let endpoint = TransportEndpoint(baseURL: self.configuration.baseURL) else { return nil }
        var request = TransportRequest(
            endpoint: endpoint,
            exchange: exchange,
            fields: self.fields(for: kind, hasBody: exchange.hasBody),
            capturedFieldNames: Self.capturedFieldNames
        )
        request.limits.messageByteCount = max(0, self.configuration.limits.eventByteCount)
        request.limits.highWatermark = self.configuration.limits.highWatermark
        request.limits.lowWatermark = self.configuration.limits.lowWatermark
        request.timeouts.connect = self.configuration.timeouts.connect
        request.timeouts.pingInterval = self.configuration.timeouts.pingInterval
        request.timeouts.pongTimeout = self.configuration.timeouts.pongTimeout
        return request
    }

    /// No field twice: the credential and the request's name go before the caller's fields, and those before the
    /// engine's own.
    private func fields(for kind: ChappieTransportKind, hasBody: Bool) -> [HTTPField] {
        let identity = self.identityFields + self.identity.fields
        let additional = self.configuration.additionalFields.map { HTTPField($0.name, $0.value) }
            .filter { field in !identity.contains { $0.hasName(of: field) } }
        let own = self.ownFields(for: kind, hasBody: hasBody).filter { field in
            !additional.contains { $0.hasName(of: field) }
        }
        return identity + own + additional
    }

    private var identityFields: [HTTPField] {
        guard let credential = self.credential else { return [] }
        let account = credential.accountID.map { [HTTPField("ChatGPT-Account-ID", $0)] } ?? []
        return [HTTPField("Authorization", "Bearer \(credential.bearerToken)")] + account
    }

    private func ownFields(for kind: ChappieTransportKind, hasBody: Bool) -> [HTTPField] {
        var fields = [HTTPField("User-Agent", "chappie-transport/\(ChappieTransportVersion.current)")]
        switch kind {
        case .webSocket:
            fields.append(HTTPField("OpenAI-Beta", "responses_websockets=2026-02-06"))
        case .httpSSE:
            fields.append(HTTPField("Accept", "text/event-stream"))
            if hasBody { fields.append(HTTPField("Content-Type", "application/json")) }
            if self.configuration.offersCompression { fields.append(HTTPField("Accept-Encoding", "gzip, deflate")) }
        }
        return fields
    }
}

extension TransportRequest.Exchange {
    fileprivate var hasBody: Bool {
        switch self {
        case .post: true
        case .webSocket, .get: false
        }
    }
}

extension HTTPField {
    /// Field names are compared without regard to case (RFC 9110 section 5.1).
    fileprivate func hasName(of other: HTTPField) -> Bool { self.name.lowercased() == other.name.lowercased() }
}

/// The version of this package.
public enum ChappieTransportVersion {
    /// Semantic versioning 2.0.0.
    public static let current = "0.1.0"
}
