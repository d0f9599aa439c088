import PlatformFoundation

/// The claims of a token (RFC 7519 section 4).
///
/// They are not verified: they serve for display, and for scheduling a refresh.
struct TokenClaims: Sendable, Equatable {
    /// The largest token that is decoded.
    static let byteLimit = 64 << 10

    /// `exp`.
    var expiresAt: Date?
    /// `email`, or the one of the profile.
    var email: String?
    /// `chatgpt_account_id`.
    var accountID: String?
    /// `chatgpt_plan_type`.
    var planType: String?
    /// `chatgpt_user_id`, or `user_id`.
    var userID: String?
    /// `chatgpt_account_is_fedramp`.
    var isFedRAMP = false

    /// Creates claims without values.
    init() {}

    /// Reads the second of a token's three parts (RFC 7515 section 7.1); nil when it does not have three, or the second
    /// one is not an object.
    init?(token: String) {
        guard token.utf8.count <= Self.byteLimit else { return nil }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, !parts.contains(where: \.isEmpty), let payload = Self.decode(parts[1]),
            let claims = ChappieJSONValue(jsonText: String(decoding: payload, as: UTF8.self)), case .object = claims
        else { return nil }
        let account = claims["https://api.openai.com/auth"]
        self.expiresAt = claims["exp"]?.number.flatMap { Self.date($0) }
        self.email = claims["email"]?.string ?? claims["https://api.openai.com/profile"]?["email"]?.string
        self.accountID = account?["chatgpt_account_id"]?.string
        self.planType = account?["chatgpt_plan_type"]?.string
        self.userID = account?["chatgpt_user_id"]?.string ?? account?["user_id"]?.string
        self.isFedRAMP = account?["chatgpt_account_is_fedramp"] == .bool(true)
    }

    /// Returns these claims, with missing ones from others.
    func merging(_ others: TokenClaims?) -> TokenClaims {
        guard let others else { return self }
        var merged = self
        merged.expiresAt = self.expiresAt ?? others.expiresAt
        merged.email = self.email ?? others.email
        merged.accountID = self.accountID ?? others.accountID
        merged.planType = self.planType ?? others.planType
        merged.userID = self.userID ?? others.userID
        merged.isFedRAMP = self.isFedRAMP || others.isFedRAMP
        return merged
    }

    /// Returns a date from seconds since 1970, up to the year 9999; nil beyond that.
    private static func date(_ seconds: Double) -> Date? {
        (0...253_402_300_799).contains(seconds) ? Date(timeIntervalSince1970: seconds) : nil
    }

    /// Decodes base64url without padding (RFC 4648 section 5).
    private static func decode(_ text: Substring) -> Data? {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4))
    }
}
