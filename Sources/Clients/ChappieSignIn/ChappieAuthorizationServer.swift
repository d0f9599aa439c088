public import PlatformFoundation

/// The endpoints of an authorization server (RFC 6749 section 3), and the kinds of sign-in that it supports.
///
/// Every URL is https; plain http is used for loopback addresses alone.
public struct ChappieAuthorizationServer: Sendable, Equatable {
    /// The sign-in of a device without a browser.
    public enum DeviceGrant: Sendable, Equatable {
        /// RFC 8628: the endpoint of section 3.1; the token endpoint is polled.
        case standard(deviceAuthorization: URL)
        /// A server that issues an authorization code with its verifier when the user has agreed; the code is then
        /// exchanged at the token endpoint.
        ///
        /// `verification` is the page for the user, `redirectURI` the value for the exchange.
        case authorizationCode(userCode: URL, poll: URL, verification: URL, redirectURI: String)
    }

    /// The encoding of requests to refresh and to revoke.
    ///
    /// The exchange of a code is always a form.
    public enum BodyCoding: String, Sendable, Equatable {
        /// `application/x-www-form-urlencoded` (RFC 6749 appendix B).
        case form
        /// `application/json`.
        case json
    }

    /// The server's identity: a credential of one issuer is useless at another.
    public var issuer: URL
    /// The authorization endpoint for a browser (RFC 6749 section 3.1); nil when there is none.
    public var authorization: URL?
    /// The token endpoint, which exchanges codes and refresh tokens for access tokens (RFC 6749 section 3.2).
    public var token: URL
    /// The revocation endpoint (RFC 7009); nil when there is none.
    public var revocation: URL?
    /// The sign-in of a device without a browser; nil when it is not supported.
    public var deviceGrant: DeviceGrant?
    /// The encoding of requests to refresh and to revoke.
    public var bodyCoding: BodyCoding
    /// The requested scope (RFC 6749 section 3.3).
    public var scope: String
    /// Parameters of the authorization request beside those of the standards.
    public var authorizationParameters: [ChappieEndpoint.Field]
    /// Indicates whether the authorization request names the requesting program (`originator`), a non-standard
    /// parameter.
    var takesOriginator = false

    /// Creates a server that conforms to the standards.
    public init(
        issuer: URL, authorization: URL? = nil, token: URL, revocation: URL? = nil, deviceAuthorization: URL? = nil,
        scope: String = "openid profile email offline_access"
    ) {
        self.issuer = issuer
        self.authorization = authorization
        self.token = token
        self.revocation = revocation
        self.deviceGrant = deviceAuthorization.map { .standard(deviceAuthorization: $0) }
        self.bodyCoding = .form
        self.scope = scope
        self.authorizationParameters = []
    }

    /// Returns whether an endpoint may be there.
    ///
    /// RFC 6749 section 3: the endpoints require TLS; requests that stay on this machine do not.
    package static func allows(_ url: URL) -> Bool {
        guard let host = url.host(percentEncoded: false)?.lowercased(), !host.isEmpty else { return false }
        return switch url.scheme?.lowercased() {
        case "https": true
        case "http": ["127.0.0.1", "localhost", "[::1]", "::1"].contains(host)
        default: false
        }
    }

    /// The server behind the accounts of ChatGPT.
    ///
    /// It is created each time: the leak sanitizer does not follow references that share their word with an
    /// enumeration's case, and would report those of a constant as leaks.
    public static var openAI: Self { .openAI(issuer: Self.openAIIssuer) }

    /// Returns a server with the same endpoints as the one behind the accounts of ChatGPT, under another issuer.
    public static func openAI(issuer: URL) -> Self {
        var server = Self(
            issuer: issuer, authorization: issuer.appending(path: "oauth/authorize"),
            token: issuer.appending(path: "oauth/token"), revocation: issuer.appending(path: "oauth/revoke"),
            scope: "openid profile email offline_access api.connectors.read api.connectors.invoke")
        let accounts = issuer.appending(path: "api/accounts/deviceauth")
        server.deviceGrant = .authorizationCode(
            userCode: accounts.appending(path: "usercode"), poll: accounts.appending(path: "token"),
            verification: issuer.appending(path: "codex/device"),
            redirectURI: issuer.appending(path: "deviceauth/callback").absoluteString)
        server.bodyCoding = .json
        server.takesOriginator = true
        server.authorizationParameters = [
            ChappieEndpoint.Field(name: "id_token_add_organizations", value: "true"),
            ChappieEndpoint.Field(name: "codex_cli_simplified_flow", value: "true"),
        ]
        return server
    }

    /// Creates the server that refreshes and revokes a credential's tokens, from the credential; nil when its issuer is
    /// not a URL.
    package init?(of credential: ChappieStoredCredential) {
        guard let issuer = URL(string: credential.issuer) else { return nil }
        guard let endpoints = credential.endpoints else {
            self = .openAI(issuer: issuer)
            return
        }
        self.init(issuer: issuer, token: endpoints.token, revocation: endpoints.revocation)
        self.bodyCoding = endpoints.bodyCoding
    }

    /// The endpoints that a credential stores; nil where the issuer determines them.
    package var keptEndpoints: ChappieStoredCredential.Endpoints? {
        let usual = Self.openAI(issuer: self.issuer)
        let isUsual =
            self.token == usual.token && self.revocation == usual.revocation && self.bodyCoding == usual.bodyCoding
        return isUsual
            ? nil : .init(token: self.token, revocation: self.revocation, bodyCoding: self.bodyCoding)
    }

    private static var openAIIssuer: URL {
        var components = URLComponents()
        components.scheme = "https"
        components.host = "auth.openai.com"
        return components.url ?? URL(filePath: "/")
    }
}
