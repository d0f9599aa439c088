import ResponseEvents
import StreamSession
import StreamTransport
import TransportSurface

/// Creates the transport's request from the configuration and the credential.
struct TransportRequestBuilder {
    let configuration: ChappieTransportConfiguration
    let credential: ChappieCredential?
    /// The turn state that the server requires in every request of the turn.
    var turnState: String?
    /// The names of the request; one outside a turn, such as a background handshake, has its own.
    var identity = RequestIdentity()

    /// The response fields that the engine evaluates.
    static let capturedFieldNames =
        [
            "content-type", "retry-after", "retry-after-ms", "traceresponse", "traceparent", "content-length",
            "transfer-encoding", "location", DialectFields.turnState,
        ]
        + DialectFields.requestID + UsageLimitHeaders.fieldNames + ChappieRateLimits.fieldNames

    /// Returns the upgrade to a WebSocket; nil when the base URL cannot be used.
    func upgrade(lane: String? = nil) -> TransportRequest? {
        let compression = self.configuration.offersCompression ? self.configuration.webSocketCompression.offer : nil
        var request = self.request(
            .webSocket(compression: compression), for: .webSocket,
            at: self.configuration.webSocketPath)
        request?.subprotocols = self.configuration.webSocketSubprotocol.map { [$0] } ?? []
        request?.lane = lane
        return request
    }

    /// Returns the request over HTTP; nil when the base URL cannot be used.
    func post(_ body: [UInt8]) -> TransportRequest? { self.request(.post(body: body), for: .httpSSE) }

    /// Returns the request for the events of a response behind a position; nil when the base URL cannot be used.
    func resumption(at cursor: ResumeCursor) -> TransportRequest? {
        var request = self.request(.get, for: .httpSSE)
        request?.endpoint.resume(at: cursor)
        return request
    }

    /// Returns whether the rest of a response with this identifier can be requested: it is a part of the target.
    func canResume(_ responseID: String) -> Bool {
        // A dot-segment (RFC 3986 section 3.3), or an empty one, leads to another address.
        guard !["", ".", ".."].contains(responseID) else { return false }
        // Encoding does not shorten it.
        guard responseID.utf8.count <= TransportEndpoint.targetByteCountLimit else { return false }
        let request = self.resumption(at: ResumeCursor(responseID: responseID, lastSequenceNumber: .max))
        return request.map { $0.endpoint.target.utf8.count <= TransportEndpoint.targetByteCountLimit } ?? false
    }

    /// Returns the fault of a response's identifier that is to be a part of a request's address; nil without one.
    func fault(ofResponseID responseID: String) -> String? {
        guard self.configuration.dialect.hasCursor else { return "responseID names what this dialect does not keep" }
        if let fault = TextRule.word(responseID) { return "responseID \(fault)" }
        return self.canResume(responseID) ? nil : "responseID cannot be a part of an address"
    }

    /// Returns the request for a document beside the responses, such as `/models`; nil when its address cannot be used.
    ///
    /// With content, which may be empty, it is a POST.
    func document(at path: String, content: [UInt8]? = nil) -> TransportRequest? {
        guard TextRule.target(path) == nil else { return nil }
        var request = self.request(content.map { .post(body: $0) } ?? .get, for: .httpSSE, at: path)
        request?.fields.removeAll { $0.isNamed("Accept") }
        request?.fields.append(HTTPField("Accept", "application/json"))
        return request
    }

    private func request(
        _ exchange: TransportRequest.Exchange, for kind: ChappieTransportKind, at path: String? = nil
    ) -> TransportRequest? {
        let path = path ?? self.configuration.dialect.path
        guard let endpoint = TransportEndpoint(baseURL: self.configuration.baseURL, path: path) else { return nil }
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

    /// Returns the fields, each name once: the credential and the request's name have precedence over the caller's
    /// fields, and those over the engine's own.
    private func fields(for kind: ChappieTransportKind, hasBody: Bool) -> [HTTPField] {
        let identity = self.identityFields + self.identity.fields
        let additional = self.configuration.additionalFields.map { HTTPField($0.name, $0.value) }
            .filter { field in !identity.contains { $0.isNamed(field.name) } }
        let own = self.ownFields(for: kind, hasBody: hasBody).filter { field in
            !additional.contains { $0.isNamed(field.name) }
        }
        return identity + own + additional
    }

    private var identityFields: [HTTPField] {
        guard let credential = self.credential else { return [] }
        var account = credential.accountID.map { [HTTPField(DialectFields.account, $0)] } ?? []
        if credential.isFedRAMP { account.append(HTTPField(DialectFields.fedRAMP.name, DialectFields.fedRAMP.value)) }
        let name = self.configuration.credentialFieldName ?? self.configuration.dialect.credentialFieldName
        guard let name, name.lowercased() != "authorization" else {
            return [HTTPField("Authorization", "Bearer \(credential.bearerToken)")] + account
        }
        return [HTTPField(name, credential.bearerToken)] + account
    }

    private func ownFields(for kind: ChappieTransportKind, hasBody: Bool) -> [HTTPField] {
        var fields = [HTTPField("User-Agent", "chappie-transport/\(ChappieTransportVersion.current)")]
        fields += self.configuration.dialect.requestFields.map { HTTPField($0.name, $0.value) }
        switch kind {
        case .webSocket:
            guard self.configuration.sendsBetaField else { break }
            fields.append(HTTPField(DialectFields.webSocketBeta.name, DialectFields.webSocketBeta.value))
        case .httpSSE:
            fields.append(HTTPField("Accept", "text/event-stream"))
            if hasBody { fields.append(HTTPField("Content-Type", "application/json")) }
            if self.configuration.offersCompression { fields.append(HTTPField("Accept-Encoding", "gzip, deflate")) }
            if let turnState = self.turnState, Self.isFieldValue(turnState) {
                fields.append(HTTPField(DialectFields.turnState, turnState))
            }
        }
        return fields
    }

    /// Returns whether a text can be a field's value (RFC 9110 section 5.5); a WebSocket's message can hold any text.
    private static func isFieldValue(_ text: String) -> Bool {
        let space = UInt8(ascii: " ")
        return text.utf8.allSatisfy { (space...0x7E).contains($0) } && text.utf8.first != space
            && text.utf8.last != space
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
