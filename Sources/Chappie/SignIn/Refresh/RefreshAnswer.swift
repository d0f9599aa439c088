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
            let code = Self.code(answer.body)
            guard answer.statusCode == 401 || code.map({ Self.finalCodes.contains($0) }) == true else {
                self = .failed(error)
                return
            }
            let word = code.flatMap { Self.isWord($0, without: secrets) ? $0 : nil }
            self = .refused(code: word ?? "the server answered \(answer.statusCode)", error: error)
        }
    }

    /// `error.code`, or `error`, or `code`.
    private static func code(_ body: [UInt8]) -> String? {
        guard let root = ChappieJSONValue(jsonText: String(decoding: body, as: UTF8.self)) else { return nil }
        return (root["error"]?["code"] ?? root["error"])?.string ?? root["code"]?.string
    }

    /// Whether a server's code looks like one, and is nothing that was sent.
    private static func isWord(_ code: String, without secrets: [String]) -> Bool {
        (1...64).contains(code.utf8.count) && SecretRedaction(secrets).words(code) == code
            && code.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"),
                    UInt8(ascii: "-"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
