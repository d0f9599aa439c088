import ChappieTransport

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A server of the Responses API, and what it can do.
///
/// The presets say what is documented by their operators or commonly known; what is uncertain is left off, and their
/// documentation says so. Every property can be changed:
///
/// ```swift
/// var endpoint = ChappieEndpoint.xAI
/// endpoint.supportsWebSocket = true
/// ```
public struct ChappieEndpoint: Sendable, Equatable {
    /// What the requests go to; `/responses` is appended to its path, and its query stays.
    public var baseURL: URL
    /// Indicates whether turns may use a WebSocket.
    ///
    /// Where false, they use HTTP/SSE whatever the policy says.
    public var supportsWebSocket = true
    /// Indicates whether several responses can share one WebSocket, each on its lane.
    public var supportsLanes = false
    /// What requests say about storing responses; nil to say nothing.
    ///
    /// False makes the conversation the client's alone.
    public var storesResponses: Bool?
    /// Indicates whether reasoning comes back encrypted, so that the next request can carry it.
    ///
    /// It is what keeps a model's reasoning between the calls of a turn when responses are not stored. Servers refuse
    /// it for models that do not reason.
    public var returnsEncryptedReasoning = false
    /// Indicates whether the server keeps `client_metadata` of requests.
    public var sendsClientMetadata = false
    /// Indicates whether an upgrade to a WebSocket carries `OpenAI-Beta`.
    public var sendsBetaField = false
    /// Where models are listed, behind the base URL.
    public var modelsPath = "/models"
    /// Where an account's usage is told, behind the base URL; a path that begins with `/../` leaves segments of it out.
    ///
    /// Default nil: `/wham/usage` behind `/backend-api` where that stands in the base URL's path, and otherwise
    /// `/api/codex/usage` behind the whole.
    public var usagePath: String?
    /// Indicates whether requests name their conversation as the key of the prompt cache.
    public var takesPromptCacheKey = false
    /// Indicates whether `max_output_tokens` may be sent.
    public var takesMaxOutputTokens = true
    /// The field that carries the credential; nil for `Authorization: Bearer …`.
    public var credentialFieldName: String?
    /// The environment variable that holds the key, for clients that are given no credential; nil for none.
    public var apiKeyVariable: String?
    /// Indicates whether a turn without a credential fails at once with `ChappieClientError.missingCredential`.
    public var requiresCredential = true
    /// Indicates whether a credential has to name an account; one that does not is
    /// `ChappieClientError.missingAccountID`.
    public var requiresAccountID = false
    /// Fields that go with every request.
    public var additionalFields: [Field] = []

    /// A field of a request.
    public struct Field: Sendable, Equatable {
        /// The field's name.
        public let name: String
        /// Its value.
        public let value: String

        /// A field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Any server; nothing is sent that some of them refuse, and a credential only if there is one.
    ///
    /// Most compatible servers have no WebSocket. The engine finds that out by itself and goes on over HTTP/SSE; to
    /// save the attempt, set `supportsWebSocket` to false.
    public static func other(_ baseURL: URL) -> Self {
        var endpoint = Self(baseURL)
        endpoint.requiresCredential = false
        return endpoint
    }

    private init(_ baseURL: URL) { self.baseURL = baseURL }

    /// The path that was given, or the one that the base URL's path suggests.
    var usagePathOrDefault: String {
        if let path = self.usagePath { return path }
        let segments = self.baseURL.path(percentEncoded: true).split(separator: "/")
        guard let place = segments.firstIndex(of: "backend-api") else { return "/api/codex/usage" }
        return "/" + String(repeating: "../", count: segments.count - place - 1) + "wham/usage"
    }
}

extension ChappieEndpoint {
    /// The public API of OpenAI.
    ///
    /// WebSockets with lanes, responses that are not stored, encrypted reasoning: turn `returnsEncryptedReasoning` off
    /// for models that do not reason.
    public static let openAI: Self = {
        var endpoint = Self(Self.url(host: "api.openai.com", path: "/v1"))
        endpoint.supportsLanes = true
        endpoint.sendsBetaField = true
        endpoint.storesResponses = false
        endpoint.returnsEncryptedReasoning = true
        endpoint.takesPromptCacheKey = true
        endpoint.apiKeyVariable = "OPENAI_API_KEY"
        return endpoint
    }()

    /// The service behind ChatGPT's own programs, for signed-in accounts.
    ///
    /// It refuses to store, wants every answer streamed, and takes no `max_output_tokens`. Whether it knows lanes is
    /// not known. A credential has to name its account; `originator` says which program asks. Its list of models wants
    /// a version of the program that asks; which versions it serves is not known.
    public static let chatGPT: Self = {
        var endpoint = Self(Self.url(host: "chatgpt.com", path: "/backend-api/codex"))
        endpoint.storesResponses = false
        endpoint.returnsEncryptedReasoning = true
        endpoint.sendsClientMetadata = true
        endpoint.sendsBetaField = true
        endpoint.modelsPath = "/models?client_version=\(ChappieTransportVersion.current)"
        endpoint.takesPromptCacheKey = true
        endpoint.takesMaxOutputTokens = false
        endpoint.requiresAccountID = true
        endpoint.additionalFields = [Field(name: "originator", value: "chappie")]
        return endpoint
    }()

    /// Azure OpenAI: the name of a resource, and a version of its API.
    ///
    /// Without a version, and with `preview` or `latest`, requests go to `/openai/v1`; with a dated version to
    /// `/openai`. Models are named by their deployments, and keys go into `api-key`; for a token of Entra ID set
    /// `credentialFieldName` to nil. Whether it has WebSockets is not known: they are off.
    public static func azureOpenAI(resource: String, apiVersion: String? = nil) -> Self {
        let isDated = apiVersion?.first?.isNumber ?? false
        var endpoint = Self(
            Self.url(
                host: "\(resource).openai.azure.com", path: isDated ? "/openai" : "/openai/v1",
                query: apiVersion.map { ("api-version", $0) }))
        endpoint.supportsWebSocket = false
        endpoint.storesResponses = false
        endpoint.returnsEncryptedReasoning = true
        endpoint.takesPromptCacheKey = true
        endpoint.credentialFieldName = "api-key"
        endpoint.apiKeyVariable = "AZURE_OPENAI_API_KEY"
        return endpoint
    }

    /// xAI.
    ///
    /// Responses are not stored, and reasoning comes back encrypted. WebSockets and the key of the prompt cache are
    /// uncertain: they are off.
    public static let xAI: Self = {
        var endpoint = Self(Self.url(host: "api.x.ai", path: "/v1"))
        endpoint.supportsWebSocket = false
        endpoint.storesResponses = false
        endpoint.returnsEncryptedReasoning = true
        endpoint.apiKeyVariable = "XAI_API_KEY"
        return endpoint
    }()

    /// Vercel's AI Gateway, where models are named `creator/model`.
    ///
    /// Whether it has WebSockets, stores responses or encrypts reasoning depends on what stands behind it: they are
    /// off, or not mentioned.
    public static let vercelAIGateway: Self = {
        var endpoint = Self(Self.url(host: "ai-gateway.vercel.sh", path: "/v1"))
        endpoint.supportsWebSocket = false
        endpoint.apiKeyVariable = "AI_GATEWAY_API_KEY"
        return endpoint
    }()

    /// An address of these parts; characters that no host may have make one that the engine refuses.
    private static func url(host: String, path: String, query: (name: String, value: String)? = nil) -> URL {
        var components = URLComponents()
        components.scheme = "https"
        components.host = host
        components.path = path
        components.queryItems = query.map { [URLQueryItem(name: $0.name, value: $0.value)] }
        return components.url ?? URL(filePath: "/")
    }
}
