import TransportSurface

/// The reason why a turn ended early.
///
/// Below HTTP the facts are in `transport(_:)`.
///
/// A minor version may add cases.
public enum ChappieClientError: Error, Sendable, Equatable {
    /// No credential was given.
    case missingCredential
    /// The credential cannot be refreshed: no refresh token.
    case missingRefreshToken
    /// The credential names no account.
    case missingAccountID
    /// The server rejects the credential, for this reason.
    case reauthenticationRequired(String)
    /// A usage limit is reached; a short wait does not help.
    case usageLimitReached(ChappieUsageLimit)
    /// The model called a tool with this name, which was not registered.
    case missingToolHandler(String)
    /// A tool call was denied; with the tool and the reason.
    case toolApprovalDenied(String, String)
    /// A tool failed; with the tool and the message.
    case toolExecutionFailed(String, String)
    /// The model called tools, or asked to go on, more often than the limit allows.
    case toolLoopLimitExceeded(Int)
    /// The response failed or is incomplete, and a retry does not help.
    case responseTerminalFailure(ChappieResponse)
    /// A retry produced output that contradicts the delivered output; with the delivered text.
    case streamingTransportReplayDiverged(String)
    /// The server answered with an error; with the status code and the body, 64 KiB at most.
    case httpError(Int, String)
    /// The server's answer is contradictory or invalid.
    case invalidResponse
    /// The conversation has a running turn, and permits one at a time.
    case alreadyRunning
    /// The stream is read by another task, or another iterator: a stream has one consumer.
    case alreadyRead
    /// The turn exceeded this time limit, which includes tools.
    case runTimeLimitExceeded(Duration)
    /// The program itself refused to send the request, for this reason.
    case requestRefused(String)
    /// A failure occurred below HTTP.
    case transport(ChappieTransportFailure)
}
