import Foundation
import Testing

@testable import ChappieSignIn

/// The claims of tokens, and tokens without claims.
@Suite struct TokenClaimsTests {
    private static func token(_ payload: String) -> String {
        "eyJhbGciOiJub25lIn0." + Self.coded(Array(payload.utf8)) + ".sig"
    }

    private static func coded(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    @Test func claimsOfAChatGPTTokenAreRead() throws {
        let claims = try #require(
            TokenClaims(
                token: Self.token(
                    """
                    {"exp":1800000000,"email":"p@example.com","https://api.openai.com/auth":{"chatgpt_account_id":"a",
                    "chatgpt_plan_type":"plus","chatgpt_user_id":"u","chatgpt_account_is_fedramp":true}}
                    """)))
        #expect(claims.expiresAt == Date(timeIntervalSince1970: 1_800_000_000))
        #expect(claims.email == "p@example.com" && claims.accountID == "a" && claims.planType == "plus")
        #expect(claims.userID == "u" && claims.isFedRAMP)
    }

    @Test(arguments: ["", #""email":null,"#, #""email":7,"#])
    func emailAndUserIDAreReadFromNamespacedClaimsToo(first: String) throws {
        let user = first.replacing("email", with: "chatgpt_user_id")
        let account = #""https://api.openai.com/auth":{\#(user)"user_id":"u"}"#
        let payload = #"{\#(first)"https://api.openai.com/profile":{"email":"p@q"},\#(account)}"#
        let claims = try #require(TokenClaims(token: Self.token(payload)))
        #expect(claims.email == "p@q" && claims.userID == "u" && !claims.isFedRAMP)
    }

    @Test(arguments: [
        "", ".", "..", "...", "a", "a.b", "a.e30", "a.e30.", ".e30.c", "a..c", "a.e30.c.d", "a.e30.c.", "a.!!!.c",
        "a.e3 0.c", "a.e.c", "a.\u{E9}.c", "a.bnVsbA.c", "a.W10.c", "a.Mw.c", "a.ew.c", "a._w.c",
        "a.PGh0bWw-.c",
    ])
    func invalidTokenHasNoClaims(token: String) {
        #expect(TokenClaims(token: token) == nil)
    }

    @Test func tokenWithoutClaimsHasNoValues() {
        #expect(TokenClaims(token: "a.e30.c") == TokenClaims())
    }

    @Test(arguments: [0, 1, 2, 3])
    func anyLengthIsReadWithoutPadding(count: Int) throws {
        let payload = #"{"email":"\#(String(repeating: "x", count: count))"}"#
        #expect(try #require(TokenClaims(token: Self.token(payload))).email?.count == count)
    }

    @Test func bothCharactersOfTheURLAlphabetAreRead() throws {
        let payload = #"{"email":"??>>~~\u00ff"}"#
        let token = Self.token(payload.replacing("\\u00ff", with: "\u{FF}\u{FE}\u{3FF}"))
        #expect(token.contains("_") || token.contains("-"))
        #expect(try #require(TokenClaims(token: token)).email == "??>>~~\u{FF}\u{FE}\u{3FF}")
    }

    @Test func aTokenIsAsLargeAsTheLimitAndNoLarger() throws {
        let largest = (TokenClaims.byteLimit - 60) * 3 / 4
        let token = Self.token(#"{"email":"\#(String(repeating: "x", count: largest - 20))"}"#)
        #expect(token.utf8.count <= TokenClaims.byteLimit)
        #expect(TokenClaims(token: token) != nil)
        let fill = TokenClaims.byteLimit - token.utf8.count
        #expect(TokenClaims(token: token + String(repeating: "s", count: fill)) != nil)
        #expect(TokenClaims(token: token + String(repeating: "s", count: fill + 1)) == nil)
        #expect(TokenClaims(token: String(repeating: "a.", count: 1 << 20)) == nil)
    }

    @Test(arguments: [
        ("0", 0.0), ("1800000000", 1_800_000_000), ("1800000000.75", 1_800_000_000.75),
        ("253402300799", 253_402_300_799),
        ("253402300800", nil), ("-1", nil), ("-0.5", nil), ("1e18", nil), ("1e308", nil), (#""1800000000""#, nil),
        ("null", nil), ("true", nil), ("[]", nil), ("{}", nil),
    ])
    func anEndIsASensibleNumber(value: String, seconds: Double?) throws {
        let claims = try #require(TokenClaims(token: Self.token(#"{"exp":\#(value),"email":"e"}"#)))
        #expect(claims.expiresAt == seconds.map { Date(timeIntervalSince1970: $0) })
        #expect(claims.email == "e")
    }

    @Test func claimsOfAnotherTypeAreLeftOut() throws {
        let payload = #"{"email":7,"https://api.openai.com/auth":["chatgpt_account_id"],"exp":1}"#
        let claims = try #require(TokenClaims(token: Self.token(payload)))
        #expect(claims.email == nil && claims.accountID == nil && claims.expiresAt == Date(timeIntervalSince1970: 1))
        let fedRAMP = #"{"https://api.openai.com/auth":{"chatgpt_account_is_fedramp":"true","chatgpt_account_id":1}}"#
        let other = try #require(TokenClaims(token: Self.token(fedRAMP)))
        #expect(!other.isFedRAMP && other.accountID == nil)
    }

    @Test func missingClaimsAreTakenFromTheOtherToken() {
        var one = TokenClaims()
        one.email = "one"
        var other = TokenClaims()
        (other.email, other.accountID, other.isFedRAMP) = ("other", "a", true)
        let merged = one.merging(other)
        #expect(merged.email == "one" && merged.accountID == "a" && merged.isFedRAMP)
        #expect(one.merging(nil) == one)
    }
}
