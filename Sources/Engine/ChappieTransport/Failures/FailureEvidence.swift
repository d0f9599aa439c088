import HTTPProtocol
import PlatformFoundation
import ResponseEvents
import StreamSession
import StreamTransport
import TransportSurface

/// The server's statements about the failure of an attempt, and the errors that are made of them.
///
/// It belongs to the turn's driver, and begins anew with each attempt. It holds the server's words, so it is not
/// logged; the errors that it makes are not redacted yet.
struct FailureEvidence {
    /// The facts about a turn and its newest attempt that an error states.
    struct Circumstances {
        /// The attempt that failed, if it has a connection.
        let attempt: Attempt?
        /// The counts of its connection.
        let statistics: TransportStatistics?
        let transport: ChappieTransportKind
        let attemptCount: Int
        let replaySafety: ChappieReplaySafety
        /// The present time.
        let now: Duration
    }

    /// The facts from one attempt.
    private struct Facts {
        /// The body of an HTTP error, or the text of an error event.
        var body = ""
        /// Indicates whether the answer ended in order, without its terminal event.
        var endedInOrder = false
        /// Indicates whether the answer ended with an event that was not finished.
        var endedInsideEvent = false
        /// Indicates whether an event came before the attempt was over.
        var hasEvents = false
        /// The response that failed or is incomplete.
        var response: ChappieResponse?
        /// The usage limit that was reached.
        var usageLimit: ChappieUsageLimit?
        /// The server's name for the request.
        var requestID: String?
        /// The rate limits that came with the answer.
        var rateLimits: ChappieRateLimits?
        /// The reason of the peer's close frame (RFC 6455 section 5.5.1).
        var closeReason: String?
        var statusCode: Int?
        /// The age at which two connections of the turn were cut.
        var pathTimeLimit: Duration?
    }

    private let clientRequestID: String
    private let bodyByteCountLimit: Int
    private let unixTime: @Sendable () -> Int
    private let baseURL: URL
    private var facts = Facts()

    /// Creates the value before any failure; `requestID` is the caller's name for the request.
    init(_ engine: Engine, requestID: String) {
        self.clientRequestID = requestID
        self.unixTime = engine.clock.unixTime
        self.baseURL = engine.configuration.baseURL
        self.bodyByteCountLimit = max(0, engine.configuration.limits.errorBodyByteCount)
    }

    // MARK: One attempt

    /// Begins another attempt.
    mutating func restart() { self.facts = Facts() }

    /// The server's name for the request; nil without one.
    var requestID: String? { self.facts.requestID }

    /// The rate limits that came with the answer; nil without any.
    var rateLimits: ChappieRateLimits? { self.facts.rateLimits }

    /// Records the head of the answer.
    mutating func opened(_ head: ResponseHead) {
        self.facts.rateLimits = ChappieRateLimits(head, at: self.unixTime())
        self.facts.statusCode = head.statusCode
        self.facts.requestID = head.requestID
    }

    /// Records the body of an error, or of an answer that is no event stream.
    ///
    /// A compressed body whose head does not say so has no text.
    mutating func read(body: [UInt8]) {
        self.facts.body = body.isCompressed ? "" : String(decoding: body, as: UTF8.self)
    }

    /// Records the reason with which the peer has closed the WebSocket.
    mutating func closed(_ reason: String) { self.facts.closeReason = reason }

    /// Records whether the answer ended normally, lacking only its terminal event.
    mutating func ended(inOrder isInOrder: Bool) { self.facts.endedInOrder = isInOrder }

    /// Records whether an event stream ended with an event that was not finished.
    mutating func ended(insideEvent isInsideEvent: Bool) { self.facts.endedInsideEvent = isInsideEvent }

    /// Records that the connection was cut at an age at which an earlier one was cut too.
    mutating func cut(at age: Duration) { self.facts.pathTimeLimit = age }

    /// Records that the attempt is over and its connection is released.
    mutating func isOver(hasEvents: Bool) { self.facts.hasEvents = hasEvents }

    // MARK: The server's refusals

    /// Reads the refusal that an answer with a body is, whose head may be unknown.
    mutating func refusal(_ body: [UInt8], of head: ResponseHead?, known: UsageLimits) -> RefusalFacts {
        self.read(body: body)
        return self.refusal(
            ServerErrorFacts(body: body) ?? ServerErrorFacts(), statusCode: head?.statusCode,
            fields: head?.namedFields ?? [], known: known)
    }

    /// Reads the server's statements about a refusal.
    ///
    /// - Parameters:
    ///   - facts: the error object.
    ///   - statusCode: the status code of the answer.
    ///   - fields: the header fields of the answer.
    ///   - known: the usage limits that the server has reported before.
    /// - Returns: the facts that decide the next step.
    mutating func refusal(
        _ facts: ServerErrorFacts, statusCode: Int?, fields: [(name: String, value: String)], known: UsageLimits
    ) -> RefusalFacts {
        let now = self.unixTime()
        let headers = UsageLimitHeaders(fields)
        let delay = RetryDelay.milliseconds(headers: fields, now: now) ?? facts.retryDelay
        if let statusCode, (300..<400).contains(statusCode), let target = self.redirectTarget(fields) {
            // A page about the redirect says the same.
            let words = WebPage(self.facts.body) == nil ? self.facts.body : ""
            self.facts.body = "redirect to \(target)" + (words.isEmpty ? "" : "\n\(words)")
        }
        var limit: UsageLimitFacts?
        if let error = facts.usageLimit {
            let resetsAt = error.resetsAt(now: now, headers: headers)
            self.facts.usageLimit = ChappieUsageLimit(
                error, resetsAt: resetsAt, headers: headers, known: known[UsageLimitSnapshot.defaultLimitID])
            limit = UsageLimitFacts(resetsAfter: resetsAt.map { .seconds(max(0, $0 - now)) })
        }
        return RefusalFacts(
            statusCode: statusCode, errorCode: facts.code ?? facts.type, errorType: facts.type,
            parameter: facts.parameter, retryAfter: delay.map { .milliseconds($0) }, usageLimit: limit)
    }

    /// Returns the address to which an answer redirects, without the parts that may hold a secret: user, password, query
    /// and fragment; nil when it names none (RFC 9110 section 10.2.2).
    private func redirectTarget(_ fields: [(name: String, value: String)]) -> String? {
        guard let location = fields.first(where: { $0.name.lowercased() == "location" })?.value,
            let url = URL(string: location, relativeTo: self.baseURL.appending(path: "responses")),
            var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return nil }
        (components.user, components.password, components.query, components.fragment) = (nil, nil, nil, nil)
        return components.string
    }

    /// Records the end of a response with a status other than `completed`.
    mutating func ended(_ summary: ResponseSummary, status: String) {
        self.facts.response = ChappieResponse(
            summary, status: status, requestID: self.facts.requestID, byteCountLimit: self.payloadByteCountLimit)
        self.facts.response?.rateLimits = self.facts.rateLimits
    }

    /// Records an error outside of a response object.
    mutating func received(_ event: ErrorEvent, json: UnsafeRawBufferPointer) {
        self.facts.statusCode = event.statusCode
        self.facts.body = unsafe String(decoding: json.prefix(self.bodyByteCountLimit), as: UTF8.self)
        var response = ChappieResponse(
            id: nil, status: "failed", errorCode: event.facts.code ?? event.facts.type,
            errorMessage: event.facts.message)
        response.errorType = event.facts.type
        response.errorPayload = ServerErrorFacts.payload(
            of: unsafe Array(json), byteCountLimit: self.payloadByteCountLimit, orWhole: true)
        response.requestID = self.facts.requestID
        response.rateLimits = self.facts.rateLimits
        self.facts.response = response
    }

    private var payloadByteCountLimit: Int {
        min(ChappieResponse.errorPayloadByteCountLimit, self.bodyByteCountLimit)
    }

    // MARK: Errors

    /// Returns the error of a failed turn; `deliveredText` is the text that the consumer has.
    func error(
        for failure: TurnFailure, _ circumstances: Circumstances, redaction: SecretRedaction,
        deliveredText: @autoclosure () -> String
    ) -> any Error {
        let cause: AttemptFailure
        switch failure {
        case .cancelled: return CancellationError()
        case .diverged: return ChappieClientError.streamingTransportReplayDiverged(deliveredText())
        case .rejected: return ChappieClientError.invalidResponse
        case .failed(let failure): cause = failure
        }
        switch cause.failureClass {
        case .usageLimit:
            // A quota or a plan without access is no temporary limit: the server's answer describes it best.
            if let limit = self.facts.usageLimit, limit.type == ChappieUsageLimit.reachedType {
                return ChappieClientError.usageLimitReached(limit)
            }
        case .credential:
            // RFC 9110 section 15.5.2.
            let reason = cause.refusal?.errorCode ?? self.refusalWords(redaction)
            return ChappieClientError.reauthenticationRequired(
                reason ?? ReauthenticationReason.rejected.rawValue)
        case .fatal:
            if case .transport(let failure) = cause, failure.cause == .cancelled { return CancellationError() }
        case .definite, .probable, .offline, .transient, .server, .size, .throttle:
            break
        }
        return self.error(for: cause, circumstances)
    }

    /// Returns the server's message beside a turn's error: that of a refused credential, of which the error has the
    /// code, or else the error's own; nil when there is none.
    func serverMessage(for failure: TurnFailure, _ error: any Error, redaction: SecretRedaction) -> String? {
        let words = failure.cause?.failureClass == .credential ? self.refusalWords(redaction) : nil
        return words ?? (error as? ChappieClientError)?.serverMessage
    }

    /// Returns the words of a refusal without the secrets, and without the beginning of one where it is cut.
    ///
    /// An error in band has no body: its words are those of the response.
    private func refusalWords(_ redaction: SecretRedaction) -> String? {
        if let response = self.facts.response { return redaction.response(response).serverMessage }
        return ServerMessage.line(ofBody: redaction.body(self.facts.body))
    }

    /// Returns the error of a failed attempt.
    func error(for failure: AttemptFailure, _ circumstances: Circumstances) -> ChappieClientError {
        if let (code, details) = failure.codeAndDetails {
            return .transport(self.transportFailure(failure, code, details, circumstances))
        }
        switch failure {
        case .httpStatus(let facts) where circumstances.attempt?.isResumed == true && facts.saysThatResponseIsGone:
            return .transport(self.transportFailure(failure, .responseExpired, .init(), circumstances))
        case .upgradeStatus(let facts), .httpStatus(let facts):
            return .httpError(facts.statusCode ?? 0, self.body(of: facts))
        case .errorEvent(let facts):
            if let status = facts.statusCode { return .httpError(status, self.body(of: facts)) }
        case .responseFailed, .responseIncomplete:
            break
        case .transport, .closed, .endedEarly, .endedWithoutEvent, .unexpectedContentType, .binaryMessage,
            .undecodableEvent, .contradictoryEvents, .sequenceGap, .otherAPI, .eventTooLarge, .outputTooLarge,
            .tooManyItems,
            .toolOutputAwaited, .timeout, .requestTooLarge:
            preconditionFailure("a failure below HTTP has a code")
        }
        return self.facts.response.map { .responseTerminalFailure($0) } ?? .invalidResponse
    }

    /// Returns the body of a refusal, which states the delay that the server asked for beside it.
    private func body(of refusal: RefusalFacts) -> String {
        guard let delay = refusal.retryAfter else { return self.facts.body }
        return RetryDelay.refusal(self.facts.body, stating: Int(delay / .milliseconds(1)))
    }

    private func transportFailure(
        _ failure: AttemptFailure, _ code: ChappieTransportFailure.Code, _ details: ChappieTransportFailure.Details,
        _ circumstances: Circumstances
    ) -> ChappieTransportFailure {
        let attempt = circumstances.attempt
        var details = details
        details.closeReason = self.facts.closeReason
        details.statusCode = details.statusCode ?? self.facts.statusCode
        details.requestID = self.facts.requestID
        details.clientRequestID = self.clientRequestID
        details.pathTimeLimit = self.facts.pathTimeLimit
        details.scheme = RequestScheme(baseURL: self.baseURL)
        if let statistics = circumstances.statistics {
            details.receivedByteCount = statistics.receivedByteCount
            if let last = statistics.lastReceived, let start = attempt?.connectionStart {
                details.sinceLastByte = circumstances.now - start - last
            }
        }
        if code == .unexpectedContentType, let attempt {
            if !attempt.refusal.isEmpty { details.explain(by: self.facts.body) }
            let isPage = attempt.isPage || WebPage.isContentType(attempt.head?.mediaType)
            if isPage { details.detail = WebPage.detail }
        }
        if failure == .endedEarly || code == .webSocketClosed, attempt?.hasEvents == true, self.facts.endedInOrder {
            details.detail = EndedAnswer.inOrder.rawValue
        }
        if code == .endedEarly, self.facts.endedInsideEvent { details.detail = EndedAnswer.insideEvent.rawValue }
        return ChappieTransportFailure(
            code: code, phase: failure.phase(hasEvents: attempt?.hasEvents ?? self.facts.hasEvents),
            transport: circumstances.transport,
            progress: (attempts: circumstances.attemptCount, replaySafety: circumstances.replaySafety),
            details: details)
    }
}

extension ChappieTransportFailure.Details {
    /// Takes the body of an answer for the server's message, with the advice that its error leads to.
    mutating func explain(by body: String) {
        self.serverMessage = body
        self.advice = ServerErrorFacts(body: body.utf8)?.adviceOnRequest
    }
}

extension ResponseHead {
    /// The server's name for the request.
    var requestID: String? { DialectFields.requestID.lazy.compactMap { self.value(of: $0) }.first }

    /// The server's place for the request in its trace; nil when the field has another form.
    var traceResponse: String? {
        (self.value(of: "traceresponse") ?? self.value(of: "traceparent")).flatMap {
            ChappieTraceContext(traceparent: $0)?.traceparent
        }
    }
}

extension RefusalFacts {
    /// Indicates whether the answer to a resumption means that the server no longer has the response, or no longer
    /// streams it.
    fileprivate var saysThatResponseIsGone: Bool {
        switch self.statusCode {
        case 400, 404, 410: true
        default: false
        }
    }
}
