import ChappieTestServer
import Foundation
import Testing

@testable import ChappieSignIn

/// Everything that a token endpoint can do to a refresh, over a real socket.
@Suite(.timeLimit(.minutes(10))) struct RefreshFailureTests {
    typealias Answer = ChappieTestServer.SignIn.Answer

    /// Expects the error of an explicit refresh, whether only a new sign-in helps, and the error of a turn.
    private func expect(
        _ answer: Answer, _ tag: String, requiresReauthentication: Bool, turn: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let change = { (configuration: inout ChappieTestServer.Configuration) in
            configuration.signIn.faults = [.init(.refresh, answer)]
        }
        try await RefreshFixture.run(change) { fixture in
            let session = try fixture.session()
            let error = await #expect(throws: ChappieAuthError.self, sourceLocation: sourceLocation) {
                try await session.refreshAuth()
            }
            #expect(error?.tag == tag, sourceLocation: sourceLocation)
            #expect(error?.requiresReauthentication == requiresReauthentication, sourceLocation: sourceLocation)
            #expect(fixture.refreshCount == 1, sourceLocation: sourceLocation)
            let canaries = try fixture.secrets()
            if let error { canaries.expectNone(in: error, sourceLocation: sourceLocation) }
            canaries.expectNone(in: error?.unsafeMessage ?? "", sourceLocation: sourceLocation)
            let rejected = ChappieCredential(bearerToken: fixture.tokens.accessToken, accountID: "acc_1")
            let other = await #expect(throws: (any Error).self, sourceLocation: sourceLocation) {
                try await session.credential(for: .rejected(rejected))
            }
            let said = (other as? ChappieClientError)?.tag ?? (other as? ChappieAuthError)?.tag
            #expect(said == turn ?? tag, sourceLocation: sourceLocation)
            if let other { canaries.expectNone(in: other, sourceLocation: sourceLocation) }
        }
    }

    private static let final = "auth.reauthentication-required"

    @Test(arguments: [
        (401, #"{"error":{"code":"refresh_token_expired"}}"#), (401, #"{"error":{"code":"refresh_token_reused"}}"#),
        (401, #"{"error":{"code":"refresh_token_invalidated"}}"#), (401, ""), (400, #"{"error":"invalid_grant"}"#),
        (403, #"{"code":"access_denied"}"#),
    ])
    func finalRefusalRequiresASignIn(status: Int, body: String) async throws {
        try await self.expect(
            .refusal(statusCode: status, body: body), "auth.token-exchange.\(status)", requiresReauthentication: true,
            turn: Self.final)
    }

    @Test(arguments: [404, 429, 500, 503])
    func temporaryRefusalDoesNotRequireASignIn(status: Int) async throws {
        try await self.expect(
            .refusal(statusCode: status, body: "<html>busy</html>"), "auth.token-exchange.\(status)",
            requiresReauthentication: false)
    }

    @Test func aConnectionThatIsClosedIsTriedAgain() async throws {
        try await self.expect(.dropped, "auth.network", requiresReauthentication: false)
    }

    @Test(arguments: [Answer.doneAndDropped, .truncated])
    func lostRefreshAnswerIsDetectedByTheNextAttempt(answer: Answer) async throws {
        try await RefreshFixture.run({ $0.signIn.faults = [.init(.refresh, answer, requests: 1...1)] }) { fixture in
            let session = try fixture.session()
            await #expect(throws: ChappieAuthError.self) { try await session.refreshAuth() }
            // The server has rotated it; that it is used again ends everything.
            let error = await #expect(throws: ChappieAuthError.self) { try await session.refreshAuth() }
            #expect(error?.tag == "auth.token-exchange.401" && error?.requiresReauthentication == true)
            #expect(try fixture.stored?.refreshFailure == "refresh_token_reused")
        }
    }

    @Test(arguments: [0, 1, 100, 70_000, 2 << 20])
    func answerThatIsNotJSONIsInvalid(byteCount: Int) async throws {
        try await self.expect(
            .garbage(byteCount: byteCount), "auth.invalid-response", requiresReauthentication: false)
    }

    @Test func anAnswerWithoutAnAccessTokenMakesNoSenseAndItsRefreshTokenIsKept() async throws {
        let fault = ChappieTestServer.SignIn.Fault(.refresh, .without(member: "access_token"), requests: 1...1)
        try await RefreshFixture.run({ $0.signIn.faults = [fault] }) { fixture in
            let session = try fixture.session()
            await #expect(throws: ChappieAuthError.invalidResponse) { try await session.refreshAuth() }
            try await session.refreshAuth()
            #expect(fixture.server.signInLog.allSatisfy { $0.errorCode == nil })
            #expect(await (try fixture.client()).outcome().error == nil)
        }
    }

    @Test func anAnswerWithoutARefreshTokenLeavesTheOneBefore() async throws {
        let fault = ChappieTestServer.SignIn.Fault(.refresh, .without(member: "refresh_token"))
        try await RefreshFixture.run({ $0.signIn.faults = [fault] }) { fixture in
            try await fixture.session().refreshAuth()
            #expect(try fixture.stored?.refreshToken == fixture.tokens.refreshToken)
            #expect(try fixture.stored?.accessToken != fixture.tokens.accessToken)
            #expect(await (try fixture.client()).outcome().error == nil)
        }
    }

    @Test func aServerThatIsGoneIsANetworkFailure() async throws {
        try await RefreshFixture.run { fixture in
            let session = try fixture.session()
            fixture.server.stop()
            let error = await #expect(throws: ChappieAuthError.self) { try await session.refreshAuth() }
            #expect(error?.tag == "auth.network" && error?.isRetryable == true)
            // As far as this side knows, it is still valid.
            #expect(try await session.credential(for: .connecting).bearerToken == fixture.tokens.accessToken)
        }
    }

    @Test func silentServerIsWaitedForUntilTheTimeout() async throws {
        #expect(AuthorizationClient.timeout == .seconds(30))
        try await RefreshFixture.run({ $0.signIn.faults = [.init(.refresh, .silence)] }) { fixture in
            let configuration = try fixture.configuration()
            let keeper = CredentialKeeper(
                configuration: configuration.signIn, storage: fixture.storage,
                client: AuthorizationClient(configuration, timeout: .milliseconds(300)), clock: .system)
            let start = ContinuousClock.now
            let error = await #expect(throws: ChappieAuthError.self) { try await keeper.refresh() }
            #expect(ContinuousClock.now - start < AuthorizationClient.timeout)
            #expect(error?.tag == "auth.network" && error?.isRetryable == true)
            // The lock is released, and the token is valid.
            #expect(try await fixture.storage.withLock(of: "default", timeout: .zero) { true })
            #expect(try await keeper.credential(for: .connecting).bearerToken == fixture.tokens.accessToken)
        }
    }

    @Test func aTokenThatEndsSoonIsUsedWhileTheServerFails() async throws {
        let fault = ChappieTestServer.SignIn.Fault(.refresh, .refusal(statusCode: 503, body: ""))
        try await RefreshFixture.run({ $0.signIn.faults = [fault] }, lifetime: 120) { fixture in
            let client = try fixture.client()
            for _ in 1...3 { #expect(await client.outcome().error == nil) }
            #expect(fixture.refreshCount == 1)
        }
    }

    @Test func temporaryFailureIsRecovered() async throws {
        let fault = ChappieTestServer.SignIn.Fault(.refresh, .dropped, requests: 1...2)
        try await RefreshFixture.run({ $0.signIn.faults = [fault] }) { fixture in
            let session = try fixture.session()
            let rejected = try await session.credential(for: .connecting)
            #expect(try await session.credential(for: .rejected(rejected)) != rejected)
            #expect(fixture.refreshCount == 3)
        }
    }

    @Test(arguments: Wire.allCases)
    func missingRefreshTokenIsReported(over wire: Wire) async throws {
        try await RefreshFixture.run { fixture in
            var credential = fixture.credential
            credential.refreshToken = nil
            try fixture.storage.store(credential, of: "default")
            fixture.server.expireAccessTokens()
            let outcome = await (try fixture.client(over: wire)).outcome()
            #expect(outcome.clientError == .missingRefreshToken)
            let session = try fixture.session()
            await #expect(throws: ChappieAuthError.missingRefreshToken) { try await session.refreshAuth() }
            #expect(fixture.refreshCount == 0)
        }
    }

    @Test func missingSignInIsReported() async throws {
        try await RefreshFixture.run { fixture in
            try fixture.storage.removeCredential(of: "default")
            #expect(await (try fixture.client()).outcome().clientError == .missingCredential)
            #expect(fixture.server.log.isEmpty)
        }
    }

    @Test func requiredAccountIsReportedMissing() async throws {
        try await RefreshFixture.run({ $0.signIn.account.accountID = nil }) { fixture in
            let client = try fixture.client { configuration in
                let address = configuration.endpoint.baseURL
                configuration.endpoint = .chatGPT
                configuration.endpoint.baseURL = address
            }
            #expect(await client.outcome().clientError == .missingAccountID)
            #expect(fixture.server.log.isEmpty)
        }
    }

    @Test func aDamagedFileEndsTheTurnWithItsOwnError() async throws {
        let directory = try TemporaryDirectory()
        let storage = ChappieFileCredentialStorage(directory: directory.path(of: "credentials"))
        try await RefreshFixture.run(storage: storage) { fixture in
            let file = storage.directory + "/default.json"
            let descriptor = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC)
            close(descriptor)
            let outcome = await (try fixture.client()).outcome()
            #expect(outcome.error as? ChappieCredentialStorageError == .unreadable(path: file))
        }
    }
}
