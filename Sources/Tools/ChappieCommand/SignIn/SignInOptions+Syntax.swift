// The options of the commands for accounts.
import Chappie
import PlatformFoundation

extension SignInOptions {
    /// The option that names the account.
    static let accountOption = CommandSyntax.Option(
        "account", "NAME", "the account, under a name of your choice; default: the file's, or 'default'")
    /// The base URL for the token of an account, in words.
    static let defaultAddress =
        "\(ChappieEndpoint.chatGPT.baseURL.absoluteString), for another issuer ISSUER/\(Self.responsesPath)"
    /// The option that names the directory of credentials.
    static let storeOption = CommandSyntax.Option(
        "store", "DIR", "the directory of the credentials; default: 'credentials' beside the configuration file")
    /// The options about reaching the servers.
    static let connectionOptions: [CommandSyntax.Option] = [
        .init(
            "ca-file", "FILE",
            "trust the certification authorities in a PEM file, and no others; also for an https proxy"),
        .init(
            "proxy", "URL",
            "go through a proxy, [SCHEME://][USER:PASSWORD@]HOST[:PORT]; SCHEME is http, https, socks5 or socks5h, and "
                + "the proxy looks names up unless it is socks5; environment HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY"
        ),
    ]
    /// The options about the client and the server.
    static let serverOptions: [CommandSyntax.Option] = [
        .init(
            "client-id", "ID", "the client ID of the program at the server (RFC 6749); environment CHAPPIE_CLIENT_ID"),
        .init("issuer", "URL", "the authorization server; default https://auth.openai.com"),
        .init("token-endpoint", "URL", "the token endpoint of a server that keeps to the standards (RFC 6749)"),
        .init("device-endpoint", "URL", "its device authorization endpoint (RFC 8628)"),
        .init("authorization-endpoint", "URL", "its authorization endpoint, for --browser"),
        .init("revocation-endpoint", "URL", "its revocation endpoint (RFC 7009)"),
        .init("scope", "WORDS", "the scopes to ask it for; default 'openid profile email offline_access'"),
    ]
    /// The note about the path and the content of the configuration file.
    static let fileNote =
        "The configuration file is $CHAPPIE_HOME/config.json, $XDG_CONFIG_HOME/chappie/config.json or "
        + "~/.config/chappie/config.json: a JSON object whose members, all texts, stand for options: "
        + SignInFile.Member.allCases.map(\.rawValue).joined(separator: ", ") + "."
}
