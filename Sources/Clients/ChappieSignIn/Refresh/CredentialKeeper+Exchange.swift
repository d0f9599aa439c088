import ChappieTransport
import PlatformFoundation
import TransportSurface

// The steps under the account's lock, which excludes other refreshes in this process and in others.
extension CredentialKeeper {
    /// The pause after the first attempt; it doubles.
    private static let firstPause: Duration = .milliseconds(500)
    /// The time limit of a revocation.
    private static let revocationTimeout: Duration = .seconds(10)
    /// The code for a server that issued the tokens of another account.
    private static let accountMismatch = ReauthenticationReason.accountMismatch.rawValue

    /// Returns a credential that replaces the given one: that of another session or process, or a new one of the
    /// server.
    func rotate(_ seen: ChappieStoredCredential, for purpose: Purpose) async throws -> ChappieStoredCredential {
        let current = try self.current()
        let wasUnsaved = try self.saveUnsaved()
        let isNews = current.accessToken != seen.accessToken || wasUnsaved
        if isNews, self.advice(for: current) == .keep { return current }
        // A storage that cannot be written is detected before the refresh token is used up.
        if current.refreshToken != nil { try self.storage.store(current, of: self.configuration.account) }
        return try await self.exchanged(for: purpose)
    }

    private func exchanged(for purpose: Purpose) async throws -> ChappieStoredCredential {
        let start = self.clock.now()
        var pause = Self.firstPause
        while true {
            do {
                return try await self.exchange(try self.current())
            } catch Failure.failed(let error) where purpose == .necessary && error.mayPass {
                self.note(error)
                guard self.clock.now() + pause - start <= Self.patience else { throw Failure.failed(error) }
                try await self.clock.sleep(pause * Double.random(in: 0.5...1))
                pause *= 2
            }
        }
    }

    /// Refreshes at the server, once (RFC 6749 section 6).
    private func exchange(_ current: ChappieStoredCredential) async throws -> ChappieStoredCredential {
        guard let refreshToken = current.refreshToken else { throw Failure.missingRefreshToken }
        guard (self.configuration.knownClientID ?? current.clientID) == current.clientID else {
            throw Failure.foreign(.anotherClient)
        }
        let answer: FetchedDocument
        do {
            answer = try await self.send(
                [
                    (name: "client_id", value: current.clientID), (name: "grant_type", value: "refresh_token"),
                    (name: "refresh_token", value: refreshToken),
                ], to: self.configuration.server.token)
        } catch {
            throw Failure.failed(error)
        }
        switch RefreshAnswer(answer, secrets: current.secrets) {
        case .granted(let grant): return try self.adopt(grant, over: current)
        case .failed(let error): throw Failure.failed(error)
        case .refused(let code, let error): return try self.refused(current, code: code, error: error)
        }
    }

    private func send(
        _ parameters: [(name: String, value: String)], to url: URL
    ) async throws(ChappieAuthError) -> FetchedDocument {
        switch self.configuration.server.bodyCoding {
        case .form: try await self.post(.form(parameters), url)
        case .json: try await self.post(.json(parameters), url)
        }
    }

    /// Stores new tokens, and returns them only then.
    private func adopt(
        _ grant: TokenGrant, over current: ChappieStoredCredential
    ) throws -> ChappieStoredCredential {
        let claimed = [grant.idToken, grant.accessToken].compactMap { $0.flatMap(TokenClaims.init(token:))?.accountID }
        if let accountID = current.accountID, claimed.contains(where: { $0 != accountID }) {
            // The refresh token is used up, and its successor is for another account.
            throw self.markRefused(
                current, code: Self.accountMismatch, error: .unknown("The server gave the tokens of another account."))
        }
        var next = current
        next.accountID = current.accountID ?? claimed.first
        next.refreshToken = grant.refreshToken ?? current.refreshToken
        next.idToken = grant.idToken ?? current.idToken
        if let accessToken = grant.accessToken {
            next.accessToken = accessToken
            next.refreshedAt = self.clock.date()
            next.expiresAt = grant.expiresAt(of: accessToken, now: next.refreshedAt)
        }
        try self.save(next, over: current)
        guard grant.accessToken != nil else { throw Failure.failed(.invalidResponse) }
        return next
    }

    /// Interprets a refusal: another process without the lock may have refreshed first.
    private func refused(
        _ current: ChappieStoredCredential, code: String, error: ChappieAuthError
    ) throws -> ChappieStoredCredential {
        let stored = try self.current()
        if !stored.hasTokens(of: current), stored.accountID == current.accountID { return stored }
        throw self.markRefused(current, code: code, error: error)
    }

    /// Stores that the server has refused permanently, so that no request is sent before the next sign-in.
    private func markRefused(
        _ current: ChappieStoredCredential, code: String, error: ChappieAuthError
    ) -> Failure {
        var marked = current
        marked.refreshFailure = code
        // Where the storage cannot store it, only this session remembers it; the refusal is the more important error.
        _ = try? self.save(marked, over: current)
        return .refused(code: code, error: error)
    }

    // MARK: Signing out

    /// Asks the server to revoke a credential (RFC 7009 section 2.1), for 10 s at most.
    func revoke(_ credential: ChappieStoredCredential) async -> RevocationResult {
        let server = self.configuration.server
        // Only the issuer receives the token.
        guard let url = server.revocation, credential.issuer == server.issuer.absoluteString else {
            return .notAsked
        }
        var parameters = [(name: "token", value: credential.refreshToken ?? credential.accessToken)]
        let kind = credential.refreshToken == nil ? "access_token" : "refresh_token"
        parameters.append((name: "token_type_hint", value: kind))
        parameters.append((name: "client_id", value: credential.clientID))
        return await withTaskGroup(of: RevocationResult.self) { [parameters] group in
            group.addTask {
                guard let answer = try? await self.send(parameters, to: url) else { return .unanswered }
                let isSuccess = (200..<300).contains(answer.statusCode)
                return isSuccess ? .revoked : .refused(statusCode: answer.statusCode)
            }
            group.addTask {
                try? await self.clock.sleep(Self.revocationTimeout)
                return .unanswered
            }
            defer { group.cancelAll() }
            return await group.next() ?? .unanswered
        }
    }
}

extension ChappieAuthError {
    /// Indicates whether another attempt may succeed: it cannot with an address that must not be used.
    fileprivate var mayPass: Bool {
        switch self {
        case .networkFailure, .tokenExchangeFailed: true
        // A server that has answered with a success may have used up the refresh token: with the same one it would
        // suspect a theft. The next request of the program tries again.
        case .invalidResponse: false
        case .expiredDeviceCode, .cancelledSignIn, .pollingTimeout, .callbackTimeout, .missingRefreshToken,
            .authorizationDenied, .secureRandomFailed, .unknown:
            false
        }
    }
}

extension ChappieStoredCredential {
    /// The values that must not appear in an error.
    fileprivate var secrets: [String] { [self.accessToken] + [self.refreshToken, self.idToken].compactMap { $0 } }
}
