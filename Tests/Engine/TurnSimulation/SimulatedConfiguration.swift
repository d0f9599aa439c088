// The configuration of an instance in one series.

import ChappieTransport
import StreamTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A configuration, drawn at random, and what it means for the server and the checker.
struct SimulatedConfiguration {
    /// The size of an event over a limit that is lowered.
    static let smallEventLimit = 16_384

    var configuration: ChappieTransportConfiguration
    /// The percentage of attempts with a fault.
    let faultPercent: Int
    /// The percentage of answers that differ from the previous one.
    let variationPercent: Int
    /// The percentage of answers that contain one of their possible lies: most servers have none.
    let liePercent: Int
    /// Indicates whether calls may be carried, with their outputs.
    let givesToolOutputs: Bool

    init(
        _ random: inout SimulatedRandom, options: SimulationOptions,
        credential: @escaping ChappieTransportConfiguration.CredentialSource
    ) {
        guard let url = URL(string: "https://api.example/v1") else { preconditionFailure("not a URL") }
        var configuration = ChappieTransportConfiguration(baseURL: url, credential: credential)
        Self.drawPolicies(&configuration, &random)
        Self.drawTimeouts(&configuration.timeouts, &random)
        if random.chance(20) { configuration.limits.eventByteCount = Self.smallEventLimit }
        if random.chance(8) { configuration.limits.outputByteCount = random.pick([20, 150]) }
        configuration.limits.errorBodyByteCount = random.pick([65_536, 65_536, 65_536, 64, 0])
        let rawEvents: [ChappieRawEvents] = [.unsurfaced, .unsurfaced, .all, .none]
        configuration.rawEvents = random.pick(rawEvents.filter { options.allows($0.fact) })
        configuration.reportsDiagnostics = random.chance(50)
        configuration.offersCompression = random.chance(50)
        Self.drawRecovery(&configuration, &random)
        if random.chance(15) {
            let dialects: [ChappieDialect] = [.chatCompletions, .messages]
            configuration.dialect = random.pick(dialects.filter { options.allows($0.fact) } + [.responses])
        }
        self.configuration = configuration
        self.faultPercent = random.pick([0, 20, 45, 45, 70, 90])
        self.variationPercent = random.pick([0, 0, 20, 60])
        self.givesToolOutputs = random.chance(60)
        self.liePercent = random.pick([0, 0, 0, 0, 0, 8, 30])
    }

    private static func drawPolicies(
        _ configuration: inout ChappieTransportConfiguration, _ random: inout SimulatedRandom
    ) {
        configuration.policy = ChappieStreamingTransportPolicy(
            prefersWebSocket: random.chance(85),
            maxWebSocketReconnectionAttempts: random.below(6),
            fallsBackToHTTPSSE: random.chance(80))
        configuration.maxHTTPRetries = random.below(6)
        configuration.reconnectDelay = random.pick([.milliseconds(200), .milliseconds(200), .seconds(1), .zero])
        configuration.rateLimitBackoff = ChappieRateLimitBackoffPolicy(
            maxRetries: random.below(4),
            initialDelay: random.pick([.seconds(1), .milliseconds(300)]),
            maximumDelay: random.pick([.seconds(30), .seconds(2)]),
            respectsRetryAfterHeader: random.chance(70))
    }

    private static func drawRecovery(
        _ configuration: inout ChappieTransportConfiguration, _ random: inout SimulatedRandom
    ) {
        configuration.policy.hedgeDelay = random.pick([nil, .zero, .milliseconds(30), .seconds(2), .seconds(2)])
        configuration.policy.recovery = random.pick([.verify, .verify, .verify, .verify, .resumeOnly, .never])
        configuration.policy.divergence = random.pick([.fails, .restarts])
        configuration.policy.maxRestarts = random.below(4)
        configuration.policy.fallback = random.pick([
            .sticky, .adaptive(cooldown: .zero), .adaptive(cooldown: .seconds(1)), .adaptive(cooldown: .seconds(60)),
        ])
        configuration.policy.carriesFinishedItems = random.chance(50)
        configuration.policy.maximumConnectionAge = random.pick([.seconds(3_300), .seconds(3_300), .seconds(20), nil])
        configuration.policy.livenessCheckDelay = random.pick([
            .seconds(5), .seconds(5), .zero, .milliseconds(500), nil,
        ])
        let threshold = random.chance(15) ? 1 + random.below(3) : 0
        configuration.circuitBreaker = ChappieCircuitBreakerPolicy(
            failureThreshold: threshold, openDuration: random.pick([.zero, .seconds(5), .seconds(60)]))
    }

    private static func drawTimeouts(_ timeouts: inout ChappieTimeouts, _ random: inout SimulatedRandom) {
        timeouts.connect = random.pick([.seconds(10), .seconds(10), .seconds(1), nil])
        timeouts.firstEvent = random.pick([.seconds(60), .seconds(60), .seconds(5), nil])
        timeouts.idle = random.pick([.seconds(300), .seconds(300), .seconds(10), nil])
        timeouts.total = random.pick([nil, nil, nil, .seconds(20), .seconds(200), .seconds(2)])
        timeouts.pingInterval = random.pick([.seconds(20), .seconds(20), nil])
        timeouts.progress = random.pick([.seconds(1_800), .seconds(1_800), .seconds(15), nil])
        timeouts.stall = random.pick([.seconds(30), .seconds(2), nil])
        timeouts.livenessCheck = random.pick([.seconds(2), .milliseconds(40), .zero])
    }

    /// Indicates whether an event can be over the limit.
    var hasSmallEventLimit: Bool { self.configuration.limits.eventByteCount <= Self.smallEventLimit }

    /// Indicates whether a response that is kept is asked for again when it breaks.
    var resumes: Bool { self.configuration.policy.recovery != .never }

    /// The facts that are counted.
    var facts: [SimulatedFact] {
        [
            self.configuration.rawEvents.fact, self.configuration.policy.recovery.fact,
            self.configuration.dialect.fact,
        ]
    }

    // MARK: Where silence would not last for ever

    private var timeouts: ChappieTimeouts { self.configuration.timeouts }
    /// Before an upgrade is answered, or a POST's connection is established.
    var allowsSilentConnect: Bool { self.timeouts.connect != nil || self.timeouts.total != nil }
    /// Before the first event of an answer.
    var allowsSilentStart: Bool { self.timeouts.firstEvent != nil || self.timeouts.total != nil }
    /// Between the events of an answer.
    var allowsSilentMiddle: Bool {
        self.timeouts.idle != nil || self.timeouts.progress != nil || self.timeouts.total != nil
    }

    /// Indicates whether endless input without content is possible: the whole turn's budget would be spent in reading.
    var allowsEndlessReading: Bool {
        self.timeouts.firstEvent != nil && self.timeouts.progress != nil && self.timeouts.total == nil
    }

    /// Returns the checker's limits of a turn that begins.
    func limits(now: Duration) -> PromiseChecker.Limits {
        var limits = PromiseChecker.Limits()
        let policy = self.configuration.policy
        let backoff = self.configuration.rateLimitBackoff
        // The first attempt and the one after the fall-back, one for a credential, one for a kept connection.
        limits.requestCount =
            4 + policy.maxWebSocketReconnectionAttempts + self.configuration.maxHTTPRetries + backoff.maxRetries
        limits.repetition = PromiseChecker.Repetition(policy.recovery)
        limits.restartCount = policy.restartLimit
        limits.end = self.timeouts.total.map { now + $0 }
        limits.outputByteCount = self.configuration.limits.outputByteCount
        limits.progress = self.timeouts.progress
        limits.deliversCalls = self.configuration.rawEvents != .none
        limits.delays.reconnectDelay = self.configuration.reconnectDelay
        limits.delays.maximumRetries = max(policy.maxWebSocketReconnectionAttempts, self.configuration.maxHTTPRetries)
        limits.delays.throttleDelay = backoff.initialDelay
        limits.delays.maximumDelay = backoff.maximumDelay
        limits.delays.respectsWish = backoff.respectsRetryAfterHeader
        return limits
    }
}

extension ChappieRecoveryPolicy {
    /// The fact as which it is counted.
    fileprivate var fact: SimulatedFact {
        switch self {
        case .verify: .policyVerify
        case .resumeOnly: .policyResumeOnly
        case .never: .policyNever
        }
    }
}

extension PromiseChecker.Repetition {
    fileprivate init(_ recovery: ChappieRecoveryPolicy) {
        switch recovery {
        case .verify: self = .always
        case .resumeOnly: self = .beforeOutput
        case .never: self = .never
        }
    }
}

extension ChappieDialect {
    /// The fact as which it is counted.
    fileprivate var fact: SimulatedFact {
        switch self {
        case .responses: .responsesAPI
        case .chatCompletions: .chatCompletions
        case .messages: .messages
        }
    }
}

extension ChappieRawEvents {
    /// The fact as which it is counted.
    fileprivate var fact: SimulatedFact {
        switch self {
        case .all: .allRawEvents
        case .none: .noRawEvents
        case .unsurfaced: .unsurfacedRawEvents
        }
    }
}
