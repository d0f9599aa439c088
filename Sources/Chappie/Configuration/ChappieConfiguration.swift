/// The settings of a client.
///
/// Immutable once the client is made.
///
/// ```swift
/// var configuration = ChappieConfiguration(model: "gpt-5.5", tools: [weather])
/// configuration.limits.duration = .seconds(300)
/// let client = Chappie.client(configuration: configuration)
/// ```
public struct ChappieConfiguration: Sendable {
    /// The model of requests that name none.
    public var model: String
    /// The instructions, capabilities and tools of the model.
    public var harness: ChappieHarness
    /// The tools that the program runs.
    ///
    /// Of tools with the same name the last one is used.
    public var tools: [ChappieHostTool]
    /// Answers calls of tools whose policy is `ask`.
    ///
    /// Default nil, in which case such a call ends the turn with `ChappieClientError.toolApprovalDenied`.
    public var toolApprovalHandler: ChappieToolApprovalHandler?
    /// The limits of a turn.
    public var limits = ChappieRunLimits.default
    /// The server of the requests.
    public var endpoint: ChappieEndpoint
    /// Returns the credential, once at the beginning of each response, and once more when the server rejects it.
    ///
    /// Default: the key in the environment variable that the endpoint names (`ChappieEndpoint.apiKeyVariable`). The
    /// product `ChappieSignIn` adds the accounts that are signed in.
    public var credential: ChappieTransportConfiguration.CredentialSource?
    /// Supplies the default credential where the environment has no key.
    package var credentialProvider: (any CredentialProvider)?
    /// The effort of the model's reasoning, for requests that name none.
    ///
    /// Default nil: the model's own default.
    public var reasoningEffort: ChappieReasoningEffort?
    /// The service tier, for requests that name none.
    ///
    /// Default nil: the account's.
    public var serviceTier: ChappieServiceTier?
    /// Indicates whether several responses share one WebSocket, each conversation on its lane.
    ///
    /// Default false: each running response has a WebSocket of its own, so that it does not process the events
    /// of others, and is not delayed by their readers. Where the endpoint does not support lanes
    /// (`ChappieEndpoint.supportsLanes`), true has no effect.
    public var usesLanes = false

    /// The rules by which turns choose and change their transport.
    public var streamingTransportPolicy: ChappieStreamingTransportPolicy
    /// The treatment of status code 429.
    public var rateLimitBackoff: ChappieRateLimitBackoffPolicy
    /// The conditions under which turns fail without an attempt.
    public var circuitBreaker = ChappieCircuitBreakerPolicy.default
    /// The time limits of the engine.
    ///
    /// `total` is for one response; `limits.duration` is for the whole turn.
    public var timeouts = ChappieTimeouts()
    /// The largest sizes of a server's data.
    public var transportLimits = ChappieLimits()
    /// The number of retries of a failed HTTP/SSE attempt for one response.
    ///
    /// Default 5.
    public var maxHTTPRetries = 5
    /// The delay before the first reconnection.
    ///
    /// Default 200 ms.
    public var reconnectDelay: Duration = .milliseconds(200)
    /// The TLS settings of connections, the trusted authorities among them.
    public var tls = ChappieTLSPolicy()
    /// The choice of a proxy for connections.
    ///
    /// Default `.environment`.
    public var proxy = ChappieProxyPolicy.environment
    /// Fields of every request, beside the endpoint's, which they replace where the names are equal.
    public var additionalFields: [ChappieEndpoint.Field] = []
    /// Indicates whether permessage-deflate (RFC 7692) and gzip are offered.
    ///
    /// Default true.
    public var offersCompression = true
    /// The offered parameters of permessage-deflate.
    ///
    /// Default `.enabled`.
    public var webSocketCompression: ChappieWebSocketCompression = .enabled
    /// The number of threads of the process that read and write for the client's connections, 1 to 64.
    ///
    /// Default 1.
    public var serviceThreadCount = 1

    /// The events of the wire that are passed on unparsed.
    ///
    /// Default `.unsurfaced`: those that no other case carries. Calls of host tools are carried.
    public var rawEvents: ChappieRawEvents = .unsurfaced
    /// Indicates whether `.diagnostic` events are delivered.
    ///
    /// Default false.
    public var reportsDiagnostics = false
    /// Receives a line for each step of a turn; see `ChappieTransportConfiguration.log`.
    public var log: (@Sendable (ChappieLogEntry) -> Void)?
    /// Receives durations and outcomes; see `ChappieTransportConfiguration.metrics`.
    public var metrics: (@Sendable (ChappieMetric) -> Void)?
    /// Inspects each request before it is sent, and may refuse it; see `ChappieTransportConfiguration.willSend`.
    public var willSend: (@Sendable (ChappieOutgoingRequest) async throws -> Void)?

    /// The default model.
    public static let defaultModel = "gpt-5.5"

    /// Creates a configuration; every parameter has a default.
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

    /// Creates a configuration with a key.
    public init(apiKey: String, model: String = Self.defaultModel, endpoint: ChappieEndpoint = .openAI) {
        self.init(model: model, endpoint: endpoint, credential: { _ in ChappieCredential(bearerToken: apiKey) })
    }
}
