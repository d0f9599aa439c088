import ResponseEvents
import StreamSession
package import StreamTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A document of the server's, whole.
package struct FetchedDocument: Sendable, Equatable {
    /// RFC 9110 section 15: 2xx.
    package let statusCode: Int
    /// The fields that the engine looks at.
    package let fields: [HTTPField]
    /// The body, its content coding removed.
    package let body: [UInt8]
}

/// One GET beside `/responses`: over the same transport, with the same credential, and with the same errors.
///
/// It is tried once, and once more with a fresh credential when the server rejects the first one.
struct DocumentFetch {
    let engine: Engine
    /// What is appended to the base URL, with a query or without.
    let path: String
    private let startedAt: Duration
    private let identity = RequestIdentity()

    /// A fetch that begins now.
    init(engine: Engine, path: String) {
        self.engine = engine
        self.path = path
        self.startedAt = engine.clock.now()
    }

    /// Fetches the document, or throws what a turn would.
    func document() async throws -> FetchedDocument {
        let source = self.engine.configuration.credential
        let credential = try await source(.connecting)
        let answer = try await self.answer(credential, attempt: 1)
        guard answer.statusCode == 401 else { return try self.judge(answer) }
        let fresh = try await source(.rejected)
        guard let fresh, fresh != credential else { throw self.rejection(answer) }
        let second = try await self.answer(fresh, attempt: 2)
        guard second.statusCode != 401 else { throw self.rejection(second) }
        return try self.judge(second)
    }

    // MARK: The exchange

    private func answer(_ credential: ChappieCredential?, attempt: Int) async throws -> FetchedDocument {
        let builder = TransportRequestBuilder(
            configuration: self.engine.configuration, credential: credential, identity: self.identity)
        guard let request = builder.document(at: self.path) else {
            throw ChappieClientError(
                invalidRequest: "the base URL or the path cannot be used", transport: .httpSSE,
                of: self.identity)
        }
        try await self.ask(request, attempt: attempt)
        try Task.checkCancellation()
        let connection = self.engine.transport.connect(request)
        defer { connection.cancel() }
        return try await self.read(connection, attempt: attempt)
    }

    private func ask(_ request: TransportRequest, attempt: Int) async throws {
        guard let willSend = self.engine.configuration.willSend else { return }
        do {
            try await willSend(
                ChappieOutgoingRequest(
                    url: request.url ?? self.engine.configuration.baseURL, transport: .httpSSE, body: [],
                    requestID: self.identity.requestID, attempt: attempt))
        } catch {
            throw ChappieClientError.refusal(error)
        }
    }

    private func read(_ connection: any TransportConnection, attempt: Int) async throws -> FetchedDocument {
        var head: ResponseHead?
        var body: [UInt8] = []
        var lastSign = self.engine.clock.now()
        while true {
            guard let event = connection.next() else {
                try await self.wait(connection, hasHead: head != nil, since: lastSign, attempt: attempt)
                continue
            }
            lastSign = self.engine.clock.now()
            switch event {
            case .opened(let opened): head = opened
            case .payload(let payload):
                unsafe body.append(contentsOf: payload.bytes)
                guard body.count <= self.bodyLimit(head) else {
                    if let head, !head.isSuccess { return self.document(head, body) }
                    throw self.error(.eventTooLarge(limit: self.bodyLimit(head)), hasHead: true, attempt: attempt)
                }
            case .ready, .pong: break
            case .ended(let end):
                guard let head, case .complete = end else {
                    // The status code is known, and says more than the way the body ended.
                    if let head, !head.isSuccess { return self.document(head, body) }
                    throw self.error(
                        AttemptFailure(end, beforeFirstEvent: head == nil), hasHead: head != nil, attempt: attempt)
                }
                return self.document(head, body)
            }
        }
    }

    private func document(_ head: ResponseHead, _ body: [UInt8]) -> FetchedDocument {
        FetchedDocument(
            statusCode: head.statusCode, fields: head.fields, body: Array(body.prefix(self.bodyLimit(head))))
    }

    /// A document may be as large as an event; of an error's body the beginning is kept.
    private func bodyLimit(_ head: ResponseHead?) -> Int {
        let limits = self.engine.configuration.limits
        return max(0, head?.isSuccess == true ? limits.eventByteCount : limits.errorBodyByteCount)
    }

    private func wait(
        _ connection: any TransportConnection, hasHead: Bool, since start: Duration, attempt: Int
    ) async throws {
        let timeouts = self.engine.configuration.timeouts
        let now = self.engine.clock.now()
        let quiet = (hasHead ? timeouts.idle : timeouts.firstEvent).map { start + $0 - now }
        let total = timeouts.total.map { self.startedAt + $0 - now }
        let isTotal = (total ?? .seconds(Int64.max)) < (quiet ?? .seconds(Int64.max))
        let remaining = isTotal ? total : quiet
        if let remaining, remaining <= .zero {
            throw self.error(
                .timeout(isTotal ? .total : hasHead ? .idle : .firstEvent), hasHead: hasHead, attempt: attempt)
        }
        // What came in the last moment counts: the next step looks again.
        if await connection.wait(for: remaining) == .cancelled { throw CancellationError() }
    }

    // MARK: Errors

    private func judge(_ answer: FetchedDocument) throws -> FetchedDocument {
        guard !(200..<300).contains(answer.statusCode) else { return answer }
        if let limit = self.usageLimit(answer) { throw ChappieClientError.usageLimitReached(limit) }
        throw ChappieClientError.httpError(answer.statusCode, String(decoding: answer.body, as: UTF8.self))
    }

    private func usageLimit(_ answer: FetchedDocument) -> ChappieUsageLimit? {
        guard let error = ServerErrorFacts(body: answer.body)?.usageLimit else { return nil }
        let headers = UsageLimitHeaders(answer.fields.map { (name: $0.name, value: $0.value) })
        let resetsAt = error.resetsAt(now: Int(Date().timeIntervalSince1970), headers: headers)
        let limit = ChappieUsageLimit(error, resetsAt: resetsAt, headers: headers, known: nil)
        return limit.type == ChappieUsageLimit.reachedType ? limit : nil
    }

    private func rejection(_ answer: FetchedDocument) -> ChappieClientError {
        let facts = ServerErrorFacts(body: answer.body)
        return .reauthenticationRequired(facts?.code ?? facts?.type ?? "the server answered 401")
    }

    private func error(_ failure: AttemptFailure, hasHead: Bool, attempt: Int) -> ChappieClientError {
        var details = ChappieTransportFailure.Details()
        let code = failure.code(details: &details)
        return .transport(
            ChappieTransportFailure(
                code: code, phase: failure.phase(hasEvents: hasHead), transport: .httpSSE,
                progress: (attempts: attempt, replaySafety: .sentNoOutput), details: details))
    }
}

extension ResponseHead {
    fileprivate var isSuccess: Bool { (200..<300).contains(self.statusCode) }
}
