public import StreamSession

/// An event that a stream delivers to its consumer.
///
/// Immutable values, owned by their holders.
///
/// Concatenated, the deltas of one kind, behind `restarted` if it comes, are a duplicate-free, gap-free prefix of one
/// response, independently of the connections below.
///
/// A minor version may add cases.
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
    /// The model asks for a tool, which is about to run if its policy permits it.
    ///
    /// Only from `ChappieClient`, like the next two.
    indirect case toolCallRequested(ChappieToolExecutionRequest)
    /// A tool call waits for an answer of the `toolApprovalHandler`.
    indirect case approvalRequested(ChappieApprovalRequest)
    /// A tool call is over; its output goes back to the model automatically.
    indirect case toolCallCompleted(ChappieToolExecutionResult)
    /// The used part of the account's usage windows.
    indirect case usageLimits(ChappieUsageLimitSnapshot)
    /// An event of the wire, before any parsing.
    ///
    /// See `ChappieTransportConfiguration.rawEvents`.
    ///
    /// A credential of the turn that a server repeats is replaced by `[redacted]`.
    ///
    /// Raw events are excepted from the guarantee about duplicates in one respect: identifiers and numbers differ
    /// between attempts, so after a reconnect the first n raw events of a type are withheld when n of that type were
    /// delivered.
    case raw(type: String, payload: String)
    /// The connection was cut, and the server has answered the repeated request differently: the response's text so far is
    /// not the answer, and the deltas that follow are, from its first byte.
    ///
    /// Only with `ChappieStreamingTransportPolicy.Divergence.restarts`. The reasoning and refusals so far are replaced as
    /// well; of a turn with tools, only what came behind the last tools. `deliveredText` may be empty.
    indirect case restarted(deliveredText: String)
    /// Information that does not interrupt the stream.
    ///
    /// Only with `ChappieTransportConfiguration.reportsDiagnostics`.
    indirect case diagnostic(ChappieDiagnostic)
    /// The response is complete.
    ///
    /// Exactly once, as the last event; a stream that ends without it has thrown.
    case completed
}

/// The events of the wire that are passed on as `ChappieStreamEvent.raw`.
public enum ChappieRawEvents: String, Sendable, CaseIterable {
    /// The events that no other case carries.
    ///
    /// The default.
    case unsurfaced
    /// All events, each before the event made of it.
    case all
    /// No events.
    case none
}

/// Information about a stream that does not interrupt it.
public struct ChappieDiagnostic: Sendable, Equatable {
    /// The kind of a diagnostic.
    ///
    /// A minor version may add cases.
    public enum Kind: String, Sendable, CaseIterable {
        /// A connection is established, of the kind in `transport`.
        case connected
        /// An attempt failed and another follows on the same transport: `attempt` of `limit`, and `reason`.
        case reconnecting
        /// The server asks for fewer requests, and another attempt follows behind `delay`: `attempt` of `limit`, and
        /// `reason`.
        case rateLimited
        /// The stream continues over HTTP/SSE, for the given `reason`.
        case fellBack
        /// The rest of the response is read from where it broke.
        case resumed
        /// A replay has caught up with the delivered output: `byteCount` bytes were compared and withheld, in all
        /// attempts of the turn together.
        case replayVerified
        /// No event with content has come for a while, and the stream still waits.
        case stalled
        /// An event of an unknown type; `reason` is the type, cut to 64 bytes. Once for each type.
        case unknownEvent
        /// Numbers of the response's events are missing; the server may have used them for other purposes.
        case sequenceGap
        /// The response's closing events differ from the streamed content in a harmless way: white space at the end,
        /// marks of citations. Once in an attempt.
        case contentRewritten
        /// The server has accepted the input that steers the response: that one ends, and another continues from there.
        case steered
        /// The input that steers the response waits for the next request, such as one with the output of a tool.
        case steerPending
        /// The input that steers the response was refused, or no response came for it; `reason` is the code of the
        /// server's error, if the protocol has it.
        case steerFailed
        /// Two connections of the stream were cut at the same age, `connectionAge`, which suggests a time limit on the
        /// path, such as a proxy's or a load balancer's.
        case pathTimeLimit
        /// The answer is an event stream with the content type in `reason`, such as `text/plain`: it is read as one.
        case contentTypeMismatch
    }

    /// The kind of the diagnostic.
    public let kind: Kind
    /// The transport it concerns.
    public let transport: ChappieTransportKind?
    /// The number of the retry on one transport; counts from 1.
    public let attempt: Int?
    /// The number of retries that the policy allows.
    public let limit: Int?
    /// The stable tag of the failure, such as `ws.close.1011`.
    public let reason: String?
    /// The number of bytes of UTF-8.
    public let byteCount: Int?
    /// The recovery step that the attempt performs.
    public let rung: ChappieRecoveryRung?
    /// The age of the connection.
    public let connectionAge: Duration?
    /// The delay before the next attempt.
    public let delay: Duration?

    init(
        kind: Kind,
        transport: ChappieTransportKind? = nil,
        attempt: Int? = nil,
        limit: Int? = nil,
        reason: String? = nil,
        byteCount: Int? = nil,
        rung: ChappieRecoveryRung? = nil,
        connectionAge: Duration? = nil,
        delay: Duration? = nil
    ) {
        self.kind = kind
        self.transport = transport
        self.attempt = attempt
        self.limit = limit
        self.reason = reason
        self.byteCount = byteCount
        self.rung = rung
        self.connectionAge = connectionAge
        self.delay = delay
    }
}

/// The recovery step of an attempt after a failed one.
///
/// A minor version may add cases.
public enum ChappieRecoveryRung: String, Sendable, Codable, CaseIterable {
    /// The request is sent again; no output was delivered.
    case sentAgain
    /// The rest of the response is requested.
    case resumed
    /// The request is sent again, and the delivered output is compared and withheld.
    case verifiedReplay
}

extension ChappieRecoveryRung {
    /// Creates the public recovery step; nil for an attempt before which no request had been sent.
    init?(_ step: TurnStateMachine.Opening.RecoveryStep) {
        switch step {
        case .first: return nil
        case .again: self = .sentAgain
        case .resume: self = .resumed
        case .verify: self = .verifiedReplay
        }
    }
}
