import Foundation
import Testing

@testable import ChappieSignIn

/// The time at which a token is refreshed, with right and wrong clocks.
@Suite struct RefreshScheduleTests {
    private static let schedule = RefreshSchedule(lead: .seconds(300))

    private func advice(given: Double, ends: Double?, now: Double) -> RefreshSchedule.Advice {
        var credential = ChappieStoredCredential.sample(expiresAt: ends)
        credential.refreshedAt = Date(timeIntervalSince1970: given)
        return Self.schedule.advice(for: credential, at: Date(timeIntervalSince1970: now))
    }

    @Test(arguments: [
        (1_000, RefreshSchedule.Advice.keep), (4_299.5, .keep), (4_300, .refreshSoon), (4_599.5, .refreshSoon),
        (4_600, .refreshNow), (1e9, .refreshNow), (0, .keep), (-1e9, .keep),
    ])
    func tokenOfOneHourIsRefreshedFiveMinutesBeforeItsExpiry(now: Double, expected: RefreshSchedule.Advice) {
        #expect(self.advice(given: 1_000, ends: 4_600, now: now) == expected)
    }

    @Test(arguments: [(1_029.5, RefreshSchedule.Advice.keep), (1_030, .refreshSoon), (1_060, .refreshNow)])
    func aMinuteIsRefreshedAfterItsHalf(now: Double, expected: RefreshSchedule.Advice) {
        #expect(self.advice(given: 1_000, ends: 1_060, now: now) == expected)
    }

    @Test(arguments: [1_000, 500, 0, 1e9] as [Double])
    func aTokenThatEndedBeforeItWasGivenIsLeftToTheServer(now: Double) {
        #expect(self.advice(given: 1_000, ends: 1_000, now: now) == .keep)
        #expect(self.advice(given: 1_000, ends: 10, now: now) == .keep)
    }

    @Test(arguments: [
        (1_000, RefreshSchedule.Advice.keep), (692_200, .keep), (692_200.5, .refreshSoon), (1e9, .refreshSoon),
        (0, .keep),
    ])
    func aTokenThatDoesNotSayWhenItEndsIsRefreshedAfterEightDays(now: Double, expected: RefreshSchedule.Advice) {
        #expect(self.advice(given: 1_000, ends: nil, now: now) == expected)
    }
}
