import Foundation
import Testing

@testable import ChappieSignIn

/// The text that is shown of an account.
@Suite struct AccountTests {
    private static func token(_ claims: String) -> String {
        let payload = Data(claims.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        return "e30.\(payload).c2ln"
    }

    private static func account(_ claims: String, accountID: String? = nil) -> ChappieAccount {
        ChappieAccount(
            name: "work",
            credential: ChappieStoredCredential(
                accessToken: "at-secret-2", refreshToken: "rt-secret-3", idToken: Self.token(claims),
                accountID: accountID, clientID: "c", issuer: "i", refreshedAt: .distantPast))
    }

    /// A server may write any text into a token.
    @Test func aTokenInTheClaimsIsNotShown() {
        let account = Self.account(
            #"{"email":"at-secret-2","https://api.openai.com/auth":"#
                + #"{"chatgpt_plan_type":"plus rt-secret-3","chatgpt_user_id":"at-secret-2"}}"#,
            accountID: "rt-secret-3")
        #expect(account.email == "[redacted]")
        #expect(account.planType == "plus [redacted]")
        #expect(account.userID == "[redacted]")
        #expect(account.accountID == "[redacted]")
    }

    @Test func otherClaimsAreShownAsTheyAre() {
        let account = Self.account(#"{"email":"a@b.c"}"#, accountID: "acc-1")
        #expect(account.email == "a@b.c")
        #expect(account.accountID == "acc-1")
    }
}
