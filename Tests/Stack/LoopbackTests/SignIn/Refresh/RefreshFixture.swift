// The shared fixture of refresh tests: a server that issues and requires tokens, and a signed-in account.
import ChappieTestServer
import Foundation
import StreamTransport
import Synchronization
import Testing
import TransportSurface

@testable import ChappieSignIn

/// A signed-in account of a test server.
struct RefreshFixture: Sendable {
    let server: ChappieTestServer
    let storage: any ChappieCredentialStorage
    /// The tokens of the sign-in.
    let tokens: ChappieTestServer.IssuedTokens

    /// Signs in at a server, and stops the server afterwards.
    ///
    /// The credential is an hour old, and lasts for `lifetime` seconds.
    static func run<Result>(
        _ change: (inout ChappieTestServer.Configuration) -> Void = { _ in }, lifetime: Int = 3_600,
        storage: any ChappieCredentialStorage = ChappieMemoryCredentialStorage(),
        _ body: (Self) async throws -> Result
    ) async throws -> Result {
        var configuration = ChappieTestServer.Configuration()
        configuration.signIn.guardsRequests = true
        change(&configuration)
        return try await withServer(configuration) { server in
            let tokens = server.issueTokens(lifetime: lifetime)
            let fixture = Self(server: server, storage: storage, tokens: tokens)
            try storage.store(fixture.credential, of: "default")
            return try await body(fixture)
        }
    }

    /// The stored credential after the sign-in.
    var credential: ChappieStoredCredential {
        var credential = ChappieStoredCredential(
            accessToken: self.tokens.accessToken, refreshToken: self.tokens.refreshToken, idToken: self.tokens.idToken,
            clientID: "client", issuer: self.server.origin, refreshedAt: Date().addingTimeInterval(-3_600))
        credential.accountID = credential.claims.accountID
        credential.expiresAt = TokenClaims(token: self.tokens.accessToken)?.expiresAt
        return credential
    }

    /// The stored credential.
    var stored: ChappieStoredCredential? {
        get throws { try self.storage.credential(of: "default") }
    }

    /// A configuration for the server, with the account that is signed in.
    func configuration(
        over wire: Wire = .httpSSE, _ change: (inout ChappieConfiguration) -> Void = { _ in }
    ) throws -> ChappieConfiguration {
        let issuer = try #require(URL(string: self.server.origin))
        return .loopback(self.server, over: wire) { configuration in
            configuration.credential = nil
            configuration.endpoint.apiKeyVariable = nil
            configuration.credentialStorage = self.storage
            configuration.signIn.clientID = "client"
            configuration.signIn.server = .openAI(issuer: issuer)
            change(&configuration)
        }
    }

    /// A client with the account.
    func client(
        over wire: Wire = .httpSSE, _ change: (inout ChappieConfiguration) -> Void = { _ in }
    ) throws -> ChappieClient { Chappie.client(configuration: try self.configuration(over: wire, change)) }

    /// A session for the account, in which no time passes while it waits.
    func session(_ change: (inout ChappieConfiguration) -> Void = { _ in }) throws -> ChappieAuthSession {
        let skipped = Mutex(Duration.zero)
        let system = ClientClock.system
        let clock = ClientClock(
            moment: { Moment(nanoseconds: (system.now() + skipped.withLock { $0 }).nanoseconds) }, date: system.date,
            sleep: { duration in
                // A revocation is waited for.
                if duration >= .seconds(10) { return try await system.sleep(duration) }
                skipped.withLock { $0 += duration }
            })
        return ChappieAuthSession(configuration: try self.configuration(change), clock: clock)
    }

    /// The number of refresh requests that have reached the server.
    var refreshCount: Int { self.server.signInLog(of: .refresh).count }

    /// The status codes of the requests for responses.
    var statusCodes: [Int?] { self.server.log.map(\.status) }

    /// Everything that must not be seen anywhere, also after a refresh.
    func secrets() throws -> Canaries {
        let later = try self.stored.map { [$0.accessToken, $0.refreshToken, $0.idToken].compactMap(\.self) } ?? []
        let first = [self.tokens.accessToken, self.tokens.refreshToken, self.tokens.idToken]
        return Canaries(secrets: first + later + [ChappieTestServer.tokenMarker], content: [])
    }
}
