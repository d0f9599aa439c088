// The client, which every program with accounts uses, with the same import.
@_exported public import Chappie

extension ChappieConfiguration {
    /// The settings of sign-ins; see `Chappie.authSession(configuration:)`.
    public var signIn: ChappieSignInConfiguration {
        get { self.accounts.signIn }
        set { self.accounts.signIn = newValue }
    }

    /// The storage of the accounts' credentials.
    ///
    /// Default nil. Once it is set, requests use the account that is signed in where neither `credential` nor the
    /// environment has a key. An endpoint for accounts alone (`ChappieEndpoint.requiresAccountID`) does so as soon as
    /// `signIn` is set as well, with the storage in the user's home directory (`ChappieFileCredentialStorage`).
    public var credentialStorage: (any ChappieCredentialStorage)? {
        get { self.accounts.storage }
        set { self.accounts.storage = newValue }
    }

    private var accounts: AccountSettings {
        get { self.credentialProvider as? AccountSettings ?? AccountSettings() }
        set { self.credentialProvider = newValue }
    }
}

/// The settings of accounts in a client's configuration.
private struct AccountSettings: CredentialProvider {
    var signIn = ChappieSignInConfiguration()
    var storage: (any ChappieCredentialStorage)?

    func credentialSource(
        for configuration: ChappieConfiguration
    ) -> ChappieTransportConfiguration.CredentialSource? {
        guard self.storage != nil || configuration.endpoint.requiresAccountID else { return nil }
        let session = ChappieAuthSession(configuration: configuration)
        return { request in try await session.credential(for: request) }
    }
}
