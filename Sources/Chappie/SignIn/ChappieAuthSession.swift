#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Signs people in, and keeps their credentials fresh.
///
/// ```swift
/// let session = Chappie.authSession(configuration: configuration)
/// let signIn = try await session.startDeviceCodeSignIn()
/// print("Open \(signIn.verificationURL) and enter \(signIn.userCode)")
/// let account = try await signIn.complete()
/// ```
///
/// It may be used from any task. Several sessions and several processes may share a storage.
public final class ChappieAuthSession: Sendable {
    let configuration: ChappieConfiguration
    let storage: any ChappieCredentialStorage
    let client: AuthorizationClient
    let clock: SignInClock
    let keeper: CredentialKeeper

    convenience init(configuration: ChappieConfiguration) {
        self.init(configuration: configuration, clock: .system)
    }

    init(configuration: ChappieConfiguration, clock: SignInClock) {
        self.configuration = configuration
        self.storage = configuration.credentialStorage ?? ChappieFileCredentialStorage()
        self.client = AuthorizationClient(configuration)
        self.clock = clock
        self.keeper = CredentialKeeper(
            configuration: configuration.signIn, storage: self.storage, client: self.client, clock: clock)
    }

    // MARK: Signing in

    /// Asks for a device code (RFC 8628 section 3.1), for a person with another device or browser.
    ///
    /// Throws `ChappieAuthError`: `networkFailure`, `invalidResponse`, `cancelledSignIn`, and `unknown` where there is
    /// no client ID, or the server has no such way.
    public func startDeviceCodeSignIn() async throws -> ChappieDeviceCodeSignIn {
        try await ChappieDeviceCodeSignIn(session: self)
    }

    /// Prepares an authorization with PKCE (RFC 7636) in a browser on this machine, and listens for its return.
    ///
    /// Throws `ChappieAuthError`: `secureRandomFailed`, and `unknown` where there is no client ID, no such way, or no
    /// port.
    public func startBrowserSignIn() async throws -> ChappieBrowserSignIn {
        try await ChappieBrowserSignIn(session: self)
    }

    /// Keeps what a token endpoint gave at the end of a sign-in.
    func finish(_ grant: TokenGrant) async throws -> ChappieAccount {
        // A token of a type that is not known must not be used (RFC 6749 section 7.1).
        guard let accessToken = grant.accessToken, grant.isBearer else { throw ChappieAuthError.invalidResponse }
        guard let refreshToken = grant.refreshToken else { throw ChappieAuthError.missingRefreshToken }
        let signIn = self.configuration.signIn
        var stored = ChappieStoredCredential(
            accessToken: accessToken, refreshToken: refreshToken, idToken: grant.idToken, clientID: try self.clientID(),
            issuer: signIn.server.issuer.absoluteString, refreshedAt: self.clock.date())
        stored.endpoints = signIn.server.keptEndpoints
        stored.accountID = stored.claims.accountID
        stored.expiresAt = grant.expiresAt(of: accessToken, now: stored.refreshedAt)
        let (storage, credential) = (self.storage, stored)
        try await storage.withLock(of: signIn.account, timeout: signIn.lockTimeout) {
            try storage.store(credential, of: signIn.account)
        }
        return ChappieAccount(name: signIn.account, credential: credential)
    }

    /// The client ID that was given, or the environment's.
    func clientID() throws(ChappieAuthError) -> String {
        guard let known = self.configuration.signIn.knownClientID else {
            let variable = ChappieSignInConfiguration.clientIDVariable
            throw .unknown("There is no client ID: this package has none of its own. Give one, or set \(variable).")
        }
        return known
    }

    // MARK: Signed in

    /// The account that is signed in under the configuration's name; nil when there is none.
    ///
    /// Throws what the storage throws.
    public func account() throws -> ChappieAccount? {
        let name = self.configuration.signIn.account
        return try self.storage.credential(of: name).map { ChappieAccount(name: name, credential: $0) }
    }

    /// All accounts that are signed in, by name.
    ///
    /// Throws what the storage throws.
    public func accounts() throws -> [ChappieAccount] {
        try self.storage.accounts().compactMap { name in
            try self.storage.credential(of: name).map { ChappieAccount(name: name, credential: $0) }
        }
    }

    /// The credential for a request, refreshed where it has to be: what `ChappieConfiguration.credential` wants.
    ///
    /// New tokens are stored before they are given. While a refresh fails, the old token is used for as long as it is
    /// good, and the next try is 30 s later; one that is needed is tried for 10 s. Throws `ChappieClientError`:
    /// `missingCredential` when nobody is signed in, `missingRefreshToken` and `reauthenticationRequired` when only a
    /// new sign-in helps; `ChappieAuthError` when the authorization server cannot be reached and the old token is of no
    /// use; `CancellationError`, which does not end a refresh that is under way; and what the storage throws. Tokens
    /// that the storage cannot keep stay in this session, which stores them when it is asked the next time.
    public func credential(
        for request: ChappieTransportConfiguration.CredentialRequest
    ) async throws -> ChappieCredential {
        try await self.keeper.credential(for: request)
    }

    /// Refreshes the credential now.
    ///
    /// Where a sibling has refreshed it since this session has seen it, the sibling's is taken, and nothing is sent.
    /// Throws `ChappieAuthError`, `CancellationError`, and what the storage throws. A refusal that the server gave
    /// before is remembered, until the next sign-in, as `tokenExchangeFailed` with status code 401 and its code.
    @discardableResult
    public func refreshAuth() async throws -> ChappieAccount {
        ChappieAccount(name: self.configuration.signIn.account, credential: try await self.keeper.refresh())
    }

    /// Revokes the tokens (RFC 7009) as far as the server can be reached within 10 s, and forgets the account.
    ///
    /// Throws what the storage throws; the server's part is best effort.
    public func signOut() async throws { try await self.keeper.signOut() }
}

extension ChappieAuthSession: CustomReflectable {
    /// The name of the account, and nothing of its credential.
    public var customMirror: Mirror { Mirror(self, children: ["account": self.configuration.signIn.account]) }
}

extension Chappie {
    /// A session that signs people in; nothing is sent before it is used.
    public static func authSession(configuration: ChappieConfiguration = ChappieConfiguration()) -> ChappieAuthSession {
        ChappieAuthSession(configuration: configuration)
    }
}
