// `ProcessInfo`.
import Foundation

/// The settings of a client.
///
/// Immutable once the client is made.
///
/// ```swift
/// var configuration = ChappieConfiguration(model: "gpt-5.5", tools: [weather])
/// configuration.limits.duration = .seconds(300)
/// configuration.timeouts.firstEvent = .seconds(20)
/// let client = Chappie.client(configuration: configuration)
/// ```
@dynamicMemberLookup
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
    /// The configuration of the engine: time limits, TLS, proxy, retries, reports and everything else.
    ///
    /// Its members are members of this configuration too, as far as there is no other one of that name:
    /// `configuration.timeouts` is `configuration.transport.timeouts`, while `limits` are those of a turn. What the
    /// engine calls a turn is one response of the client's: `timeouts.total` and `maxHTTPRetries` are for each
    /// response, and `limits.duration` is for the whole turn.
    ///
    /// The endpoint and `credential` determine `baseURL`, `credential`, `credentialFieldName`, `sendsClientMetadata`,
    /// `sendsBetaField`, `webSocketPath` and `webSocketSubprotocol`, and the client has a `toolOutput` of its own: setting them here has no effect. The
    /// endpoint may turn WebSockets and lanes off. `additionalFields` replace those of the endpoint where the names are
    /// equal.
    public var transport: ChappieTransportConfiguration

    /// The rules by which turns choose and change their transport.
    public var streamingTransportPolicy: ChappieStreamingTransportPolicy {
        get { self.transport.policy }
        set { self.transport.policy = newValue }
    }

    /// Accesses a member of `transport`.
    public subscript<Member>(dynamicMember member: WritableKeyPath<ChappieTransportConfiguration, Member>) -> Member {
        get { self.transport[keyPath: member] }
        set { self.transport[keyPath: member] = newValue }
    }

    /// The default model: that of the environment variable `CHAPPIE_MODEL`, or `gpt-5.5`.
    ///
    /// The environment is read once.
    public static let defaultModel = Self.model(in: ProcessInfo.processInfo.environment)

    static func model(in environment: [String: String]) -> String {
        guard let model = environment["CHAPPIE_MODEL"], !model.isEmpty else { return "gpt-5.5" }
        return model
    }

    /// Creates a configuration; every parameter has a default.
    ///
    /// Without an endpoint it is `ChappieEndpoint.default`, or OpenAI's for a credential that is given: the environment
    /// does not send that elsewhere.
    public init(
        model: String = Self.defaultModel,
        harness: ChappieHarness = .default,
        tools: [ChappieHostTool] = [],
        toolApprovalHandler: ChappieToolApprovalHandler? = nil,
        rateLimitBackoff: ChappieRateLimitBackoffPolicy = .default,
        streamingTransportPolicy: ChappieStreamingTransportPolicy = .default,
        endpoint: ChappieEndpoint? = nil,
        credential: ChappieTransportConfiguration.CredentialSource? = nil
    ) {
        self.model = model
        self.harness = harness
        self.tools = tools
        self.toolApprovalHandler = toolApprovalHandler
        let endpoint = endpoint ?? (credential == nil ? .default : .openAI)
        self.endpoint = endpoint
        self.credential = credential
        self.transport = ChappieTransportConfiguration(baseURL: endpoint.baseURL)
        self.transport.rateLimitBackoff = rateLimitBackoff
        self.transport.policy = streamingTransportPolicy
    }

    /// Creates a configuration with a key.
    public init(apiKey: String, model: String = Self.defaultModel, endpoint: ChappieEndpoint = .openAI) {
        self.init(model: model, endpoint: endpoint, credential: { _ in ChappieCredential(bearerToken: apiKey) })
    }
}

// What the endpoint and the client determine is no member of the configuration, as setting it would have no effect.
extension ChappieConfiguration {
    /// The endpoint's `baseURL`.
    @available(*, unavailable, message: "Set endpoint.baseURL.")
    public var baseURL: Never { self.unavailable }
    /// The endpoint's `credentialFieldName`.
    @available(*, unavailable, message: "Set endpoint.credentialFieldName.")
    public var credentialFieldName: Never { self.unavailable }
    /// The endpoint's `sendsClientMetadata`.
    @available(*, unavailable, message: "Set endpoint.sendsClientMetadata.")
    public var sendsClientMetadata: Never { self.unavailable }
    /// The endpoint's `sendsBetaField`.
    @available(*, unavailable, message: "Set endpoint.sendsBetaField.")
    public var sendsBetaField: Never { self.unavailable }
    /// The endpoint's `webSocketPath`.
    @available(*, unavailable, message: "Set endpoint.webSocketPath.")
    public var webSocketPath: Never { self.unavailable }
    /// The endpoint's `webSocketSubprotocol`.
    @available(*, unavailable, message: "Set endpoint.webSocketSubprotocol.")
    public var webSocketSubprotocol: Never { self.unavailable }
    /// The outputs of a client's tools are its own.
    @available(*, unavailable, message: "A client runs its own tools.")
    public var toolOutput: Never { self.unavailable }

    private var unavailable: Never { preconditionFailure("an unavailable member") }
}
