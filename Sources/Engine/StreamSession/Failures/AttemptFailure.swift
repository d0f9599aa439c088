package import StreamTransport

/// The reason why one attempt at a turn ended without a complete response.
///
/// Immutable values without an owner. They hold what a decision and a report need, and no content.
package enum AttemptFailure: Error, Sendable, Equatable {
    /// The connection failed.
    case transport(TransportFailure)
    /// The WebSocket was closed (RFC 6455 section 7.4) in the middle of a response.
    case closed(code: UInt16, beforeFirstEvent: Bool)
    /// The stream ended without a terminal event.
    case endedEarly
    /// The answer to the POST ended normally before its first event.
    case endedWithoutEvent
    /// The upgrade was answered with a status code other than 101.
    case upgradeStatus(RefusalFacts)
    /// The POST was answered with a status code other than 200.
    case httpStatus(RefusalFacts)
    /// The server sent an error instead of the rest of the response.
    case errorEvent(RefusalFacts)
    /// The response failed, as the server reported.
    case responseFailed(RefusalFacts)
    /// The response was incomplete for a reason that a repeated request does not change.
    case responseIncomplete(reason: String?)
    /// The answer to the POST is not an event stream.
    case unexpectedContentType
    /// A binary message, where only text has a meaning.
    case binaryMessage
    /// An event that is not JSON, or that lacks what its type needs.
    case undecodableEvent
    /// Events that cannot belong to one response, with the rule that they break.
    ///
    /// For a closing event, also the slot; neither holds content.
    case contradictoryEvents(ResponseOrder.Violation, at: ReplaySlot? = nil)
    /// Events of a resumable response are missing; `found` is nil when their absence cannot be excluded.
    case sequenceGap(expected: Int, found: Int?)
    /// The endpoint answers, but with another API.
    case otherAPI(OtherAPI)
    /// An event over the limit, in bytes.
    case eventTooLarge(limit: Int)
    /// More output of a kind than a turn may have, in bytes.
    case outputTooLarge(limit: Int)
    /// The end of a response lists more items than can be read.
    case tooManyItems(limit: Int)
    /// The server is silent, and seems to wait for the output of tools that the response has called.
    case toolOutputAwaited
    /// A time budget ran out.
    case timeout(TimeBudget)
    /// The request is larger than a WebSocket message may be.
    case requestTooLarge

    /// The event that a time budget waits for.
    package enum TimeBudget: String, Sendable, Equatable, CaseIterable {
        /// The first event of the response.
        case firstEvent
        /// The next sign of life.
        case idle
        /// The next event with content.
        case progress
        /// The whole turn.
        case total
    }

    /// The delay that the server requested.
    package var retryAfter: Duration? { self.refusal?.retryAfter }

    /// Indicates whether the server refused the request, and so has not begun to work on it.
    ///
    /// Of the 5xx codes only 503 means so (RFC 9110 section 15.6.4); after a gateway's timeout the work may be under
    /// way.
    var isRefusal: Bool {
        switch self {
        case .upgradeStatus: true
        case .httpStatus(let facts): facts.statusCode.map { $0 < 500 || $0 == 503 } ?? false
        default: false
        }
    }

    /// Indicates whether events cannot belong to one response.
    var isContradiction: Bool { if case .contradictoryEvents = self { true } else { false } }

    /// The usage limit that the server named.
    package var usageLimit: UsageLimitFacts? { self.refusal?.usageLimit }

    /// The server's statement about the refusal, if it made one.
    package var refusal: RefusalFacts? {
        switch self {
        case .upgradeStatus(let facts), .httpStatus(let facts), .errorEvent(let facts), .responseFailed(let facts):
            facts
        default: nil
        }
    }
}

/// An API that an endpoint speaks in place of the Responses API.
package enum OtherAPI: String, Sendable, Equatable, CaseIterable {
    /// OpenAI's Responses API.
    case responses
    /// OpenAI's Chat Completions.
    case chatCompletions = "chat-completions"
    /// Anthropic's Messages.
    case messages = "anthropic-messages"
}

/// A server's statement when it refused a request, over either transport.
package struct RefusalFacts: Sendable, Equatable {
    /// The status code (RFC 9110 section 15); in band it may be missing.
    package let statusCode: Int?
    /// The error's code, or its type where it has no code.
    package let errorCode: String?
    /// The error's type: the family that its code belongs to.
    package let errorType: String?
    /// The parameter of the request that the error is about.
    package let parameter: String?
    /// The delay of `Retry-After`, or of the server's message, as time from the receipt.
    package let retryAfter: Duration?
    /// The usage limit that was reached.
    package let usageLimit: UsageLimitFacts?

    /// Creates the facts of a refusal.
    package init(
        statusCode: Int? = nil,
        errorCode: String? = nil,
        errorType: String? = nil,
        parameter: String? = nil,
        retryAfter: Duration? = nil,
        usageLimit: UsageLimitFacts? = nil
    ) {
        self.statusCode = statusCode
        self.errorCode = errorCode
        self.errorType = errorType
        self.parameter = parameter
        self.retryAfter = retryAfter
        self.usageLimit = usageLimit
    }
}

/// The facts about a usage limit that a decision needs.
package struct UsageLimitFacts: Sendable, Equatable {
    /// Time from the receipt until the limit ends; nil when the server did not say.
    package let resetsAfter: Duration?

    /// Creates the facts of a usage limit.
    package init(resetsAfter: Duration? = nil) { self.resetsAfter = resetsAfter }
}
