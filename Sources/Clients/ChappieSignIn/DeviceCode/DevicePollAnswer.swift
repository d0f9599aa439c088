import ChappieTransport
import TransportSurface

/// The meaning of the answer to a poll (RFC 8628 section 3.5).
enum DevicePollAnswer: Sendable, Equatable {
    /// The user has not agreed yet.
    case pending
    /// The user has not agreed yet, and the interval grows.
    case slowDown
    /// The server has a temporary failure, and is asked again.
    case troubled(ChappieAuthError)
    /// The user has agreed: the code is to be exchanged.
    case authorizationCode(code: String, verifier: String)
    /// The user has agreed: these are the tokens.
    case tokens(TokenGrant)
    /// The sign-in has failed.
    case failed(ChappieAuthError)

    /// Reads an answer: by the code of its error where that is known, otherwise by its status code.
    ///
    /// `secrets` are sent values that must not appear in an error.
    init(
        statusCode: Int, body: [UInt8], of grant: ChappieAuthorizationServer.DeviceGrant, secrets: [String]
    ) {
        // Some servers answer 200 with an error in the body.
        if let known = Self.known(AuthorizationRefusal(body: body), secrets: secrets) {
            self = known
            return
        }
        switch (statusCode, grant) {
        case (200..<300, .standard): self = Self.tokens(body)
        case (200..<300, .authorizationCode): self = Self.code(body)
        case (403, .authorizationCode), (404, .authorizationCode): self = .pending
        case (408, _), (429, _), (500..., _): self = .troubled(Self.failure(statusCode, body, secrets))
        // The standard's status code without its JSON body, which was lost on the way.
        case (400, .standard) where !Self.isObject(body): self = .troubled(Self.failure(statusCode, body, secrets))
        case _: self = .failed(Self.failure(statusCode, body, secrets))
        }
    }

    private static func known(_ refusal: AuthorizationRefusal, secrets: [String]) -> Self? {
        guard let code = refusal.code else { return nil }
        // One server prefixes the codes of the standard with `deviceauth_`.
        if code.hasSuffix("authorization_pending") { return .pending }
        if code.hasSuffix("slow_down") { return .slowDown }
        if code.contains("expired") { return .failed(.expiredDeviceCode) }
        guard code.hasSuffix("access_denied") || code.hasSuffix("authorization_declined") else { return nil }
        let words = refusal.message ?? AuthorizationRefusal.printable(code) ?? ""
        return .failed(.authorizationDenied(SecretRedaction(secrets).words(words)))
    }

    private static func isObject(_ body: [UInt8]) -> Bool {
        guard let text = String(validating: body, as: UTF8.self), case .object? = ChappieJSONValue(jsonText: text)
        else {
            return false
        }
        return true
    }

    private static func failure(_ statusCode: Int, _ body: [UInt8], _ secrets: [String]) -> ChappieAuthError {
        .tokenExchangeFailed(statusCode: statusCode, body: AuthorizationClient.words(body, without: secrets))
    }

    private static func tokens(_ body: [UInt8]) -> Self {
        guard let grant = TokenGrant(body: body), grant.accessToken != nil else { return .failed(.invalidResponse) }
        return .tokens(grant)
    }

    private static func code(_ body: [UInt8]) -> Self {
        guard let text = String(validating: body, as: UTF8.self), let answer = ChappieJSONValue(jsonText: text),
            let code = answer["authorization_code"]?.string, !code.isEmpty,
            let verifier = answer["code_verifier"]?.string, !verifier.isEmpty
        else { return .failed(.invalidResponse) }
        return .authorizationCode(code: code, verifier: verifier)
    }
}
