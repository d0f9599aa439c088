/// Keeps the credential of one account fresh, one refresh at a time.
final class CredentialKeeper: Sendable {
    private let configuration: ChappieSignInConfiguration
    private let storage: any ChappieCredentialStorage
    private let client: AuthorizationClient
    private let clock: SignInClock

    init(
        configuration: ChappieSignInConfiguration, storage: any ChappieCredentialStorage, client: AuthorizationClient,
        clock: SignInClock
    ) {
        self.configuration = configuration
        self.storage = storage
        self.client = client
        self.clock = clock
    }

    /// See `ChappieAuthSession.credential(for:)`.
    func credential(for request: ChappieTransportConfiguration.CredentialRequest) async throws -> ChappieCredential {
        throw ChappieAuthError.unknown("Not there yet.")
    }

    /// See `ChappieAuthSession.refreshAuth()`.
    func refresh() async throws -> ChappieStoredCredential { throw ChappieAuthError.unknown("Not there yet.") }

    /// See `ChappieAuthSession.signOut()`.
    func signOut() async throws { throw ChappieAuthError.unknown("Not there yet.") }
}
