import HTTPProtocol
import ResponseEvents
import StreamSession
import StreamTransport
import TransportSurface

/// One GET or POST beside the responses: over the same transport, with the same credential, and with the same errors.
///
/// It is tried once, and once more with a fresh credential when the server rejects the first one.
struct DocumentFetch {
    let engine: Engine
    /// The path that is appended to the base URL, with or without a query.
    let path: String
    /// The body of a POST, which may be empty; nil for a GET.
    private let content: [UInt8]?
    /// The identifier of a response that is a part of the path, which is checked before anything is sent.
    private let responseID: String?
    private let reader: DocumentReader
    private let identity = RequestIdentity()

    /// Creates a fetch that begins now, with a time limit beside those of the configuration.
    init(engine: Engine, path: String, limit: Duration? = nil) {
        self.engine = engine
        self.path = path
        self.content = nil
        self.responseID = nil
        self.reader = DocumentReader(engine: engine, limit: limit)
    }

    /// Creates a fetch of what a conversation is compacted to that begins now.
    init(engine: Engine, compacting body: [UInt8]) {
        self.engine = engine
        self.path = engine.configuration.dialect.path + "/compact"
        self.content = body
        self.responseID = nil
        self.reader = DocumentReader(engine: engine)
    }

    /// Creates a fetch of a kept response that begins now; with `cancels`, the response is cancelled before.
    init(engine: Engine, responseID: String, cancels: Bool) {
        self.engine = engine
        let response = engine.configuration.dialect.path + "/" + PercentEncoding.encode(responseID)
        self.path = cancels ? response + "/cancel" : response
        self.content = cancels ? [] : nil
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
            throw self.error(.tooManyItems(limit: ResponseSummary.maximumOutputCount), self.evidence, attempt: 1)
        }
        var response = retrieved.response
        let head = ResponseHead(statusCode: document.statusCode, fields: document.fields)
        response.requestID = head.requestID
        response.rateLimits = ChappieRateLimits(head, at: self.engine.clock.unixTime())
        return response
    }

    /// Sends a conversation, and returns the document that it is compacted to, as the server wrote it.
    func compaction() async throws -> [UInt8] {
        guard self.engine.configuration.dialect == .responses else {
            throw ChappieClientError(
                invalidRequest: "only the Responses API compacts conversations", transport: .httpSSE, of: self.identity)
        }
        let document = try await self.document()
        guard (try? JSONObjectText(document.body)) != nil else { throw ChappieClientError.invalidResponse }
        return document.body
    }

    private func document(_ redaction: inout SecretRedaction) async throws -> FetchedDocument {
        let source = self.engine.configuration.credential
        let credential = try await ProgramTask { try await source(.connecting) }.result().get()
        redaction.add(credential)
        let first = try await self.answer(credential, attempt: 1)
        guard let refusal = self.refusal(first, attempt: 1, redaction) else { return first }
        guard refusal.isOfCredential else { throw refusal.error }
        let fresh = try await ProgramTask { try await source(.rejected(credential)) }.result().get()
        guard let fresh, fresh != credential else { throw refusal.error }
        redaction.add(fresh)
        let second = try await self.answer(fresh, attempt: 2)
        if let refusal = self.refusal(second, attempt: 2, redaction) { throw refusal.error }
        return second
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
        guard fault == nil, faultOfID == nil, let request = builder.document(at: self.path, content: self.content)
        else {
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
            guard case .failed(let failure, let hasHead) = error else { throw CancellationError() }
            var evidence = self.evidence
            evidence.isOver(hasEvents: hasHead)
            throw self.error(failure, evidence, attempt: attempt)
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

    private var evidence: FailureEvidence { FailureEvidence(self.engine, requestID: self.identity.requestID) }

    /// Returns the error of a turn that an answer means, and whether another credential may avoid it; nil for a success.
    private func refusal(
        _ answer: FetchedDocument, attempt: Int, _ redaction: SecretRedaction
    ) -> (error: any Error, isOfCredential: Bool)? {
        guard !(200..<300).contains(answer.statusCode) else { return nil }
        var evidence = self.evidence
        let head = ResponseHead(statusCode: answer.statusCode, fields: answer.fields)
        let failure = AttemptFailure.httpStatus(evidence.refusal(answer.body, of: head, known: UsageLimits()))
        let error = evidence.error(
            for: .failed(failure), self.circumstances(attempt), redaction: redaction, deliveredText: "")
        return (error, failure.failureClass == .credential)
    }

    private func error(_ failure: AttemptFailure, _ evidence: FailureEvidence, attempt: Int) -> ChappieClientError {
        evidence.error(for: failure, self.circumstances(attempt))
    }

    private func circumstances(_ attempt: Int) -> FailureEvidence.Circumstances {
        FailureEvidence.Circumstances(
            attempt: nil, statistics: nil, transport: .httpSSE, attemptCount: attempt, replaySafety: .sentNoOutput,
            now: self.engine.clock.now())
    }
}
