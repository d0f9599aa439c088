/// What a consumer of a stream receives.
///
/// Immutable values, owned by whoever holds them.
///
/// Concatenated, the deltas of one kind are a duplicate-free, gap-free prefix of one response, whatever happened to
/// the connections below.
public enum ChappieStreamEvent: Sendable, Equatable {
    /// A piece of the response's text.
    ///
    /// Never empty.
    case textDelta(String)
    /// A piece of the model's reasoning, or of its summary.
    ///
    /// Never empty.
    case reasoningDelta(String)
    /// A piece of a refusal.
    ///
    /// Never empty.
    case refusalDelta(String)
    /// The model asks for a tool, which is about to run if its policy lets it.
    ///
    /// From `ChappieClient` only, as the two that follow.
    indirect case toolCallRequested(ChappieToolExecutionRequest)
    /// A tool call waits for an answer of the `toolApprovalHandler`.
    indirect case approvalRequested(ChappieApprovalRequest)
    /// A tool call is over; its output goes back to the model by itself.
    indirect case toolCallCompleted(ChappieToolExecutionResult)
    /// How much of the account's usage windows is spent.
    indirect case usageLimits(ChappieUsageLimitSnapshot)
    /// An event of the wire, before any parsing.
    ///
    /// See `ChappieTransportConfiguration.rawEvents`.
    ///
    /// In place of a credential of the turn that a server repeats, `[redacted]` stands there.
    ///
    /// Raw events lie outside the promise about duplicates in one respect: identifiers and numbers differ between
    /// attempts, so after a reconnect the first n raw events of a type are withheld when n of that type were delivered.
    case raw(type: String, payload: String)
    /// News that stops nothing.
    ///
    /// Only with `ChappieTransportConfiguration.reportsDiagnostics`.
    indirect case diagnostic(ChappieDiagnostic)
    /// The response is complete.
    ///
    /// Exactly once, as the last event; a stream that ends without it has thrown.
    case completed
}

/// Which events of the wire are passed on as `ChappieStreamEvent.raw`.
public enum ChappieRawEvents: String, Sendable, CaseIterable {
    /// Those that no other case carries.
    ///
    /// The default.
    case unsurfaced
    /// Every one, before the event made of it.
    case all
    /// None.
    case none
}

/// Which wire protocol carries a response.
public enum ChappieTransportKind: String, Sendable, Codable, CaseIterable {
    /// RFC 6455.
    case webSocket
    /// A POST whose response is an event stream (WHATWG HTML section 9.2).
    case httpSSE
}

/// News about a stream that stops nothing.
public struct ChappieDiagnostic: Sendable, Equatable {
    /// What happened.
    public enum Kind: String, Sendable, CaseIterable {
        /// A connection is established; `transport` says of which kind.
        case connected
        /// An attempt failed and another follows on the same transport: `attempt` of `limit`, and `reason`.
        case reconnecting
        /// The stream goes on over HTTP/SSE, and why.
        case fellBack
        /// The rest of the response is read from where it broke.
        case resumed
        /// A replay has caught up with what was delivered: `byteCount` bytes were compared and withheld.
        case replayVerified
        /// Nothing with content has come for a while, and the stream waits on.
        case stalled
        /// An event of a type that is not known here; `reason` is the type, cut to 64 bytes. Once for each type.
        case unknownEvent
        /// Numbers of the response's events are missing; the server may have used them for something else.
        case sequenceGap
        /// The response's closing events write its content otherwise than it was streamed, in a way that is harmless:
        /// white space at the end, marks of citations. Once in an attempt.
        case contentRewritten
        /// The server has taken what was put into the response: that one ends, and another goes on from there.
        case steered
        /// What was put into the response waits for the next request, such as one with the output of a tool.
        case steerPending
        /// What was put into the response was refused; `reason` is the error's code, if the protocol has it.
        case steerFailed
        /// Two connections of the stream were cut at the same age, `connectionAge`: that looks like a time limit on the
        /// path, such as a proxy's or a load balancer's.
        case pathTimeLimit
    }

    /// What happened.
    public let kind: Kind
    /// The transport it concerns.
    public let transport: ChappieTransportKind?
    /// Counts retries on one transport from 1.
    public let attempt: Int?
    /// How many retries the policy allows.
    public let limit: Int?
    /// The stable tag of the failure behind it, such as `ws.close.1011`.
    public let reason: String?
    /// Bytes of UTF-8.
    public let byteCount: Int?
    /// The rung of the recovery ladder that the attempt stands on.
    public let rung: ChappieRecoveryRung?
    /// How old a connection was.
    public let connectionAge: Duration?

    init(
        kind: Kind,
        transport: ChappieTransportKind? = nil,
        attempt: Int? = nil,
        limit: Int? = nil,
        reason: String? = nil,
        byteCount: Int? = nil,
        rung: ChappieRecoveryRung? = nil,
        connectionAge: Duration? = nil
    ) {
        self.kind = kind
        self.transport = transport
        self.attempt = attempt
        self.limit = limit
        self.reason = reason
        self.byteCount = byteCount
        self.rung = rung
        self.connectionAge = connectionAge
    }
}

/// How an attempt after a failed one goes on.
public enum ChappieRecoveryRung: String, Sendable, Codable, CaseIterable {
    /// The request is sent again; nothing was delivered.
    case sentAgain
    /// The rest of the response is asked for.
    case resumed
    /// The request is sent again, and what was delivered is compared and withheld.
    case verifiedReplay
}
