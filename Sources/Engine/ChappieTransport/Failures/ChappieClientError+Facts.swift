// The facts that a caller may act on when a turn ends in an error: tag, category, whether and how to retry.
//
// All of them are derived from the error's case, a status code or a documented error code, and never from a message.
// Values without an owner.

import HTTPProtocol
import ResponseEvents
public import StreamSession
import TransportSurface

extension ChappieClientError {
    /// The stable name of the problem, such as `http.429`, `ws.close.1008` or `replay.diverged`.
    public var tag: String {
        switch self {
        case .missingCredential: "auth.missing-credential"
        case .missingRefreshToken: "auth.missing-refresh-token"
        case .missingAccountID: "auth.missing-account-id"
        case .reauthenticationRequired: "auth.reauthentication-required"
        case .usageLimitReached: "usage-limit"
        case .missingToolHandler: "tool.missing-handler"
        case .toolApprovalDenied: "tool.approval-denied"
        case .toolExecutionFailed: "tool.execution-failed"
        case .toolLoopLimitExceeded: "tool.loop-limit"
        case .responseTerminalFailure(let response): response.tag
        case .streamingTransportReplayDiverged: "replay.diverged"
        case .httpError(let status, _): "http.\(status)"
        case .invalidResponse: "response.invalid"
        case .alreadyRunning: "turn.already-running"
        case .alreadyRead: "stream.already-read"
        case .runTimeLimitExceeded: "turn.time-limit"
        case .requestRefused: "request.refused"
        case .transport(let failure): failure.tag
        }
    }

    /// The kind of problem.
    public var category: ChappieErrorCategory { self.facts.category }

    /// Indicates whether the same request may succeed later without any change but the credential's.
    ///
    /// Output that was delivered before the error may differ the second time: see `replaySafety`.
    public var isRetryable: Bool { self.facts.retryGuidance != .none }

    /// The advice before the same request is sent again, with the delay that the server asked for, if it named one.
    public var retryGuidance: ChappieRetryGuidance { self.facts.retryGuidance }

    /// The delay before the next request that the server asked for, such as by `Retry-After`; nil where it named none.
    ///
    /// It counts from the server's answer. For an endpoint whose circuit breaker is open, it is the time until a turn
    /// will be tried.
    public var retryAfter: Duration? { self.facts.retryAfter }

    /// Indicates whether a person has to act, such as sign in, pay or change a setting.
    public var requiresUserAction: Bool { self.facts.requiresUserAction }

    /// Indicates whether the error points to a defect of this program or of the server that should be reported to its
    /// authors.
    public var shouldReport: Bool { self.facts.shouldReport }

    /// The safety of sending the request again, as far as the error alone determines it: otherwise the worst case.
    ///
    /// `ChappieStreamReport.replaySafety` of the stream's handle is exact.
    public var replaySafety: ChappieReplaySafety {
        switch self {
        case .missingCredential, .missingRefreshToken, .missingAccountID, .alreadyRunning: .notSent
        case .transport(let failure): failure.replaySafety
        case .reauthenticationRequired, .usageLimitReached, .missingToolHandler, .toolApprovalDenied,
            .toolExecutionFailed, .toolLoopLimitExceeded, .responseTerminalFailure,
            .streamingTransportReplayDiverged, .httpError, .invalidResponse, .alreadyRead, .runTimeLimitExceeded,
            .requestRefused:
            .outputDelivered
        }
    }

    private var facts: ErrorFacts {
        switch self {
        case .missingCredential, .missingRefreshToken, .missingAccountID, .reauthenticationRequired:
            ErrorFacts(.auth, requiresUserAction: true)
        case .usageLimitReached: ErrorFacts(.rateLimit, requiresUserAction: true)
        case .missingToolHandler, .toolLoopLimitExceeded: ErrorFacts(.validation, shouldReport: true)
        case .toolApprovalDenied: ErrorFacts(.permission, requiresUserAction: true)
        case .toolExecutionFailed: ErrorFacts(.internal, shouldReport: true)
        case .responseTerminalFailure(let response): response.facts
        case .streamingTransportReplayDiverged: ErrorFacts(.server)
        case .httpError(let status, let body): RefusalText(body).facts(behind: status)
        case .invalidResponse: ErrorFacts(.server, shouldReport: true)
        case .alreadyRunning, .alreadyRead: ErrorFacts(.validation, shouldReport: true)
        case .runTimeLimitExceeded: ErrorFacts(.validation, requiresUserAction: true)
        case .requestRefused: ErrorFacts(.permission, requiresUserAction: true)
        case .transport(let failure): failure.facts
        }
    }
}

extension ChappieResponse {
    /// The prefix `response.` and the status, where the API documents it.
    fileprivate var tag: String {
        switch self.status {
        case "incomplete", "cancelled": "response.\(self.status)"
        default: "response.failed"
        }
    }

    fileprivate var facts: ErrorFacts {
        guard self.status != "incomplete" else { return ErrorFacts(.validation, requiresUserAction: true) }
        guard self.status != "cancelled" else { return ErrorFacts(.server) }
        return (self.meaning?.facts ?? ErrorFacts(.server, .afterServerFailure))
            .waiting(for: self.error.retryDelay.map { .milliseconds($0) })
    }

    /// The server's facts about the error, as far as an advice and a delay need them.
    var error: ServerErrorFacts {
        var error = ServerErrorFacts()
        (error.code, error.message) = (self.errorCode, self.errorMessage)
        error.parameter = self.errorPayload.flatMap { ServerErrorFacts(body: $0.utf8)?.parameter }
        return error
    }

    /// The meaning of the error; nil for one without a known code or type.
    var meaning: ErrorMeaning? { ErrorMeaning(code: self.errorCode, type: self.errorType) }
}

extension RefusalText {
    /// Returns the meaning of the error where that has one beside its status code, or else of the status code.
    func meaning(behind statusCode: Int) -> ErrorMeaning {
        ErrorMeaning(code: self.error?.code, type: self.error?.type, statusCode: statusCode)
            ?? ErrorMeaning(statusCode: statusCode)
    }

    fileprivate func facts(behind statusCode: Int) -> ErrorFacts {
        self.meaning(behind: statusCode).facts.waiting(for: self.retryAfter)
    }
}

extension ChappieClientError {
    /// Indicates whether the circuit breaker counts the error: only failures of the server and of the network.
    var countsAgainstServer: Bool {
        switch self.category {
        case .server, .network: true
        case .auth, .validation, .permission, .rateLimit, .internal: false
        }
    }
}
