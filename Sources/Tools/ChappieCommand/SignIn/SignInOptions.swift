// The arguments, environment and file of the commands for accounts as values of the client.
import Chappie
import ChappieSignIn
import PlatformFoundation

/// The account, its storage, and the client and server of its sign-in.
struct SignInOptions {
    /// The account's name.
    let account: String
    /// The storage of credentials.
    let storage: ChappieFileCredentialStorage
    /// The client ID of the option, the environment or the file; nil when there is none.
    let clientID: String?
    private let server: ChappieAuthorizationServer
    private let trust: String?
    private let proxy: String?

    /// Reads the arguments, the environment, and the file that it names.
    init(_ arguments: ParsedArguments, environment: [String: String]) throws(UsageError) {
        try self.init(arguments, environment: environment, file: SignInFile.find(environment))
    }

    /// Combines arguments, environment and file, in this order of precedence.
    init(_ arguments: ParsedArguments, environment: [String: String], file: SignInFile?) throws(UsageError) {
        let source = SignInSource(arguments: arguments, file: file)
        let variable = environment["CHAPPIE_CLIENT_ID"].flatMap { $0.isEmpty ? nil : $0 }
        self.clientID = try arguments.filledText("client-id") ?? variable ?? file?[.clientID]
        self.storage = ChappieFileCredentialStorage(directory: try arguments.filledText("store"))
        self.account = try Self.account(source, self.storage)
        self.server = try source.server()
        self.trust = arguments.text("ca-file")
        self.proxy = arguments.text("proxy")
    }

    private static func account(
        _ source: SignInSource, _ storage: ChappieFileCredentialStorage
    ) throws(UsageError) -> String {
        guard let (name, place) = try source.value("account", .account) else { return "default" }
        guard (try? storage.check(account: name)) != nil else {
            throw UsageError(
                "\(place): an account's name has 1 to 64 letters, digits, '_', '.' and '-', no '.' first, not '\(name)'"
            )
        }
        return name
    }

    /// Returns the configuration of the session of a sign-in.
    ///
    /// Throws where there is no client ID.
    func configuration(signingInWith environment: [String: String]) throws(UsageError) -> ChappieConfiguration {
        guard let clientID = self.clientID else {
            throw UsageError(
                "there is no client ID, and none is built in: give --client-id ID, set CHAPPIE_CLIENT_ID, or write "
                    + #"{"client_id":"ID"} into \#(SignInFile.path(environment))"#)
        }
        return self.configuration(account: self.account, clientID: clientID, server: self.server)
    }

    /// Returns the configuration of the session of a signed-in account: its client and server are those of its sign-in.
    ///
    /// The endpoints in the file precede those of the credential. The base URL is ChatGPT's, or for another issuer the
    /// same path below that.
    func configuration(of account: String, _ stored: ChappieStoredCredential) -> ChappieConfiguration {
        let isDescribed = self.server.issuer.absoluteString == stored.issuer && self.server.keptEndpoints != nil
        let server = isDescribed ? self.server : ChappieAuthorizationServer(of: stored) ?? self.server
        var configuration = self.configuration(account: account, clientID: stored.clientID, server: server)
        // A token is for the servers of its issuer, and goes to no other unless the caller names it.
        if !Self.isOpenAI(server.issuer) {
            configuration.endpoint.baseURL = server.issuer.appending(path: Self.responsesPath)
            configuration.endpoint.requiresAccountID = false
        }
        return configuration
    }

    /// Returns whether an issuer is the one behind the accounts of ChatGPT, with or without a path.
    private static func isOpenAI(_ issuer: URL) -> Bool {
        let usual = ChappieAuthorizationServer.openAI.issuer
        let isHost = issuer.host(percentEncoded: false)?.lowercased() == usual.host(percentEncoded: false)
        return isHost && issuer.port == usual.port
    }

    /// The path below an issuer that is not OpenAI's: that of ChatGPT's own server.
    static let responsesPath = "backend-api/codex"

    /// The configuration of a session that only reads stored credentials.
    var configurationForLooking: ChappieConfiguration {
        self.configuration(account: self.account, clientID: self.clientID, server: self.server)
    }

    /// Returns the stored credential of the account; throws `SignedOutError` when it is not signed in.
    func storedCredential() throws -> ChappieStoredCredential {
        guard let stored = try self.storage.credential(of: self.account) else {
            throw SignedOutError(account: self.account)
        }
        return stored
    }

    /// Returns the configuration of the session of the account that is named, or else of the one that is signed in; nil
    /// when neither is.
    ///
    /// Throws `SignedOutError` when the named account is not signed in.
    static func account(
        _ arguments: ParsedArguments, environment: [String: String]
    ) throws -> ChappieConfiguration? {
        let options = try Self(arguments, environment: environment)
        do {
            return options.configuration(of: options.account, try options.storedCredential())
        } catch let error as SignedOutError {
            guard arguments.has("account") else { return nil }
            throw error
        }
    }

    private func configuration(
        account: String, clientID: String?, server: ChappieAuthorizationServer
    ) -> ChappieConfiguration {
        var configuration = ChappieConfiguration(harness: .none, endpoint: .chatGPT)
        configuration.signIn = ChappieSignInConfiguration(clientID: clientID, server: server, account: account)
        // Servers that conform to the standards allow any loopback port (RFC 8252 section 7.3).
        if case .standard? = server.deviceGrant ?? .standard(deviceAuthorization: server.token) {
            configuration.signIn.callbackPorts = [0]
        }
        configuration.credentialStorage = self.storage
        if let trust = self.trust { configuration.tls.trust = .file(path: trust) }
        if let proxy = self.proxy { configuration.proxy = .url(proxy) }
        return configuration
    }
}

/// The error of an account that is not signed in.
struct SignedOutError: Error, Equatable {
    /// The name; nil when no account is signed in.
    var account: String?

    /// The problem, and the advice.
    var message: String {
        "nobody is signed in" + (self.account.map { " as \($0)" } ?? "") + "; 'chappie login' signs in"
    }
}

/// The options, and a file for those that are not given.
private struct SignInSource {
    let arguments: ParsedArguments
    let file: SignInFile?

    /// Returns a value, and the name of its source.
    func value(_ option: String, _ member: SignInFile.Member) throws(UsageError) -> (text: String, place: String)? {
        if let text = try self.arguments.filledText(option) { return (text, "option --\(option)") }
        guard let file = self.file, let text = file[member] else { return nil }
        return (text, "\(file.path): member '\(member.rawValue)'")
    }

    /// Returns the authorization server.
    func server() throws(UsageError) -> ChappieAuthorizationServer {
        let issuer = try self.url("issuer", .issuer)
        let token = try self.url("token-endpoint", .tokenEndpoint)
        let device = try self.url("device-endpoint", .deviceEndpoint)
        let authorization = try self.url("authorization-endpoint", .authorizationEndpoint)
        let revocation = try self.url("revocation-endpoint", .revocationEndpoint)
        let scope = try self.value("scope", .scope)?.text
        guard let token else {
            guard device == nil, authorization == nil, revocation == nil, scope == nil else {
                throw UsageError("a server with endpoints of its own needs --token-endpoint URL too")
            }
            return issuer.map { .openAI(issuer: $0) } ?? .openAI
        }
        guard let issuer else { throw UsageError("a server with endpoints of its own needs --issuer URL too") }
        var server = ChappieAuthorizationServer(
            issuer: issuer, authorization: authorization, token: token, revocation: revocation,
            deviceAuthorization: device)
        if let scope { server.scope = scope }
        return server
    }

    private func url(_ option: String, _ member: SignInFile.Member) throws(UsageError) -> URL? {
        guard let (text, place) = try self.value(option, member) else { return nil }
        guard let url = URL(string: text), ChappieAuthorizationServer.allows(url) else {
            throw UsageError(
                "\(place) needs a URL that begins with https://, or http:// on this machine, not '\(text)'")
        }
        return url
    }
}

extension ParsedArguments {
    /// Returns an option's value, which must not be empty.
    func filledText(_ name: String) throws(UsageError) -> String? {
        guard let text = self.text(name) else { return nil }
        guard !text.isEmpty else { throw UsageError("option --\(name) needs a value that is not empty") }
        return text
    }
}
