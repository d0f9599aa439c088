#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A sign-in with a code that a person enters somewhere else (RFC 8628).
public struct ChappieDeviceCodeSignIn: Sendable {
    /// What the person enters: printable ASCII.
    public let userCode: String
    /// Where the person enters it.
    public let verificationURL: URL
    /// The same with the code in it, where the server has such a URL (RFC 8628 section 3.3.1).
    public let completeVerificationURL: URL?
    /// How long the code is waited for.
    public let lifetime: Duration
    private let session: ChappieAuthSession

    /// Asks the server for a code.
    init(session: ChappieAuthSession) async throws {
        throw ChappieAuthError.unknown("Not there yet.")
    }

    /// Waits until the person has agreed, and keeps the credential.
    ///
    /// Throws `ChappieAuthError`, and what the storage throws. Cancelling the task ends it with `cancelledSignIn`.
    public func complete() async throws -> ChappieAccount {
        throw ChappieAuthError.unknown("Not there yet.")
    }
}
