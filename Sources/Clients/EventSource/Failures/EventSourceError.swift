public import PlatformFoundation
public import StreamSession
public import TransportSurface

/// The reason why an event source has ended.
///
/// Beside it, an event source throws only `CancellationError`. The printed form has no words of the server. A minor
/// version may add cases.
public enum EventSourceError: Error, Sendable, Equatable {
    /// The request or a property of the configuration cannot be used; no connection was opened for it.
    case invalidArgument(ChappieArgumentError)
    /// The server answered with another status code than 200 and 204.
    case refused(EventSourceRefusal)
    /// A redirect is not followed, with the status code of the answer.
    case redirect(EventSourceRedirectFault, statusCode: Int)
    /// The connection failed, the answer is no event stream, or a limit was exceeded.
    ///
    /// An answer with another content type than `text/event-stream` is `http.content-type`, with the beginning of its
    /// content in `details.serverMessage`.
    case transport(ChappieTransportFailure)
    /// The events are read by two consumers; each event source has one.
    case alreadyRead
}

/// The reason why a redirect is not followed.
///
/// A minor version may add cases.
public enum EventSourceRedirectFault: String, Error, Sendable, Hashable, CaseIterable {
    /// `Location` is absent or empty (RFC 9110 section 10.2.2).
    case locationMissing = "location-missing"
    /// `Location` is not an address of http or https, or has user information.
    case locationInvalid = "location-invalid"
    /// The redirect leads from https to http.
    case insecure
    /// The redirect leads to a request that was redirected before.
    case loop
    /// There are more redirects in a row than ``EventSourceConfiguration/maximumRedirects``.
    case tooMany = "too-many"
}

extension EventSourceError {
    /// The stable name of the problem, such as `http.404`, `redirect.loop` or `connect.failed`.
    public var tag: String {
        switch self {
        case .invalidArgument(let error): error.tag
        case .refused(let refusal): "http.\(refusal.statusCode)"
        case .redirect(let fault, _): "redirect.\(fault.rawValue)"
        case .transport(let failure): failure.tag
        case .alreadyRead: "event-source.already-read"
        }
    }

    /// The kind of problem.
    public var category: ChappieErrorCategory { self.facts.category }

    /// Indicates whether the same request may succeed later without any change but the credential's.
    public var isRetryable: Bool { self.facts.retryGuidance != .none }

    /// The advice before the same request is sent again.
    public var retryGuidance: ChappieRetryGuidance { self.facts.retryGuidance }

    /// Indicates whether a person has to act, such as correct an address or a credential.
    public var requiresUserAction: Bool { self.facts.requiresUserAction }

    /// Indicates whether the error points to a defect of this program or of the server.
    public var shouldReport: Bool { self.facts.shouldReport }

    private var facts: ErrorFacts {
        switch self {
        case .invalidArgument, .alreadyRead: ErrorFacts(.validation, shouldReport: true)
        case .refused(let refusal) where refusal.isAcceptance: ErrorFacts(.server)
        case .refused(let refusal): ErrorMeaning(statusCode: refusal.statusCode).facts
        case .redirect: ErrorFacts(.server, requiresUserAction: true)
        case .transport(let failure): failure.facts
        }
    }

    /// The status code of the answer, where the error is about one.
    public var statusCode: Int? {
        switch self {
        case .refused(let refusal): refusal.statusCode
        case .redirect(_, let statusCode): statusCode
        case .transport(let failure): failure.details.statusCode
        case .invalidArgument, .alreadyRead: nil
        }
    }
}

extension EventSourceError: LocalizedError {
    /// The problem and advice, in sentences that are fit to show.
    ///
    /// It contains neither the server's words nor a part of the request.
    public var safeDescription: String { "\(self.problem) \(self.advice)" }

    /// The server's words about it: to be logged with care, not to be shown.
    public var unsafeMessage: String? {
        switch self {
        case .refused(let refusal): refusal.body.isEmpty ? nil : refusal.body
        case .transport(let failure): failure.details.serverMessage ?? failure.details.issuer
        case .invalidArgument, .redirect, .alreadyRead: nil
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
        case .invalidArgument(let error): "An argument cannot be used: \(error.fault)."
        case .refused(let refusal) where refusal.isAcceptance:
            "The server answered with status code 202: it has accepted the request, and sends no event stream."
        case .refused(let refusal):
            "The server answered with status code \(refusal.statusCode)"
                + "\(WebPage(refusal.body).map { ", and \($0.words)" } ?? "")."
        case .redirect(let fault, let statusCode):
            "The redirect with status code \(statusCode) \(fault.words)."
        case .transport(let failure): failure.problem
        case .alreadyRead: "The events are read by two consumers."
        }
    }

    private var advice: String {
        switch self {
        case .invalidArgument: "Correct it."
        case .refused(let refusal) where refusal.isAcceptance:
            "If an answer follows, it comes another way, such as a stream that is asked for by a GET."
        case .refused(let refusal):
            WebPage(refusal.body)?.advice(statusCode: refusal.statusCode) ?? self.adviceOfCategory
        case .redirect(.tooMany, _): "Check the address, or raise the limit."
        case .redirect: "Check the address, or ask the server's operator."
        case .transport(let failure): failure.advice
        case .alreadyRead: "Make an event source for each consumer."
        }
    }
}

extension EventSourceRefusal {
    /// Indicates whether the request was accepted without a stream (RFC 9110 section 15.3.3), as servers of the Model
    /// Context Protocol answer notifications.
    fileprivate var isAcceptance: Bool { self.statusCode == 202 }
}

extension EventSourceRedirectFault {
    /// The end of a sentence about the redirect.
    fileprivate var words: String {
        switch self {
        case .locationMissing: "names no address"
        case .locationInvalid: "names an address that cannot be used"
        case .insecure: "leads from https to http"
        case .loop: "leads back to where it came from"
        case .tooMany: "is one too many"
        }
    }
}

extension EventSourceError {
    /// The next step after a status code.
    fileprivate var adviceOfCategory: String {
        switch self.category {
        case .auth: "Check the credential."
        case .permission: "Check what the credential allows."
        case .rateLimit: "Send fewer requests, and try again later."
        case .validation: "Check the address and the request."
        case .network, .server, .internal:
            self.isRetryable
                ? "Try again in a moment; if it stays so, ask the server's operator."
                : "Ask the server's operator: the same request would fail again."
        }
    }
}

extension EventSourceError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The stable tag and the safe description.
    public var description: String { "\(self.tag): \(self.safeDescription)" }
    /// The same as `description`.
    public var debugDescription: String { "EventSourceError(\(self.description))" }
    /// The tag; for a failure below HTTP, its facts as well.
    public var customMirror: Mirror {
        guard case .transport(let failure) = self else { return Mirror(self, children: ["tag": self.tag]) }
        return Mirror(self, children: ["tag": self.tag, "failure": failure])
    }
}
