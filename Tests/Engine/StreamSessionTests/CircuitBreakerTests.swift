// The refusal of requests, and the answers that count.
import StreamSession
import Testing

@Suite struct CircuitBreakerTests {
    /// A breaker that two failures opened at a time, and that stays open for ten seconds.
    private static func opened(at now: Duration = .zero) -> CircuitBreaker {
        var breaker = CircuitBreaker(ChappieCircuitBreakerPolicy(failureThreshold: 2, openDuration: .seconds(10)))
        for _ in 0..<2 { breaker.failed(breaker.allowed(now), isCounted: true, now: now) }
        #expect(!breaker.isClosed)
        return breaker
    }

    @Test func theDefaultsAreFiveFailuresAndAMinute() {
        var breaker = CircuitBreaker(.default)
        for _ in 0..<4 { breaker.failed(breaker.allowed(), isCounted: true, now: .seconds(1)) }
        #expect(breaker.isClosed)
        breaker.failed(breaker.allowed(), isCounted: true, now: .seconds(7))
        #expect(breaker.permission(now: .seconds(8)) == .refused(retryAfter: .seconds(59)))
        #expect(breaker.permission(now: .seconds(66.5)) == .refused(retryAfter: .seconds(0.5)))
        #expect(breaker.isProbe(at: .seconds(67)) == true)
    }

    @Test(arguments: 1...7)
    func consecutiveFailuresOpenTheCircuit(threshold: Int) {
        var breaker = CircuitBreaker(
            ChappieCircuitBreakerPolicy(failureThreshold: threshold, openDuration: .seconds(1)))
        for _ in 1..<threshold {
            breaker.failed(breaker.allowed(), isCounted: true, now: .zero)
            #expect(breaker.isClosed)
        }
        breaker.failed(breaker.allowed(), isCounted: true, now: .zero)
        #expect(!breaker.isClosed)
    }

    @Test func successResetsTheCountOfFailures() {
        var breaker = CircuitBreaker(ChappieCircuitBreakerPolicy(failureThreshold: 2, openDuration: .seconds(10)))
        for _ in 0..<10 {
            breaker.failed(breaker.allowed(), isCounted: true, now: .zero)
            breaker.succeeded(breaker.allowed())
        }
        #expect(breaker.isClosed)
        breaker.failed(breaker.allowed(), isCounted: true, now: .zero)
        breaker.abandoned(breaker.allowed())
        breaker.failed(breaker.allowed(), isCounted: false, now: .zero)
        #expect(breaker.isClosed)
        breaker.failed(breaker.allowed(), isCounted: true, now: .zero)
        #expect(!breaker.isClosed)
    }

    @Test(arguments: [0, -1, Int.min])
    func aThresholdOfZeroNeverOpensIt(threshold: Int) {
        var breaker = CircuitBreaker(
            ChappieCircuitBreakerPolicy(failureThreshold: threshold, openDuration: .seconds(10)))
        for _ in 0..<1_000 { breaker.failed(breaker.allowed(), isCounted: true, now: .zero) }
        #expect(breaker.isClosed)
    }

    @Test(arguments: [Duration.zero, .seconds(-5)])
    func withoutADurationTheNextRequestIsTheProbe(openDuration: Duration) {
        var breaker = CircuitBreaker(ChappieCircuitBreakerPolicy(failureThreshold: 1, openDuration: openDuration))
        breaker.failed(breaker.allowed(.seconds(3)), isCounted: true, now: .seconds(3))
        #expect(breaker.isProbe(at: .seconds(3)) == true)
    }

    // MARK: The probe

    @Test func onlyOneProbeGoesOut() {
        var breaker = Self.opened()
        #expect(breaker.isProbe(at: .seconds(10)) == true)
        #expect(breaker.permission(now: .seconds(10)) == .refused(retryAfter: .seconds(10)))
        #expect(breaker.permission(now: .seconds(15)) == .refused(retryAfter: .seconds(5)))
    }

    @Test func successOfTheProbeClosesTheBreaker() {
        var breaker = Self.opened()
        breaker.succeeded(breaker.probe(.seconds(11)))
        #expect(breaker.isClosed)
        breaker.failed(breaker.allowed(), isCounted: true, now: .seconds(12))
        #expect(breaker.isClosed)
    }

    @Test func failureOfTheProbeOpensTheBreakerAgain() {
        var breaker = Self.opened()
        breaker.failed(breaker.probe(.seconds(11)), isCounted: true, now: .seconds(14))
        #expect(breaker.permission(now: .seconds(14)) == .refused(retryAfter: .seconds(10)))
        #expect(breaker.permission(now: .milliseconds(23_999)) == .refused(retryAfter: .milliseconds(1)))
        #expect(breaker.isProbe(at: .seconds(24)) == true)
    }

    @Test(arguments: [true, false])
    func nextRequestProbesAfterAnInconclusiveProbe(isAbandoned: Bool) {
        var breaker = Self.opened()
        let first = breaker.probe(.seconds(11))
        if isAbandoned {
            breaker.abandoned(first)
        } else {
            breaker.failed(first, isCounted: false, now: .seconds(12))
        }
        #expect(!breaker.isClosed)
        let second = breaker.probe(.seconds(12))
        #expect(first != second)
        // The first probe is answered a second time, which is ignored.
        breaker.succeeded(first)
        breaker.abandoned(first)
        #expect(breaker.permission(now: .seconds(12)) == .refused(retryAfter: .seconds(10)))
        breaker.succeeded(second)
        #expect(breaker.isClosed)
    }

    @Test func aProbeThatIsNotAnsweredIsFollowedByAnother() {
        for isFirst in [true, false] {
            for isSuccess in [true, false] {
                var breaker = Self.opened()
                let first = breaker.probe(.seconds(11))
                #expect(breaker.permission(now: .seconds(20)) == .refused(retryAfter: .seconds(1)))
                let second = breaker.probe(.seconds(21))
                #expect(breaker.permission(now: .seconds(22)) == .refused(retryAfter: .seconds(9)))
                let answered = isFirst ? first : second
                if isSuccess {
                    breaker.succeeded(answered)
                } else {
                    breaker.failed(answered, isCounted: true, now: .seconds(23))
                }
                #expect(breaker.isClosed == isSuccess)
                // The other one is late.
                let late = isFirst ? second : first
                breaker.failed(late, isCounted: true, now: .seconds(24))
                breaker.failed(late, isCounted: true, now: .seconds(24))
                breaker.succeeded(late)
                #expect(breaker.isClosed == isSuccess)
            }
        }
    }

    // MARK: Late answers

    @Test func lateSuccessDoesNotCloseTheCircuit() {
        var breaker = CircuitBreaker(ChappieCircuitBreakerPolicy(failureThreshold: 2, openDuration: .seconds(10)))
        let slow = breaker.allowed()
        for _ in 0..<2 { breaker.failed(breaker.allowed(), isCounted: true, now: .zero) }
        breaker.succeeded(slow)
        #expect(!breaker.isClosed)
        let probe = breaker.probe(.seconds(10))
        breaker.succeeded(slow)
        #expect(!breaker.isClosed)
        breaker.failed(probe, isCounted: true, now: .seconds(11))
        breaker.succeeded(slow)
        #expect(!breaker.isClosed)
    }

    @Test func lateFailuresDoNotExtendOrReopenTheCircuit() {
        var breaker = CircuitBreaker(ChappieCircuitBreakerPolicy(failureThreshold: 2, openDuration: .seconds(10)))
        let slow = (0..<5).map { _ in breaker.allowed() }
        for _ in 0..<2 { breaker.failed(breaker.allowed(), isCounted: true, now: .zero) }
        breaker.failed(slow[0], isCounted: true, now: .seconds(9))
        let probe = breaker.probe(.seconds(10))
        breaker.failed(slow[1], isCounted: true, now: .seconds(11))
        breaker.abandoned(slow[2])
        #expect(breaker.permission(now: .seconds(12)) == .refused(retryAfter: .seconds(8)))
        breaker.succeeded(probe)
        #expect(breaker.isClosed)
        // Failures from before the breaker opened do not open it again.
        breaker.failed(slow[3], isCounted: true, now: .seconds(13))
        breaker.failed(slow[4], isCounted: true, now: .seconds(13))
        #expect(breaker.isClosed)
    }

    @Test func aLateSuccessDoesNotForgiveNewFailures() {
        var breaker = CircuitBreaker(ChappieCircuitBreakerPolicy(failureThreshold: 2, openDuration: .seconds(10)))
        let slow = breaker.allowed()
        for _ in 0..<2 { breaker.failed(breaker.allowed(), isCounted: true, now: .zero) }
        breaker.succeeded(breaker.probe(.seconds(10)))
        breaker.failed(breaker.allowed(), isCounted: true, now: .seconds(11))
        breaker.succeeded(slow)
        breaker.failed(breaker.allowed(), isCounted: true, now: .seconds(12))
        #expect(!breaker.isClosed)
    }

    @Test func requestsThatFailTogetherOpenItOnce() {
        var breaker = CircuitBreaker(ChappieCircuitBreakerPolicy(failureThreshold: 3, openDuration: .seconds(10)))
        let tickets = (0..<20).map { _ in breaker.allowed() }
        for (index, ticket) in tickets.enumerated() {
            breaker.failed(ticket, isCounted: true, now: .seconds(index))
        }
        // The third one opened it at two seconds.
        #expect(breaker.permission(now: .seconds(11)) == .refused(retryAfter: .seconds(1)))
        #expect(breaker.isProbe(at: .seconds(12)) == true)
    }

    /// Many requests at once, answered in any order: the allowed, refused and probing ones keep to the rules.
    @Test(arguments: 0..<40 as Range<UInt64>)
    func rulesHoldForConcurrentRequestsInAnyOrder(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var breaker = CircuitBreaker(ChappieCircuitBreakerPolicy(failureThreshold: 3, openDuration: .seconds(5)))
        var pending: [(ticket: CircuitBreaker.Ticket, isProbe: Bool)] = []
        var now = Duration.zero
        var lastProbe: Duration?
        var openings = 0
        var closings = 0
        for _ in 0..<4_000 {
            now += .milliseconds(random.below(700))
            let wasClosed = breaker.isClosed
            if pending.isEmpty || random.chance(0.5) {
                switch breaker.permission(now: now) {
                case .allowed(let ticket):
                    #expect(wasClosed)
                    pending.append((ticket, false))
                case .probe(let ticket):
                    #expect(!wasClosed)
                    pending.append((ticket, true))
                    lastProbe = now
                case .refused(let wait):
                    #expect(!wasClosed)
                    #expect(wait > .zero && wait <= .seconds(5))
                }
                #expect(breaker.isClosed == wasClosed)
            } else {
                let answered = pending.remove(at: random.below(pending.count))
                switch random.below(5) {
                case 0: breaker.abandoned(answered.ticket)
                case 1: breaker.failed(answered.ticket, isCounted: false, now: now)
                case 2: breaker.succeeded(answered.ticket)
                default: breaker.failed(answered.ticket, isCounted: true, now: now)
                }
                if !wasClosed, breaker.isClosed {
                    closings += 1
                    #expect(answered.isProbe)
                }
                if wasClosed, !breaker.isClosed {
                    openings += 1
                    #expect(!answered.isProbe)
                }
            }
        }
        #expect(openings > 3 && closings > 3 && abs(openings - closings) <= 1)
        #expect(lastProbe != nil)
    }
}

extension CircuitBreaker {
    /// The ticket of a request that must be allowed.
    fileprivate mutating func allowed(_ now: Duration = .zero) -> Ticket {
        guard case .allowed(let ticket) = self.permission(now: now) else { preconditionFailure("not allowed") }
        return ticket
    }

    /// The ticket of a request that must be a probe.
    fileprivate mutating func probe(_ now: Duration) -> Ticket {
        guard case .probe(let ticket) = self.permission(now: now) else { preconditionFailure("no probe") }
        return ticket
    }

    fileprivate mutating func isProbe(at now: Duration) -> Bool {
        guard case .probe = self.permission(now: now) else { return false }
        return true
    }
}
