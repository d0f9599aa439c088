// Facts of paths on which everything works: none is an alarm.
import PathDiagnosis
import Testing

/// A healthy path.
struct HealthyPath: Sendable, CustomTestStringConvertible {
    let name: String
    let facts: PathFacts

    var testDescription: String { self.name }

    init(_ name: String, _ facts: PathFacts) {
        self.name = name
        self.facts = facts
    }

    static let all: [Self] = [
        .init("direct", .healthy),
        .init("probe server", .probed),
        .init("http proxy", .proxied),
        .init(
            "loopback",
            .healthy.with {
                $0.isSecure = false
                $0.resolution = .skipped(.numericHost)
                $0.tls = .skipped(.noTLS)
                $0.http = .found(.init(.answered(.init(statusCode: 200))))
                $0.credential = .skipped(.noCredential)
            }),
        .init(
            "IPv4 only",
            .healthy.with {
                $0.resolution = .found(.init(addresses: ["192.0.2.1"]))
                $0.connection = .found(
                    .init(raced: .connected(.milliseconds(9)), version4: .connected(.milliseconds(9))))
            }),
        .init(
            "IPv6 only",
            .healthy.with {
                $0.resolution = .found(.init(addresses: ["2001:db8::1"]))
                $0.connection = .found(
                    .init(raced: .connected(.milliseconds(9)), version6: .connected(.milliseconds(9))))
            }),
        .init(
            "no IPv6 on this machine",
            .healthy.with {
                $0.connection = .found(
                    .init(
                        raced: .connected(.milliseconds(9)), version4: .connected(.milliseconds(9)), version6: .noRoute)
                )
            }),
        .init(
            "one family refuses",
            .healthy.with {
                $0.connection = .found(
                    .init(
                        raced: .connected(.milliseconds(9)), version4: .connected(.milliseconds(9)), version6: .refused)
                )
            }),
        .init(
            "no credential, and one is demanded",
            .healthy.with {
                $0.credential = .skipped(.noCredential)
                $0.upgrade = .skipped(.needsCredential)
                $0.cutAboveUpgrade()
            }),
        .init(
            "a credential that is late",
            .healthy.with {
                $0.credential = .skipped(.credentialLate)
                $0.upgrade = .skipped(.needsCredential)
                $0.cutAboveUpgrade()
            }),
        .init("rate limit", .healthy.with { $0.credential = .found(.init(statusCode: 429)) }),
        .init(
            "no list of models",
            .healthy.with {
                $0.http = .found(.init(.answered(.init(statusCode: 404))))
                $0.credential = .found(.init(statusCode: 404))
            }),
        .init("compression not accepted", .healthy.with { $0.upgrade = .found(.init(.established)) }),
        .init(
            "compression not offered",
            .healthy.with {
                $0.upgrade = .found(.init(.established, offersCompression: false))
            }),
        .init(
            "HTTP only",
            .healthy.with {
                $0.upgrade = .skipped(.httpOnly)
                $0.cutAboveUpgrade()
            }),
        .init(
            "300 ms away",
            .healthy.with {
                $0.pings = .found(.init(sentCount: 10, roundTrips: Array(repeating: .milliseconds(310), count: 10)))
            }),
        .init(
            "one slow ping of ten",
            .healthy.with {
                let trips = Array(repeating: Duration.milliseconds(40), count: 9) + [.milliseconds(1_200)]
                $0.pings = .found(.init(sentCount: 10, roundTrips: trips))
            }),
        .init("no time for pings", .healthy.with { $0.pings = .skipped(.noTime) }),
        .init("a clock half a minute off", .healthy.with { $0.environment.clockLead = .seconds(31) }),
        .init(
            "inspected by a trusted device",
            .healthy.with {
                $0.environment.hasTrustFile = true
                $0.tls = .found(
                    .init(.established(version: "TLSv1.2", protocol: nil, issuer: "CN=mitmproxy,O=mitmproxy")))
            }),
        .init(
            "a chain whose unused certificate has expired",
            .healthy.with {
                var old = CertificateChain.Certificate.intermediate
                old.timeLeft = .seconds(-86_400)
                $0.tls = .found(
                    .init(
                        .established(version: "TLSv1.3", protocol: nil, issuer: nil),
                        chain: .init([.ofServer, .intermediate, old])))
            }),
        .init(
            "except by NO_PROXY",
            .healthy.with {
                $0.environment.isExcepted = true
                $0.environment.otherSchemeVariable = "HTTP_PROXY"
            }),
        .init("a proxy of the other scheme", .healthy.with { $0.environment.otherSchemeVariable = "HTTP_PROXY" }),
        .init(
            "jitter of 80 ms",
            .probed.with {
                $0.eventStream = .found(.paced { $0 + .milliseconds(Int($0 / .milliseconds(100)) % 3 * 40) })
            }),
        .init(
            "one stall of the network",
            .probed.with {
                // Retransmission: everything after 500 ms waits for 700 ms at most.
                $0.eventStream = .found(.paced { $0 < .milliseconds(500) ? $0 : max($0, .milliseconds(1_200)) })
            }),
        .init(
            "a large message that takes longer than the step, on a slow path",
            .probed.with {
                $0.messages = .found(
                    .init([
                        .init(byteCount: 63 << 10, echo: .returned(.milliseconds(700))),
                        .init(byteCount: 1 << 20, echo: .slow),
                    ]))
            }),
        .init(
            "a large message that was late once, without time for a second attempt",
            .probed.with {
                $0.messages = .found(
                    .init([
                        .init(byteCount: 63 << 10, echo: .returned(.milliseconds(30))),
                        .init(byteCount: 1 << 20, echo: .undecided),
                    ]))
            }),
        .init(
            "all events, and an end without close_notify",
            .probed.with {
                var stream = EventStreamFacts.paced { $0 }
                stream.askedCount = stream.arrivals.count
                stream.end = .cut
                $0.eventStream = .found(stream)
            }),
        .init(
            "idle for five minutes",
            .probed.with {
                $0.idle = .found(.init([.init(asked: .seconds(300), isWebSocket: true)]))
            }),
    ]
}

@Suite struct HealthyPathTests {
    @Test(arguments: HealthyPath.all) func aHealthyPathRaisesNoAlarm(_ path: HealthyPath) {
        let report = PathJudge(path.facts).report
        #expect(report.verdict == .works)
        #expect(report.causes.isEmpty)
        #expect(report.advice.isEmpty)
        #expect(report.steps.allSatisfy { $0.outcome == .ok || $0.outcome == .skipped })
        #expect(report.steps.map(\.step) == ChappieDiagnosis.Step.allCases)
        #expect(report.steps.allSatisfy { !$0.words.isEmpty })
    }

    @Test func healthyPathsAreAtLeastTwenty() { #expect(HealthyPath.all.count >= 20) }

    @Test func sentenceNamesTheWorkingTransports() {
        #expect(PathJudge(.healthy).report.sentence == "WebSockets and HTTP work.")
        let http = PathFacts.healthy.with { $0.upgrade = .skipped(.httpOnly) }
        #expect(PathJudge(http).report.sentence == "HTTP works.")
    }

    @Test func skippedStepsHaveNoTime() {
        let facts = PathFacts.healthy.with {
            $0.tls = .found(
                .init(.established(version: "TLSv1.3", protocol: nil, issuer: nil)),
                .init(start: .milliseconds(30), duration: .milliseconds(12)))
            $0.pings = .skipped(.noTime)
        }
        let report = PathJudge(facts).report
        #expect(report.result(of: .tls)?.start == .milliseconds(30))
        #expect(report.result(of: .tls)?.duration == .milliseconds(12))
        #expect(report.result(of: .pings)?.start == nil)
        #expect(report.result(of: .pings)?.words == "no time was left")
    }
}
