// Accounts, as text and as JSON.
import Foundation
import Testing

@testable import ChappieCommand
@testable import ChappieSignIn

/// 2026-11-22, 07:57:00 UTC.
private let now = Date(timeIntervalSince1970: 1_795_334_220)

private func token(_ claims: String) -> String {
    func part(_ text: String) -> String {
        Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
    }
    return part(#"{"alg":"none"}"#) + "." + part(claims) + ".sig"
}

private func account(
    _ claims: String, refreshToken: String? = "secret-refresh", expiresIn seconds: Double? = 3_600,
    issuedBefore age: Double = 3_600
) -> ChappieAccount {
    let stored = ChappieStoredCredential(
        accessToken: token(claims), refreshToken: refreshToken, idToken: token(claims), accountID: "acc_1",
        clientID: "app", issuer: "https://i", expiresAt: seconds.map { now.addingTimeInterval($0) },
        refreshedAt: now.addingTimeInterval(-age))
    return ChappieAccount(name: "work", credential: stored)
}

private let claims =
    #"{"email":"person@example.com","https://api.openai.com/auth":{"chatgpt_plan_type":"plus","chatgpt_user_id":"u"}}"#

private func text(_ account: ChappieAccount, width: Int? = nil) throws -> String {
    let time = TimeText(now: now, timeZone: try #require(TimeZone(secondsFromGMT: 0)))
    return AccountPrinter(style: TerminalStyle(isColored: false), time: time, width: width).text(account)
}

@Suite struct AccountPrinterTests {
    @Test func anAccountIsAFewLines() throws {
        #expect(
            try text(account(claims)) == """
                work  person@example.com
                  account    acc_1
                  plan       plus
                  signed in  the token is good for 1 h (08:57), and is then renewed by itself

                """)
    }

    @Test func linesEndBetweenWordsOnATerminal() throws {
        let lines = try text(account(claims), width: 60).split(separator: "\n")
        #expect(
            lines.suffix(2) == [
                "  signed in  the token is good for 1 h (08:57), and is then", "             renewed by itself",
            ])
        let again = try text(account("{}", refreshToken: nil, expiresIn: -60), width: 40).split(separator: "\n")
        #expect(again.last == "             login --account work", "\(again)")
    }

    @Test func unknownValuesAreLeftOut() throws {
        let account = account("{}", expiresIn: nil)
        #expect(
            try text(account) == """
                work  acc_1
                  account    acc_1
                  signed in  the token is renewed by itself

                """)
    }

    @Test func expiredTokenIsShownAsRenewedByTheNextRequest() throws {
        #expect(
            try text(account(claims, expiresIn: -60)).contains(
                "the token has ended (07:56); the next request renews it"))
    }

    @Test func requiredNewSignInIsShown() throws {
        #expect(
            try text(account(claims, refreshToken: nil, expiresIn: -60)).contains(
                "sign in again: chappie login --account work\n"))
    }

    /// It says about the next request what a session does.
    @Test func tokenWithoutRefreshTokenIsGoodToItsEnd() throws {
        #expect(
            try text(account(claims, refreshToken: nil)).contains(
                "the token is good for 1 h (08:57), and cannot be renewed; then sign in again: chappie login --account "
                    + "work\n"))
    }

    @Test func tokenThatEndsSoonIsRenewedByTheNextRequest() throws {
        #expect(
            try text(account(claims, expiresIn: 60, issuedBefore: 3_600)).contains(
                "the token is good for 1 min (07:58); the next request renews it"))
    }

    @Test func tokenClaimsAreEscapedForTheTerminal() throws {
        let hostile =
            #"{"email":"a\u001b[2J\nroot  b\u202e","https://api.openai.com/auth":{"chatgpt_plan_type":"p\rq"}}"#
        #expect(
            try text(account(hostile)) == """
                work  a[2J root  b
                  account    acc_1
                  plan       pq
                  signed in  the token is good for 1 h (08:57), and is then renewed by itself

                """)
    }

    @Test func asJSONItIsOneObjectOnALineWithoutAToken() {
        let line = AccountPrinter.line(account(claims), at: now)
        #expect(
            line
                == #"{"type":"account","name":"work","accountID":"acc_1","email":"person@example.com","planType":"plus","#
                + #""userID":"u","expiresAt":"2026-11-22T08:57:00Z","requiresReauthentication":false,"#
                + #""nextRequest":"uses-token"}"# + "\n")
        #expect(!line.contains("secret-refresh"))
        #expect(AccountPrinter.line(account(claims, refreshToken: nil)).contains(#""requiresReauthentication":true"#))
        let ended = AccountPrinter.line(account(claims, expiresIn: -60), at: now)
        #expect(ended.hasSuffix(#""nextRequest":"refreshes"}"# + "\n"))
        let over = AccountPrinter.line(account(claims, refreshToken: nil, expiresIn: -60), at: now)
        #expect(over.hasSuffix(#""nextRequest":"requires-sign-in"}"# + "\n"))
    }
}
