import PlatformFoundation

/// The answer of a token endpoint (RFC 6749 section 5.1).
struct TokenGrant: Sendable, Equatable {
    /// The access token.
    var accessToken: String?
    /// The refresh token; a new one replaces and invalidates the previous one.
    var refreshToken: String?
    /// The ID token of OpenID Connect.
    var idToken: String?
    /// The lifetime of the access token, in seconds.
    var expiresIn: Double?
    /// Indicates whether the access token is a bearer token, the only known type.
    ///
    /// True where the server does not specify it.
    var isBearer: Bool

    /// Reads an answer; nil when it is not a JSON object, or has a token that is not text.
    init?(body: [UInt8]) {
        guard let text = String(validating: body, as: UTF8.self), let value = ChappieJSONValue(jsonText: text),
            case .object(let members) = value
        else { return nil }
        for name in ["access_token", "refresh_token", "id_token"] {
            switch members[name] {
            case nil, .null, .string: break
            default: return nil
            }
        }
        self.accessToken = Self.text(members["access_token"])
        self.refreshToken = Self.text(members["refresh_token"])
        self.idToken = Self.text(members["id_token"])
        switch members["token_type"] {
        case nil, .null: self.isBearer = true
        // Not case-sensitive (RFC 6749 section 5.1).
        case let type: self.isBearer = type?.string?.lowercased() == "bearer"
        }
        // Some servers write numbers as texts.
        let seconds = members["expires_in"]?.number ?? members["expires_in"]?.string.flatMap { Double($0) }
        self.expiresIn = seconds.flatMap { $0.isFinite && $0 > 0 ? $0 : nil }
    }

    private static func text(_ value: ChappieJSONValue?) -> String? {
        value?.string.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension TokenGrant {
    /// Returns the time at which an access token of this grant expires: by its own claim, or by `expiresIn`.
    func expiresAt(of accessToken: String, now: Date) -> Date? {
        TokenClaims(token: accessToken)?.expiresAt ?? self.expiresIn.map { now.addingTimeInterval($0) }
    }
}
