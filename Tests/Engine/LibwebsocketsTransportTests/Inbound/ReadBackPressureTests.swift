// Pauses of reading, and their ends.
import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite struct ReadBackPressureTests {
    /// Returns whether reading continues when so much is left unread.
    private static func continues(_ pressure: inout ReadBackPressure, withUnread weight: Int) -> Bool {
        pressure.mustResume(withUnread: weight)
    }

    private static func backPressure(high: Int = 100, low: Int = 20) -> ReadBackPressure {
        var limits = TransportLimits()
        limits.highWatermark = high
        limits.lowWatermark = low
        return ReadBackPressure(limits: limits)
    }

    @Test func readingPausesAtTheHighWatermarkAndContinuesAtTheLowOne() {
        var pressure = Self.backPressure()
        pressure.add(99)
        #expect(!pressure.isPaused && pressure.room == 1)
        pressure.add(1)
        #expect(pressure.isPaused && pressure.room == 0)
        pressure.take(100)
        #expect(!Self.continues(&pressure, withUnread: 21))
        #expect(Self.continues(&pressure, withUnread: 20))
        #expect(!pressure.isPaused && pressure.room == 80)
        #expect(!Self.continues(&pressure, withUnread: 0))
    }

    @Test func batchInHandCountsUntilItIsRead() {
        var pressure = Self.backPressure()
        pressure.add(60)
        pressure.take(60)
        pressure.add(39)
        #expect(!pressure.isPaused && pressure.room == 1)
        #expect(!Self.continues(&pressure, withUnread: 10))
        #expect(pressure.room == 51)
        pressure.add(51)
        #expect(pressure.isPaused)
    }

    @Test func shareTakesThePlaceOfTheWatermarks() {
        var pressure = Self.backPressure(high: 1_000, low: 800)
        pressure.share(100)
        #expect(pressure.isMemoryScarce && pressure.room == 100)
        pressure.add(100)
        #expect(pressure.isPaused)
        pressure.take(100)
        #expect(!Self.continues(&pressure, withUnread: 26))
        #expect(Self.continues(&pressure, withUnread: 25))
        pressure.share(.max)
        #expect(!pressure.isMemoryScarce && pressure.room == 975)
    }

    @Test func fallingSharePausesOnlyWhereABufferIsToBeTaken() {
        var pressure = Self.backPressure(high: 1_000)
        pressure.add(500)
        pressure.share(100, hasBuffers: false)
        #expect(!pressure.isPaused && pressure.room == 1)
        pressure.share(100, hasBuffers: true)
        #expect(pressure.isPaused && pressure.room == 0)
    }

    @Test func overflowIsDroppedAndReadingGoesOn() {
        var pressure = Self.backPressure()
        pressure.dropOverflow()
        pressure.add(99)
        #expect(!pressure.isDropping)
        pressure.add(1)
        #expect(pressure.isPaused && pressure.isDropping && pressure.room == 1)
        pressure.take(100)
        #expect(!Self.continues(&pressure, withUnread: 0) && pressure.isDropping)
    }

    @Test func endLetsReadingContinue() {
        var pressure = Self.backPressure()
        pressure.add(200)
        pressure.end(discardingBuffers: true)
        #expect(!pressure.isPaused && pressure.room == 100)
    }

    @Test(arguments: [(-5, -7), (0, 3)]) func impossibleWatermarksPauseAtEachByteAndContinue(high: Int, low: Int) {
        var pressure = Self.backPressure(high: high, low: low)
        pressure.add(1)
        #expect(pressure.isPaused)
        pressure.take(1)
        #expect(Self.continues(&pressure, withUnread: 0))
    }
}
