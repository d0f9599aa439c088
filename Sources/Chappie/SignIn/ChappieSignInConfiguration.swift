// `ProcessInfo` is in the one on Linux and in the other on Darwin.
import Foundation

#if canImport(FoundationEssentials)
    import FoundationEssentials
#endif

/// How a program signs people in.
///
/// Immutable once the session is made.
public struct ChappieSignInConfiguration: Sendable {
    /// The name by which the authorization server knows this program (RFC 6749 section 2.2).
    ///
    /// There is none by default: it belongs to the program that is registered. Nil takes the environment variable
    /// `CHAPPIE_CLIENT_ID`; where that is empty too, signing in fails with a `ChappieAuthError.unknown` that says so.
    public var clientID: String?
    /// Where the endpoints are.
    ///
    /// Default `.openAI`.
    public var server: ChappieAuthorizationServer
    /// Which of several accounts is meant: a name of the program's choice, 1 to 64 of `A–Z a–z 0–9 _ . -`, that does
    /// not begin with a full stop.
    ///
    /// Default `default`.
    public var account: String
    /// What the program is called in authorization and token requests (`originator`).
    ///
    /// Default `chappie`.
    public var originator = "chappie"
    /// The ports of 127.0.0.1 on which the browser may come back, the first that is free; 0 is any.
    ///
    /// Default 1455 and 1457, those that are registered for the server behind ChatGPT. Others are for servers that
    /// allow any port (RFC 8252 section 7.3).
    public var callbackPorts: [UInt16] = [1_455, 1_457]
    /// How long the browser may take.
    ///
    /// Default 10 min.
    public var callbackTimeout: Duration = .seconds(600)
    /// How long a device code is waited for, whatever the server says.
    ///
    /// Default 15 min.
    public var deviceCodeTimeout: Duration = .seconds(900)
    /// How long before its end an access token is refreshed, but not before the half of its life.
    ///
    /// Default 5 min. One that does not say when it ends is refreshed after eight days, and any that the server rejects.
    public var refreshLead: Duration = .seconds(300)
    /// How long another process may hold the credential before a refresh is given up.
    ///
    /// Default 60 s. A token that is still good is used after 10 s.
    public var lockTimeout: Duration = .seconds(60)

    /// How a program signs people in.
    public init(
        clientID: String? = nil, server: ChappieAuthorizationServer = .openAI, account: String = "default"
    ) {
        self.clientID = clientID
        self.server = server
        self.account = account
    }
}

extension ChappieSignInConfiguration {
    /// The environment variable that holds the client ID where none is given.
    static let clientIDVariable = "CHAPPIE_CLIENT_ID"

    /// The client ID that was given, or the environment's; nil when there is neither.
    var knownClientID: String? {
        let given = self.clientID ?? ProcessInfo.processInfo.environment[Self.clientIDVariable]
        return given.flatMap { $0.isEmpty ? nil : $0 }
    }
}
