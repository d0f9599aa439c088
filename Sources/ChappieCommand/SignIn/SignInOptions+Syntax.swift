// The options of the commands for accounts.

extension SignInOptions {
    /// The option that names the account.
    static let accountOption = CommandSyntax.Option(
        "account", "NAME", "which of several accounts: a name of your choice; default: the file's, or 'default'")
    /// The option that names the directory of credentials.
    static let storeOption = CommandSyntax.Option(
        "store", "DIR", "where credentials are kept; default: 'credentials' beside the configuration file")
    /// The options about reaching the servers.
    static let connectionOptions: [CommandSyntax.Option] = [
        .init(
            "ca-file", "FILE",
            "trust the certification authorities in a PEM file, and no others; also for an https proxy"),
        .init(
            "proxy", "URL",
            "go through a proxy, [SCHEME://][USER:PASSWORD@]HOST[:PORT], where SCHEME is http, https, socks5 or socks5h, "
                + "and the proxy looks names up, not for socks5; environment HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY"
        ),
    ]
    /// The options about the client and the server.
    static let serverOptions: [CommandSyntax.Option] = [
        .init("client-id", "ID", "the name by which the server knows the program; environment CHAPPIE_CLIENT_ID"),
        .init("issuer", "URL", "the authorization server; default https://auth.openai.com"),
        .init("token-endpoint", "URL", "the server keeps to the standards: where it gives tokens"),
        .init("device-endpoint", "URL", "where that server gives device codes (RFC 8628)"),
        .init("authorization-endpoint", "URL", "where a browser begins at that server"),
        .init("revocation-endpoint", "URL", "where that server revokes tokens"),
        .init("scope", "WORDS", "what that server is asked for; default 'openid profile email offline_access'"),
    ]
    /// The note about the path and the content of the configuration file.
    static let fileNote =
        "The configuration file is $CHAPPIE_HOME/config.json, $XDG_CONFIG_HOME/chappie/config.json or "
        + "~/.config/chappie/config.json: a JSON object whose members, all texts, stand for options: "
        + SignInFile.Member.allCases.map(\.rawValue).joined(separator: ", ") + "."
}
