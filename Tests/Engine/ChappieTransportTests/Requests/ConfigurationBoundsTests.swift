// Every number of the public configuration at zero, below zero and at its type's limits: no turn traps or hangs.
import Foundation
import StreamTransport
import Testing

@testable import ChappieTransport

/// One number of a configuration.
private struct Setting: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let set: @Sendable (inout ChappieTransportConfiguration) -> Void
}

private let durations: [(name: String, value: Duration)] = [
    ("0", .zero), ("-1", .seconds(-1)), ("1 as", Duration(secondsComponent: 0, attosecondsComponent: 1)),
    ("min", .seconds(Int64.min)), ("max", .seconds(Int64.max)),
]

private let counts = [0, -1, 1, Int.min, Int.max]

private func setting(
    _ name: String, _ set: @escaping @Sendable (inout ChappieTransportConfiguration, Duration) -> Void
) -> [Setting] {
    durations.map { duration in Setting(testDescription: "\(name) \(duration.name)") { set(&$0, duration.value) } }
}

private func setting(
    _ name: String, _ set: @escaping @Sendable (inout ChappieTransportConfiguration, Int) -> Void
) -> [Setting] {
    counts.map { count in Setting(testDescription: "\(name) \(count)") { set(&$0, count) } }
}

private let settings: [Setting] =
    setting("connect") { $0.timeouts.connect = $1 as Duration }
    + setting("firstEvent") { $0.timeouts.firstEvent = $1 as Duration }
    + setting("idle") { $0.timeouts.idle = $1 as Duration }
    + setting("progress") { $0.timeouts.progress = $1 as Duration }
    + setting("stall") { $0.timeouts.stall = $1 as Duration } + setting("total") { $0.timeouts.total = $1 as Duration }
    + setting("pingInterval") { $0.timeouts.pingInterval = $1 as Duration }
    + setting("pongTimeout") { $0.timeouts.pongTimeout = $1 as Duration }
    + setting("livenessCheck") { $0.timeouts.livenessCheck = $1 as Duration }
    + setting("reconnectDelay") { $0.reconnectDelay = $1 as Duration }
    + setting("hedgeDelay") { $0.policy.hedgeDelay = $1 as Duration }
    + setting("maximumConnectionAge") { $0.policy.maximumConnectionAge = $1 as Duration }
    + setting("livenessCheckDelay") { $0.policy.livenessCheckDelay = $1 as Duration }
    + setting("cooldown") { $0.policy.fallback = .adaptive(cooldown: $1 as Duration) }
    + setting("initialDelay") { $0.rateLimitBackoff = ChappieRateLimitBackoffPolicy(initialDelay: $1 as Duration) }
    + setting("maximumDelay") { $0.rateLimitBackoff = ChappieRateLimitBackoffPolicy(maximumDelay: $1 as Duration) }
    + setting("both delays") {
        $0.rateLimitBackoff = ChappieRateLimitBackoffPolicy(initialDelay: $1 as Duration, maximumDelay: $1)
    }
    + setting("openDuration") {
        $0.circuitBreaker = ChappieCircuitBreakerPolicy(failureThreshold: 1, openDuration: $1 as Duration)
    }
    + setting("failureThreshold") { $0.circuitBreaker = ChappieCircuitBreakerPolicy(failureThreshold: $1 as Int) }
    + setting("maxRetries") { $0.rateLimitBackoff = ChappieRateLimitBackoffPolicy(maxRetries: min(20, $1 as Int)) }
    + setting("maxWebSocketReconnectionAttempts") {
        $0.policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: $1 as Int)
    }
    + setting("maxHTTPRetries") { $0.maxHTTPRetries = $1 as Int }
    + setting("eventByteCount") { $0.limits.eventByteCount = $1 as Int }
    + setting("errorBodyByteCount") { $0.limits.errorBodyByteCount = $1 as Int }
    + setting("highWatermark") { $0.limits.highWatermark = $1 as Int }
    + setting("lowWatermark") { $0.limits.lowWatermark = $1 as Int }
    + setting("serviceThreadCount") { $0.serviceThreadCount = $1 as Int }

@Suite(.timeLimit(.minutes(10))) struct ConfigurationBoundsTests {
    /// A turn with a broken connection, a rate limit and a failure, and a second turn: every wait is computed.
    @Test(arguments: settings) fileprivate func extremeSettingsEndScriptedTurns(setting: Setting) async {
        let whole: [ScriptStep] = [
            .opened(101), .request, .text(Event.created), .text(Event.text("a")), .text(Event.completed),
        ]
        let fixture = TurnFixture([
            .broken(Event.created), .refusal(429, fields: ["retry-after": "3"]), .refusal(429), whole,
            .refusal(503), whole, whole,
        ]) {
            $0.reportsDiagnostics = true
            setting.set(&$0)
        }
        for _ in 0..<3 {
            let outcome = await fixture.run()
            #expect(outcome.error == nil || outcome.clientError != nil)
        }
    }

    /// The same over real sockets, and over lanes of one: no server listens at the address.
    @Test(arguments: settings, [false, true])
    fileprivate func extremeSettingsEndTurnsOverSockets(setting: Setting, usesLanes: Bool) async throws {
        var configuration = ChappieTransportConfiguration(baseURL: try #require(URL(string: "http://127.0.0.1:1/v1")))
        configuration.policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0)
        configuration.maxHTTPRetries = 0
        configuration.proxy = .none
        configuration.usesLanes = usesLanes
        setting.set(&configuration)
        // Connections are refused at once, as often as the policy permits; a configuration without an end is cancelled.
        configuration.maxHTTPRetries = min(1, configuration.maxHTTPRetries)
        if configuration.policy.maxWebSocketReconnectionAttempts > 1 || configuration.reconnectDelay > .seconds(1) {
            return
        }
        let transport = ChappieStreamingTransport(configuration: configuration)
        let outcome = await TurnFixture.read(transport.streamHandle(ChappieTransportRequest(prompt: "hi")))
        #expect(outcome.clientError != nil)
    }

    @Test func valuesAreBroughtIntoTheirRange() {
        for setting in settings {
            var configuration = ChappieTransportConfiguration(baseURL: URL(filePath: "/"))
            setting.set(&configuration)
            let bounded = configuration.bounded
            let times = bounded.timeouts
            for time in [
                times.connect, times.firstEvent, times.idle, times.progress, times.stall, times.total,
                times.pingInterval,
                times.pongTimeout, times.livenessCheck, bounded.reconnectDelay, bounded.policy.hedgeDelay,
                bounded.policy.maximumConnectionAge, bounded.policy.livenessCheckDelay,
                bounded.rateLimitBackoff.initialDelay, bounded.rateLimitBackoff.maximumDelay,
                bounded.circuitBreaker.openDuration,
            ].compactMap({ $0 }) {
                #expect(time >= .zero && time <= .longestWait, "\(setting.testDescription)")
            }
            let limits = bounded.limits
            #expect(limits.highWatermark >= 1 && limits.lowWatermark >= 0)
            #expect(limits.lowWatermark < limits.highWatermark)
            #expect((1...64).contains(bounded.serviceThreadCount))
        }
    }

    /// Values in range are not changed.
    @Test func defaultsStayAsTheyAre() {
        let configuration = ChappieTransportConfiguration(baseURL: URL(filePath: "/"))
        #expect(configuration.bounded.policy == configuration.policy)
        #expect(configuration.bounded.timeouts == configuration.timeouts)
        #expect(configuration.bounded.limits == configuration.limits)
        #expect(configuration.bounded.rateLimitBackoff == configuration.rateLimitBackoff)
        #expect(configuration.bounded.circuitBreaker == configuration.circuitBreaker)
    }
}
