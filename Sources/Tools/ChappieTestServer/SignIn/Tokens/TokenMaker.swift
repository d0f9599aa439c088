// Unpredictable tokens and codes, which a search for their marker always finds.
//
// Pure, except for the system's random numbers.

extension ChappieTestServer {
    /// The marker in every token, code and verifier of a test server, so that a search for it shows every copy.
    public static let tokenMarker = "chappie-test-secret"
}

/// Makes the secrets of the authorization server.
enum TokenMaker {
    /// Returns a text with a prefix, the marker and 24 random characters.
    static func secret(_ prefix: String) -> String {
        "\(prefix)\(ChappieTestServer.tokenMarker)-\(self.random(24, of: "abcdefghijkmnpqrstuvwxyz23456789"))"
    }

    /// Returns a code for a user to enter (RFC 8628 section 6.1): without vowels and characters that look alike.
    static func userCode() -> String {
        self.random(4, of: "BCDFGHJKLMNPQRSTVWXZ") + "-" + self.random(5, of: "23456789")
    }

    private static func random(_ count: Int, of characters: String) -> String {
        let characters = Array(characters)
        return String((0..<count).map { _ in characters[Int.random(in: characters.indices)] })
    }

    /// Returns the challenge for a verifier (RFC 7636 section 4.2).
    static func challenge(for verifier: String) -> String { Base64URL.text(SHA256.digest(Array(verifier.utf8))) }

    /// Returns an unsigned token with claims about an account: `alg` is `none`, but there is a third part.
    static func token(
        _ account: ChappieTestServer.SignIn.Account, audience: String, issuedAt: Int, expiresAt: Int
    ) -> String {
        var claims: [JSONValue.Member] = [
            .init(name: "jti", value: .string(self.secret("jti-"))),
            .init(name: "aud", value: .string(audience)),
            .init(name: "iat", value: .number(String(issuedAt))),
            .init(name: "exp", value: .number(String(expiresAt))),
            .init(name: "email", value: .string(account.email)),
        ]
        var detail: [JSONValue.Member] = [
            .init(name: "chatgpt_plan_type", value: .string(account.planType)),
            .init(name: "chatgpt_user_id", value: .string(account.userID)),
            .init(name: "chatgpt_account_is_fedramp", value: .bool(account.isFedRAMP)),
        ]
        if let accountID = account.accountID {
            detail.insert(.init(name: "chatgpt_account_id", value: .string(accountID)), at: 0)
        }
        claims.append(.init(name: "https://api.openai.com/auth", value: .object(detail)))
        let header = Base64URL.text(Array(#"{"alg":"none","typ":"JWT"}"#.utf8))
        return [header, Base64URL.text(Array(JSONValue.object(claims).text.utf8)), self.secret("")].joined(
            separator: ".")
    }
}
