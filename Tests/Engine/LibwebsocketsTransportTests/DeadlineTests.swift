// The deadlines of a service thread's connections, and pings to a quiet peer.

import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite struct DeadlineQueueTests {
    private static let start = Moment.now

    private static func instant(_ seconds: Int) -> Moment { Self.start + .seconds(seconds) }

    private static func queue(_ deadlines: [Int]) -> DeadlineQueue {
        var queue = DeadlineQueue()
        for (index, deadline) in deadlines.enumerated() {
            queue.expect(Self.instant(deadline), for: ConnectionID(rawValue: UInt(index)))
        }
        return queue
    }

    private static func takeDue(_ queue: inout DeadlineQueue, at seconds: Int) -> [UInt] {
        queue.takeDue(at: Self.instant(seconds)).map(\.rawValue)
    }

    @Test func anEmptyQueueHasNoDeadline() {
        var queue = DeadlineQueue()
        #expect(queue.earliest == nil)
        #expect(queue.takeDue(at: Self.instant(1_000)).isEmpty)
        queue.remove(ConnectionID(rawValue: 1))
        #expect(queue.earliest == nil)
    }

    @Test func passedDeadlinesAreTakenInOrder() {
        var queue = Self.queue([5, 3, 9, 1, 7])
        #expect(queue.earliest == Self.instant(1))
        #expect(Self.takeDue(&queue, at: 0).isEmpty)
        #expect(Self.takeDue(&queue, at: 5) == [3, 1, 0])
        #expect(queue.earliest == Self.instant(7))
        #expect(Self.takeDue(&queue, at: 100) == [4, 2])
        #expect(queue.earliest == nil)
    }

    @Test func onlyANearerDeadlineReplacesTheEarlierOne() {
        var queue = Self.queue([5, 6])
        queue.expect(Self.instant(8), for: ConnectionID(rawValue: 0))
        #expect(queue.earliest == Self.instant(5))
        queue.expect(Self.instant(2), for: ConnectionID(rawValue: 1))
        #expect(queue.earliest == Self.instant(2))
        #expect(Self.takeDue(&queue, at: 100) == [1, 0])
    }

    @Test(arguments: 0..<5 as Range<UInt>)
    func removedConnectionHasNoDeadline(_ id: UInt) {
        var queue = Self.queue([5, 3, 9, 1, 7])
        queue.remove(ConnectionID(rawValue: id))
        queue.remove(ConnectionID(rawValue: id))
        #expect(Self.takeDue(&queue, at: 100) == [3, 1, 0, 4, 2].filter { $0 != id })
    }

    /// Against a dictionary that is sorted whenever it is asked.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func anySequenceOfCallsIsLikeASortedList(seed: UInt64) {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func random(below limit: UInt64) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % limit)
        }
        var queue = DeadlineQueue()
        var model: [UInt: Int] = [:]
        for _ in 0..<2_000 {
            let id = UInt(random(below: 40))
            switch random(below: 8) {
            case 0:
                queue.remove(ConnectionID(rawValue: id))
                model[id] = nil
            case 1:
                let now = random(below: 1_000) / 4
                let due = model.filter { $0.value <= now }
                let taken = Self.takeDue(&queue, at: now)
                #expect(taken.map { due[$0] } == due.values.sorted())
                #expect(Set(taken).count == taken.count)
                for id in taken { model[id] = nil }
            default:
                let deadline = random(below: 1_000)
                queue.expect(Self.instant(deadline), for: ConnectionID(rawValue: id))
                model[id] = min(model[id] ?? deadline, deadline)
            }
            #expect(queue.earliest == model.values.min().map(Self.instant))
        }
    }
}

@Suite struct PingTimerTests {
    private static let start = Moment.now

    private static func timer(interval: Duration? = .seconds(20), pongTimeout: Duration = .seconds(10)) -> PingTimer {
        var timeouts = TransportTimeouts()
        timeouts.pingInterval = interval
        timeouts.pongTimeout = pongTimeout
        return PingTimer(timeouts: timeouts, at: Self.start)
    }

    @Test func aPingIsDueAfterQuiet() {
        var timer = Self.timer()
        #expect(timer.deadline == Self.start + .seconds(20))
        #expect(timer.act(at: Self.start + .seconds(20) - .nanoseconds(1)) == .wait)
        #expect(timer.act(at: Self.start + .seconds(20)) == .sendPing)
        #expect(timer.deadline == Self.start + .seconds(30))
    }

    @Test func receivedBytesPostponeThePing() {
        var timer = Self.timer()
        timer.received(at: Self.start + .seconds(15))
        #expect(timer.act(at: Self.start + .seconds(20)) == .wait)
        #expect(timer.deadline == Self.start + .seconds(35))
        #expect(timer.act(at: Self.start + .seconds(36)) == .sendPing)
        #expect(timer.deadline == Self.start + .seconds(46))
    }

    @Test func aPeerThatDoesNotAnswerIsGivenUp() {
        var timer = Self.timer()
        #expect(timer.act(at: Self.start + .seconds(20)) == .sendPing)
        #expect(timer.act(at: Self.start + .seconds(30) - .nanoseconds(1)) == .wait)
        #expect(timer.act(at: Self.start + .seconds(30)) == .giveUp)
    }

    @Test func anyReceivedByteAnswersAPing() {
        var timer = Self.timer()
        #expect(timer.act(at: Self.start + .seconds(20)) == .sendPing)
        timer.received(at: Self.start + .seconds(29))
        #expect(timer.act(at: Self.start + .seconds(30)) == .wait)
        #expect(timer.deadline == Self.start + .seconds(49))
        #expect(timer.act(at: Self.start + .seconds(49)) == .sendPing)
        #expect(timer.act(at: Self.start + .seconds(59)) == .giveUp)
    }

    @Test func noPingIsDueWithoutAnInterval() {
        var timer = Self.timer(interval: nil)
        #expect(timer.deadline == nil)
        #expect(timer.act(at: Self.start + .seconds(1_000_000)) == .wait)
    }
}
