// The reasons why a credential cannot be used any more, in this program's own words, and the sentences about them.

/// The reasons of `reauthenticationRequired` that are not the server's words.
package enum ReauthenticationReason: String, CaseIterable {
    /// The server refused the credential without further details.
    case rejected = "the server answered 401"
    /// Another person is signed in than the one whose turn it is.
    case anotherAccount = "another account is signed in"
    /// The stored credential was issued to another client.
    case anotherClient = "the credential is for another client"
    /// The stored credential was issued by another authorization server.
    case anotherServer = "the credential is for another authorization server"
    /// A refresh brought the credential of another account.
    case accountMismatch = "account_mismatch"

    /// Returns the problem; of the server's own words, only known ones are evaluated.
    static func problem(_ reason: String) -> String {
        switch Kind(reason) {
        case .key: "The server does not accept the API key."
        case .signIn: "The server no longer accepts the credential."
        case .unknown: "The server does not accept the credential."
        }
    }

    /// Returns the advice about the problem.
    static func advice(_ reason: String) -> String {
        switch Kind(reason) {
        case .key: "Check the key, and that it is one for this server."
        case .signIn: "Sign in again."
        case .unknown: "Check the API key, or sign in again."
        }
    }

    /// The kind of the credential.
    private enum Kind {
        case key, signIn, unknown

        init(_ reason: String) {
            switch ReauthenticationReason(rawValue: reason) {
            case .anotherAccount, .anotherClient, .anotherServer, .accountMismatch: self = .signIn
            case .rejected: self = .unknown
            case nil:
                // RFC 6749 section 5.2 defines the grant; the others are those of ChatGPT's endpoint.
                let isSignIn =
                    ["invalid_grant", "token_expired", "token_invalidated", "token_revoked"].contains(reason)
                    || reason.hasPrefix("refresh_token_")
                self = reason == "invalid_api_key" ? .key : isSignIn ? .signIn : .unknown
            }
        }
    }
}
