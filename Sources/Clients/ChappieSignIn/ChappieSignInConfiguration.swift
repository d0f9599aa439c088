// `ProcessInfo`.
import Foundation
import PlatformFoundation

/// The settings of sign-ins.
///
/// Immutable once the session is made.
public struct ChappieSignInConfiguration: Sendable {
    /// The client identifier that the authorization server assigned to this program (RFC 6749 section 2.2).
    ///
    /// There is no default: it belongs to the registered program. Nil uses the environment variable
    /// `CHAPPIE_CLIENT_ID`; where that is empty too, signing in fails with a `ChappieAuthError.unknown` that says so.
    public var clientID: String?
    /// The authorization server.
    ///
    /// Default `.openAI`.
    public var server: ChappieAuthorizationServer
    /// The name of the account, chosen by the program: 1 to 64 of `A–Z a–z 0–9 _ . -`, not beginning with a full stop.
    ///
    /// Default `default`.
    public var account: String
    /// The name of the program in authorization and token requests (`originator`).
    ///
    /// Default `chappie`.
    public var originator = "chappie"
    /// The ports of 127.0.0.1 for the browser's return, of which the first free one is used; 0 is any.
    ///
    /// Default 1455 and 1457, those that are registered for the server behind ChatGPT. Others are for servers that
    /// allow any port (RFC 8252 section 7.3).
    public var callbackPorts: [UInt16] = [1_455, 1_457]
    /// The time limit for the browser's return.
    ///
    /// Default 10 min.
    public var callbackTimeout: Duration = .seconds(600)
    /// The time limit for a device code, whatever the server announces.
    ///
    /// Default 15 min.
    public var deviceCodeTimeout: Duration = .seconds(900)
    /// The time before its expiry at which an access token is refreshed, but not before half of its lifetime.
    ///
    /// Default 5 min. A token without an expiry is refreshed after eight days, and any token that the server rejects.
    public var refreshLead: Duration = .seconds(300)
    /// The time for which another process may hold the credential before a refresh is given up.
    ///
    /// Default 60 s. A token that is still valid is used after 10 s.
    public var lockTimeout: Duration = .seconds(60)

    /// Creates the settings of sign-ins.
    public init(
        clientID: String? = nil, server: ChappieAuthorizationServer = .openAI, account: String = "default"
    ) {
        self.clientID = clientID
        self.server = server
        self.account = account
    }
}

extension ChappieSignInConfiguration {
    /// The environment variable of the default client ID.
    static let clientIDVariable = "CHAPPIE_CLIENT_ID"

    /// The given client ID, or the environment's; nil when there is neither.
    var knownClientID: String? {
        let given = self.clientID ?? ProcessInfo.processInfo.environment[Self.clientIDVariable]
        return given.flatMap { $0.isEmpty ? nil : $0 }
    }
}
