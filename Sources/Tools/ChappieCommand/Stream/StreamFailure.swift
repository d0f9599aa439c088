// The failure of a stream, as facts that can be printed.
import Chappie
import ChappieSignIn
import ChappieTransport

/// The known facts about a stream that failed or was interrupted.
struct StreamFailure: Equatable {
    /// A stable name of the failure.
    var tag: String
    /// The category of the failure; nil for an interruption.
    var category: ChappieErrorCategory?
    /// Indicates whether the same request may succeed later.
    var isRetryable: Bool
    /// The problem and the advice, safe to show.
    var safeDescription: String
    /// The fact that distinguishes failures of one tag, such as the property that cannot be sent; nil without one.
    var detail: String?
    /// The server's description, on one line; nil without one.
    var serverMessage: String?
    /// Indicates whether sending the request again is safe.
    var replaySafety: ChappieReplaySafety
    /// The number of attempts.
    var attempts: Int
    /// Indicates whether the description names the number of attempts.
    var namesAttempts = false
    /// The server's identifier of the request.
    var requestID: String?
    /// The issuer of the rejected certificate, as the certificate names it.
    var issuer: String?
    /// The delivered text, where a replay diverged.
    var deliveredText: String?
    /// The exit code of the process.
    var status: ExitCode

    /// The proof of identity that was sent.
    enum Proof {
        /// None.
        case none
        /// A key, given as an option or in the environment.
        case key
        /// The token of a signed-in account.
        case account
    }

    /// Collects the facts of an error, from the error itself and from the report of the stream.
    init(
        _ error: any Error, report: ChappieStreamReport, proof: Proof, dialect: ChappieDialect = .responses
    ) {
        self.replaySafety = report.replaySafety
        self.attempts = report.attempts.count
        self.requestID = report.attempts.last?.requestID
        self.status = ExitCode(error)
        let facts = FailureFacts(error, interruption: "Interrupted before the response was complete.")
        self.tag = facts.tag
        self.category = facts.category
        self.isRetryable = facts.isRetryable
        self.safeDescription = facts.safeDescription
        guard let error = error as? ChappieClientError else { return }
        self.serverMessage = error.serverMessage
        self.add(error, proof, dialect, report)
    }

    /// The beginnings of the tags of failures for which the path to the server may be at fault.
    private static let tagsOfPath = [
        "connect.", "connection.", "http.not-http", "proxy.not-socks", "proxy.refused", "resolve.",
        "stream.ended-early",
        "timeout.connect", "timeout.firstEvent", "timeout.idle", "tls.certificate", "tls.handshake", "tls.pin",
        "ws.close.1005", "ws.close.1006", "ws.close.1011", "ws.opening-handshake", "ws.ping-timeout",
    ]

    /// Indicates whether the path to the server may be at fault, which `chappie doctor` examines.
    var concernsPath: Bool { Self.tagsOfPath.contains { self.tag.hasPrefix($0) } }

    /// The cause of a divergence that is not a cut.
    private static let unfinishedWords =
        "The answer ended behind a whole event, the server did not say that it was complete, and it answered otherwise "
        + "when it was asked again. \(deliveredWords) \(onceWords)"

    private static let deliveredWords =
        "The delivered text may be all of it, or cut: on the way, or at the limit of output tokens."
    private static let onceWords =
        "If this server ends all its answers so, give --recovery never: it is then asked once."

    private mutating func add(
        _ error: ChappieClientError, _ proof: Proof, _ dialect: ChappieDialect, _ report: ChappieStreamReport
    ) {
        switch error {
        case .reauthenticationRequired: self.safeDescription = proof.refusalWords
        case .httpError(let status, _) where error.doubtsAddress:
            let model = status == 404 && !error.isWebPage ? ", and the model (--model)" : ""
            self.safeDescription =
                "\(error.failureReason ?? "") Check the base URL (--base-url), to which \(dialect.path) is appended\(model)."
        case .transport(let failure):
            self.attempts = failure.attempts
            self.namesAttempts = failure.attempts > 0
            self.requestID = failure.details.requestID ?? self.requestID
            self.issuer = failure.details.issuer
            self.detail = failure.details.detail
            if failure.details.detail == "ended-in-order" {
                let advice = [Self.deliveredWords] + (failure.attempts > 1 ? [Self.onceWords] : [])
                self.safeDescription = ([error.failureReason ?? ""] + advice).joined(separator: " ")
            }
        case .streamingTransportReplayDiverged(let text):
            self.deliveredText = text
            if report.endedWithoutTerminalEvent == true { self.safeDescription = Self.unfinishedWords }
        default: break
        }
    }
}

extension StreamFailure.Proof {
    /// The sentences about a refusal.
    fileprivate var refusalWords: String {
        switch self {
        case .none:
            "The server wants a credential, and none was sent. Give an API key: --api-key, "
                + "CHAPPIE_API_KEY, or the variable of this server's key."
        case .key:
            "The server does not accept the API key. Check the key that was given (--api-key, CHAPPIE_API_KEY, or the "
                + "variable of this server's key), and that it is one for this server."
        case .account: "The server no longer accepts the credential of the account. Sign in again: chappie login."
        }
    }
}
