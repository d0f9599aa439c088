import ResponseEvents
import StreamTransport

/// Makes the transport's request from the configuration and the credential.
struct TransportRequestBuilder {
    let configuration: ChappieTransportConfiguration
    let credential: ChappieCredential?

    /// Fields of a response that the engine looks at.
    static let capturedFieldNames =
        ["content-type", "x-request-id", "x-oai-request-id", "retry-after", "retry-after-ms"]
        + UsageLimitHeaders.fieldNames

    /// The request of one attempt; nil when the base URL cannot be used.
    func request(for kind: ChappieTransportKind, body: [UInt8]) -> TransportRequest? {
        guard let endpoint = TransportEndpoint(baseURL: self.configuration.baseURL) else { return nil }
        var request = TransportRequest(
            endpoint: endpoint,
            exchange: kind == .webSocket
                ? .webSocket(offersCompression: self.configuration.offersCompression) : .post(body: body),
            fields: self.fields(for: kind),
            capturedFieldNames: Self.capturedFieldNames
        )
        request.limits.messageByteCount = self.configuration.limits.eventByteCount
        request.limits.highWatermark = self.configuration.limits.highWatermark
        request.limits.lowWatermark = self.configuration.limits.lowWatermark
        request.timeouts.connect = self.configuration.timeouts.connect
        request.timeouts.pingInterval = self.configuration.timeouts.pingInterval
        request.timeouts.pongTimeout = self.configuration.timeouts.pongTimeout
        return request
    }

    private func fields(for kind: ChappieTransportKind) -> [HTTPField] {
        var fields: [HTTPField] = []
        if let credential = self.credential {
            fields.append(HTTPField("Authorization", "Bearer \(credential.bearerToken)"))
            if let account = credential.accountID { fields.append(HTTPField("ChatGPT-Account-ID", account)) }
        }
        let additional = self.configuration.additionalFields.map { HTTPField($0.name, $0.value) }
        if !additional.contains(where: { $0.name.lowercased() == "user-agent" }) {
            fields.append(HTTPField("User-Agent", "chappie-transport/\(ChappieTransportVersion.current)"))
        }
        switch kind {
        case .webSocket:
            fields.append(HTTPField("OpenAI-Beta", "responses_websockets=2026-02-06"))
        case .httpSSE:
            fields.append(HTTPField("Accept", "text/event-stream"))
            fields.append(HTTPField("Content-Type", "application/json"))
            if self.configuration.offersCompression { fields.append(HTTPField("Accept-Encoding", "gzip, deflate")) }
        }
        return fields + additional
    }
}

/// The version of this package.
public enum ChappieTransportVersion {
    /// Semantic versioning 2.0.0.
    public static let current = "0.1.0"
}
