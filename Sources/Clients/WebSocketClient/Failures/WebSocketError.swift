public import PlatformFoundation
import StreamSession
import StreamTransport
import TransportSurface

/// The reason why a WebSocket could not be opened or used, or ended early.
///
/// The facts are derived from the case, a status code or a close code, never from a message. A minor version may add
/// cases.
public enum WebSocketError: Error, Sendable, Equatable {
    /// An argument or a property of the configuration cannot be used; no connection was opened for it, and no frame
    /// sent.
    case invalidArgument(ChappieArgumentError)
    /// The server answered the opening handshake with another status code than 101.
    case refused(WebSocketRefusal)
    /// The server closed the connection with a code that reports an error, or it was lost (1006).
    case closed(WebSocketClose)
    /// The connection failed: it could not be established, the server broke RFC 6455, or a limit was exceeded.
    case transport(ChappieTransportFailure)
    /// Another task receives at this moment.
    case alreadyReceiving
    /// The connection is closed, or is being closed; receiving ends with the reason.
    case notOpen
}

extension WebSocketError {
    /// The stable name of the problem, such as `connect.failed`, `http.403` or `ws.close.1011`.
    public var tag: String {
        switch self {
        case .invalidArgument(let error): error.tag
        case .refused(let refusal): "http.\(refusal.statusCode)"
        case .closed(let close): "ws.close.\(close.code)"
        case .transport(let failure): failure.tag
        case .alreadyReceiving: "ws.already-receiving"
        case .notOpen: "ws.not-open"
        }
    }

    /// The kind of problem.
    public var category: ChappieErrorCategory { self.facts.category }

    /// Indicates whether the same call, or another connection, may succeed later without any change but the
    /// credential's.
    public var isRetryable: Bool { self.facts.retryGuidance != .none }

    /// The advice before the same is tried again.
    public var retryGuidance: ChappieRetryGuidance { self.facts.retryGuidance }

    /// Indicates whether a person has to act, such as sign in or change a setting.
    public var requiresUserAction: Bool { self.facts.requiresUserAction }

    /// Indicates whether the error points to a defect of this program or of the server.
    public var shouldReport: Bool { self.facts.shouldReport }

    private var facts: ErrorFacts {
        switch self {
        case .invalidArgument, .alreadyReceiving: ErrorFacts(.validation, shouldReport: true)
        case .refused(let refusal): ErrorMeaning(statusCode: refusal.statusCode).facts
        case .closed(let close): ErrorMeaning(closeCode: close.code).facts
        case .transport(let failure): failure.facts
        case .notOpen: ErrorFacts(.network, .afterNetworkFailure)
        }
    }
}

extension WebSocketError: LocalizedError {
    /// The problem, its place, and advice, in sentences that are fit to show.
    ///
    /// It contains neither the server's words nor a part of a message.
    public var safeDescription: String {
        switch self {
        case .invalidArgument(let error): error.safeDescription
        case .refused(let refusal):
            "The server answered the opening handshake with status code \(refusal.statusCode). " + refusal.advice
        case .closed(let close): close.sentences
        case .transport(let failure): failure.sentencesOfWebSocket ?? failure.safeDescription
        case .alreadyReceiving:
            "Another task receives from this WebSocket at this moment. Receive in one task, and send from any."
        case .notOpen: "The WebSocket is closed, or is being closed. Open another one."
        }
    }

    /// The server's message about it: to be logged with care, not to be shown.
    public var unsafeMessage: String? {
        switch self {
        case .refused(let refusal): refusal.body.isEmpty ? nil : refusal.body
        case .closed(let close): close.reason.isEmpty ? nil : close.reason
        case .transport(let failure): failure.details.issuer
        case .invalidArgument, .alreadyReceiving, .notOpen: nil
        }
    }

    /// The same as `safeDescription`.
    public var errorDescription: String? { self.safeDescription }
}

extension WebSocketError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The stable tag and the safe description, without the server's words.
    public var description: String { "\(self.tag): \(self.safeDescription)" }
    /// The same as `description`.
    public var debugDescription: String { "WebSocketError(\(self.description))" }
    /// The tag alone.
    public var customMirror: Mirror { Mirror(self, children: ["tag": self.tag]) }
}

extension ChappieTransportFailure {
    /// The problem and advice about an established WebSocket and its opening handshake; nil for what comes before.
    ///
    /// The failure's own sentences are about responses, their events, and HTTP as another way.
    fileprivate var sentencesOfWebSocket: String? {
        switch self.code {
        case .eventTooLarge:
            "The server sent a message larger than the limit of \(self.details.limit ?? 0) bytes. Raise the limit "
                + "if the server is right."
        case .protocolViolation:
            "The server sent what is no WebSocket message (RFC 6455). Try again in a moment; if it stays so, ask the "
                + "operator of the server or the proxy."
        case .openingHandshakeInvalid:
            "The server's answer to the opening handshake is not that of a WebSocket"
                + "\(self.details.detail.map { ": \($0)" } ?? ""). Check the address, or ask the operator of the "
                + "server or the proxy to allow WebSockets."
        case .peerUnresponsive:
            "The server did not answer a ping within the time limit (timeouts.pongTimeout). If the connection has "
                + "ended, try again in a moment."
        default: nil
        }
    }
}

extension WebSocketRefusal {
    fileprivate var advice: String {
        switch self.statusCode {
        case 300..<400: "Redirects are not followed. If the server names its address (Location), use that."
        case 401, 403: "Check the credential, and what it allows."
        case 404, 405, 426: "Check the address: there may be no WebSocket."
        case 407: "Check the user name and password in the proxy's URL."
        case 429: "Wait a little, and open fewer connections."
        case 500..<600 where ErrorMeaning(statusCode: self.statusCode).facts.retryGuidance != .none:
            "Try again in a moment."
        case 500..<600: "Ask the server's operator: it does not open WebSockets here."
        default: "See what the server says, and check the address."
        }
    }
}

extension WebSocketClose {
    fileprivate var sentences: String {
        guard self.isClean else {
            guard self.initiator != .client else {
                return
                    "The server did not complete the closing handshake within its time limit, or its messages before "
                    + "the close frame were not received. Messages sent last may not have arrived: raise the limit "
                    + "(timeouts.close) if the server or the receiver is slow."
            }
            return "The connection was lost: it ended without a closing handshake. Try again in a moment."
        }
        let problem = "The server closed the WebSocket with code \(self.code)."
        switch self.code {
        case 1002, 1003, 1007, 1010: return "\(problem) It could not process what was sent."
        case 1008: return "\(problem) Check what the credential allows, and what was sent."
        case 1009: return "\(problem) Send smaller messages."
        default: return "\(problem) Try again in a moment."
        }
    }
}
