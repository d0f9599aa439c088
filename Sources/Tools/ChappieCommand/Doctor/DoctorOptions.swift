// The arguments and environment of `chappie doctor` as the engine's configuration.
import Chappie
import ChappieDiagnosis
import ChappieTransport
import PlatformFoundation

/// The path to examine, and the form of the result.
struct DoctorOptions {
    /// The form of the result.
    enum Form: Equatable {
        /// Text for a person.
        case text
        /// A JSON object.
        case json
        /// The settings that fit.
        case suggestion
    }

    /// The configuration of the engine.
    let configuration: ChappieTransportConfiguration
    /// The extent of the examination.
    let extent: ChappieDiagnosis.Extent
    /// The silences for which connections are held idle.
    let holds: [Duration]
    /// The form of the result.
    let form: Form
    /// Indicates whether names and addresses of machines are printed.
    let isFull: Bool
    /// The examined server as it was typed, without user information, path and query; otherwise where its address is
    /// from.
    let subject: String

    /// Reads the arguments and the environment; `account` is the signed-in account, where one is to be used.
    init(
        _ arguments: ParsedArguments, environment: [String: String], account: ChappieConfiguration? = nil
    ) throws(UsageError) {
        if arguments.has("json"), arguments.has("suggest") {
            throw UsageError("--json and --suggest exclude each other")
        }
        if arguments.has("account"), arguments.has("api-key") {
            throw UsageError("--account and --api-key exclude each other")
        }
        let known = try EndpointOption.read(arguments)
        let server = Server(arguments, environment: environment, known: known)
        let url = try BaseURL.read(server.address ?? BaseURL.byDefault)
        var configuration =
            if let account { Self.configuration(of: account, at: server.address == nil ? nil : url) } else {
                Self.configuration(key: server.key, at: url)
            }
        if let path = arguments.text("ca-file") { configuration.tls.trust = .file(path: path) }
        if let proxy = arguments.text("proxy") { configuration.proxy = .url(proxy) }
        configuration.dialect = try DialectOption.read(arguments, environment: environment, of: known)
        configuration.credentialFieldName = configuration.credentialFieldName ?? known?.credentialFieldName
        let quirks = WebSocketQuirks(arguments)
        configuration.webSocketPath = quirks.path ?? configuration.webSocketPath
        configuration.webSocketSubprotocol = quirks.subprotocol ?? configuration.webSocketSubprotocol
        self.configuration = configuration
        self.holds = try Self.holds(arguments.text("hold"))
        self.extent = arguments.has("fast") ? .fast : .whole
        self.form = arguments.has("json") ? .json : arguments.has("suggest") ? .suggestion : .text
        self.isFull = arguments.has("full")
        let variable = self.isFull ? nil : server.variable
        self.subject = variable.map { "the server of \($0)" } ?? Self.origin(of: configuration.baseURL)
    }

    /// Returns whether an account is used: one that is named, or the one that is signed in where there is neither a key
    /// nor an address, as by `chappie stream`.
    static func usesAccount(_ arguments: ParsedArguments, environment: [String: String]) -> Bool {
        let server = Server(arguments, environment: environment, known: nil)
        guard !arguments.has("endpoint") else { return false }
        return arguments.has("account") || server.key == nil && server.address == nil
    }

    /// The address and the key, of the arguments or of the environment.
    private struct Server {
        let address: String?
        let key: String?
        /// The variable of the environment that has the address; nil for another one.
        let variable: String?

        init(_ arguments: ParsedArguments, environment: [String: String], known: ChappieEndpoint?) {
            // The token of a named account goes to an address that was given with it, and to no other.
            let environment = arguments.has("account") ? [:] : environment
            func first(_ names: [String]) -> String? { names.first { environment[$0]?.isEmpty == false } }
            self.key =
                arguments.text("api-key")
                ?? first(EndpointOption.keyVariables(of: known)).flatMap { environment[$0] }
            self.variable = arguments.operands.isEmpty && known == nil ? first(BaseURL.variables) : nil
            self.address =
                arguments.operands.first ?? known?.baseURL.absoluteString ?? self.variable.flatMap { environment[$0] }
        }
    }

    private static func configuration(key: String?, at url: URL) -> ChappieTransportConfiguration {
        let credential = key.map { ChappieCredential(bearerToken: $0) }
        return ChappieTransportConfiguration(baseURL: url) { _ in credential }
    }

    /// Returns the configuration for an account, with the credential as a client finds it.
    private static func configuration(
        of account: ChappieConfiguration, at url: URL?
    ) -> ChappieTransportConfiguration {
        var account = account
        if let url {
            account.endpoint.baseURL = url
            // Whether an account must be named is specific to the server; the standards do not define it.
            account.endpoint.requiresAccountID = false
        }
        return account.engine
    }

    private static func holds(_ text: String?) throws(UsageError) -> [Duration] {
        guard let text else { return [] }
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
        let holds = numbers.compactMap { $0.flatMap { (1...600).contains($0) ? Duration.seconds($0) : nil } }
        guard holds.count == numbers.count, holds.count <= 8 else {
            throw UsageError(
                "option --hold needs up to 8 numbers from 1 to 600 with commas between them, not '\(text)'")
        }
        return holds
    }

    private static func origin(of url: URL) -> String {
        let port = url.port.map { ":\($0)" } ?? ""
        let host = url.host() ?? ""
        // An IPv6 address has brackets in a URL (RFC 3986 section 3.2.2), which Foundation takes off.
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return "\(url.scheme?.lowercased() ?? "")://\(name)\(port)"
    }
}
