// The time without a message, by moments that the test gives.
import Testing

@testable import ChappieCommand

@Suite struct QuietTimeTests {
    private static let start = QuietTime.Instant.now

    private static func moment(_ seconds: Int) -> QuietTime.Instant { Self.start + .seconds(seconds) }

    private static func remaining(_ quiet: QuietTime, at seconds: Int) -> Duration {
        quiet.remaining(of: .seconds(3), now: Self.moment(seconds))
    }

    @Test func timePassesFromTheBeginning() {
        let quiet = QuietTime(now: Self.moment(0))
        #expect(Self.remaining(quiet, at: 1) == .seconds(2))
        #expect(Self.remaining(quiet, at: 3) == .zero)
        quiet.restart(now: Self.moment(3))
        #expect(Self.remaining(quiet, at: 4) == .seconds(2))
    }

    @Test func messageBeginsItAgainWhenItIsPrinted() {
        let quiet = QuietTime(now: Self.moment(0))
        quiet.messageCame()
        #expect(Self.remaining(quiet, at: 100) == .seconds(3))
        quiet.restart(now: Self.moment(100))
        #expect(Self.remaining(quiet, at: 200) == .seconds(3))
        quiet.messagePrinted(now: Self.moment(200))
        #expect(Self.remaining(quiet, at: 202) == .seconds(1))
        #expect(Self.remaining(quiet, at: 204) < .zero)
    }
}
