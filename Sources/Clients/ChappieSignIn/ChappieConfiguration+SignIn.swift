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
    /// environment has a key: set `endpoint` too, as the account's token is sent there. At an endpoint for accounts
    /// alone (`ChappieEndpoint.requiresAccountID`), setting `signIn` is enough: the storage is then
    /// `ChappieFileCredentialStorage()`.
    public var credentialStorage: (any ChappieCredentialStorage)? {
        get { self.accounts.storage }
        set {
            if newValue != nil || self.credentialProvider != nil { self.accounts.storage = newValue }
        }
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
