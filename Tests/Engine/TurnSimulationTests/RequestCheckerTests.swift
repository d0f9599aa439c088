// The checker's view of connections, requests and delays.

import Testing

@testable import TurnSimulation

@Suite struct RequestCheckerTests {
    private static func checker(requestCount: Int = .max) -> PromiseChecker {
        var limits = PromiseChecker.Limits()
        limits.requestCount = requestCount
        limits.delays.reconnectDelay = .milliseconds(200)
        limits.delays.maximumRetries = 3
        limits.delays.throttleDelay = .seconds(1)
        limits.delays.maximumDelay = .seconds(30)
        var checker = PromiseChecker()
        checker.began(limits)
        return checker
    }

    private func expect(_ promise: PromiseChecker.Promise?, _ checker: PromiseChecker) {
        #expect(checker.violation?.promise == promise, "\(String(describing: checker.violation))")
    }

    @Test func twoRequestsAtOnceAreFound() {
        var checker = Self.checker()
        checker.opened(0, isWebSocket: true)
        checker.opened(1, isWebSocket: false)
        checker.sent(on: 1, reachesServer: true)
        self.expect(nil, checker)
        checker.sent(on: 0, reachesServer: true)
        self.expect(.oneRequest, checker)
    }

    @Test func twoRequestsOnOneConnectionAreFound() {
        var checker = Self.checker()
        checker.opened(0, isWebSocket: true)
        checker.sent(on: 0, reachesServer: true)
        checker.sent(on: 0, reachesServer: true)
        self.expect(.oneRequest, checker)
    }

    @Test func aRequestAfterAClosedOneIsFine() {
        var checker = Self.checker()
        checker.opened(0, isWebSocket: true)
        checker.sent(on: 0, reachesServer: true)
        checker.closed(0)
        checker.opened(1, isWebSocket: false)
        checker.sent(on: 1, reachesServer: true)
        self.expect(nil, checker)
    }

    @Test func requestOnTheLosingAttemptIsFound() {
        var checker = Self.checker()
        checker.opened(0, isWebSocket: true)
        checker.opened(1, isWebSocket: false)
        checker.sent(on: 1, reachesServer: true)
        checker.closed(1)
        checker.sent(on: 0, reachesServer: true)
        self.expect(.oneRequest, checker)
    }

    @Test(arguments: [false, true])
    func aRequestThatThePolicyForbidsIsFound(isRefused: Bool) {
        var checker = Self.checker()
        checker.limits.repetition = .never
        checker.opened(0, isWebSocket: false)
        checker.sent(on: 0, reachesServer: true)
        checker.refused(on: 0, statusCode: isRefused ? 503 : 500)
        checker.closed(0)
        checker.opened(1, isWebSocket: false)
        checker.sent(on: 1, reachesServer: true)
        self.expect(isRefused ? nil : .repetition, checker)
    }

    @Test(arguments: [false, true])
    func aRequestAfterOutputIsFoundWhereItMayOnlyBeResumed(isResumption: Bool) {
        var checker = Self.checker()
        checker.ask(on: 0, ResponseContent(text: "a"), upTo: ContentSize(text: 1))
        checker.limits.repetition = .beforeOutput
        checker.received(.text(Array("a".utf8)))
        checker.closed(0)
        checker.opened(1, isWebSocket: false)
        checker.sent(on: 1, reachesServer: true, isResumption: isResumption)
        self.expect(isResumption ? nil : .repetition, checker)
    }

    @Test func moreRequestsThanAllowedAreFound() {
        var checker = Self.checker(requestCount: 1)
        for connection in 0..<2 {
            checker.opened(connection, isWebSocket: false)
            checker.sent(on: connection, reachesServer: false)
            checker.closed(connection)
        }
        self.expect(.requestBudget, checker)
    }

    @Test func aRequestAfterACancellationIsFound() {
        var checker = Self.checker()
        checker.opened(0, isWebSocket: true)
        checker.cancelled()
        checker.sent(on: 0, reachesServer: true)
        self.expect(.noRequestAfterEnd, checker)
    }

    @Test func aConnectionAfterTheEndIsFound() {
        var checker = Self.checker()
        checker.finished(.failed, now: .zero)
        checker.opened(0, isWebSocket: true)
        self.expect(.noRequestAfterEnd, checker)
    }

    // MARK: What is left

    @Test func aConnectionThatIsLeftOpenIsFound() {
        var checker = Self.checker()
        checker.opened(0, isWebSocket: false)
        checker.finished(.failed, now: .zero)
        checker.left()
        self.expect(.connections, checker)
    }

    @Test func aWebSocketThatIsKeptAfterAFailureIsFound() {
        var checker = Self.checker()
        checker.ask(on: 0, ResponseContent(text: "a"), upTo: ContentSize())
        checker.finished(.failed, now: .zero)
        checker.left()
        self.expect(.connections, checker)
    }

    @Test func twoConnectionsThatAreKeptAreFound() {
        var checker = Self.checker()
        for connection in 0..<2 {
            checker.opened(connection, isWebSocket: true)
            checker.established(connection)
        }
        checker.finished(.failed, now: .zero)
        checker.left()
        self.expect(.connections, checker)
    }

    @Test func aKeptWebSocketAndOneUpgradeMayBeLeft() {
        var checker = Self.checker()
        for connection in 0..<2 { checker.opened(connection, isWebSocket: true) }
        checker.established(0)
        checker.finished(.failed, now: .zero)
        checker.left()
        self.expect(nil, checker)
    }

    @Test func twoUpgradesThatAreLeftAreFound() {
        var checker = Self.checker()
        for connection in 0..<2 { checker.opened(connection, isWebSocket: true) }
        checker.finished(.failed, now: .zero)
        checker.left()
        self.expect(.connections, checker)
    }

    @Test func aConnectionThatOutlivesItsInstanceIsFound() {
        var checker = Self.checker()
        checker.ask(on: 0, ResponseContent(), upTo: ContentSize(), isComplete: true)
        checker.received(.completed)
        checker.finished(.ended, now: .zero)
        checker.left()
        self.expect(nil, checker)
        checker.released()
        self.expect(.connections, checker)
    }

    // MARK: Delays

    @Test(arguments: [180, 200, 220, 360, 440, 720, 880])
    func delaysOfTheScheduleAreFine(milliseconds: Int) {
        var checker = Self.checker()
        checker.slept(.milliseconds(milliseconds), now: .zero)
        self.expect(nil, checker)
    }

    @Test(arguments: [0, 179, 221, 359, 889, 1_600])
    func otherDelaysAreFound(milliseconds: Int) {
        var checker = Self.checker()
        checker.slept(.milliseconds(milliseconds), now: .zero)
        self.expect(.delays, checker)
    }

    @Test func serversDelayIsAccepted() {
        var checker = Self.checker()
        var hint = DelayRules.Hint()
        hint.wish = .seconds(7)
        checker.limits.delays.hints = [hint]
        checker.slept(.seconds(7), now: .zero)
        self.expect(nil, checker)
        checker.slept(.seconds(1), now: .zero)
        self.expect(.delays, checker)
    }

    /// After an answer over HTTP: any delay below the largest bound, which is that of the third retry.
    @Test(arguments: [(0, true), (1, true), (800, true), (801, false)])
    func fullJitterHasNoLowerBound(milliseconds: Int, isAllowed: Bool) {
        var checker = Self.checker()
        var hint = DelayRules.Hint()
        hint.hasFullJitter = true
        checker.limits.delays.hints = [hint]
        checker.slept(.milliseconds(milliseconds), now: .zero)
        self.expect(isAllowed ? nil : .delays, checker)
    }

    @Test func throttlesDouble() {
        var checker = Self.checker()
        var hint = DelayRules.Hint()
        hint.isThrottle = true
        checker.limits.delays.hints = [hint]
        for seconds in [1, 2, 4] { checker.slept(.seconds(seconds), now: .zero) }
        self.expect(nil, checker)
        checker.slept(.seconds(4), now: .zero)
        self.expect(.delays, checker)
    }
}
