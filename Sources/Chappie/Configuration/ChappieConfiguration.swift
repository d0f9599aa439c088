/// Everything a client is told.
///
/// Immutable once the client is made.
///
/// ```swift
/// var configuration = ChappieConfiguration(model: "gpt-5.5", tools: [weather])
/// configuration.limits.duration = .seconds(300)
/// let client = Chappie.client(configuration: configuration)
/// ```
public struct ChappieConfiguration: Sendable {
    /// The model that answers, unless a request names another.
    public var model: String
    /// What stands around the model.
    public var harness: ChappieHarness
    /// The tools that the program runs.
    ///
    /// Of tools with the same name the last one counts.
    public var tools: [ChappieHostTool]
    /// Answers calls of tools whose policy is `ask`.
    ///
    /// Default none, and then such a call ends the turn with `ChappieClientError.toolApprovalDenied`.
    public var toolApprovalHandler: ChappieToolApprovalHandler?
    /// How far a turn may go.
    public var limits = ChappieRunLimits.default
    /// Where the requests go.
    public var endpoint: ChappieEndpoint
    /// Gives the credential, once at the beginning of each response, and once more when the server rejects it.
    ///
    /// Default: the key in the environment variable that the endpoint names (`ChappieEndpoint.apiKeyVariable`), and
    /// otherwise the account that is signed in, where `credentialStorage` is set or the endpoint is for accounts alone
    /// (`ChappieEndpoint.requiresAccountID`).
    public var credential: ChappieTransportConfiguration.CredentialSource?
    /// How people sign in; see `Chappie.authSession(configuration:)`.
    public var signIn = ChappieSignInConfiguration()
    /// Where the credentials of accounts are kept.
    ///
    /// Default nil: files in the person's home (`ChappieFileCredentialStorage`).
    public var credentialStorage: (any ChappieCredentialStorage)?
    /// How much the model reasons, unless a request says otherwise.
    ///
    /// Default nil: the model's own default.
    public var reasoningEffort: ChappieReasoningEffort?
    /// The speed that is paid for, unless a request says otherwise.
    ///
    /// Default nil: the account's.
    public var serviceTier: ChappieServiceTier?
    /// Indicates whether several responses share one WebSocket, each conversation on its lane.
    ///
    /// Default false: each running response has a WebSocket of its own, which costs nothing for the events of others, and
    /// is not slowed by their readers. Where the endpoint does not support lanes (`ChappieEndpoint.supportsLanes`), it
    /// stays so.
    public var usesLanes = false

    /// How turns choose and change their transport.
    public var streamingTransportPolicy: ChappieStreamingTransportPolicy
    /// How status code 429 is treated.
    public var rateLimitBackoff: ChappieRateLimitBackoffPolicy
    /// When turns fail without being tried.
    public var circuitBreaker = ChappieCircuitBreakerPolicy.default
    /// How long the engine waits, and for what.
    ///
    /// `total` is for one response; `limits.duration` is for the whole turn.
    public var timeouts = ChappieTimeouts()
    /// What a server may send at most.
    public var transportLimits = ChappieLimits()
    /// How often a failed HTTP/SSE attempt is tried again for one response.
    ///
    /// Default 5.
    public var maxHTTPRetries = 5
    /// The delay before the first reconnection.
    ///
    /// Default 200 ms.
    public var reconnectDelay: Duration = .milliseconds(200)
    /// How connections are secured, and whom they trust.
    public var tls = ChappieTLSPolicy()
    /// Which proxy connections go through.
    ///
    /// Default `.environment`.
    public var proxy = ChappieProxyPolicy.environment
    /// Fields that go with every request, beside the endpoint's; of fields with the same name these count.
    public var additionalFields: [ChappieEndpoint.Field] = []
    /// Indicates whether permessage-deflate (RFC 7692) and gzip are offered.
    ///
    /// Default true.
    public var offersCompression = true
    /// What of permessage-deflate is offered.
    ///
    /// Default `.enabled`.
    public var webSocketCompression: ChappieWebSocketCompression = .enabled
    /// How many threads of the process read and write for the client's connections, 1 to 64.
    ///
    /// Default 1.
    public var serviceThreadCount = 1

    /// Which events of the wire are passed on unparsed.
    ///
    /// Default `.unsurfaced`: those that no other case carries. Calls of host tools are carried.
    public var rawEvents: ChappieRawEvents = .unsurfaced
    /// Indicates whether `.diagnostic` events are delivered.
    ///
    /// Default false.
    public var reportsDiagnostics = false
    /// Is given a line for whatever happens to a turn; see `ChappieTransportConfiguration.log`.
    public var log: (@Sendable (ChappieLogEntry) -> Void)?
    /// Is given durations and outcomes; see `ChappieTransportConfiguration.metrics`.
    public var metrics: (@Sendable (ChappieMetric) -> Void)?
    /// Looks at each request before it goes out, and may refuse it; see `ChappieTransportConfiguration.willSend`.
    public var willSend: (@Sendable (ChappieOutgoingRequest) async throws -> Void)?

    /// The model that is asked unless another is named.
    public static let defaultModel = "gpt-5.5"

    /// A configuration; everything has a default.
    public init(
        model: String = Self.defaultModel,
        harness: ChappieHarness = .default,
        tools: [ChappieHostTool] = [],
        toolApprovalHandler: ChappieToolApprovalHandler? = nil,
        rateLimitBackoff: ChappieRateLimitBackoffPolicy = .default,
        streamingTransportPolicy: ChappieStreamingTransportPolicy = .default,
        endpoint: ChappieEndpoint = .openAI,
        credential: ChappieTransportConfiguration.CredentialSource? = nil
    ) {
        self.model = model
        self.harness = harness
        self.tools = tools
        self.toolApprovalHandler = toolApprovalHandler
        self.rateLimitBackoff = rateLimitBackoff
        self.streamingTransportPolicy = streamingTransportPolicy
        self.endpoint = endpoint
        self.credential = credential
    }

    /// A configuration with a key.
    public init(apiKey: String, model: String = Self.defaultModel, endpoint: ChappieEndpoint = .openAI) {
        self.init(model: model, endpoint: endpoint, credential: { _ in ChappieCredential(bearerToken: apiKey) })
    }
}
