// Descriptions of errors: sentences that are fit to show, and the server's own words apart from them.
//
// The sentences consist of fixed text and numbers, so that they cannot contain content or a secret.
import HTTPProtocol
public import PlatformFoundation
import ResponseEvents
import StreamSession
import TransportSurface

extension ChappieClientError: LocalizedError {
    /// The problem, its place, and advice, in sentences that are fit to show.
    ///
    /// It contains neither the server's words nor a part of the request or the response.
    public var safeDescription: String { "\(self.problem) \(self.advice)" }

    /// The message of the server, a tool or a person about it: to be logged with care, not to be shown.
    public var unsafeMessage: String? {
        switch self {
        case .reauthenticationRequired(let reason): reason
        case .usageLimitReached(let limit): limit.message
        case .toolApprovalDenied(_, let reason): reason
        case .toolExecutionFailed(_, let message): message
        case .responseTerminalFailure(let response): response.errorMessage ?? response.incompleteReason
        case .httpError(_, let body): RetryDelay.withoutStatement(body)
        case .transport(let failure):
            failure.details.serverMessage ?? failure.details.closeReason ?? failure.details.issuer
        case .requestRefused(let reason): reason
        case .missingCredential, .missingRefreshToken, .missingAccountID, .missingToolHandler, .toolLoopLimitExceeded,
            .streamingTransportReplayDiverged, .invalidResponse, .alreadyRunning, .alreadyRead, .runTimeLimitExceeded:
            nil
        }
    }

    /// The server's message about it, as one line for the program's user; nil when there is none.
    ///
    /// For a body or an error event it is `error.message`, `detail` or `message`, for an HTML page its title, and
    /// otherwise the text; for a closed WebSocket, the reason. It contains no control characters and no credential of
    /// the turn; a message of more than 500 characters is cut, and ends with their number. It may hold content, as it
    /// may quote the request: it is not for logs and reports, which have `tag` and `safeDescription`.
    public var serverMessage: String? {
        switch self {
        case .reauthenticationRequired(let reason):
            ReauthenticationReason(rawValue: reason) == nil ? ServerMessage.line(reason) : nil
        case .usageLimitReached(let limit): ServerMessage.line(limit.message)
        case .responseTerminalFailure(let response): response.serverMessage
        case .httpError(_, let body): ServerMessage.line(ofBody: body)
        case .transport(let failure):
            failure.details.serverMessage.flatMap(ServerMessage.line(ofBody:))
                ?? ServerMessage.line(failure.details.closeReason)
        case .missingCredential, .missingRefreshToken, .missingAccountID, .missingToolHandler, .toolApprovalDenied,
            .toolExecutionFailed, .toolLoopLimitExceeded, .streamingTransportReplayDiverged, .invalidResponse,
            .alreadyRunning, .alreadyRead, .runTimeLimitExceeded, .requestRefused:
            nil
        }
    }

    /// The same as `safeDescription`.
    public var errorDescription: String? { self.safeDescription }

    /// The problem, without the advice.
    public var failureReason: String? { self.problem }

    /// The advice about the problem.
    public var recoverySuggestion: String? { self.advice }

    private var problem: String {
        switch self {
        case .missingCredential: "There is no credential."
        case .missingRefreshToken: "The credential has expired and there is no refresh token."
        case .missingAccountID: "The credential names no account."
        case .reauthenticationRequired(let reason): ReauthenticationReason.problem(reason)
        case .usageLimitReached(let limit): "The usage limit\(limit.planWords) is reached."
        case .missingToolHandler: "The model called a tool that is not registered."
        case .toolApprovalDenied: "A tool call was denied."
        case .toolExecutionFailed: "A tool failed."
        case .toolLoopLimitExceeded(let limit):
            "The model called tools, or asked to go on, more often than the limit of \(limit) allows."
        case .responseTerminalFailure(let response): response.problem
        case .streamingTransportReplayDiverged:
            "The server's answer contradicts output that was delivered before."
        case .httpError(let status, _):
            "The server answered with status code \(status)\(self.answerWords)."
        case .invalidResponse: "The server's answer makes no sense."
        case .alreadyRunning: "The conversation has a turn that is not over."
        case .alreadyRead: "The stream is read by two consumers."
        case .runTimeLimitExceeded(let limit): "The turn took longer than the limit of \(limit.seconds) s allows."
        case .requestRefused: "The program refused to send the request."
        case .transport(let failure): failure.problem
        }
    }

    /// The clause about an answer with a status code in place of a response.
    private var answerWords: String {
        guard case .httpError(let status, let body) = self else { return "" }
        if let page = WebPage(body) { return ", and \(page.words)" }
        return (200..<300).contains(status) ? ", behind which no event stream is read" : ""
    }

    /// Indicates whether the API may not be at this address: 404 and 405 (RFC 9110 sections 15.5.5 and 15.5.6).
    package var doubtsAddress: Bool {
        guard case .httpError(let status, let body) = self, [404, 405].contains(status) else { return false }
        return RefusalText(body).error?.namesModel != true
    }

    /// Indicates whether a web page has answered.
    package var isWebPage: Bool {
        guard case .httpError(_, let body) = self else { return false }
        return WebPage(body) != nil
    }

    private var advice: String {
        switch self {
        case .missingCredential:
            "Set the environment variable of the key, such as OPENAI_API_KEY, pass a credential, or sign in."
        case .missingRefreshToken, .missingAccountID: "Sign in again."
        case .reauthenticationRequired(let reason): ReauthenticationReason.advice(reason)
        case .usageLimitReached(let limit): limit.advice
        case .missingToolHandler: "Register the tool, or do not offer it to the model."
        case .toolApprovalDenied: "Approve the call, or do not offer the tool to the model."
        case .toolExecutionFailed: "See the tool's own message."
        case .toolLoopLimitExceeded: "Raise the limit, or ask for less at a time."
        case .responseTerminalFailure(let response): response.advice(after: self.retryAfter)
        case .streamingTransportReplayDiverged:
            "The delivered text is an unfinished answer; discard it before you ask again."
        case .httpError(let status, let body):
            WebPage(body)?.advice(statusCode: status) ?? RefusalText(body).advice(behind: status)
        case .invalidResponse: "Check the address; if it is right, report this to the server's operator."
        case .alreadyRunning: "Read that turn to its end or cancel it, or use another client."
        case .alreadyRead: "Read a stream in one task, and pass its events on from there."
        case .runTimeLimitExceeded: "Raise the limit, or ask for less at a time."
        case .requestRefused: "See the reason, and change the request or the rule."
        case .transport(let failure): failure.advice(naming: ChappieLinkedLibraries.versions)
        }
    }
}

extension ChappieResponse {
    /// The server's message about the end of the response as one line, or else its code or reason.
    var serverMessage: String? {
        let words = self.errorMessage ?? self.errorPayload.flatMap { ServerErrorFacts.words(inJSON: $0.utf8) }
        return ServerMessage.line(words ?? self.errorCode ?? (self.faultOfCalls == nil ? self.incompleteReason : nil))
    }

    /// The fault of an answer that the server calls whole, in the dialects whose calls end with the answer; nil for none.
    private var faultOfCalls: String? {
        switch self.incompleteReason {
        case "cut_arguments": "The response ended within the arguments of a call."
        case "unnamed_call": "The response has a call without its name or identifier."
        case "missing_call": "The response ended for a call, and none was sent."
        default: nil
        }
    }

    fileprivate var problem: String {
        switch self.status {
        case "incomplete": self.faultOfCalls ?? "The response ended before it was complete."
        case "cancelled": "The response was cancelled at the server."
        default: "The response failed at the server."
        }
    }

    fileprivate func advice(after delay: Duration?) -> String {
        switch self.status {
        case "incomplete": self.adviceOnIncompleteAnswer
        case "cancelled": "If the cancellation was not meant, send the request again."
        default:
            self.error.adviceOnRequest
                ?? self.meaning?.advice(isExplained: self.serverMessage != nil, after: delay)
                ?? self.adviceWithoutMeaning
        }
    }

    /// The next step after an answer that ended early, by the server's reason.
    private var adviceOnIncompleteAnswer: String {
        switch self.incompleteReason {
        // The words of Responses and Chat Completions, and of Messages.
        case "content_filter", "refusal": "Change the request: a filter of the server ended the answer."
        case "max_output_tokens", "cut_arguments", nil: "Allow more output tokens, or change the request."
        default: "Send the request again, or change it."
        }
    }

    /// The next step after an error whose code or type is not known.
    private var adviceWithoutMeaning: String {
        self.serverMessage == nil
            ? "Try again in a moment."
            : "See what the server says: change the request if that is at fault, or try again."
    }
}

extension ServerErrorFacts {
    /// Indicates whether the error is about the model.
    fileprivate var namesModel: Bool { self.code == ErrorMeaning.unknownModel || self.parameter == "model" }

    /// The next step, where the error names the part of the request that it is about.
    var adviceOnRequest: String? {
        if self.namesModel { return "Name another model, or ask for access to this one." }
        if self.code == ErrorMeaning.forgottenResponse {
            return "Send the whole input without previous_response_id: the server does not have that response."
        }
        if self.parameter == "previous_response_id" {
            return "Send the whole input without previous_response_id: the server does not continue that response."
        }
        if self.parameter == "response_id" {
            return "Where previous_response_id names the response, send the whole input: the server does not have it."
        }
        if self.code == ErrorMeaning.overloaded { return "Use another model, or try again some minutes later." }
        guard self.code == ErrorMeaning.inputTooLong else { return nil }
        return "Shorten the input, or use a model with a larger context window."
    }
}

extension RefusalText {
    /// Returns the next step after an answer with a status code that is no page.
    fileprivate func advice(behind statusCode: Int) -> String {
        self.error?.adviceOnRequest
            ?? self.meaning(behind: statusCode)
            .advice(isExplained: ServerMessage.line(self.words) != nil, after: self.retryAfter)
    }
}

extension ErrorMeaning {
    /// Returns the next step for a person.
    ///
    /// - Parameters:
    ///   - isExplained: whether the server has described the problem.
    ///   - delay: the delay that the server asked for.
    /// - Returns: a sentence, which advises another try only where the guidance does.
    package func advice(isExplained: Bool, after delay: Duration?) -> String {
        switch self.statusCode {
        case .some(200..<300):
            return "Check the address, and ask the server's operator: only 200, 201 and 203 announce a stream, and the "
                + "request may have been charged."
        case .some(300..<400):
            return "Redirects are not followed. If the server names its address, set the base URL to that, without "
                + "the path of the API, such as /responses."
        case 404, 405, 426: return "Check the address and the request."
        case 407:
            return "A proxy on the way demands a user name and a password: put them into the proxy's URL, or ask its "
                + "operator."
        case 413: return "Send a smaller request."
        default: return self.adviceOfClass(isExplained: isExplained, after: delay)
        }
    }

    private func adviceOfClass(isExplained: Bool, after delay: Duration?) -> String {
        switch self.failureClass {
        // A quota does not recover by waiting.
        case .usageLimit: "Check the account's plan and its billing."
        case .fatal where self.facts.category == .validation && self.facts.requiresUserAction: "Change the input."
        case .server where self.facts.category == .validation: "Try again, or change the input."
        case .definite, .probable, .offline, .transient, .server, .size, .credential, .throttle, .fatal:
            self.adviceOfCategory(isExplained: isExplained, after: delay)
        }
    }

    private func adviceOfCategory(isExplained: Bool, after delay: Duration?) -> String {
        let seconds = delay.map { "\(Int($0.seconds.rounded(.up))) s" }
        return switch self.facts.category {
        case .auth: "Check the API key, or sign in again."
        case .network: "Check the network, and try again."
        case .validation where isExplained: "Change the request: the server says what is wrong with it."
        case .validation: "Check the address and the request."
        case .permission: "Ask for access, or use another account."
        case .rateLimit: "Wait \(seconds ?? "a little"), and send fewer requests."
        case .server where self.facts.retryGuidance != .none: "Try again in \(seconds ?? "a moment")."
        case .server: "Ask the server's operator: the same request would fail again."
        case .internal: "Report this."
        }
    }
}

extension ChappieUsageLimit {
    fileprivate var advice: String {
        // RFC 3339 has years of four digits: a later time is not worth waiting for.
        guard let resetsAt = self.resetsAt, resetsAt.timeIntervalSince1970 < 253_402_300_800 else {
            return "Wait until the limit is reset, or choose another plan."
        }
        return "Wait until \(resetsAt.formatted(.iso8601)), when the limit is reset, or choose another plan."
    }

    fileprivate var planWords: String {
        // Only known plan names are shown: other names are the server's words.
        self.plan.map { PlanName.isKnown(planType: $0.rawValue) ? " of the plan \($0.displayName)" : "" } ?? ""
    }
}
