#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Where an authorization server has its endpoints (RFC 6749 section 3), and which way of signing in it has.
///
/// Every URL is https; plain http is used for loopback addresses alone.
public struct ChappieAuthorizationServer: Sendable, Equatable {
    /// How a device without a browser signs in.
    public enum DeviceGrant: Sendable, Equatable {
        /// RFC 8628: the endpoint of section 3.1; the token endpoint is polled.
        case standard(deviceAuthorization: URL)
        /// A server that hands out an authorization code with its verifier when the person has agreed, which is then
        /// exchanged at the token endpoint.
        ///
        /// `verification` is the page for the person, `redirectURI` what the exchange names.
        case authorizationCode(userCode: URL, poll: URL, verification: URL, redirectURI: String)
    }

    /// How the body of a request to refresh or to revoke is written.
    ///
    /// The exchange of a code is always a form.
    public enum BodyCoding: String, Sendable, Equatable {
        /// `application/x-www-form-urlencoded` (RFC 6749 appendix B).
        case form
        /// `application/json`.
        case json
    }

    /// What the server is known by: a credential of one issuer is of no use at another.
    public var issuer: URL
    /// Where a browser begins (RFC 6749 section 3.1); nil when there is no such way.
    public var authorization: URL?
    /// Where codes and refresh tokens become access tokens (RFC 6749 section 3.2).
    public var token: URL
    /// Where tokens are revoked (RFC 7009); nil when there is no such place.
    public var revocation: URL?
    /// How a device without a browser signs in; nil when there is no such way.
    public var deviceGrant: DeviceGrant?
    /// How requests to refresh and to revoke are written.
    public var bodyCoding: BodyCoding
    /// What is asked for (RFC 6749 section 3.3).
    public var scope: String
    /// Parameters of the authorization request beside those of the standards.
    public var authorizationParameters: [ChappieEndpoint.Field]
    /// Indicates whether the authorization request says which program asks (`originator`), which no standard knows.
    var takesOriginator = false

    /// A server that keeps to the standards.
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
    /// RFC 6749 section 3: the endpoints need TLS; what does not leave the machine may do without.
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
    /// It is made each time: the leak sanitizer does not follow references that share their word with an enumeration's
    /// case, and would take those of a constant for lost.
    public static var openAI: Self { .openAI(issuer: Self.openAIIssuer) }

    /// A server with the endpoints of the one behind the accounts of ChatGPT, elsewhere.
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

    /// Where a credential's tokens are refreshed and revoked, by what it says of its server; nil when its issuer is no
    /// URL.
    package init?(of credential: ChappieStoredCredential) {
        guard let issuer = URL(string: credential.issuer) else { return nil }
        guard let endpoints = credential.endpoints else {
            self = .openAI(issuer: issuer)
            return
        }
        self.init(issuer: issuer, token: endpoints.token, revocation: endpoints.revocation)
        self.bodyCoding = endpoints.bodyCoding
    }

    /// What a credential keeps of the server; nil where the issuer says it all.
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
