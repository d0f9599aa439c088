import ResponseEvents
import ServerSentEvents
import StreamSession
import StreamTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a failure says: to the state machine, to the report, and in the end to the caller.
extension TurnDriver {
    // MARK: Facts

    /// What the server said when it refused, and when its limits end.
    func refusal(
        _ facts: ServerErrorFacts,
        statusCode: Int?,
        fields: [(name: String, value: String)]
    ) -> RefusalFacts {
        let now = Int(Date().timeIntervalSince1970)
        let headers = UsageLimitHeaders(fields)
        let delay = RetryDelay.milliseconds(headers: fields, now: now) ?? facts.retryDelay
        var limit: UsageLimitFacts?
        if let error = facts.usageLimit {
            let resetsAt = error.resetsAt(now: now, headers: headers)
            self.evidence.usageLimit = ChappieUsageLimit(
                error, resetsAt: resetsAt, headers: headers,
                known: self.reader.usageLimits[UsageLimitSnapshot.defaultLimitID])
            limit = UsageLimitFacts(resetsAfter: resetsAt.map { .seconds(max(0, $0 - now)) })
        }
        return RefusalFacts(
            statusCode: statusCode, errorCode: facts.code ?? facts.type, errorType: facts.type,
            retryAfter: delay.map { .milliseconds($0) }, usageLimit: limit)
    }

    // MARK: The error

    /// What the caller gets.
    func error(for failure: TurnFailure) -> any Error {
        switch failure.kind {
        case .cancelled:
            return CancellationError()
        case .diverged:
            return ChappieClientError.streamingTransportReplayDiverged(self.reader.machine.deliveredText)
        case .usageLimit:
            // A quota or a plan without access is no limit that ends by itself: the server's answer says it best.
            if let limit = self.evidence.usageLimit, limit.type == ChappieUsageLimit.reachedType {
                return ChappieClientError.usageLimitReached(limit)
            }
        case .credential:
            // RFC 9110 section 15.5.2.
            let reason = failure.failure?.refusal?.errorCode ?? self.refusalWords
            return ChappieClientError.reauthenticationRequired(
                reason ?? ReauthenticationReason.rejected.rawValue)
        case .throttled, .exhausted, .fatal, .notRecovered:
            break
        }
        guard let cause = failure.failure else { return ChappieClientError.invalidResponse }
        return self.error(for: cause)
    }

    /// What the server said when it refused, without the secrets, and without the beginning of one where it is cut.
    private var refusalWords: String? { ServerMessage.line(ofBody: self.redaction.body(self.evidence.body)) }

    /// The words beside the error: those of a refused credential, of which the error has the code, or else its own.
    func serverMessage(for failure: TurnFailure, _ error: any Error) -> String? {
        let words = failure.kind == .credential ? self.refusalWords : nil
        return words ?? (error as? ChappieClientError)?.serverMessage
    }

    func error(for failure: AttemptFailure) -> ChappieClientError {
        switch failure {
        case .httpStatus(let facts) where self.attempts.current?.isResumed == true && facts.saysThatResponseIsGone:
            return .transport(self.transportFailure(for: failure, code: .responseExpired))
        case .upgradeStatus(let facts), .httpStatus(let facts):
            return .httpError(facts.statusCode ?? 0, self.evidence.body)
        case .errorEvent(let facts):
            if let status = facts.statusCode { return .httpError(status, self.evidence.body) }
            return self.evidence.response.map { .responseTerminalFailure($0) } ?? .invalidResponse
        case .responseFailed, .responseIncomplete:
            return self.evidence.response.map { .responseTerminalFailure($0) } ?? .invalidResponse
        case .transport, .closed, .endedEarly, .endedWithoutEvent, .unexpectedContentType, .binaryMessage,
            .undecodableEvent,
            .contradictoryEvents, .sequenceGap, .otherAPI, .eventTooLarge, .outputTooLarge, .toolOutputAwaited,
            .timeout, .requestTooLarge:
            return .transport(self.transportFailure(for: failure))
        }
    }

    private func transportFailure(
        for failure: AttemptFailure, code known: ChappieTransportFailure.Code? = nil
    ) -> ChappieTransportFailure {
        var details = ChappieTransportFailure.Details()
        details.closeReason = self.evidence.closeReason
        details.statusCode = self.evidence.statusCode
        details.requestID = self.evidence.requestID
        details.clientRequestID = self.identity.requestID
        details.pathTimeLimit = self.evidence.pathTimeLimit
        if let statistics = self.attempts.current.map({ self.attempts.statistics(of: $0) }) {
            details.receivedByteCount = statistics.receivedByteCount
            if let last = statistics.lastReceived, let start = self.attempts.current?.connectionStart {
                details.sinceLastByte = self.engine.clock.now() - start - last
            }
        }
        let code = known ?? failure.code(details: &details)
        if code == .unexpectedContentType {
            if self.attempts.current?.refusal.isEmpty == false { details.serverMessage = self.evidence.body }
            let isPage =
                WebPage.isContentType(self.attempts.current?.head?.value(of: "content-type"))
                || self.attempts.current?.isPage == true
            if isPage { details.detail = WebPage.detail }
        }
        if failure == .endedEarly || code == .webSocketClosed, self.attempts.current?.hasEvents == true,
            self.evidence.endedInOrder
        {
            details.detail = EndedAnswer.inOrder.rawValue
        }
        return ChappieTransportFailure(
            code: code,
            phase: failure.phase(hasEvents: self.attempts.current?.hasEvents ?? self.evidence.hasEvents),
            transport: self.transport,
            progress: (
                attempts: self.reader.machine.attemptCount, replaySafety: .init(self.reader.machine.replaySafety)
            ),
            details: details)
    }

    /// Notes whether an answer of which something came was cut, or ended in order and only did not say so.
    func noteEnd(_ failure: AttemptFailure, of attempt: Attempt) {
        guard attempt.hasEvents else { return }
        self.evidence.endedInOrder =
            !self.reader.findings.hasGap
            && EndedAnswer.isInOrder(
                failure, head: attempt.head,
                endsBetweenEvents: attempt.transport == .httpSSE && self.parser.finish() == .clean)
        self.recorder.endedWithoutTerminalEvent(inOrder: self.evidence.endedInOrder)
    }

    /// Notes that a connection was cut, and tells when an earlier one of the turn was at the same age.
    func noteCut(_ failure: AttemptFailure, of attempt: Attempt) {
        guard failure.isCut, attempt.stage == .streaming,
            let age = self.recorder.cut(at: self.engine.clock.now() - attempt.connectionStart)
        else { return }
        self.evidence.pathTimeLimit = age
        self.report(ChappieDiagnostic(kind: .pathTimeLimit, transport: attempt.transport, connectionAge: age))
    }

    // MARK: The report

    /// Tells how an attempt ended, and what its connection has counted.
    func noteStatistics(of attempt: Attempt, outcome: String) {
        self.recorder.ended(
            attempt, self.attempts.statistics(of: attempt), outcome: outcome, at: self.engine.clock.now())
    }

    /// Tells that an attempt has failed; what follows is told by others.
    func noteFailed(_ failure: AttemptFailure, of attempt: Attempt) {
        guard self.recorder.isLogging else { return }
        self.recorder.failed(
            attempt, self.redaction.clientError(self.error(for: failure)), tag: failure.tag,
            serverRequestID: self.evidence.requestID, at: self.engine.clock.now())
    }
}

extension ResponseHead {
    /// The server's name for the request.
    var requestID: String? { self.value(of: "x-request-id") ?? self.value(of: "x-oai-request-id") }

    /// Where the server has put the request in its trace; nil when what it says has another form.
    var traceResponse: String? {
        (self.value(of: "traceresponse") ?? self.value(of: "traceparent")).flatMap {
            ChappieTraceContext(traceparent: $0)?.traceparent
        }
    }
}

extension RefusalFacts {
    /// Whether the answer to a resumption means that the server has the response no more, or streams it no more.
    fileprivate var saysThatResponseIsGone: Bool {
        switch self.statusCode {
        case 400, 404, 410: true
        default: false
        }
    }
}

extension Duration {
    /// As a floating-point number.
    var seconds: Double {
        let (seconds, attoseconds) = self.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
