import ResponseEvents
import StreamSession
import StreamTransport
import TransportSurface

/// The results, the facts and the errors of a turn that are told, without its secrets.
extension EventReader {
    /// Returns the result of the complete response; nil before, and when its items are too large to be kept.
    ///
    /// `request` is the turn's request.
    mutating func completedResponse(of request: OutgoingRequest?) -> CompletedResponse? {
        guard self.machine.replaySafety() == .completed else { return nil }
        var response = self.record.completedResponse(behind: request?.carriedItems ?? []).map(self.redaction.response)
        response?.requestID = self.evidence.requestID
        response?.rateLimits = self.evidence.rateLimits
        response?.turnState = request?.turnState
        return response
    }

    /// The complete response, without its text.
    mutating func response() -> ChappieResponse? {
        var response = self.record.response(requestID: self.evidence.requestID)
        response?.rateLimits = self.evidence.rateLimits
        return response.map(self.redaction.response)
    }

    /// The facts about the turn in its log lines.
    mutating func facts() -> TurnRecorder.Facts {
        TurnRecorder.Facts(
            attemptCount: self.machine.attemptCount, transport: self.transport,
            serverRequestID: self.evidence.requestID)
    }

    /// Returns the error of a failed attempt; `now` is the present time.
    mutating func error(for failure: AttemptFailure, of attempts: AttemptPair, at now: Duration) -> ChappieClientError {
        self.redaction.clientError(self.evidence.error(for: failure, self.circumstances(of: attempts, at: now)))
    }

    /// Returns the error of a failed turn; `now` is the present time.
    mutating func error(for failure: TurnFailure, of attempts: AttemptPair, at now: Duration) -> any Error {
        self.redaction.error(
            self.evidence.error(
                for: failure, self.circumstances(of: attempts, at: now), redaction: self.redaction,
                deliveredText: self.machine.delivery.deliveredText))
    }

    /// Returns the category of a failed attempt's error; `now` is the present time.
    mutating func category(of failure: AttemptFailure, of attempts: AttemptPair, at now: Duration)
        -> ChappieErrorCategory
    {
        failure.refusal?.meaning?.facts.category
            ?? self.evidence.error(for: failure, self.circumstances(of: attempts, at: now)).category
    }

    // MARK: Attempts

    /// Reports that the answer of an attempt has begun, with the limits that its head has over HTTP.
    mutating func established(_ attempt: Attempt, _ head: ResponseHead) {
        if attempt.transport == .httpSSE { self.merge(UsageLimitHeaders(head.namedFields).activeSnapshot) }
        self.report(ChappieDiagnostic(kind: .connected, transport: attempt.transport))
        if attempt.isResumed { self.report(ChappieDiagnostic(kind: .resumed, transport: attempt.transport)) }
    }

    /// Records whether a partial answer was cut, or ended normally without its terminal event; and whether a connection
    /// was cut at the same age as an earlier one of the turn.
    ///
    /// - Parameters:
    ///   - failure: the failure of the attempt.
    ///   - attempt: the attempt.
    ///   - endsBetweenEvents: whether the event stream ends behind a whole event; asked for an answer over HTTP.
    ///   - recorder: the turn's recorder.
    ///   - now: the present time.
    mutating func noteEnd(
        _ failure: AttemptFailure, of attempt: Attempt, endsBetweenEvents: @autoclosure () -> Bool,
        _ recorder: inout TurnRecorder, at now: Duration
    ) {
        if attempt.hasEvents {
            let isInOrder =
                !self.findings.hasGap
                && EndedAnswer.isInOrder(
                    failure, head: attempt.head,
                    endsBetweenEvents: attempt.transport == .httpSSE && endsBetweenEvents())
            self.evidence.ended(inOrder: isInOrder)
            recorder.endedWithoutTerminalEvent(inOrder: isInOrder)
        }
        guard failure.isCut, attempt.stage == .streaming,
            let age = recorder.cut(at: now - attempt.connectionStart)
        else { return }
        self.evidence.cut(at: age)
        self.report(ChappieDiagnostic(kind: .pathTimeLimit, transport: attempt.transport, connectionAge: age))
    }

    /// Reports that an attempt has failed; the next step is reported by other functions.
    mutating func noteFailed(
        _ failure: AttemptFailure, of attempt: Attempt, in attempts: AttemptPair, _ recorder: TurnRecorder,
        at now: Duration
    ) {
        guard recorder.isLogging else { return }
        recorder.failed(
            attempt, self.error(for: failure, of: attempts, at: now), tag: failure.tag,
            serverRequestID: self.evidence.requestID, at: now)
    }

    /// Reports that the stream continues over HTTP.
    mutating func noteFallback(
        because tag: String, _ step: TurnStateMachine.Opening.RecoveryStep, _ recorder: TurnRecorder
    ) {
        recorder.fellBack(because: tag, attemptCount: self.machine.attemptCount)
        self.report(
            ChappieDiagnostic(kind: .fellBack, transport: .httpSSE, reason: tag, rung: ChappieRecoveryRung(step)))
    }

    private mutating func circumstances(of attempts: AttemptPair, at now: Duration) -> FailureEvidence.Circumstances {
        FailureEvidence.Circumstances(
            attempt: attempts.current, statistics: attempts.current.map { attempts.statistics(of: $0) },
            transport: self.transport, attemptCount: self.machine.attemptCount,
            replaySafety: self.machine.replaySafety(), now: now)
    }
}
