// The batches of a turn: their size, and what counts as output, as progress, and as taken.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct BatchMeterTests {
    private func seconds(_ count: Int) -> Moment { Moment(nanoseconds: Int64(count) * 1_000_000_000) }
    private func gapCount(_ meter: BatchMeter) -> Int { meter.summary?.count ?? 0 }

    @Test func queuedDeltasAreProgressOnce() {
        var meter = BatchMeter()
        meter.begin(at: self.seconds(1))
        let before = meter.takeProgress()
        meter.queued()
        meter.queued()
        let (first, second) = (meter.takeProgress(), meter.takeProgress())
        #expect([before, first, second] == [false, true, false])
        #expect(meter.time == self.seconds(1))
    }

    @Test(arguments: [true, false])
    func gapsLieBetweenBatchesOfOutput(isQueued: Bool) {
        var meter = BatchMeter()
        for second in 1...3 {
            meter.begin(at: self.seconds(second))
            if second != 2, isQueued { meter.queued() }
            if second != 2, !isQueued { meter.delivered() }
            _ = meter.takeProgress()
            meter.end()
        }
        #expect(self.gapCount(meter) == 1)
        #expect(meter.summary?.longest == 2)
    }

    @Test func onlyQueuedOutputCountsAsTaken() {
        var meter = BatchMeter()
        meter.begin(at: self.seconds(1))
        meter.delivered()
        meter.end()
        let delivered = meter.takesLast()
        meter.begin(at: self.seconds(2))
        meter.queued()
        _ = meter.takeProgress()
        meter.end()
        let (first, second) = (meter.takesLast(), meter.takesLast())
        #expect([delivered, first, second] == [false, true, false])
    }

    @Test(arguments: [(65_535, true), (65_536, false), (65_537, false)])
    func batchEndsWithTheMessageThatReachesItsLimit(byteCount: Int, takesMore: Bool) {
        var allowance = BatchMeter.Allowance(hasTotalBudget: false)
        let (empty, first) = (allowance.takesMore(after: 0), allowance.takesMore(after: 1))
        let second = allowance.takesMore(after: byteCount - 1)
        #expect([empty, first, second] == [true, true, takesMore])
    }

    @Test(arguments: [0, 1])
    func batchOfATurnWithATotalBudgetIsOneMessage(byteCount: Int) {
        var allowance = BatchMeter.Allowance(hasTotalBudget: true)
        let takesMore = allowance.takesMore(after: byteCount)
        #expect(!takesMore)
    }
}
