// Delays, limits, status codes that are retried, and requests that must not be repeated.

import StreamSession
import StreamTransport
import Testing

@testable import EventSource

@Suite struct ReconnectionPolicyTests {
    private static func policy(
        _ change: (inout EventSourceReconnectionPolicy) -> Void = { _ in }
    ) -> EventSourceReconnectionPolicy {
        var policy = EventSourceReconnectionPolicy()
        change(&policy)
        return policy
    }

    private static func delays(
        _ policy: EventSourceReconnectionPolicy, count: Int, wasFruitless: Bool = true, fraction: Double = 0.5
    ) -> [Duration?] {
        var schedule = ReconnectionSchedule(policy)
        return (0..<count).map { _ in
            schedule.delay(
                wasFruitless: wasFruitless, streamTime: nil, minimum: nil, at: .zero, fraction: fraction)
        }
    }

    // MARK: Delays

    @Test(arguments: [(0.0, 3_000), (0.5, 3_300), (1.0, 3_600), (7.0, 3_600), (-1.0, 3_000), (.nan, 3_000)])
    func jitterIsAddedToTheReconnectionTime(_ fraction: Double, _ milliseconds: Int) {
        #expect(
            Self.delays(Self.policy(), count: 1, wasFruitless: false, fraction: fraction)
                == [.milliseconds(milliseconds)])
    }

    @Test func attemptsWithoutAStreamBackOff() {
        let policy = Self.policy {
            $0.jitter = 0
            $0.maximumBackoff = .seconds(5)
        }
        #expect(Self.delays(policy, count: 5) == [4, 5, 7, 8, 8].map { .seconds($0) })
    }

    @Test func backoffEndsWithASignOfTheStream() {
        var fixture = SessionFixture {
            $0.reconnection.backoff = .seconds(1)
            $0.reconnection.jitter = 0
        }
        fixture.moment.fraction = 0.5
        _ = fixture.session.start()
        #expect(fixture.end(.unreachable).delay == .seconds(1))
        _ = fixture.session.waited()
        #expect(fixture.end(.unreachable).delay == .seconds(2))
        _ = fixture.session.waited()
        _ = fixture.session.head(.events)
        fixture.receive(": hello\n")
        #expect(fixture.end(.lost).delay == .zero)
        _ = fixture.session.waited()
        #expect(fixture.end(.unreachable).delay == .seconds(1))
    }

    @Test func streamThatBringsNothingCountsAsAFailure() {
        var fixture = SessionFixture.open { $0.reconnection.backoff = .seconds(1) }
        fixture.moment.fraction = 0.5
        #expect(fixture.end().delay == .seconds(1))
    }

    @Test func numbersOutsideTheirRangesAreBroughtInside() {
        let policy = Self.policy {
            $0.reconnectionTime = .seconds(-5)
            $0.jitter = .infinity
            $0.backoff = .seconds(-1)
            $0.maximumBackoff = .seconds(-1)
        }
        #expect(Self.delays(policy, count: 3) == [.zero, .zero, .zero])
        var largest = Self.policy()
        largest.reconnectionTime = .seconds(Int64.max)
        #expect(Self.delays(largest, count: 1)[0] != nil)
    }

    @Test(arguments: [(1_000, 1_000), (99_999_999_999, 86_400_000), (Int.max, 86_400_000)])
    func reconnectionTimeOfTheStreamHasALimit(_ text: Int, _ milliseconds: Int) {
        var fixture = SessionFixture.open()
        fixture.receive("retry: \(text)\n")
        #expect(fixture.end().delay == .milliseconds(milliseconds))
    }

    // MARK: Limits

    @Test(arguments: [0, 1, 3])
    func attemptsInARowHaveALimit(_ limit: Int) {
        let delays = Self.delays(Self.policy { $0.maximumAttempts = limit }, count: limit + 2)
        #expect(delays.map { $0 != nil } == Array(repeating: true, count: limit) + [false, false])
    }

    @Test func limitOfAttemptsCountsFromTheLastSignOfTheStream() {
        var fixture = SessionFixture.open { $0.reconnection.maximumAttempts = 1 }
        for _ in 0..<3 {
            fixture.receive("data: a\n\n")
            #expect(fixture.reconnect() != nil)
            _ = fixture.session.head(.events)
        }
        #expect(fixture.end() == .finish)
    }

    @Test func withoutReconnectionAStreamThatEndsInOrderIsComplete() {
        var fixture = SessionFixture.open { $0.reconnection = .never }
        fixture.receive("data: a\n\n")
        #expect(fixture.end() == .finish)
        #expect(!fixture.session.hasGivenUp)
    }

    @Test func reconnectionsThatAreUsedUpByEmptyAnswersAreNoOrdinaryEnd() {
        var fixture = SessionFixture.open { $0.reconnection.maximumAttempts = 1 }
        #expect(fixture.reconnect(.complete) != nil)
        _ = fixture.session.head(.events)
        #expect(!fixture.session.hasGivenUp)
        #expect(fixture.end() == .finish)
        #expect(fixture.session.hasGivenUp)
    }

    @Test func requestThatIsNotRepeatedIsNotGivenUp() {
        var fixture = SessionFixture.open(Self.post)
        #expect(fixture.end() == .finish)
        #expect(!fixture.session.hasGivenUp)
    }

    @Test func reconnectionThatWouldComeTooLateIsGivenUp() {
        var fixture = SessionFixture.open {
            $0.reconnection.reconnectionTime = .seconds(11)
            $0.reconnection.maximumOutage = .seconds(10)
        }
        fixture.receive("data: a\n\n")
        #expect(fixture.end() == .finish)
        #expect(fixture.session.hasGivenUp)
    }

    @Test func withoutReconnectionAStreamThatIsCutIsAnError() {
        var fixture = SessionFixture.open { $0.reconnection = .never }
        fixture.receive("data: a\n\ndata")
        #expect(fixture.end() == .fail(.attempt(.endedEarly)))
    }

    @Test func outageHasALimit() {
        var fixture = SessionFixture.open {
            $0.reconnection.reconnectionTime = .seconds(4)
            $0.reconnection.maximumOutage = .seconds(10)
        }
        fixture.receive("data: a\n\n")
        fixture.moment.now = .seconds(100)
        #expect(fixture.reconnect() != nil)
        fixture.moment.now = .seconds(106)
        #expect(fixture.reconnect(.unreachable) != nil)
        fixture.moment.now = .seconds(107)
        let failure = TransportFailure(phase: .connect, cause: .unreachable(code: 111))
        #expect(fixture.end(.unreachable) == .fail(.attempt(.transport(failure))))
    }

    // MARK: Status codes and Retry-After

    private static func refused(
        _ statusCode: Int, retryAfter: Duration? = nil, _ change: (inout EventSourceReconnectionPolicy) -> Void
    ) -> EventSourceSession.Action {
        var fixture = SessionFixture { change(&$0.reconnection) }
        _ = fixture.session.start()
        _ = fixture.session.head(.answer(statusCode), retryAfter: retryAfter)
        return fixture.session.refusalRead(at: fixture.moment)
    }

    @Test(arguments: [429, 500, 502, 503, 504])
    func statusCodesOfTheProgramsChoiceAreRetried(_ statusCode: Int) {
        let facts = RefusalFacts(statusCode: statusCode)
        #expect(
            Self.refused(statusCode) { $0.retriedStatusCodes = [429, 500, 502, 503, 504] }
                == .wait(.zero, after: .attempt(.httpStatus(facts))))
        #expect(Self.refused(statusCode) { $0.retriedStatusCodes = [418] } == .fail(.attempt(.httpStatus(facts))))
    }

    @Test func retryAfterIsWaitedFor() {
        #expect(
            Self.refused(503, retryAfter: .seconds(20)) { $0.retriedStatusCodes = [503] }.delay == .seconds(20))
    }

    @Test func retryAfterNeverShortensADelay() {
        let action = Self.refused(503, retryAfter: .zero) {
            $0.retriedStatusCodes = [503]
            $0.reconnectionTime = .seconds(3)
        }
        #expect(action.delay == .seconds(3))
    }

    @Test func retryAfterCanBeIgnored() {
        let action = Self.refused(503, retryAfter: .seconds(20)) {
            $0.retriedStatusCodes = [503]
            $0.maximumRetryAfter = nil
        }
        #expect(action.delay == .zero)
    }

    @Test(arguments: [(300, true), (301, false)])
    func longerRetryAfterEndsTheEventSource(_ seconds: Int, _ isWaitedFor: Bool) {
        let action = Self.refused(429, retryAfter: .seconds(seconds)) { $0.retriedStatusCodes = [429] }
        #expect((action.delay != nil) == isWaitedFor)
    }

    // MARK: Requests with an effect

    private static let post = EventSourceSession.Exchange(
        method: "POST", endpoint: SessionFixture.endpoint, fields: [HTTPField("Content-Type", "application/json")],
        body: Array("{}".utf8))

    @Test(arguments: [TransportEnd.complete, .lost])
    func postIsNotRepeatedByItself(_ end: TransportEnd) {
        var fixture = SessionFixture.open(Self.post)
        fixture.receive("id: 1\ndata: a\n\n")
        let action = fixture.end(end)
        #expect(end == .complete ? action == .finish : action.delay == nil)
        #expect(fixture.session.hasEnded)
    }

    @Test func postWithoutAnAnswerIsNotRepeatedByItself() {
        var fixture = SessionFixture(Self.post)
        _ = fixture.session.start()
        #expect(fixture.end(.lost).delay == nil)
    }

    @Test(arguments: [TransportFailure.Phase.resolve, .connect, .proxy, .tls])
    func postThatWasNeverSentIsSent(_ phase: TransportFailure.Phase) {
        var fixture = SessionFixture(Self.post)
        _ = fixture.session.start()
        #expect(fixture.reconnect(.failed(TransportFailure(phase: phase, cause: .timedOut))) == Self.post)
    }

    @Test func postThatWasRedirectedHasBeenSent() {
        var fixture = SessionFixture(Self.post)
        _ = fixture.session.start()
        _ = fixture.session.head(.answer(307, "Location", "/b"))
        #expect(fixture.end(.unreachable).delay == nil)
    }

    @Test func postContinuesAsAGetBehindAnEventWithAnID() throws {
        var fixture = SessionFixture.open(Self.post) { $0.reconnection.resending = .asGet }
        fixture.receive("id: 1\ndata: a\n\n")
        let next = fixture.reconnect()
        let exchange = try #require(next)
        #expect(
            exchange
                == EventSourceSession.Exchange(
                    endpoint: SessionFixture.endpoint, fields: [HTTPField("Last-Event-ID", "1")]))
        _ = fixture.session.head(.events)
        #expect(fixture.reconnect() == exchange)
    }

    @Test func postDoesNotContinueAsAGetWithoutAnID() {
        var fixture = SessionFixture.open(Self.post) { $0.reconnection.resending = .asGet }
        fixture.receive("data: a\n\n")
        #expect(fixture.end() == .finish)
    }

    @Test func programCannotRepeatAPostBySayingSo() {
        var fixture = SessionFixture.open(Self.post)
        #expect(fixture.session.restart() == nil)
    }
}
