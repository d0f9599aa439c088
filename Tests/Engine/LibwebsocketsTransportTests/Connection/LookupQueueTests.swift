// The order of look-ups, and the effect of names that are never answered on the others.

import Testing

@testable import LibwebsocketsTransport

@Suite struct LookupQueueTests {
    private static let start = ContinuousClock.now

    private static func moment(_ milliseconds: Int) -> ContinuousClock.Instant {
        Self.start + .milliseconds(milliseconds)
    }

    /// A queue in which that many names are being looked up since the start.
    private static func queue(running count: Int, at now: ContinuousClock.Instant = Self.start) -> LookupQueue {
        var queue = LookupQueue()
        for number in 0..<count {
            #expect(queue.ask(for: "\(number)", ticket: UInt64(number)) == true)
            #expect(queue.step(isRelief: false, at: now) == .lookUp("\(number)", startsThread: false))
        }
        return queue
    }

    @Test func aNameIsLookedUpOnceForAll() {
        var queue = LookupQueue()
        #expect(queue.ask(for: "a", ticket: 1) == true)
        #expect(queue.ask(for: "a", ticket: 2) == false)
        #expect(queue.step(isRelief: false, at: Self.start) == .lookUp("a", startsThread: false))
        #expect(queue.ask(for: "a", ticket: 3) == false)
        #expect(queue.finished("a") == [1, 2, 3])
        #expect(queue.step(isRelief: false, at: Self.start) == .end)
        // The state is clean: the next look-up begins again.
        #expect(queue.ask(for: "a", ticket: 4) == true)
        #expect(queue.step(isRelief: false, at: Self.start) == .lookUp("a", startsThread: false))
        #expect(queue.finished("a") == [4])
    }

    @Test func namesAreTakenInTheirOrder() {
        var queue = LookupQueue()
        for (index, name) in ["a", "b", "c"].enumerated() {
            #expect(queue.ask(for: name, ticket: UInt64(index)) == true)
        }
        #expect(queue.step(isRelief: false, at: Self.start) == .lookUp("a", startsThread: true))
        #expect(queue.step(isRelief: false, at: Self.start) == .lookUp("b", startsThread: true))
        #expect(queue.step(isRelief: false, at: Self.start) == .lookUp("c", startsThread: false))
    }

    @Test func lookUpWithoutCallersIsNotStarted() {
        var queue = LookupQueue()
        #expect(queue.ask(for: "a", ticket: 1) == true)
        #expect(queue.ask(for: "a", ticket: 2) == false)
        #expect(queue.ask(for: "b", ticket: 3) == true)
        queue.cancel(1)
        queue.cancel(2)
        queue.cancel(2)
        #expect(queue.step(isRelief: false, at: Self.start) == .lookUp("b", startsThread: false))
        #expect(queue.step(isRelief: false, at: Self.start) == .end)
    }

    @Test func lookUpRunsWhileOneCallerWaits() {
        var queue = LookupQueue()
        #expect(queue.ask(for: "a", ticket: 1) == true)
        #expect(queue.ask(for: "a", ticket: 2) == false)
        queue.cancel(1)
        #expect(queue.step(isRelief: false, at: Self.start) == .lookUp("a", startsThread: false))
        #expect(queue.finished("a") == [2])
    }

    @Test func runningLookUpServesLaterCallers() {
        var queue = LookupQueue()
        #expect(queue.ask(for: "a", ticket: 1) == true)
        #expect(queue.step(isRelief: false, at: Self.start) == .lookUp("a", startsThread: false))
        queue.cancel(1)
        #expect(queue.ask(for: "a", ticket: 2) == false)
        #expect(queue.finished("a") == [2])
    }

    @Test func aNameThatIsAskedForAgainIsLookedUpOnce() {
        var queue = LookupQueue()
        #expect(queue.ask(for: "a", ticket: 1) == true)
        queue.cancel(1)
        #expect(queue.ask(for: "a", ticket: 2) == true)
        #expect(queue.step(isRelief: false, at: Self.start) == .lookUp("a", startsThread: false))
        #expect(queue.step(isRelief: false, at: Self.start) == .end)
        #expect(queue.finished("a") == [2])
    }

    // MARK: Stuck look-ups

    @Test func eightRunAtATimeAndOneThreadWaits() {
        var queue = Self.queue(running: 8)
        #expect(queue.ask(for: "a", ticket: 100) == true)
        #expect(queue.step(isRelief: false, at: Self.moment(500)) == .pause(.milliseconds(1_500)))
        // The thread that waits sees to all of them.
        #expect(queue.ask(for: "b", ticket: 101) == false)
        // One of the eight has ended, and takes the next.
        #expect(queue.finished("3") == [3])
        #expect(queue.step(isRelief: false, at: Self.moment(600)) == .lookUp("a", startsThread: false))
        #expect(queue.finished("a") == [100])
        #expect(queue.step(isRelief: false, at: Self.moment(700)) == .lookUp("b", startsThread: false))
        #expect(queue.step(isRelief: true, at: Self.moment(2_000)) == .end)
    }

    @Test func sleepingThreadDoesNotDelayNewLookUps() {
        var queue = Self.queue(running: 8)
        #expect(queue.ask(for: "a", ticket: 100) == true)
        #expect(queue.step(isRelief: false, at: Self.moment(1)) == .pause(.milliseconds(1_999)))
        for number in 0..<8 { #expect(queue.finished("\(number)") == [UInt64(number)]) }
        #expect(queue.step(isRelief: false, at: Self.moment(2)) == .lookUp("a", startsThread: false))
        for _ in 0..<7 { #expect(queue.step(isRelief: false, at: Self.moment(2)) == .end) }
        #expect(queue.finished("a") == [100])
        #expect(queue.step(isRelief: false, at: Self.moment(3)) == .end)
        // No look-up runs, and the one thread sleeps.
        #expect(queue.ask(for: "b", ticket: 101) == true)
        #expect(queue.step(isRelief: false, at: Self.moment(4)) == .lookUp("b", startsThread: false))
    }

    @Test func stuckLookUpDelaysNoOther() {
        var queue = Self.queue(running: 8)
        for ticket in UInt64(100)..<110 { _ = queue.ask(for: "n\(ticket)", ticket: ticket) }
        #expect(queue.step(isRelief: false, at: Self.moment(1)) == .pause(.milliseconds(1_999)))
        // A second thread that was started meanwhile is not needed.
        #expect(queue.step(isRelief: false, at: Self.moment(2)) == .end)
        // All eight are stuck: eight more run, each started by the one before.
        #expect(queue.step(isRelief: true, at: Self.moment(2_000)) == .lookUp("n100", startsThread: true))
        for number in 101..<108 {
            let step = queue.step(isRelief: false, at: Self.moment(2_001))
            #expect(step == .lookUp("n\(number)", startsThread: true))
        }
        #expect(queue.step(isRelief: false, at: Self.moment(2_002)) == .pause(.milliseconds(1_998)))
        // A stuck one that ends after all is as good as any other.
        #expect(queue.finished("0") == [0])
        #expect(queue.step(isRelief: false, at: Self.moment(2_003)) == .end)
        #expect(queue.finished("n100") == [100])
        #expect(queue.step(isRelief: false, at: Self.moment(2_004)) == .lookUp("n108", startsThread: false))
    }

    @Test func thereAreNoMoreThanSixtyFourThreads() {
        var queue = LookupQueue()
        for number in 0..<64 {
            #expect(queue.ask(for: "\(number)", ticket: UInt64(number)) == true)
            let step = queue.step(isRelief: false, at: Self.moment(2_000 * number))
            #expect(step == .lookUp("\(number)", startsThread: false))
        }
        #expect(queue.ask(for: "a", ticket: 100) == false)
        // It waits until one of them ends.
        #expect(queue.finished("17") == [17])
        #expect(queue.step(isRelief: false, at: Self.moment(2_000 * 64)) == .lookUp("a", startsThread: false))
    }

    // MARK: No threads

    @Test func callersAreFailedWhenNoThreadStarts() {
        var queue = LookupQueue()
        #expect(queue.ask(for: "a", ticket: 1) == true)
        #expect(queue.ask(for: "a", ticket: 2) == false)
        #expect(queue.threadFailed() == [1, 2])
        #expect(queue.ask(for: "a", ticket: 3) == true)
        #expect(queue.step(isRelief: false, at: Self.start) == .lookUp("a", startsThread: false))
    }

    @Test func runningThreadServesTheRemainingNames() {
        var queue = Self.queue(running: 1)
        #expect(queue.ask(for: "a", ticket: 100) == true)
        #expect(queue.threadFailed() == [])
        #expect(queue.finished("0") == [0])
        #expect(queue.step(isRelief: false, at: Self.start) == .lookUp("a", startsThread: false))
    }
}
