// The common parts of both transports while they answer one attempt.
//
// Owned by the connection thread.

/// The parts of the server that connection threads use.
struct ServerParts: Sendable {
    /// The configuration of the answers.
    let configuration: ChappieTestServer.Configuration
    /// The log of attempts.
    let log: RequestLog
    /// The source of responses.
    let source: ResponseSource
    /// The certificate, when TLS is served.
    let identity: TLSIdentity?
    /// The responses that continue without a connection.
    let background = BackgroundResponses()
    /// The authorization server.
    let authorization: AuthorizationServer

    /// Creates the parts that a configuration asks for, with a certificate of their own for TLS.
    init(_ configuration: ChappieTestServer.Configuration) throws(ChappieTestServer.StartError) {
        self.configuration = configuration
        self.log = RequestLog(
            maximumRecordCount: configuration.maximumRecordCount, logLine: configuration.logLine)
        self.source = ResponseSource(configuration.model)
        self.identity = try configuration.tls.map(TLSIdentity.init)
        self.authorization = AuthorizationServer(configuration.signIn)
    }

    /// Returns whether a request's credential is accepted.
    func authorizes(_ request: HTTPRequest) -> Bool {
        self.configuration.authorizes(request) && self.isGuardSatisfied(by: request)
    }

    /// Returns whether a request has a valid access token of this server, or needs none.
    func isGuardSatisfied(by request: HTTPRequest) -> Bool {
        guard self.configuration.signIn.guardsRequests else { return true }
        return request.bearerToken.map { self.authorization.accepts($0) } ?? false
    }
}

/// One attempt while it is answered.
struct Exchange {
    let parts: ServerParts
    let stream: ByteStream
    let writer: WireWriter
    let request: HTTPRequest
    let attempt: Int
    let transport: ChappieTestServer.Transport
    let faults: AttemptFaults

    /// Indicates whether the request is for the ChatGPT backend's path, which has rules of its own.
    var isOnChatGPTPath: Bool { self.request.path.hasPrefix("/backend-api/") }

    /// The fields of every answer.
    var sharedFields: [ChappieTestServer.Field] {
        let fields = [ChappieTestServer.Field(name: "x-request-id", value: "req_\(self.attempt)")]
        return fields + UsageLimits.fields + self.parts.configuration.additionalFields + self.faults.paddingFields
    }

    /// The largest size of a write in bytes.
    var sliceByteCount: Int? {
        if case .bytes(let count) = self.parts.configuration.writeMode { max(1, count) } else { nil }
    }

    /// Writes an answer that is not a stream.
    func send(status: Int, body: String, fields: [ChappieTestServer.Field] = []) throws(ConnectionEnd) {
        let hasType = fields.contains { $0.name.lowercased() == "content-type" }
        let type = body.hasPrefix("<") ? "text/html; charset=utf-8" : "application/json"
        var head = fields
        if !hasType { head.append(.init(name: "content-type", value: type)) }
        head.append(.init(name: "content-length", value: String(body.utf8.count)))
        head += self.sharedFields.filter { shared in
            !fields.contains { $0.name.lowercased() == shared.name.lowercased() }
        }
        self.parts.log.setStatus(status, attempt: self.attempt)
        try self.writer.append(HTTPResponseHead(status: status, fields: head).bytes)
        try self.writer.beginBody()
        try self.writer.append(Array(body.utf8))
        try self.writer.flush()
    }

    /// Writes the answer of a fault or for a missing token in place of the script; returns false when there is none.
    func sendReplacement() throws(ConnectionEnd) -> Bool {
        if let text = self.faults.textWithoutHTTP {
            try self.writer.append(Array(text.utf8))
            try self.writer.flush()
            throw .cut(.end)
        }
        if let answer = self.faults.answer {
            let body = answer.body ?? ErrorBody.body(status: answer.status)
            try self.send(status: answer.status, body: body, fields: answer.fields)
            return true
        }
        guard self.parts.authorizes(self.request) else {
            try self.send(status: 401, body: ErrorBody.body(status: 401))
            return true
        }
        return false
    }

    /// Returns the parameters of a response; the conversation includes the request's input already.
    func demand(
        body: JSONValue, bytes: [UInt8], response: Int, conversation: Conversation
    ) -> ResponseSource.Demand {
        ResponseSource.Demand(
            body: body,
            bodyBytes: bytes,
            attempt: self.attempt,
            transport: self.transport,
            textChanges: self.faults.textChanges(response: response),
            conversation: conversation
        )
    }
}

extension ChappieTestServer.Configuration {
    /// Returns whether a request's credential is accepted.
    func authorizes(_ request: HTTPRequest) -> Bool {
        if let acceptedTokens {
            guard let token = request.bearerToken, acceptedTokens.contains(token) else { return false }
        }
        guard self.requiresAuthorization else { return true }
        let lacksAccount = request.path.hasPrefix("/backend-api/") && request.value(of: "chatgpt-account-id") == nil
        return request.bearerToken != nil && !lacksAccount
    }
}
