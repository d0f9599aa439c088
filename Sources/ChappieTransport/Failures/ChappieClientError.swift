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
    /// The conversation has a turn already, and takes one at a time.
    case alreadyRunning
    /// The turn took longer than it may, tools included; how long it may take.
    case runTimeLimitExceeded(Duration)
    /// The program itself refused to send the request; its reason.
    case requestRefused(String)
    /// Something failed below HTTP.
    case transport(ChappieTransportFailure)
}
