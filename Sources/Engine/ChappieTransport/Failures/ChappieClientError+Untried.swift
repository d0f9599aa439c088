import ResponseEvents
import StreamSession
import TransportSurface

// The errors of turns that are not tried, and of those that the engine's shutdown ends.

extension ChappieClientError {
    /// Creates the failure for a request body that is not a JSON object, or that the dialect cannot express.
    init(
        invalidBody error: ResponseRequestBodyError, in dialect: ChappieDialect, transport: ChappieTransportKind,
        of identity: RequestIdentity
    ) {
        let fault =
            switch error {
            case .invalidInput: "the input is neither a text nor an array"
            case .invalidBody: "the body is not a JSON object"
            case .notInDialect(let part): "\(dialect.name) has no form for \(part)"
            }
        self.init(invalidRequest: fault, transport: transport, of: identity)
    }

    /// Creates the failure for a request that cannot be sent, with the problem.
    init(invalidRequest fault: String, transport: ChappieTransportKind, of identity: RequestIdentity) {
        self.init(untried: .invalidRequest, in: .send, transport: transport, of: identity) { $0.detail = fault }
    }

    /// Creates the failure for a turn that is not tried.
    init(circuitOpenFor duration: Duration, transport: ChappieTransportKind, of identity: RequestIdentity) {
        self.init(untried: .circuitOpen, in: .connect, transport: transport, of: identity) { $0.retryAfter = duration }
    }

    /// Creates the failure for a turn of an engine that was shut down.
    init(shutDown transport: ChappieTransportKind, of identity: RequestIdentity) {
        self.init(untried: .shutDown, in: .connect, transport: transport, of: identity) { _ in }
    }

    /// Creates the failure for a running turn that the engine's shutdown ends.
    init(
        shutDown transport: ChappieTransportKind, of identity: RequestIdentity, in phase: ChappieTransportFailure.Phase,
        progress: (attempts: Int, replaySafety: ChappieReplaySafety), deliveredText: String
    ) {
        var details = ChappieTransportFailure.Details()
        details.clientRequestID = identity.requestID
        details.deliveredText = deliveredText
        self = .transport(
            ChappieTransportFailure(
                code: .shutDown, phase: phase, transport: transport, progress: progress, details: details))
    }

    /// Creates the failure for a running turn of several responses that the engine's shutdown ends.
    ///
    /// - Parameters:
    ///   - report: the report of the turn.
    ///   - deliveredText: the text that the consumer has.
    package init(shutDown report: ChappieStreamReport, deliveredText: String) {
        self.init(
            shutDown: report.attempts.last?.transport ?? .webSocket, of: RequestIdentity(requestID: report.requestID),
            in: .stream, progress: (report.attempts.count, report.replaySafety), deliveredText: deliveredText)
    }

    private init(
        untried code: ChappieTransportFailure.Code, in phase: ChappieTransportFailure.Phase,
        transport: ChappieTransportKind, of identity: RequestIdentity,
        _ add: (inout ChappieTransportFailure.Details) -> Void
    ) {
        var details = ChappieTransportFailure.Details()
        details.clientRequestID = identity.requestID
        add(&details)
        self = .transport(
            ChappieTransportFailure(
                code: code, phase: phase, transport: transport, progress: (attempts: 0, replaySafety: .notSent),
                details: details))
    }
}
