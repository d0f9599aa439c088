import PlatformFoundation
import StreamTransport

/// Decides when an access token is refreshed, by the date.
///
/// The date may jump, and be wrong: a token is refreshed once because of it, and not again before half of the next
/// token's lifetime by the same date.
struct RefreshSchedule: Sendable {
    /// The advice about a token.
    enum Advice: Equatable {
        /// It is valid.
        case keep
        /// It is valid, and expires soon.
        case refreshSoon
        /// It has expired.
        case refreshNow
    }

    /// The age at which a token without an expiry is refreshed.
    static let longestAge: Duration = .seconds(8 * 86_400)

    /// The time before its expiry at which a token is refreshed.
    let lead: Duration

    /// Returns the advice about a credential's access token.
    func advice(for credential: ChappieStoredCredential, at date: Date) -> Advice {
        self.advice(expiresAt: credential.expiresAt, refreshedAt: credential.refreshedAt, at: date)
    }

    /// Returns the advice about an access token.
    func advice(expiresAt: Date?, refreshedAt: Date, at date: Date) -> Advice {
        guard let end = expiresAt else {
            let age = date.timeIntervalSince(refreshedAt)
            return age > Self.longestAge / .seconds(1) ? .refreshSoon : .keep
        }
        let life = end.timeIntervalSince(refreshedAt)
        // It expired before it was issued: the clock is wrong, and only the server knows when the token expires.
        guard life > 0 else { return .keep }
        let rest = end.timeIntervalSince(date)
        if rest <= 0 { return .refreshNow }
        return rest <= min(self.lead.bounded / .seconds(1), life / 2) ? .refreshSoon : .keep
    }
}
