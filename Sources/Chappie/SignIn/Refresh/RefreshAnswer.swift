import ChappieTransport

/// What a token endpoint's answer to a refresh means (RFC 6749 sections 5.1 and 5.2).
enum RefreshAnswer: Equatable {
    /// There are tokens; any of them may be missing, not all.
    case granted(TokenGrant)
    /// The refresh token is of no use any more; the server's code, fit to show.
    case refused(code: String, error: ChappieAuthError)
    /// It may work later, with the same refresh token.
    case failed(ChappieAuthError)

    /// Codes after which no refresh with the same token succeeds, whatever the status code beside them.
    private static let finalCodes: Set<String> = [
        "refresh_token_expired", "refresh_token_reused", "refresh_token_invalidated", "invalid_grant",
        "app_session_terminated", "invalid_client", "unauthorized_client", "access_denied",
    ]

    /// Understands an answer; `secrets` are what was sent.
    init(_ answer: FetchedDocument, secrets: [String]) {
        do throws(ChappieAuthError) {
            let grant = try AuthorizationClient.grant(answer, secrets: secrets)
            // What was lost with such an answer is found out by the next try.
            let isEmpty = grant.accessToken == nil && grant.refreshToken == nil
            self = isEmpty ? .failed(.invalidResponse) : .granted(grant)
        } catch {
            let refusal = AuthorizationRefusal(body: answer.body)
            guard answer.statusCode == 401 || refusal.code.map({ Self.finalCodes.contains($0) }) == true else {
                self = .failed(error)
                return
            }
            // Nothing that was sent is a code.
            let word = refusal.shownCode.flatMap { SecretRedaction(secrets).words($0) == $0 ? $0 : nil }
            self = .refused(code: word ?? "the server answered \(answer.statusCode)", error: error)
        }
    }
}
