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
    public var retryGuidance: ChappieRetryGuidance {
        let guidance = self.facts.retryGuidance
        guard case .retryWithBackoff = guidance, let delay = self.retryAfter else { return guidance }
        return .retryWithBackoff(afterSeconds: delay.seconds)
    }

    /// The delay before the next request that the server asked for, such as by `Retry-After`; nil where it named none.
    ///
    /// It counts from the server's answer. For an endpoint whose circuit breaker is open, it is the time until a turn
    /// will be tried.
    public var retryAfter: Duration? {
        switch self {
        case .httpError(_, let body): RetryDelay.milliseconds(refusal: body).map { .milliseconds($0) }
        case .responseTerminalFailure(let response): response.retryAfter
        case .transport(let failure): failure.details.retryAfter
        case .missingCredential, .missingRefreshToken, .missingAccountID, .reauthenticationRequired, .usageLimitReached,
            .missingToolHandler, .toolApprovalDenied, .toolExecutionFailed, .toolLoopLimitExceeded,
            .streamingTransportReplayDiverged, .invalidResponse, .alreadyRunning, .alreadyRead, .runTimeLimitExceeded,
            .requestRefused:
            nil
        }
    }

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
        case .httpError(let status, let body):
            ErrorMeaning(statusCode: status, body: body).facts
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

    /// The delay in the message of an ordinary rate limit.
    fileprivate var retryAfter: Duration? {
        var facts = ServerErrorFacts()
        (facts.code, facts.message) = (self.errorCode, self.errorMessage)
        return facts.retryDelay.map { .milliseconds($0) }
    }

    fileprivate var facts: ErrorFacts {
        guard self.status != "incomplete" else { return ErrorFacts(.validation, requiresUserAction: true) }
        guard self.status != "cancelled" else { return ErrorFacts(.server) }
        return ErrorMeaning(self)?.facts ?? ErrorFacts(.server, .afterServerFailure)
    }
}

extension ErrorMeaning {
    /// Creates the meaning of an answer: of the error in its body where that has a meaning beside a status code, or
    /// else of the status code.
    init(statusCode: Int, body: String) {
        let facts = ServerErrorFacts(body: body.utf8)
        self =
            Self(code: facts?.code, type: facts?.type, hasStatusCode: true) ?? Self(statusCode: statusCode)
    }

    /// Creates the meaning of a failed response.
    init?(_ response: ChappieResponse) {
        self.init(code: response.errorCode, type: response.errorType, hasStatusCode: false)
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
