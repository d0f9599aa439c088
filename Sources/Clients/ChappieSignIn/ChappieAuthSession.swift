import PlatformFoundation
import TransportSurface

/// Signs users in, and keeps their credentials fresh.
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
    let clock: ClientClock
    let keeper: CredentialKeeper

    convenience init(configuration: ChappieConfiguration) {
        self.init(configuration: configuration, clock: .system)
    }

    init(configuration: ChappieConfiguration, clock: ClientClock) {
        self.configuration = configuration
        self.storage = configuration.credentialStorage ?? ChappieFileCredentialStorage()
        self.client = AuthorizationClient(configuration)
        self.clock = clock
        self.keeper = CredentialKeeper(
            configuration: configuration.signIn, storage: self.storage, client: self.client, clock: clock)
    }

    // MARK: Signing in

    /// Asks for a device code (RFC 8628 section 3.1), for a user with another device or browser.
    ///
    /// Throws `ChappieAuthError`: `networkFailure`, `invalidResponse`, `cancelledSignIn`, and `unknown` where there is
    /// no client ID, or the server does not support device codes; and the storage's errors where it could not store the
    /// credential.
    public func startDeviceCodeSignIn() async throws -> ChappieDeviceCodeSignIn {
        try await self.checkStoring()
        return try await ChappieDeviceCodeSignIn(session: self)
    }

    /// Prepares an authorization with PKCE (RFC 7636) in a browser on this machine, and listens for its return.
    ///
    /// Throws `ChappieAuthError`: `secureRandomFailed`, and `unknown` where there is no client ID, no support by the
    /// server, or no free port; and the storage's errors where it could not store the credential.
    public func startBrowserSignIn() async throws -> ChappieBrowserSignIn {
        try await self.checkStoring()
        return try await ChappieBrowserSignIn(session: self)
    }

    /// Finds a storage that cannot be written before the user signs in.
    private func checkStoring() async throws {
        let (storage, signIn) = (self.storage, self.configuration.signIn)
        try await storage.withLock(of: signIn.account, timeout: signIn.lockTimeout) {
            try storage.checkStoring(of: signIn.account)
        }
    }

    /// Stores the tokens of a sign-in; has them revoked where that fails.
    func finish(_ grant: TokenGrant) async throws -> ChappieAccount {
        // A token of an unknown type must not be used (RFC 6749 section 7.1).
        guard let accessToken = grant.accessToken, grant.isBearer else { throw ChappieAuthError.invalidResponse }
        guard let refreshToken = grant.refreshToken else { throw ChappieAuthError.missingRefreshToken }
        let signIn = self.configuration.signIn
        var stored = ChappieStoredCredential(
            accessToken: accessToken, refreshToken: refreshToken, idToken: grant.idToken, clientID: try self.clientID(),
            issuer: signIn.server.issuer.absoluteString, refreshedAt: self.clock.date())
        stored.endpoints = signIn.server.keptEndpoints
        stored.accountID = stored.claims.accountID
        stored.expiresAt = grant.expiresAt(of: accessToken, now: stored.refreshedAt)
        let (storage, keeper, credential) = (self.storage, self.keeper, stored)
        do {
            try await storage.withLock(of: signIn.account, timeout: signIn.lockTimeout) {
                try storage.store(credential, of: signIn.account)
            }
        } catch {
            // No one else can have them revoked. The sign-in may have been cancelled, which must not end this.
            _ = await Task { await keeper.revoke(credential) }.value
            throw error
        }
        return ChappieAccount(name: signIn.account, credential: credential)
    }

    /// Returns the given client ID, or the environment's.
    func clientID() throws(ChappieAuthError) -> String {
        guard let known = self.configuration.signIn.knownClientID else {
            let variable = ChappieSignInConfiguration.clientIDVariable
            throw .unknown("There is no client ID: this package has none of its own. Give one, or set \(variable).")
        }
        return known
    }

    // MARK: Signed in

    /// Returns the account that is signed in under the configuration's name; nil when there is none.
    ///
    /// Throws the storage's errors.
    public func account() throws -> ChappieAccount? {
        let name = self.configuration.signIn.account
        return try self.storage.credential(of: name).map { ChappieAccount(name: name, credential: $0) }
    }

    /// Returns all accounts that are signed in, by name.
    ///
    /// Throws the storage's errors.
    public func accounts() throws -> [ChappieAccount] {
        try self.storage.accounts().compactMap { name in
            try self.storage.credential(of: name).map { ChappieAccount(name: name, credential: $0) }
        }
    }

    /// Returns the credential for a request, refreshed if necessary, for `ChappieConfiguration.credential`.
    ///
    /// New tokens are stored before they are returned. While a refresh fails, the old token is used until it expires,
    /// and the next attempt is 30 s later; a necessary refresh is attempted for 10 s. Throws `ChappieClientError`:
    /// `missingCredential` when no account is signed in, `missingRefreshToken` and `reauthenticationRequired` when only
    /// a new sign-in helps; `ChappieAuthError` when the authorization server cannot be reached and the old token is
    /// unusable; `CancellationError`, which does not end a running refresh; and the storage's errors. Tokens that the
    /// storage cannot store stay in this session, which stores them at the next request.
    public func credential(
        for request: ChappieTransportConfiguration.CredentialRequest
    ) async throws -> ChappieCredential {
        try await self.keeper.credential(for: request)
    }

    /// Refreshes the credential now.
    ///
    /// If another session or process has refreshed it since this session read it, that credential is used, and no
    /// request is sent. Throws `ChappieAuthError`, `CancellationError`, and the storage's errors. An earlier refusal of
    /// the server is remembered, until the next sign-in, as `tokenExchangeFailed` with status code 401 and its code.
    @discardableResult
    public func refreshAuth() async throws -> ChappieAccount {
        ChappieAccount(name: self.configuration.signIn.account, credential: try await self.keeper.refresh())
    }

    /// Revokes the tokens (RFC 7009) as far as the server can be reached within 10 s, and removes the account.
    ///
    /// Throws the storage's errors; the revocation is best effort.
    public func signOut() async throws { try await self.keeper.signOut() }

    /// Does the same, and returns what became of the tokens at the server.
    package func signOutWithResult() async throws -> RevocationResult { try await self.keeper.signOut() }
}

extension ChappieAuthSession: CustomReflectable {
    /// The name of the account, without its credential.
    public var customMirror: Mirror { Mirror(self, children: ["account": self.configuration.signIn.account]) }
}

extension Chappie {
    /// Creates a session that signs users in; no request is sent before it is used.
    public static func authSession(configuration: ChappieConfiguration = ChappieConfiguration()) -> ChappieAuthSession {
        ChappieAuthSession(configuration: configuration)
    }
}
