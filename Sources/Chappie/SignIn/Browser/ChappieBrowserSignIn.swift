#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A sign-in in a browser on this machine (RFC 8252, with PKCE).
///
/// It listens on 127.0.0.1 until it is complete, cancelled or dropped.
public final class ChappieBrowserSignIn: Sendable {
    /// What the browser opens.
    public let authorizationURL: URL
    /// The port on which it listens for the browser's return.
    public let port: UInt16
    private let session: ChappieAuthSession

    /// Makes the secrets, and listens.
    init(session: ChappieAuthSession) async throws {
        throw ChappieAuthError.unknown("Not there yet.")
    }

    /// Waits for the browser's return, and keeps the credential; nobody listens any more when it returns or throws.
    ///
    /// Throws `ChappieAuthError`, and what the storage throws. Cancelling the task ends it with `cancelledSignIn`.
    public func complete() async throws -> ChappieAccount {
        throw ChappieAuthError.unknown("Not there yet.")
    }

    /// Gives the sign-in up: `complete()` throws `cancelledSignIn`.
    public func cancel() {}
}
