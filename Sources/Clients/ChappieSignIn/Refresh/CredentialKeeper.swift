import ChappieTransport
import PlatformFoundation
import StreamTransport
import TransportSurface

/// Keeps the credential of one account fresh, one refresh at a time.
///
/// Its state is behind a lock. Changes by other processes and sessions are in the storage, which is read each time.
final class CredentialKeeper: Sendable {
    /// Posts a body to the authorization server; see `AuthorizationClient.post(_:to:)`.
    typealias Post = @Sendable (AuthorizationClient.Body, URL) async throws(ChappieAuthError) -> FetchedDocument

    /// The reason for a refresh, which determines the number of attempts.
    enum Purpose {
        /// The token expires soon: one attempt; without success the token is used until it expires.
        case early
        /// The caller asked for it: one attempt.
        case asked
        /// The token is unusable: several attempts.
        case necessary
    }

    /// The reason for which there is no credential.
    enum Failure: Error {
        /// No account is signed in.
        case missingCredential
        /// There is no refresh token.
        case missingRefreshToken
        /// The server has refused permanently, now or earlier; its code.
        case refused(code: String, error: ChappieAuthError)
        /// The credential is not for the expected server, client or account; the reason, safe to show.
        case foreign(ReauthenticationReason)
        /// There are new tokens, which the storage cannot store; its error.
        case unsaved(any Error)
        /// The server cannot be reached, or fails temporarily.
        case failed(ChappieAuthError)
    }

    /// A running refresh.
    private struct Flight {
        private struct Lateness {
            var reason = ChappieAuthError.networkFailure("No answer came in time.")
            var waiters: [LateReason] = []
        }

        let purpose: Purpose
        let outcome = SharedOutcome<ChappieStoredCredential>()
        private let lateness = LockedValue(Lateness())

        init(purpose: Purpose) { self.purpose = purpose }

        /// Tells a turn that waits for the refresh why it is not over yet, now and later.
        func join(_ waiter: LateReason) {
            self.lateness.withLock { lateness in
                waiter.note(lateness.reason)
                lateness.waiters.append(waiter)
            }
        }

        /// Notes the failure of an attempt.
        func note(_ reason: ChappieAuthError) {
            self.lateness.withLock { lateness in
                lateness.reason = reason
                for waiter in lateness.waiters { waiter.note(reason) }
            }
        }
    }

    private struct State {
        var flight: Flight?
        /// Tokens that the storage could not store, and the credential that it has in their place.
        var unsaved: (credential: ChappieStoredCredential, stored: ChappieStoredCredential)?
        /// The access token that is not refreshed early again, and the end of that pause.
        var pause: (accessToken: String, until: Duration)?
        /// The access token that was returned last.
        var lastAccessToken: String?
    }

    /// The time after a failure during which a token that is still valid is not refreshed.
    static let pause: Duration = .seconds(30)
    /// The time limit for refreshing a needed token, and for waiting for another session with a token that is still
    /// valid.
    static let patience: Duration = .seconds(10)

    let configuration: ChappieSignInConfiguration
    let storage: any ChappieCredentialStorage
    let post: Post
    let clock: ClientClock
    private let state = LockedValue(State())

    convenience init(
        configuration: ChappieSignInConfiguration, storage: any ChappieCredentialStorage, client: AuthorizationClient,
        clock: ClientClock
    ) {
        self.init(configuration: configuration, storage: storage, clock: clock) { body, url throws(ChappieAuthError) in
            try await client.post(body, to: url)
        }
    }

    init(
        configuration: ChappieSignInConfiguration, storage: any ChappieCredentialStorage, clock: ClientClock,
        post: @escaping Post
    ) {
        self.configuration = configuration
        self.storage = storage
        self.clock = clock
        self.post = post
    }

    // MARK: What a session asks for

    /// See `ChappieAuthSession.credential(for:)`.
    func credential(for request: ChappieTransportConfiguration.CredentialRequest) async throws -> ChappieCredential {
        do {
            let current = try self.current()
            guard case .rejected(let rejected?) = request else { return try await self.fresh(current).credential }
            let isRejected = rejected.bearerToken == current.accessToken
            let next = isRejected ? try await self.rotated(current, for: .necessary) : try await self.fresh(current)
            guard rejected.accountID == nil || rejected.accountID == next.accountID else {
                throw Failure.foreign(.anotherAccount)
            }
            return next.credential
        } catch let failure as Failure {
            throw failure.clientError
        }
    }

    /// See `ChappieAuthSession.refreshAuth()`.
    func refresh() async throws -> ChappieStoredCredential {
        do {
            let last = self.state.withLock { $0.lastAccessToken }
            let current = try self.current()
            let isNews = last != nil && last != current.accessToken && self.advice(for: current) == .keep
            return isNews && !self.hasUnsaved ? current : try await self.rotated(current, for: .asked)
        } catch let failure as Failure {
            throw failure.authError
        }
    }

    /// See `ChappieAuthSession.signOut()`.
    @discardableResult
    func signOut() async throws -> RevocationResult {
        let flight = self.state.withLock { $0.flight }
        // Its result does not matter: the tokens that it stored are revoked.
        _ = try? await flight?.outcome.value()
        let account = self.configuration.account
        return try await self.storage.withLock(of: account, timeout: self.configuration.lockTimeout) {
            // A credential that cannot be read can be removed nevertheless.
            let credential = try? self.load()
            let result = if let credential { await self.revoke(credential) } else { RevocationResult.notAsked }
            try self.storage.removeCredential(of: account)
            self.state.withLock { $0.unsaved = nil }
            return result
        }
    }

    // MARK: What is there

    /// Returns the credential, refreshed if it is due.
    private func fresh(_ current: ChappieStoredCredential) async throws -> ChappieStoredCredential {
        switch self.advice(for: current) {
        case .refreshNow: return try await self.rotated(current, for: .necessary)
        case _ where self.hasUnsaved: return try await self.rotated(current, for: .necessary)
        case .keep: return current
        case .refreshSoon:
            let (now, pause) = (self.clock.now(), self.state.withLock { $0.pause })
            if let pause, pause.accessToken == current.accessToken, now < pause.until { return current }
            return try await self.rotated(current, for: .early)
        }
    }

    /// Returns the advice for a credential at this moment.
    func advice(for credential: ChappieStoredCredential) -> RefreshSchedule.Advice {
        RefreshSchedule(lead: self.configuration.refreshLead).advice(for: credential, at: self.clock.date())
    }

    private var hasUnsaved: Bool { self.state.withLock { $0.unsaved != nil } }

    /// Returns the stored credential, if it may be used.
    func current() throws -> ChappieStoredCredential {
        guard let credential = try self.load() else { throw Failure.missingCredential }
        guard credential.issuer == self.configuration.server.issuer.absoluteString else {
            throw Failure.foreign(.anotherServer)
        }
        if let code = credential.refreshFailure {
            throw Failure.refused(code: code, error: .tokenExchangeFailed(statusCode: 401, body: code))
        }
        self.state.withLock { $0.lastAccessToken = credential.accessToken }
        return credential
    }

    /// Returns the stored credential, or the unsaved one if the storage was not changed since.
    private func load() throws -> ChappieStoredCredential? {
        let stored = try self.storage.credential(of: self.configuration.account)
        return self.state.withLock { state in
            guard let unsaved = state.unsaved else { return stored }
            if let stored, stored.hasTokens(of: unsaved.stored) || stored.hasTokens(of: unsaved.credential) {
                return unsaved.credential
            }
            state.unsaved = nil
            return stored
        }
    }

    /// Stores a credential in the place of a stored one.
    ///
    /// Throws `unsaved` when the storage cannot store it; it is then kept in memory, and stored at the next
    /// opportunity.
    func save(_ credential: ChappieStoredCredential, over stored: ChappieStoredCredential) throws(Failure) {
        do {
            try self.storage.store(credential, of: self.configuration.account)
        } catch {
            self.state.withLock { $0.unsaved = (credential, stored) }
            throw .unsaved(error)
        }
        self.state.withLock { $0.unsaved = nil }
    }

    /// Stores the credential that could not be stored before; returns false when there is none.
    func saveUnsaved() throws(Failure) -> Bool {
        guard let unsaved = self.state.withLock({ $0.unsaved }) else { return false }
        try self.save(unsaved.credential, over: unsaved.stored)
        return true
    }

    /// Notes the failure of an attempt of the running refresh.
    func note(_ error: ChappieAuthError) { self.state.withLock { $0.flight }?.note(error) }

    // MARK: One at a time

    /// Returns a refreshed credential, for all callers that want the same; cancelling one of them does not affect the
    /// others.
    private func rotated(
        _ seen: ChappieStoredCredential, for purpose: Purpose
    ) async throws -> ChappieStoredCredential {
        while true {
            let (flight, isOwn) = self.flight(seen, for: purpose)
            if let reason = LateReason.current { flight.join(reason) }
            do {
                let credential = try await flight.outcome.value()
                self.state.withLock { $0.lastAccessToken = credential.accessToken }
                return credential
            } catch {
                if error is CancellationError { throw error }
                if purpose == .early, !Failure.isFinal(error) { return seen }
                // Another caller's refresh may have had fewer attempts.
                let isEnough = isOwn || flight.purpose == purpose || flight.purpose == .necessary
                guard !isEnough, Failure.mayPass(error) else { throw error }
            }
        }
    }

    /// Returns the running refresh, or a new one.
    private func flight(_ seen: ChappieStoredCredential, for purpose: Purpose) -> (flight: Flight, isOwn: Bool) {
        let (flight, isOwn) = self.state.withLock { state in
            if let flight = state.flight { return (flight, false) }
            let flight = Flight(purpose: purpose)
            state.flight = flight
            return (flight, true)
        }
        guard isOwn else { return (flight, false) }
        // A task of its own, so that cancelling a waiting caller does not end it.
        Task {
            let result: Result<ChappieStoredCredential, any Error>
            do {
                result = .success(try await self.run(seen, for: purpose))
            } catch {
                result = .failure(error)
            }
            self.state.withLock { $0.flight = nil }
            flight.outcome.settle(result)
        }
        return (flight, true)
    }

    private func run(
        _ seen: ChappieStoredCredential, for purpose: Purpose
    ) async throws -> ChappieStoredCredential {
        // A caller with a valid token does not wait long for another session.
        let limit = self.configuration.lockTimeout
        let timeout = purpose == .early ? min(limit, Self.patience) : limit
        do {
            return try await self.storage.withLock(of: self.configuration.account, timeout: timeout) {
                try await self.rotate(seen, for: purpose)
            }
        } catch {
            let until = self.clock.now() + Self.pause
            self.state.withLock { $0.pause = (seen.accessToken, until) }
            throw error
        }
    }
}

extension ChappieStoredCredential {
    /// Returns whether it has the same tokens as another one.
    func hasTokens(of other: Self) -> Bool {
        self.accessToken == other.accessToken && self.refreshToken == other.refreshToken
    }
}

extension CredentialKeeper.Failure {
    /// Returns whether even a token that is still valid is useless after the error.
    fileprivate static func isFinal(_ error: any Error) -> Bool {
        switch error as? Self {
        case .missingCredential, .refused, .unsaved: true
        case .missingRefreshToken, .foreign, .failed, nil: false
        }
    }

    /// Returns whether more attempts may succeed after the error.
    fileprivate static func mayPass(_ error: any Error) -> Bool {
        switch error {
        case Self.failed, ChappieCredentialStorageError.locked: true
        default: false
        }
    }

    /// The error for the sender of a request.
    fileprivate var clientError: any Error {
        switch self {
        case .missingCredential: ChappieClientError.missingCredential
        case .missingRefreshToken: ChappieClientError.missingRefreshToken
        case .refused(let code, _): ChappieClientError.reauthenticationRequired(code)
        case .foreign(let reason): ChappieClientError.reauthenticationRequired(reason.rawValue)
        case .unsaved(let error): error
        case .failed(let error): error
        }
    }

    /// The error for the caller of a refresh.
    fileprivate var authError: any Error {
        switch self {
        case .missingCredential, .missingRefreshToken: ChappieAuthError.missingRefreshToken
        case .refused(_, let error): error
        case .foreign(let reason): ChappieAuthError.unknown("The credential cannot be refreshed: \(reason.rawValue).")
        case .unsaved(let error): error
        case .failed(let error): error
        }
    }
}
