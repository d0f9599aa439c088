/// The facts of an examination, from which `PathJudge` makes the report.
///
/// A value without an owner.
package struct PathFacts: Sendable, Equatable {
    /// Indicates whether the server's URL has TLS.
    package var isSecure = true
    /// The environment's facts, and the time at which it was examined.
    package var environment = EnvironmentFacts()
    /// The look-up of the dialled host: the proxy's, where there is one.
    package var resolution = Examined<ResolutionFacts>.skipped(.notReached)
    /// TCP with the dialled host.
    package var connection = Examined<ConnectionFacts>.skipped(.notReached)
    /// The tunnel of the proxy.
    package var proxy = Examined<ProxyFacts>.skipped(.noProxy)
    /// TLS with the server.
    package var tls = Examined<TLSFacts>.skipped(.notReached)
    /// The answer without a credential.
    package var http = Examined<HTTPFacts>.skipped(.notReached)
    /// The answer with the credential.
    package var credential = Examined<CredentialFacts>.skipped(.notReached)
    /// The opening handshake.
    package var upgrade = Examined<UpgradeFacts>.skipped(.notReached)
    /// The time after the opening handshake.
    package var earlyClose = Examined<EarlyCloseFacts>.skipped(.notReached)
    /// The messages of several sizes.
    package var messages = Examined<MessageFacts>.skipped(.notReached)
    /// The pings.
    package var pings = Examined<PingFacts>.skipped(.notReached)
    /// The event stream.
    package var eventStream = Examined<EventStreamFacts>.skipped(.notReached)
    /// The idle connections.
    package var idle = Examined<IdleFacts>.skipped(.notAsked)

    /// Creates the facts of an examination that has examined no step.
    package init() {}
}

/// The facts of a step, or the reason for which there are none.
package enum Examined<Facts: Sendable & Equatable>: Sendable, Equatable {
    /// The step was not examined.
    case skipped(SkipReason)
    /// The facts, with the time of the step.
    case found(Facts, StepTime = StepTime())

    /// The facts; nil when the step was skipped.
    package var facts: Facts? {
        if case .found(let facts, _) = self { facts } else { nil }
    }
}

/// The time of a step.
package struct StepTime: Sendable, Equatable {
    /// The time from the beginning of the examination to that of the step.
    package var start: Duration
    /// The time that the step took.
    package var duration: Duration

    /// Creates a time; zeros by default.
    package init(start: Duration = .zero, duration: Duration = .zero) {
        self.start = start
        self.duration = duration
    }
}

/// The reason for which a step was not examined.
package enum SkipReason: Sendable, Equatable, CaseIterable {
    /// An earlier step has failed on which this one depends.
    case notReached
    /// The time of the examination was over.
    case noTime
    /// No proxy applies.
    case noProxy
    /// The URL has no TLS.
    case noTLS
    /// The host is an address.
    case numericHost
    /// There is no credential, and the server demands one.
    case needsCredential
    /// There is no credential.
    case noCredential
    /// The source of the credential did not answer in the step's time.
    case credentialLate
    /// The server's answer is not that of an API, so that no credential is sent.
    case notTrusted
    /// The configuration never opens a WebSocket.
    case httpOnly
    /// The configuration offers no compression.
    case notOffered
    /// An API cannot answer this without asking a model: a probe server can.
    case needsProbe
    /// A probe server is at the end, which needs no credential.
    case probe
    /// The caller has not asked for it.
    case notAsked

    /// The reason in words.
    var words: String {
        switch self {
        case .notReached: "an earlier step failed"
        case .noTime: "no time was left"
        case .noProxy: "no proxy applies"
        case .noTLS: "the URL has no TLS"
        case .numericHost: "the host is an address"
        case .needsCredential: "the server demands a credential, and there is none"
        case .noCredential: "there is no credential"
        case .credentialLate: "the credential was not there in time"
        case .notTrusted: "the answer is not an API's: no credential is sent there"
        case .httpOnly: "WebSockets are turned off"
        case .notOffered: "compression is not offered"
        case .needsProbe: "needs a probe server there: chappie serve --probe"
        case .probe: "a probe server needs no credential"
        case .notAsked: "was not asked for"
        }
    }
}
