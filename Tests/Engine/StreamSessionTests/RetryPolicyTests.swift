// Budgets and delays, with their bounds.
import StreamSession
import Testing

@Suite struct BackoffScheduleTests {
    @Test(arguments: [(1, 200), (2, 400), (3, 800), (4, 1_600), (5, 3_200)])
    func delaysDoubleWithTenPercentOfJitter(retry: Int, milliseconds: Int) {
        let schedule = BackoffSchedule()
        let middle = Duration.milliseconds(milliseconds)
        #expect(schedule.delay(beforeRetry: retry, fraction: 0) == middle * 9 / 10)
        #expect(schedule.delay(beforeRetry: retry, fraction: 0.5) == middle)
        #expect(schedule.delay(beforeRetry: retry, fraction: 1) == middle * 11 / 10)
    }

    @Test(arguments: [Int.min, -1, 0])
    func numbersBelowOneCountAsTheFirst(retry: Int) {
        #expect(BackoffSchedule().delay(beforeRetry: retry, fraction: 0.5) == .milliseconds(200))
    }

    @Test(arguments: [60, 64, 1_000, Int.max])
    func extremeDelaysDoNotOverflow(retry: Int) {
        let schedules = [
            BackoffSchedule(), BackoffSchedule(initialDelay: .seconds(Int64.max)),
            BackoffSchedule(initialDelay: .nanoseconds(1)),
        ]
        for schedule in schedules {
            #expect(schedule.delay(beforeRetry: retry, fraction: 1) == BackoffSchedule.longestDelay)
        }
    }

    @Test func theMaximumCapsWhatJitterAdds() {
        let schedule = BackoffSchedule(initialDelay: .seconds(1), maximumDelay: .seconds(2))
        #expect(schedule.delay(beforeRetry: 1, fraction: 1) == .milliseconds(1_100))
        #expect(schedule.delay(beforeRetry: 2, fraction: 0) == .milliseconds(1_800))
        #expect(schedule.delay(beforeRetry: 2, fraction: 1) == .seconds(2))
        #expect(schedule.delay(beforeRetry: 3, fraction: 0) == .seconds(2))
    }

    @Test(arguments: [-1, -.infinity, -.nan, .nan, .signalingNaN] as [Double])
    func aFractionBelowZeroIsZero(fraction: Double) {
        #expect(BackoffSchedule().delay(beforeRetry: 1, fraction: fraction) == .milliseconds(180))
    }

    @Test(arguments: [1.5, .infinity, .greatestFiniteMagnitude] as [Double])
    func jitterFractionIsAtMostOne(fraction: Double) {
        #expect(BackoffSchedule().delay(beforeRetry: 1, fraction: fraction) == .milliseconds(220))
    }

    /// Anywhere between zero and a bound that doubles.
    @Test(arguments: [(1, 200), (2, 400), (3, 800), (4, 1_600), (5, 3_200), (0, 200), (-1, 200)])
    func fullJitterIsBelowADoublingBound(retry: Int, milliseconds: Int) {
        let schedule = BackoffSchedule()
        let bound = Duration.milliseconds(milliseconds)
        #expect(schedule.fullyJitteredDelay(beforeRetry: retry, fraction: 0) == .zero)
        #expect(schedule.fullyJitteredDelay(beforeRetry: retry, fraction: 0.25) == bound / 4)
        #expect(schedule.fullyJitteredDelay(beforeRetry: retry, fraction: 1) == bound)
        for fraction in [-1, .nan, -.infinity] as [Double] {
            #expect(schedule.fullyJitteredDelay(beforeRetry: retry, fraction: fraction) == .zero)
        }
        #expect(schedule.fullyJitteredDelay(beforeRetry: retry, fraction: 2) == bound)
    }

    @Test(arguments: [60, 64, 1_000, Int.max]) func theBoundOfFullJitterIsCapped(retry: Int) {
        let capped = BackoffSchedule(initialDelay: .seconds(1), maximumDelay: .seconds(20))
        #expect(capped.fullyJitteredDelay(beforeRetry: retry, fraction: 1) == .seconds(20))
        #expect(capped.fullyJitteredDelay(beforeRetry: retry, fraction: 0.5) == .seconds(10))
        let endless = BackoffSchedule(initialDelay: .seconds(Int64.max))
        #expect(endless.fullyJitteredDelay(beforeRetry: retry, fraction: 1) == BackoffSchedule.longestDelay)
    }

    @Test func negativeDelaysAreZero() {
        let schedule = BackoffSchedule(initialDelay: .seconds(-1), maximumDelay: .seconds(-1))
        #expect(schedule == BackoffSchedule(initialDelay: .zero, maximumDelay: .zero))
        #expect(schedule.delay(beforeRetry: 5, fraction: 1) == .zero)
    }
}

@Suite struct ChappieRateLimitBackoffPolicyTests {
    static func throttled(after: Duration? = nil, resetsAfter: Duration? = nil) -> AttemptFailure {
        let limit = resetsAfter.map { UsageLimitFacts(resetsAfter: $0) }
        return .httpStatus(RefusalFacts(statusCode: 429, retryAfter: after, usageLimit: limit))
    }

    @Test func delaysDoubleUpToTheMaximum() {
        let policy = ChappieRateLimitBackoffPolicy(maxRetries: 7)
        let delays = (1...8).map { policy.delay(beforeRetry: $0, after: Self.throttled()) }
        #expect(
            delays == [
                .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(30), .seconds(30), nil,
            ])
    }

    @Test(arguments: [(0, 0), (1, 1), (29, 29), (30, 30), (31, 30), (Int64.max, 30), (-5, 0)] as [(Int64, Int64)])
    func retryAfterReplacesTheDelayAndIsCapped(asked: Int64, given: Int64) {
        let policy = ChappieRateLimitBackoffPolicy()
        let failure = Self.throttled(after: .seconds(asked))
        #expect(policy.delay(beforeRetry: 1, after: failure) == .seconds(given))
    }

    @Test func retryAfterMayBeDisregarded() {
        let policy = ChappieRateLimitBackoffPolicy(respectsRetryAfterHeader: false)
        #expect(policy.delay(beforeRetry: 1, after: Self.throttled(after: .seconds(9))) == .seconds(1))
        #expect(policy.serverDelay(of: Self.throttled(after: .seconds(9))) == nil)
    }

    @Test func aUsageLimitsEndIsWaitedForWhenItIsNear() {
        let policy = ChappieRateLimitBackoffPolicy()
        #expect(policy.outlasts(UsageLimitFacts(resetsAfter: .seconds(30))))
        #expect(!policy.outlasts(UsageLimitFacts(resetsAfter: .nanoseconds(30_000_000_001))))
        #expect(!policy.outlasts(UsageLimitFacts()))
        #expect(!policy.outlasts(nil))
        let near = Self.throttled(after: .seconds(2), resetsAfter: .seconds(12))
        #expect(policy.delay(beforeRetry: 1, after: near) == .seconds(12))
    }

    @Test(arguments: [Int.min, -1, 0, 3, Int.max])
    func throttledRetryOutsideTheLimitIsNotAllowed(retry: Int) {
        #expect(ChappieRateLimitBackoffPolicy().delay(beforeRetry: retry, after: Self.throttled()) == nil)
    }

    @Test func negativeValuesAreZero() {
        let policy = ChappieRateLimitBackoffPolicy(
            maxRetries: -1, initialDelay: .seconds(-1), maximumDelay: .seconds(-1))
        #expect(policy == ChappieRateLimitBackoffPolicy(maxRetries: 0, initialDelay: .zero, maximumDelay: .zero))
    }
}

@Suite struct RetryPolicyTests {
    private let policy = RetryPolicy(
        streaming: ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 3), maxHTTPRetries: 2)

    private func delay(
        _ failureClass: FailureClass, _ transport: ChappieTransportKind, _ number: Int, probable: Int = 1
    ) -> Duration? {
        let retry = RetryPolicy.Retry(
            of: failureClass, on: transport, number: number, numberOfProbable: probable)
        return self.policy.delay(before: retry, after: .endedEarly, fraction: 0.5)
    }

    @Test(arguments: [FailureClass.transient, .server])
    func retriesOfATransportEndAtItsLimit(failureClass: FailureClass) {
        #expect(self.delay(failureClass, .webSocket, 1) == .milliseconds(200))
        #expect(self.delay(failureClass, .webSocket, 3) == .milliseconds(800))
        #expect(self.delay(failureClass, .webSocket, 4) == nil)
        #expect(self.delay(failureClass, .httpSSE, 2) == .milliseconds(400))
        #expect(self.delay(failureClass, .httpSSE, 3) == nil)
    }

    @Test func oneRetryForAProbableFailureWithinTheBudget() {
        #expect(self.delay(.probable, .webSocket, 1) == .milliseconds(200))
        #expect(self.delay(.probable, .webSocket, 2, probable: 2) == nil)
        #expect(self.delay(.probable, .webSocket, 3, probable: 1) == .milliseconds(800))
        #expect(self.delay(.probable, .webSocket, 4, probable: 1) == nil)
    }

    @Test(arguments: [FailureClass.definite, .size, .credential, .throttle, .usageLimit, .fatal])
    func noRetryForOtherClasses(failureClass: FailureClass) {
        #expect(self.delay(failureClass, .webSocket, 1) == nil)
        #expect(self.delay(failureClass, .httpSSE, 1) == nil)
    }

    @Test(arguments: [408, 409, 425, 500, 502, 503, 504, 529])
    func anAnswerOverHTTPHasFullJitter(status: Int) {
        let failure = AttemptFailure.httpStatus(RefusalFacts(statusCode: status))
        let retry = RetryPolicy.Retry(of: failure.failureClass, on: .httpSSE, number: 2)
        #expect(self.policy.delay(before: retry, after: failure, fraction: 0) == .zero)
        #expect(self.policy.delay(before: retry, after: failure, fraction: 1) == .milliseconds(400))
    }

    /// A WebSocket's reconnections, and HTTP without an answer, keep to ten per cent.
    @Test(
        arguments: [
            (.upgradeStatus(RefusalFacts(statusCode: 503)), .webSocket), (.endedEarly, .webSocket),
            (.endedEarly, .httpSSE), (.closed(code: 1011, beforeFirstEvent: false), .webSocket),
            (.responseFailed(RefusalFacts(errorCode: "server_error")), .httpSSE), (.timeout(.idle), .httpSSE),
        ] as [(AttemptFailure, ChappieTransportKind)])
    func otherDelaysVaryByTenPercent(failure: AttemptFailure, transport: ChappieTransportKind) {
        let retry = RetryPolicy.Retry(of: failure.failureClass, on: transport, number: 2)
        #expect(self.policy.delay(before: retry, after: failure, fraction: 0) == .milliseconds(360))
        #expect(self.policy.delay(before: retry, after: failure, fraction: 1) == .milliseconds(440))
    }

    @Test func theServersDelayReplacesTheComputedOne() {
        let retry = RetryPolicy.Retry(of: .server, on: .httpSSE, number: 1)
        let failure = AttemptFailure.httpStatus(RefusalFacts(statusCode: 503, retryAfter: .seconds(7)))
        #expect(self.policy.delay(before: retry, after: failure, fraction: 0) == .seconds(7))
    }

    @Test func negativeBudgetsAreZero() {
        let policy = RetryPolicy(
            streaming: ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: -1), maxHTTPRetries: .min)
        #expect(policy.retryLimit(on: .webSocket) == 0)
        #expect(policy.retryLimit(on: .httpSSE) == 0)
    }

    @Test func defaultPolicyHasDocumentedValues() {
        let policy = RetryPolicy()
        #expect(policy.streaming.prefersWebSocket)
        #expect(policy.streaming.fallsBackToHTTPSSE)
        #expect(policy.retryLimit(on: .webSocket) == 5)
        #expect(policy.retryLimit(on: .httpSSE) == 5)
        #expect(policy.rateLimit.maxRetries == 2)
        #expect(policy.rateLimit.initialDelay == .seconds(1))
        #expect(policy.rateLimit.maximumDelay == .seconds(30))
        #expect(policy.rateLimit.respectsRetryAfterHeader)
    }
}
