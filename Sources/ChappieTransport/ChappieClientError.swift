/// Why a turn ended early.
///
/// Below HTTP the facts are in `transport(_:)`.
public enum ChappieClientError: Error, Sendable, Equatable {
    /// No credential is there.
    case missingCredential
    /// The credential cannot be refreshed: no refresh token.
    case missingRefreshToken
    /// The credential names no account.
    case missingAccountID
    /// The server rejects the credential; the reason.
    case reauthenticationRequired(String)
    /// A usage limit is reached; waiting a little does not help.
    case usageLimitReached(ChappieUsageLimit)
    /// The model called a tool that was not registered; its name.
    case missingToolHandler(String)
    /// A tool call was denied; the tool and the reason.
    case toolApprovalDenied(String, String)
    /// A tool failed; the tool and the message.
    case toolExecutionFailed(String, String)
    /// The model called tools more often than the limit allows.
    case toolLoopLimitExceeded(Int)
    /// The response failed or is incomplete, and trying again does not help.
    case responseTerminalFailure(ChappieResponse)
    /// A retry produced output that contradicts what was delivered; the delivered text.
    case streamingTransportReplayDiverged(String)
    /// The server answered with an error; the status code and the body, 64 KiB at most.
    case httpError(Int, String)
    /// The server's answer makes no sense.
    case invalidResponse
    /// Something failed below HTTP.
    case transport(ChappieTransportFailure)
}

/// The end of a response that is not a success.
public struct ChappieResponse: Sendable, Equatable {
    /// The response's identifier.
    public let id: String?
    /// As the server spells it: `failed`, `incomplete`, `cancelled`.
    public let status: String
    /// The error's code, such as `server_error`.
    public let errorCode: String?
    /// The error's text, in the server's words.
    public let errorMessage: String?
    /// Why it is incomplete, such as `max_output_tokens`.
    public let incompleteReason: String?

    init(id: String?, status: String, errorCode: String?, errorMessage: String?, incompleteReason: String?) {
        self.id = id
        self.status = status
        self.errorCode = errorCode
        self.errorMessage = errorMessage
        self.incompleteReason = incompleteReason
    }
}
