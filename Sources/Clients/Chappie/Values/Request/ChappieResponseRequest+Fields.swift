import ChappieTransport

extension ChappieResponseRequest {
    /// The header fields of this turn's requests, such as a user's organisation.
    ///
    /// Default none. Each request of the turn has them, also those with tools' outputs, so a value that identifies one
    /// request, such as an idempotency key, is for turns without tools. They replace fields of the same name in
    /// `ChappieConfiguration.additionalFields` and of the endpoint, and not the credential's field. See
    /// `ChappieTransportRequest.fields` for their use over a WebSocket, and the redaction of their values: a WebSocket
    /// that `prewarm()` opened has none of them, and is not used for this turn. A field that cannot be sent fails the
    /// turn before any request is sent, as `request.invalid`.
    public var fields: [(name: String, value: String)] {
        get { self.fieldList.map { (name: $0.name, value: $0.value) } }
        set { self.fieldList = newValue.map { Field(name: $0.name, value: $0.value) } }
    }

    /// A header field, which can be compared.
    struct Field: Sendable, Equatable {
        let name: String
        let value: String
    }
}

extension ChappieTransportRequest {
    /// Creates a request of a turn from its body, with the settings that all requests of the turn have.
    init(body: [UInt8], of turn: ChappieResponseRequest) {
        self.init(body: body)
        self.traceContext = turn.traceContext
        self.fields = turn.fields
        self.timeouts = turn.timeouts
    }
}
