import ChappieTestServer
import Foundation
import Testing

@testable import ChappieSignIn

/// Signing out: the server is told where that is possible, and the account is forgotten in any case.
@Suite(.timeLimit(.minutes(10))) struct SignOutTests {
    @Test(arguments: [ChappieAuthorizationServer.BodyCoding.json, .form])
    func theServerRevokesTheTokensAndTheAccountIsForgotten(
        coding: ChappieAuthorizationServer.BodyCoding
    ) async throws {
        try await RefreshFixture.run { fixture in
            let session = try fixture.session { $0.signIn.server.bodyCoding = coding }
            try await session.signOut()
            #expect(fixture.server.state(ofToken: fixture.tokens.refreshToken) == .revoked)
            #expect(fixture.server.state(ofToken: fixture.tokens.accessToken) == .revoked)
            let record = try #require(fixture.server.signInLog(of: .revoke).first)
            #expect(record.coding == (coding == .json ? .json : .form) && record.clientID == "client")
            #expect(record.parameterNames.sorted() == ["client_id", "token", "token_type_hint"])
            #expect(try session.account() == nil && session.accounts() == [])
            await #expect(throws: ChappieClientError.missingCredential) {
                try await session.credential(for: .connecting)
            }
            try await session.signOut()
            #expect(fixture.server.signInLog(of: .revoke).count == 1)
        }
    }

    @Test(arguments: [
        ChappieTestServer.SignIn.Answer.refusal(statusCode: 500, body: ""), .dropped, .doneAndDropped,
        .garbage(byteCount: 100),
    ])
    func failingServerDoesNotAffectSignOut(answer: ChappieTestServer.SignIn.Answer) async throws {
        try await RefreshFixture.run({ $0.signIn.faults = [.init(.revoke, answer)] }) { fixture in
            let session = try fixture.session()
            try await session.signOut()
            #expect(fixture.server.signInLog(of: .revoke).count == 1)
            #expect(try session.account() == nil)
        }
    }

    @Test func unreachableServerDoesNotAffectSignOut() async throws {
        try await RefreshFixture.run { fixture in
            let session = try fixture.session()
            fixture.server.stop()
            try await session.signOut()
            #expect(try session.account() == nil)
        }
    }

    @Test func theOtherAccountsStaySignedIn() async throws {
        try await RefreshFixture.run { fixture in
            try fixture.storage.store(fixture.credential, of: "other")
            let session = try fixture.session()
            try await session.signOut()
            #expect(try session.accounts().map(\.name) == ["other"])
        }
    }

    @Test func cancelledSignOutStillSignsOut() async throws {
        try await RefreshFixture.run({ $0.signIn.faults = [.init(.revoke, .silence)] }) { fixture in
            let session = try fixture.session()
            let task = Task { try await session.signOut() }
            task.cancel()
            try await task.value
            #expect(try session.account() == nil)
        }
    }
}
