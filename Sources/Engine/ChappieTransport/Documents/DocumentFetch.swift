import HTTPProtocol
import ResponseEvents
import StreamSession
import StreamTransport
import TransportSurface

/// One GET or POST beside `/responses`: over the same transport, with the same credential, and with the same errors.
///
/// It is tried once, and once more with a fresh credential when the server rejects the first one.
struct DocumentFetch {
    let engine: Engine
    /// The path that is appended to the base URL, with or without a query.
    let path: String
    /// Indicates whether the request is a POST without content.
    private let isPost: Bool
    /// The identifier of a response that is a part of the path, which is checked before anything is sent.
    private let responseID: String?
    private let reader: DocumentReader
    private let identity = RequestIdentity()

    /// Creates a fetch that begins now, with a time limit beside those of the configuration.
    init(engine: Engine, path: String, limit: Duration? = nil) {
        self.engine = engine
        self.path = path
        self.isPost = false
        self.responseID = nil
        self.reader = DocumentReader(engine: engine, limit: limit)
    }

    /// Creates a fetch of a kept response that begins now; with `cancels`, the response is cancelled before.
    init(engine: Engine, responseID: String, cancels: Bool) {
        self.engine = engine
        self.path = "/responses/" + PercentEncoding.encode(responseID) + (cancels ? "/cancel" : "")
        self.isPost = cancels
        self.responseID = responseID
        self.reader = DocumentReader(engine: engine)
    }

    /// Fetches the document, or throws an error of a turn: either without the credentials that were sent.
    func document() async throws -> FetchedDocument {
        guard let admission = self.engine.gate.admit({}) else {
            throw ChappieClientError(shutDown: .httpSSE, of: self.identity)
        }
        defer { withExtendedLifetime(admission) {} }
        var redaction = self.engine.redaction
        do {
            let document = try await self.document(&redaction)
            return redaction.document(document)
        } catch {
            throw redaction.error(error)
        }
    }

    /// Fetches the document, and reads the response that it describes.
    func response() async throws -> ChappieResponse {
        let document = try await self.document()
        guard let retrieved = ResponseDocument(document.body) else { throw ChappieClientError.invalidResponse }
        guard !retrieved.isOutputCut else {
            throw self.error(.tooManyItems(limit: ResponseSummary.maximumOutputCount), hasHead: true, attempt: 1)
        }
        var response = retrieved.response
        let head = ResponseHead(statusCode: document.statusCode, fields: document.fields)
        response.requestID = head.requestID
        response.rateLimits = ChappieRateLimits(head)
        return response
    }

    private func document(_ redaction: inout SecretRedaction) async throws -> FetchedDocument {
        let source = self.engine.configuration.credential
        let credential = try await ProgramTask { try await source(.connecting) }.result().get()
        redaction.add(credential)
        let answer = try await self.answer(credential, attempt: 1)
        guard answer.statusCode == 401 else { return try self.judge(answer) }
        let fresh = try await ProgramTask { try await source(.rejected(credential)) }.result().get()
        guard let fresh, fresh != credential else { throw self.rejection(answer) }
        redaction.add(fresh)
        let second = try await self.answer(fresh, attempt: 2)
        guard second.statusCode != 401 else { throw self.rejection(second) }
        return try self.judge(second)
    }

    /// Makes one exchange with any server, without the path and the credential.
    func answer(to request: DocumentRequest) async throws -> FetchedDocument {
        guard let built = request.transportRequest(self.engine.configuration) else {
            throw ChappieClientError(
                invalidRequest: "the URL cannot be used", transport: .httpSSE, of: self.identity)
        }
        return try await self.answer(to: built, attempt: 1)
    }

    // MARK: The exchange

    private func answer(_ credential: ChappieCredential?, attempt: Int) async throws -> FetchedDocument {
        let builder = TransportRequestBuilder(
            configuration: self.engine.configuration, credential: credential, identity: self.identity)
        let fault = self.engine.fault ?? credential?.fault
        let faultOfID = self.responseID.flatMap { id in fault == nil ? builder.fault(ofResponseID: id) : nil }
        guard fault == nil, faultOfID == nil, let request = builder.document(at: self.path, isPost: self.isPost) else {
            let words =
                fault ?? faultOfID ?? "the document's path does not begin with a slash, or is not percent-encoded"
            throw ChappieClientError(invalidRequest: words, transport: .httpSSE, of: self.identity)
        }
        try await self.ask(request, attempt: attempt)
        return try await self.answer(to: request, attempt: attempt)
    }

    private func answer(to request: TransportRequest, attempt: Int) async throws -> FetchedDocument {
        do throws(DocumentReader.Failure) {
            return try await self.reader.answer(to: request)
        } catch {
            throw self.error(error, attempt: attempt)
        }
    }

    private func ask(_ request: TransportRequest, attempt: Int) async throws {
        let permission = SendingPermission(self.engine, requestID: self.identity.requestID)
        guard let question = permission.question(about: request, attempt: attempt) else { return }
        do {
            try await ProgramTask(question).result().get()
        } catch {
            throw ChappieClientError.refusal(error)
        }
    }

    // MARK: Errors

    private func judge(_ answer: FetchedDocument) throws -> FetchedDocument {
        guard !(200..<300).contains(answer.statusCode) else { return answer }
        if let limit = self.usageLimit(answer) { throw ChappieClientError.usageLimitReached(limit) }
        let body = String(decoding: answer.body, as: UTF8.self)
        let delay = RetryDelay.milliseconds(
            headers: answer.fields.map { (name: $0.name, value: $0.value) }, now: self.engine.clock.unixTime())
        throw ChappieClientError.httpError(
            answer.statusCode, delay.map { RetryDelay.refusal(body, stating: $0) } ?? body)
    }

    private func usageLimit(_ answer: FetchedDocument) -> ChappieUsageLimit? {
        guard let error = ServerErrorFacts(body: answer.body)?.usageLimit else { return nil }
        let headers = UsageLimitHeaders(answer.fields.map { (name: $0.name, value: $0.value) })
        let resetsAt = error.resetsAt(now: self.engine.clock.unixTime(), headers: headers)
        let limit = ChappieUsageLimit(error, resetsAt: resetsAt, headers: headers, known: nil)
        return limit.type == ChappieUsageLimit.reachedType ? limit : nil
    }

    private func rejection(_ answer: FetchedDocument) -> ChappieClientError {
        let facts = ServerErrorFacts(body: answer.body)
        return .reauthenticationRequired(
            facts?.code ?? facts?.type ?? ReauthenticationReason.rejected.rawValue)
    }

    private func error(_ failure: DocumentReader.Failure, attempt: Int) -> any Error {
        switch failure {
        case .cancelled: CancellationError()
        case .failed(let failure, let hasHead): self.error(failure, hasHead: hasHead, attempt: attempt)
        }
    }

    private func error(_ failure: AttemptFailure, hasHead: Bool, attempt: Int) -> ChappieClientError {
        guard let (code, facts) = failure.codeAndDetails else {
            preconditionFailure("a document's reader hands its answers over, and fails below HTTP alone")
        }
        var details = facts
        details.scheme = RequestScheme(baseURL: self.engine.configuration.baseURL)
        return .transport(
            ChappieTransportFailure(
                code: code, phase: failure.phase(hasEvents: hasHead), transport: .httpSSE,
                progress: (attempts: attempt, replaySafety: .sentNoOutput), details: details))
    }
}
