import ChappieTransport
import TransportSurface

/// The meaning of a token endpoint's answer to a refresh (RFC 6749 sections 5.1 and 5.2).
enum RefreshAnswer: Equatable {
    /// The server issued tokens; some of them may be missing, but not all.
    case granted(TokenGrant)
    /// The refresh token is no longer valid; the server's code, safe to show.
    case refused(code: String, error: ChappieAuthError)
    /// It may succeed later, with the same refresh token.
    case failed(ChappieAuthError)

    /// The codes after which no refresh with the same token succeeds, whatever the status code.
    private static let finalCodes: Set<String> = [
        "refresh_token_expired", "refresh_token_reused", "refresh_token_invalidated", "invalid_grant",
        "app_session_terminated", "invalid_client", "unauthorized_client", "access_denied",
    ]

    /// Interprets an answer; `secrets` are the sent values.
    init(_ answer: FetchedDocument, secrets: [String]) {
        do throws(ChappieAuthError) {
            let grant = try AuthorizationClient.grant(answer, secrets: secrets)
            // The effect of such an answer shows at the next attempt.
            let isEmpty = grant.accessToken == nil && grant.refreshToken == nil
            self = isEmpty ? .failed(.invalidResponse) : .granted(grant)
        } catch {
            let refusal = AuthorizationRefusal(body: answer.body)
            guard answer.statusCode == 401 || refusal.code.map({ Self.finalCodes.contains($0) }) == true else {
                self = .failed(error)
                return
            }
            // A code must not contain a sent value.
            let word = refusal.shownCode.flatMap { SecretRedaction(secrets).words($0) == $0 ? $0 : nil }
            self = .refused(code: word ?? "the server answered \(answer.statusCode)", error: error)
        }
    }
}
