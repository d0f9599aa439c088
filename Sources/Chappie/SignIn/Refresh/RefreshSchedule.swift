import StreamTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// When an access token is refreshed, by the date.
///
/// The date may jump, and be wrong: a token is refreshed once because of it, and not again before the half of the life
/// that the next one has by the same date.
struct RefreshSchedule: Sendable {
    /// What is to be done about a token.
    enum Advice: Equatable {
        /// It is good.
        case keep
        /// It is still good, and ends soon.
        case refreshSoon
        /// It has ended.
        case refreshNow
    }

    /// The age at which a token is refreshed that does not say when it ends.
    static let longestAge: Duration = .seconds(8 * 86_400)

    /// How long before its end a token is refreshed.
    let lead: Duration

    /// What is to be done about a credential's access token.
    func advice(for credential: ChappieStoredCredential, at date: Date) -> Advice {
        guard let end = credential.expiresAt else {
            let age = date.timeIntervalSince(credential.refreshedAt)
            return age > Self.longestAge / .seconds(1) ? .refreshSoon : .keep
        }
        let life = end.timeIntervalSince(credential.refreshedAt)
        // It ended before it was given: the clock is wrong, and only the server can tell when the token ends.
        guard life > 0 else { return .keep }
        let rest = end.timeIntervalSince(date)
        if rest <= 0 { return .refreshNow }
        return rest <= min(self.lead.bounded / .seconds(1), life / 2) ? .refreshSoon : .keep
    }
}
