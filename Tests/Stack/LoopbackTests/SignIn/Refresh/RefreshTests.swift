import ChappieTestServer
import Foundation
import Testing

@testable import ChappieSignIn

/// Credentials that are refreshed during requests, without the client's involvement.
@Suite(.timeLimit(.minutes(10))) struct RefreshTests {
    @Test(arguments: Wire.allCases)
    func aTokenThatEndsSoonIsRefreshedBeforeTheRequest(over wire: Wire) async throws {
        try await RefreshFixture.run(lifetime: 120) { fixture in
            let client = try fixture.client(over: wire)
            for _ in 1...2 {
                let outcome = await client.outcome()
                #expect(outcome.error == nil && outcome.completions == 1)
            }
            #expect(fixture.refreshCount == 1)
            #expect(!fixture.statusCodes.contains(401))
            let stored = try #require(try fixture.stored)
            #expect(fixture.server.state(ofToken: fixture.tokens.refreshToken) == .spent)
            #expect(fixture.server.state(ofToken: stored.accessToken) == .good)
            #expect(stored.refreshToken.map { fixture.server.state(ofToken: $0) } == .good)
            let record = try #require(fixture.server.signInLog(of: .refresh).first)
            #expect(record.coding == .json && record.clientID == "client")
            #expect(record.parameterNames.sorted() == ["client_id", "grant_type", "refresh_token"])
        }
    }

    @Test func standardServerReceivesAFormBody() async throws {
        try await RefreshFixture.run { fixture in
            try await fixture.session { $0.signIn.server.bodyCoding = .form }.refreshAuth()
            #expect(fixture.server.signInLog(of: .refresh).map(\.coding) == [.form])
        }
    }

    /// Over HTTP, and at the upgrade to a WebSocket.
    @Test(arguments: Wire.allCases)
    func aTokenThatIsRejectedIsRefreshedOnce(over wire: Wire) async throws {
        try await RefreshFixture.run { fixture in
            fixture.server.expireAccessTokens()
            let client = try fixture.client(over: wire)
            for _ in 1...2 { #expect(await client.outcome().error == nil) }
            #expect(fixture.refreshCount == 1)
            #expect(fixture.statusCodes.count { $0 == 401 } == 1)
        }
    }

    @Test func aTokenThatIsRejectedOnAnOpenWebSocketIsRefreshedOnce() async throws {
        try await RefreshFixture.run { fixture in
            let client = try fixture.client(over: .webSocket)
            #expect(await client.outcome().error == nil)
            fixture.server.expireAccessTokens()
            let outcome = await client.outcome()
            #expect(outcome.error == nil && outcome.completions == 1)
            #expect(fixture.refreshCount == 1)
            // The rejection came as a message: no upgrade was refused.
            #expect(!fixture.statusCodes.contains(401))
        }
    }

    @Test(arguments: Wire.allCases)
    func aServerThatRejectsTheNewTokenTooIsNotAskedAgain(over wire: Wire) async throws {
        try await RefreshFixture.run({ $0.faults = [.init(.answer(status: 401))] }) { fixture in
            let outcome = await (try fixture.client(over: wire)).outcome()
            #expect(outcome.clientError == .reauthenticationRequired("token_expired"))
            #expect(fixture.refreshCount == 1)
            #expect(fixture.statusCodes == [401, 401])
        }
    }

    @Test(arguments: Wire.allCases)
    func revokedRefreshTokenEndsTheTurnAndIsNotRetried(over wire: Wire) async throws {
        try await RefreshFixture.run { fixture in
            fixture.server.revokeTokens()
            for _ in 1...3 {
                // Each is a client of its own, as after a restart.
                let outcome = await (try fixture.client(over: wire)).outcome()
                #expect(outcome.clientError == .reauthenticationRequired("refresh_token_invalidated"))
            }
            #expect(fixture.refreshCount == 1)
            #expect(fixture.server.log.count == 1)
            #expect(try fixture.session().account()?.requiresReauthentication == true)
            // A new sign-in makes it forgotten.
            let tokens = fixture.server.issueTokens()
            var next = fixture.credential
            (next.accessToken, next.refreshToken) = (tokens.accessToken, tokens.refreshToken)
            try fixture.storage.store(next, of: "default")
            #expect(await (try fixture.client(over: wire)).outcome().error == nil)
        }
    }

    @Test func tokensRefreshedByAnotherSessionAreReused() async throws {
        try await RefreshFixture.run { fixture in
            let (one, other) = (try fixture.session(), try fixture.session())
            let rejected = try await one.credential(for: .connecting)
            #expect(try await other.credential(for: .connecting) == rejected)
            let fresh = try await one.credential(for: .rejected(rejected))
            #expect(fresh != rejected)
            #expect(try await other.credential(for: .rejected(rejected)) == fresh)
            try await other.refreshAuth()
            #expect(try await one.credential(for: .rejected(fresh)) != fresh)
            #expect(fixture.server.useCount(ofRefreshToken: fixture.tokens.refreshToken) == 1)
            #expect(fixture.server.signInLog.allSatisfy { $0.errorCode == nil })
        }
    }

    /// Two independent stores: one of them holds a token that the other has used.
    @Test func aTokenThatAStrangerHasUsedIsRefused() async throws {
        try await RefreshFixture.run { fixture in
            let stranger = ChappieMemoryCredentialStorage()
            try stranger.store(fixture.credential, of: "default")
            try await fixture.session { $0.credentialStorage = stranger }.refreshAuth()
            let session = try fixture.session()
            let rejected = try await session.credential(for: .connecting)
            await #expect(throws: ChappieClientError.reauthenticationRequired("refresh_token_reused")) {
                try await session.credential(for: .rejected(rejected))
            }
            #expect(fixture.server.useCount(ofRefreshToken: fixture.tokens.refreshToken) == 2)
        }
    }

    @Test func aHundredTurnsShareOneRefresh() async throws {
        try await RefreshFixture.run { fixture in
            fixture.server.expireAccessTokens()
            let session = try fixture.session()
            let rejected = try await session.credential(for: .connecting)
            let given = try await withThrowingTaskGroup { group in
                for _ in 0..<100 { group.addTask { try await session.credential(for: .rejected(rejected)) } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1.bearerToken) }
            }
            #expect(given.count == 1 && !given.contains(rejected.bearerToken))
            #expect(fixture.refreshCount == 1)
        }
    }

    @Test func theTokensAreInTheFileWhenTheRequestArrives() async throws {
        let directory = try TemporaryDirectory()
        let storage = ChappieFileCredentialStorage(directory: directory.path(of: "credentials"))
        try await RefreshFixture.run(lifetime: 120, storage: storage) { fixture in
            #expect(await (try fixture.client()).outcome().error == nil)
            let stored = try #require(try fixture.stored)
            #expect(stored.refreshToken != fixture.tokens.refreshToken)
            #expect(fixture.server.state(ofToken: stored.accessToken) == .good)
        }
    }
}
