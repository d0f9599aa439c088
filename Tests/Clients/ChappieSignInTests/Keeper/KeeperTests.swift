import ChappieTransport
import Foundation
import StreamTransport
import Testing

@testable import ChappieSignIn

/// The time of a refresh, and the handling of its tokens.
@Suite(.timeLimit(.minutes(10))) struct KeeperTests {
    // MARK: When

    @Test func missingAccountThrowsMissingCredential() async throws {
        let fixture = try KeeperFixture()
        await #expect(throws: ChappieClientError.missingCredential) { try await fixture.token() }
        await #expect(throws: ChappieClientError.missingCredential) { try await fixture.token(rejecting: "x") }
        await #expect(throws: ChappieAuthError.missingRefreshToken) { try await fixture.keeper.refresh() }
        #expect(fixture.requests.isEmpty)
    }

    @Test func freshTokenIsReturnedWithoutARequest() async throws {
        let fixture = try KeeperFixture()
        try fixture.signIn()
        let credential = try await fixture.keeper.credential(for: .connecting)
        #expect(credential == ChappieCredential(bearerToken: "access-0", accountID: "acc_1"))
        #expect(try await fixture.keeper.credential(for: .rejected(nil)) == credential)
        #expect(fixture.requests.isEmpty)
    }

    @Test func aTokenThatEndsSoonIsRefreshedOnce() async throws {
        let fixture = try KeeperFixture()
        try fixture.signIn()
        fixture.clock.setDate(9_700)
        for _ in 1...3 { #expect(try await fixture.token() == "access-1") }
        #expect(
            fixture.requests == [
                [
                    "client_id": "client", "grant_type": "refresh_token", "refresh_token": "refresh-0",
                    "coding": "json",
                    "url": "https://issuer.example/oauth/token",
                ]
            ])
        var expected = ChappieStoredCredential.sample("1", expiresAt: 13_300)
        expected.refreshedAt = Date(timeIntervalSince1970: 9_700)
        #expect(fixture.stored == expected)
    }

    @Test func standardServerReceivesAFormBody() async throws {
        let token = try #require(URL(string: "https://issuer.example/t"))
        let fixture = try KeeperFixture(changing: { configuration in
            configuration.server = ChappieAuthorizationServer(issuer: configuration.server.issuer, token: token)
        })
        try fixture.signIn()
        _ = try await fixture.keeper.refresh()
        #expect(fixture.requests.first?["coding"] == "form" && fixture.requests.first?["url"] == token.absoluteString)
    }

    @Test func tokensMissingInAnAnswerAreKept() async throws {
        let fixture = try KeeperFixture { _ in .status(200, #"{"access_token":"access-1"}"#) }
        try fixture.signIn()
        let credential = try await fixture.keeper.refresh()
        #expect(credential.accessToken == "access-1" && credential.refreshToken == "refresh-0")
        #expect(credential.idToken == "identity-0" && credential.expiresAt == nil)
        #expect(fixture.stored == credential)
        fixture.clock.setDate(1_000 + 8 * 86_400 + 1)
        _ = try await fixture.token()
        #expect(fixture.requests.map { $0["refresh_token"] } == ["refresh-0", "refresh-0"])
    }

    @Test func expiryInTheTokenPrecedesExpiresIn() async throws {
        let token = unsignedToken(accountID: "acc_1", expiresAt: 77_777)
        let fixture = try KeeperFixture { _ in .status(200, #"{"access_token":"\#(token)","expires_in":60}"#) }
        try fixture.signIn()
        #expect(try await fixture.keeper.refresh().expiresAt == Date(timeIntervalSince1970: 77_777))
    }

    @Test func theNewRefreshTokenIsKeptWhenTheAccessTokenIsMissing() async throws {
        let fixture = try KeeperFixture { number in
            number == 1 ? .status(200, #"{"refresh_token":"refresh-x"}"#) : .rotation(number)
        }
        try fixture.signIn()
        await #expect(throws: ChappieAuthError.invalidResponse) { try await fixture.keeper.refresh() }
        #expect(fixture.stored?.refreshToken == "refresh-x" && fixture.stored?.accessToken == "access-0")
        #expect(try await fixture.keeper.refresh().accessToken == "access-2")
        #expect(fixture.requests.last?["refresh_token"] == "refresh-x")
    }

    @Test func theTokensAreStoredBeforeTheyAreGiven() async throws {
        let storage = FailingStorage()
        let fixture = try KeeperFixture(storage: storage)
        try fixture.signIn()
        // The one before the exchange works, the one after it does not.
        storage.fail([false, true, true])
        await #expect(throws: FailingStorage.error) { try await fixture.token(rejecting: "access-0") }
        #expect(fixture.stored?.accessToken == "access-0")
        await #expect(throws: FailingStorage.error) { try await fixture.token() }
        // They are not lost: when there is room again, they are stored without a request.
        #expect(try await fixture.token() == "access-1")
        #expect(fixture.stored?.refreshToken == "refresh-1")
        #expect(fixture.requests.count == 1)
    }

    @Test func tokensThatCouldNotBeStoredAreStoredByARefreshToo() async throws {
        let storage = FailingStorage()
        let fixture = try KeeperFixture(storage: storage)
        try fixture.signIn()
        storage.fail([false, true])
        await #expect(throws: FailingStorage.error) { try await fixture.keeper.refresh() }
        #expect(try await fixture.keeper.refresh().accessToken == "access-1")
        #expect(fixture.stored?.accessToken == "access-1" && fixture.requests.count == 1)
    }

    @Test func newSignInReplacesTokensThatCouldNotBeStored() async throws {
        let storage = FailingStorage()
        let fixture = try KeeperFixture(storage: storage)
        try fixture.signIn()
        storage.fail([false, true])
        await #expect(throws: FailingStorage.error) { try await fixture.token(rejecting: "access-0") }
        try fixture.signIn(.sample("x", expiresAt: 10_000))
        #expect(try await fixture.token() == "access-x")
        try fixture.signIn()
        #expect(try await fixture.token() == "access-0")
    }

    @Test func noRefreshIsSentWhileTheStorageIsNotWritable() async throws {
        let storage = FailingStorage()
        let fixture = try KeeperFixture(storage: storage)
        try fixture.signIn()
        storage.fail([true, true])
        fixture.clock.setDate(9_700)
        // It is good for a while.
        #expect(try await fixture.token() == "access-0")
        await #expect(throws: FailingStorage.error) { try await fixture.token(rejecting: "access-0") }
        #expect(fixture.requests.isEmpty)
        #expect(try await fixture.token(rejecting: "access-0") == "access-1")
    }

    // MARK: Clocks

    @Test(arguments: [20_000, 1e9])
    func aClockThatJumpsForwardCostsOneRefresh(date: Double) async throws {
        let fixture = try KeeperFixture { number in
            .status(
                200,
                #"{"access_token":"\#(unsignedToken(expiresAt: 10_000, number: number))","refresh_token":"r\#(number)"}"#
            )
        }
        try fixture.signIn(.sample("0", expiresAt: 9_000))
        fixture.clock.setDate(date)
        let first = try await fixture.token()
        for _ in 1...10 {
            fixture.clock.advance(by: .seconds(100))
            #expect(try await fixture.token() == first)
        }
        #expect(fixture.requests.count == 1)
        // The server knows better.
        #expect(try await fixture.token(rejecting: first) != first)
        #expect(fixture.requests.count == 2)
    }

    @Test func clockThatJumpsBackCausesNoRefresh() async throws {
        let fixture = try KeeperFixture()
        try fixture.signIn()
        fixture.clock.setDate(9_800)
        #expect(try await fixture.token() == "access-1")
        fixture.clock.setDate(0)
        for _ in 1...10 { #expect(try await fixture.token() == "access-1") }
        #expect(fixture.requests.count == 1)
    }

    // MARK: Rejections

    @Test func aRejectedTokenIsRefreshed() async throws {
        let fixture = try KeeperFixture()
        try fixture.signIn()
        #expect(try await fixture.token(rejecting: "access-0") == "access-1")
        #expect(try await fixture.token(rejecting: "access-1") == "access-2")
        #expect(fixture.requests.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
    }

    @Test func aTokenThatWasReplacedAlreadyIsNotRefreshed() async throws {
        let fixture = try KeeperFixture()
        try fixture.signIn()
        #expect(try await fixture.token(rejecting: "access-old") == "access-0")
        #expect(fixture.requests.isEmpty)
    }

    @Test func anotherAccountsTokenDoesNotTakeThePlaceOfARejectedOne() async throws {
        let fixture = try KeeperFixture()
        try fixture.signIn()
        await #expect(throws: ChappieClientError.reauthenticationRequired("another account is signed in")) {
            try await fixture.token(rejecting: "access-old", accountID: "acc_2")
        }
        #expect(try await fixture.token(rejecting: "access-old", accountID: nil) == "access-0")
        #expect(fixture.requests.isEmpty)
    }

    // MARK: Whose

    @Test func credentialOfAnotherIssuerIsNotUsed() async throws {
        let fixture = try KeeperFixture()
        var credential = ChappieStoredCredential.sample("0", expiresAt: 10_000)
        credential.issuer = "https://other.example"
        try fixture.signIn(credential)
        let reason = "the credential is for another authorization server"
        await #expect(throws: ChappieClientError.reauthenticationRequired(reason)) { try await fixture.token() }
        await #expect(throws: ChappieAuthError.unknown("The credential cannot be refreshed: \(reason).")) {
            try await fixture.keeper.refresh()
        }
        try await fixture.keeper.signOut()
        #expect(fixture.requests.isEmpty && fixture.stored == nil)
    }

    @Test func aCredentialOfAnotherClientIsUsedAndNotRefreshed() async throws {
        let fixture = try KeeperFixture(changing: { $0.clientID = "other" })
        try fixture.signIn()
        let reason = "the credential is for another client"
        #expect(try await fixture.token() == "access-0")
        fixture.clock.setDate(9_900)
        #expect(try await fixture.token() == "access-0")
        fixture.clock.setDate(10_000)
        await #expect(throws: ChappieClientError.reauthenticationRequired(reason)) { try await fixture.token() }
        await #expect(throws: ChappieAuthError.unknown("The credential cannot be refreshed: \(reason).")) {
            try await fixture.keeper.refresh()
        }
        #expect(fixture.requests.isEmpty)
    }

    @Test func aProgramThatNamesNoClientRefreshesForTheOneThatSignedIn() async throws {
        let fixture = try KeeperFixture(changing: { $0.clientID = nil })
        try fixture.signIn()
        _ = try await fixture.keeper.refresh()
        #expect(fixture.requests.map { $0["client_id"] } == ["client"])
    }

    @Test(arguments: ["access_token", "id_token"])
    func tokensOfAnotherAccountAreNotTaken(member: String) async throws {
        let fixture = try KeeperFixture { _ in
            let other = unsignedToken(accountID: "acc_2")
            return .status(200, #"{"access_token":"a","refresh_token":"r","\#(member)":"\#(other)"}"#)
        }
        try fixture.signIn()
        await #expect(throws: ChappieAuthError.unknown("The server gave the tokens of another account.")) {
            try await fixture.keeper.refresh()
        }
        #expect(fixture.stored?.accessToken == "access-0" && fixture.stored?.refreshFailure == "account_mismatch")
        await #expect(throws: ChappieClientError.reauthenticationRequired("account_mismatch")) {
            try await fixture.token()
        }
        #expect(fixture.requests.count == 1)
    }

    @Test func anAccountThatWasNotNamedBeforeIsLearnt() async throws {
        let fixture = try KeeperFixture { _ in
            .status(200, #"{"access_token":"\#(unsignedToken(accountID: "acc_9"))"}"#)
        }
        var credential = ChappieStoredCredential.sample("0", expiresAt: 10_000)
        credential.accountID = nil
        try fixture.signIn(credential)
        #expect(try await fixture.keeper.refresh().accountID == "acc_9")
        #expect(fixture.stored?.accountID == "acc_9")
    }

    // MARK: Siblings

    @Test func tokenRefreshedByAnotherSessionIsUsedWithoutARequest() async throws {
        let fixture = try KeeperFixture()
        try fixture.signIn()
        #expect(try await fixture.token() == "access-0")
        try fixture.signIn(.sample("sibling", expiresAt: 10_000))
        #expect(try await fixture.keeper.refresh().accessToken == "access-sibling")
        #expect(fixture.requests.isEmpty)
        #expect(try await fixture.keeper.refresh().accessToken == "access-1")
        #expect(fixture.requests.count == 1)
    }

    @Test func newSessionRefreshes() async throws {
        let fixture = try KeeperFixture()
        try fixture.signIn()
        #expect(try await fixture.keeper.refresh().accessToken == "access-1")
    }

    @Test func tokensStoredByTheHolderOfTheLockAreUsed() async throws {
        let fixture = try KeeperFixture()
        try fixture.signIn()
        let (held, end) = (StorageEvent(), StorageEvent())
        let sibling = Task {
            try await fixture.storage.withLock(of: "default", timeout: .zero) {
                held.happened()
                await end.wait()
                try fixture.signIn(.sample("sibling", expiresAt: 10_000))
            }
        }
        await held.wait()
        async let token = fixture.token(rejecting: "access-0")
        end.happened()
        try await sibling.value
        #expect(try await token == "access-sibling")
        #expect(fixture.requests.isEmpty)
    }

    @Test func tokensStoredDuringARefusedRefreshAreUsed() async throws {
        let box = LockedValue<KeeperFixture?>(nil)
        let fixture = try KeeperFixture { _ in
            _ = try? box.withLock { $0 }?.signIn(.sample("sibling", expiresAt: 10_000))
            return .refusal("refresh_token_reused")
        }
        box.withLock { $0 = fixture }
        defer { box.withLock { $0 = nil } }
        try fixture.signIn()
        #expect(try await fixture.token(rejecting: "access-0") == "access-sibling")
        #expect(fixture.stored?.refreshFailure == nil)
    }

    // MARK: Signing out

    @Test func signingOutRevokesTheRefreshTokenAndForgets() async throws {
        let fixture = try KeeperFixture { _ in .status(200, "") }
        try fixture.signIn()
        try await fixture.keeper.signOut()
        #expect(
            fixture.requests == [
                [
                    "token": "refresh-0", "token_type_hint": "refresh_token", "client_id": "client", "coding": "json",
                    "url": "https://issuer.example/oauth/revoke",
                ]
            ])
        #expect(fixture.stored == nil)
        try await fixture.keeper.signOut()
        #expect(fixture.requests.count == 1)
    }

    @Test func withoutARefreshTokenTheAccessTokenIsRevoked() async throws {
        let fixture = try KeeperFixture { _ in .status(500, "") }
        var credential = ChappieStoredCredential.sample("0")
        credential.refreshToken = nil
        try fixture.signIn(credential)
        try await fixture.keeper.signOut()
        #expect(fixture.requests.first?["token"] == "access-0")
        #expect(fixture.requests.first?["token_type_hint"] == "access_token")
        #expect(fixture.stored == nil)
    }

    @Test func missingRevocationEndpointIsNotCalled() async throws {
        let fixture = try KeeperFixture(changing: { $0.server.revocation = nil })
        try fixture.signIn()
        try await fixture.keeper.signOut()
        #expect(fixture.requests.isEmpty && fixture.stored == nil)
    }

    @Test func aServerThatIsSilentIsWaitedForTenSeconds() async throws {
        let fixture = try KeeperFixture { _ in
            let (stream, continuation) = AsyncStream<Void>.makeStream()
            for await _ in stream {}
            continuation.finish()
            return .failure(.cancelledSignIn)
        }
        try fixture.signIn()
        try await fixture.keeper.signOut()
        #expect(fixture.clock.sleeps == [.seconds(10)])
        #expect(fixture.stored == nil)
    }

    @Test func unreadableCredentialIsRemovedOnSignOut() async throws {
        let directory = StorageDirectory()
        try directory.write("damaged".utf8, to: "default.json")
        let fixture = try KeeperFixture(storage: directory.storage)
        await #expect(throws: ChappieCredentialStorageError.self) { try await fixture.token() }
        try await fixture.keeper.signOut()
        #expect(directory.names == ["default.lock"])
    }
}
