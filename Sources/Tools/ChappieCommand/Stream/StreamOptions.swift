// The arguments and environment of `chappie stream` as values of the client.
import Chappie
import ChappieSignIn
import ChappieTransport
import PlatformFoundation

/// The request, the server, and the options of a stream.
struct StreamOptions {
    /// The server of the request.
    enum Endpoint: Equatable {
        /// The server in this process, which answers with made-up text.
        case embedded
        /// The server of the signed-in account.
        case account
        /// A remote server.
        case remote(URL)
    }

    /// The source of the prompt.
    enum PromptSource: Equatable {
        /// The command line, or the request's file.
        case argument
        /// Standard input, as it was asked for.
        case input
        /// Standard input, which is no terminal, for want of another one.
        case pipe
    }

    /// The server of the request.
    let endpoint: Endpoint
    /// The proof of identity.
    let credential: ChappieCredential?
    /// The request, without the prompt when that is read from standard input.
    var request: ChappieResponseRequest
    /// The source of the prompt.
    let prompt: PromptSource
    /// Indicates whether JSON lines are printed instead of text.
    let printsJSON: Bool
    /// The path of the report.
    let reportPath: String?
    /// The tools that the model may call.
    let tools: [CommandTool]
    /// The choice about running tools; nil for the default of standard error's kind.
    let approval: ToolApprovalChoice?
    /// The time limit of the whole turn; nil without a limit.
    let timeLimit: Duration?
    private let settings: ChappieConfiguration
    /// The language of the server.
    let dialect: ChappieDialect
    private let quirks: WebSocketQuirks
    /// The server that is known by name; nil for another one.
    private let known: ChappieEndpoint?

    /// The error of a command line without a prompt.
    static let noPrompt = UsageError("there is no prompt: give PROMPT, '-' for standard input, or --request FILE")

    /// Reads the arguments, the environment, and the file of the request; `pipesInput` states that standard input is no
    /// terminal.
    init(
        _ arguments: ParsedArguments, environment: [String: String], pipesInput: Bool = false
    ) throws(UsageError) {
        if arguments.has("account"), arguments.has("api-key") {
            throw UsageError("--account and --api-key exclude each other")
        }
        for option in ["account", "api-key", "base-url"] where arguments.has("demo") && arguments.has(option) {
            throw UsageError("--demo and --\(option) exclude each other")
        }
        // A named account precedes a key in the environment, and the token of an account is sent only to an address
        // that was given with it.
        let environment = arguments.has("account") || arguments.has("demo") ? [:] : environment
        self.known = try EndpointOption.read(arguments)
        let key = Self.value(arguments.text("api-key"), environment, EndpointOption.keyVariables(of: self.known))
        let address =
            if let known { arguments.text("base-url") ?? known.baseURL.absoluteString } else {
                Self.value(arguments.text("base-url"), environment, BaseURL.variables)
            }
        self.endpoint =
            try arguments.has("demo") ? .embedded : Self.endpoint(address: address, hasKey: key != nil)
        self.credential = key.map { ChappieCredential(bearerToken: $0) }
        let isPiped = pipesInput && arguments.operands.isEmpty && !arguments.has("request")
        self.prompt = arguments.operands.first == "-" ? .input : isPiped ? .pipe : .argument
        self.request = try Self.request(arguments, readsPrompt: isPiped)
        self.printsJSON = arguments.has("json")
        self.reportPath = arguments.text("report")
        self.tools = try Self.tools(arguments)
        self.approval = try arguments.choice("approve")
        self.timeLimit = try arguments.budget("timeout")?.duration
        self.settings = try Self.settings(arguments)
        self.quirks = WebSocketQuirks(arguments)
        self.dialect = try DialectOption.read(arguments, environment: environment, of: self.known)
        // The default model is OpenAI's; the server of llama.cpp has one model, whatever its name.
        let hasModel =
            arguments.has("model") || arguments.has("request") || environment["CHAPPIE_MODEL"]?.isEmpty == false
        if let known, known.dialect != .responses, known != .llamaCpp, !hasModel {
            throw UsageError("the models of this server have names of their own: give --model, or CHAPPIE_MODEL")
        }
        if self.dialect != .responses, self.endpoint == .account {
            throw UsageError("the server of an account speaks the Responses API: give --base-url with --dialect")
        }
    }

    /// The address of a remote server; nil for others.
    var url: URL? {
        guard case .remote(let url) = self.endpoint else { return nil }
        return url
    }

    /// The environment variable of the key that a known server needs and that was not given; nil where nothing is missing.
    var missingKey: String? {
        guard let known, known.requiresCredential, self.credential == nil else { return nil }
        return known.apiKeyVariable
    }

    /// Returns the configuration of the client.
    func configuration(baseURL: URL) -> ChappieConfiguration {
        let credential = self.credential
        var configuration = self.settings
        configuration.endpoint = self.known ?? .other(baseURL)
        configuration.endpoint.baseURL = baseURL
        configuration.endpoint.dialect = self.dialect
        self.quirks.apply(to: &configuration.endpoint)
        // No proxy of the environment is used for the server in this process.
        if self.endpoint == .embedded, configuration.proxy == .environment { configuration.proxy = .none }
        configuration.credential = { _ in credential }
        return configuration
    }

    /// Returns the configuration of a client for an account: the rules of ChatGPT's endpoint, at the given address or
    /// its own.
    func configuration(account: ChappieConfiguration) -> ChappieConfiguration {
        var configuration = self.settings
        configuration.endpoint = account.endpoint
        self.quirks.apply(to: &configuration.endpoint)
        if let url = self.url {
            configuration.endpoint.baseURL = url
            configuration.endpoint.dialect = self.dialect
            // Whether an account must be named is specific to the server; the standards do not define it.
            configuration.endpoint.requiresAccountID = false
        }
        configuration.signIn = account.signIn
        configuration.credentialStorage = account.credentialStorage
        return configuration
    }

    /// Returns an option, or the first environment variable that is set and not empty.
    private static func value(_ option: String?, _ environment: [String: String], _ names: [String]) -> String? {
        option ?? names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    }

    private static func endpoint(address: String?, hasKey: Bool) throws(UsageError) -> Endpoint {
        guard let address = address ?? (hasKey ? BaseURL.byDefault : nil) else { return .account }
        return .remote(try BaseURL.read(address))
    }

    private static func request(
        _ arguments: ParsedArguments, readsPrompt: Bool
    ) throws(UsageError) -> ChappieResponseRequest {
        let prompt = arguments.operands.first
        guard prompt != nil || arguments.has("request") || readsPrompt else { throw Self.noPrompt }
        var request = ChappieResponseRequest([])
        if let path = arguments.text("request") { request.bodyJSON = try DescriptorReader.bytes(ofFile: path) }
        if let prompt, prompt != "-" { request.messages = [.user(prompt)] }
        request.model = arguments.text("model")
        request.instructions = arguments.text("instructions")
        request.reasoningEffort = arguments.text("effort").map { ChappieReasoningEffort(rawValue: $0) }
        request.serviceTier = arguments.text("service-tier").map { ChappieServiceTier(rawValue: $0) }
        if arguments.has("web-search") { request.searchAccess = .live }
        return request
    }

    private static func tools(_ arguments: ParsedArguments) throws(UsageError) -> [CommandTool] {
        var tools: [CommandTool] = []
        for text in arguments.texts("tool") {
            let tool = try CommandTool(text)
            guard !tools.contains(where: { $0.name == tool.name }) else {
                throw UsageError("there are two tools of the name \(tool.name)")
            }
            tools.append(tool)
        }
        return tools
    }

    private static func settings(_ arguments: ParsedArguments) throws(UsageError) -> ChappieConfiguration {
        var settings = ChappieConfiguration(harness: .none)
        let reconnects = try arguments.integer("max-reconnects", in: 0...1_000_000)
        settings.streamingTransportPolicy = try Self.policy(arguments, reconnects: reconnects)
        if let reconnects { settings.maxHTTPRetries = reconnects }
        if let retries = try arguments.integer("retry-429", in: 0...1_000_000) {
            settings.rateLimitBackoff = .init(maxRetries: retries)
        }
        settings.timeouts = try Self.timeouts(arguments)
        if arguments.has("no-compression") { settings.offersCompression = false }
        // The turn is all its responses and the tools in between; for a single response the engine reports more
        // details.
        if arguments.has("tool") { swap(&settings.transport.timeouts.total, &settings.limits.duration) }
        settings.limits.toolOutputByteCount = CommandTool.textLimit
        if let path = arguments.text("ca-file") { settings.tls.trust = .file(path: path) }
        if let proxy = arguments.text("proxy") { settings.proxy = .url(proxy) }
        settings.rawEvents = try arguments.choice("raw") ?? .none
        settings.reportsDiagnostics = true
        return settings
    }

    private static func policy(
        _ arguments: ParsedArguments, reconnects: Int?
    ) throws(UsageError) -> ChappieStreamingTransportPolicy {
        var policy =
            arguments.has("http-only")
            ? ChappieStreamingTransportPolicy.httpSSEOnly
            : ChappieStreamingTransportPolicy(
                maxWebSocketReconnectionAttempts: reconnects
                    ?? ChappieStreamingTransportPolicy.default.maxWebSocketReconnectionAttempts)
        if let delay = try arguments.budget("hedge-delay") { policy.hedgeDelay = delay.duration }
        if let recovery: ChappieRecoveryPolicy = try arguments.choice("recovery") { policy.recovery = recovery }
        if try arguments.choice("on-divergence", of: Divergence.self) == .restart { policy.divergence = .restarts }
        return policy
    }

    private static func timeouts(_ arguments: ParsedArguments) throws(UsageError) -> ChappieTimeouts {
        var timeouts = ChappieTimeouts()
        if let budget = try arguments.budget("connect-timeout") { timeouts.connect = budget.duration }
        if let budget = try arguments.budget("first-event-timeout") { timeouts.firstEvent = budget.duration }
        if let budget = try arguments.budget("idle-timeout") { timeouts.idle = budget.duration }
        if let budget = try arguments.budget("progress-timeout") { timeouts.progress = budget.duration }
        if let budget = try arguments.budget("timeout") { timeouts.total = budget.duration }
        if let budget = try arguments.budget("ping-interval") { timeouts.pingInterval = budget.duration }
        return timeouts
    }
}

/// The words for the treatment of an answer that differs from the delivered one.
enum Divergence: String, CaseIterable {
    /// The stream fails.
    case fail
    /// The new answer is printed from its beginning.
    case restart
}
