import ChappieTransport
// `ProcessInfo`.
import Foundation
public import PlatformFoundation

/// A server of models, and its capabilities.
///
/// The presets contain what their operators document or what is commonly known; uncertain capabilities are left off, as
/// their documentation notes. Every property can be changed:
///
/// ```swift
/// var endpoint = ChappieEndpoint.xAI
/// endpoint.supportsWebSocket = true
/// ```
public struct ChappieEndpoint: Sendable, Equatable {
    /// The base URL of the requests; `/responses`, or the path of another dialect, is appended to its path, and its query
    /// is kept.
    public var baseURL: URL
    /// The language of the server.
    ///
    /// Default `.responses`. Most servers other than OpenAI's have `.chatCompletions`.
    public var dialect = ChappieDialect.responses
    /// Indicates whether turns may use a WebSocket.
    ///
    /// Where false, they use HTTP/SSE whatever the policy.
    public var supportsWebSocket = true
    /// The path of the WebSocket below the base URL; nil for `/responses`.
    public var webSocketPath: String?
    /// The subprotocol that an upgrade offers, for servers that demand one, such as `openai-beta.responses.v1`; nil for
    /// none.
    public var webSocketSubprotocol: String?
    /// Indicates whether several responses can share one WebSocket, each on its lane.
    public var supportsLanes = false
    /// The value of `store` in requests; nil to leave it out.
    ///
    /// With false, only the client has the conversation.
    public var storesResponses: Bool?
    /// Indicates whether reasoning is returned encrypted, so that the next request can carry it.
    ///
    /// It keeps a model's reasoning between the calls of a turn when responses are not stored. Servers refuse it for
    /// models without reasoning.
    public var returnsEncryptedReasoning = false
    /// Indicates whether the server keeps `client_metadata` of requests.
    public var sendsClientMetadata = false
    /// Indicates whether an upgrade to a WebSocket carries `OpenAI-Beta`.
    public var sendsBetaField = false
    /// The path of the list of models, relative to the base URL.
    public var modelsPath = "/models"
    /// The path of an account's usage, relative to the base URL; a path that begins with `/../` removes segments of it.
    ///
    /// Default nil: `/wham/usage` after `/backend-api` if the base URL's path contains that, and otherwise
    /// `/api/codex/usage` after the whole base URL.
    public var usagePath: String?
    /// Indicates whether requests name their conversation as the key of the prompt cache.
    public var takesPromptCacheKey = false
    /// Indicates whether `max_output_tokens` may be sent.
    public var takesMaxOutputTokens = true
    /// The field that carries the credential; nil for `Authorization: Bearer …`, and in Messages for `x-api-key`.
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

        /// Creates a field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Returns an endpoint for any server; members that some servers refuse are not sent, and a credential only if
    /// there is one.
    ///
    /// Most compatible servers have no WebSocket. The engine detects that and continues over HTTP/SSE; to save the
    /// attempt, set `supportsWebSocket` to false.
    public static func other(_ baseURL: URL) -> Self {
        var endpoint = Self(baseURL)
        endpoint.requiresCredential = false
        return endpoint
    }

    /// Returns an endpoint for any server of Chat Completions, such as Ollama, llama.cpp, vLLM or a gateway; a credential
    /// is sent only if there is one.
    ///
    /// The base URL is the address before `/chat/completions`: Ollama's is `http://localhost:11434/v1`.
    public static func chatCompletions(_ baseURL: URL) -> Self {
        var endpoint = Self.other(baseURL)
        endpoint.dialect = .chatCompletions
        endpoint.supportsWebSocket = false
        return endpoint
    }

    private init(_ baseURL: URL) { self.baseURL = baseURL }

    /// The given path, or the default for the base URL's path.
    var usagePathOrDefault: String {
        if let path = self.usagePath { return path }
        let segments = self.baseURL.path(percentEncoded: true).split(separator: "/")
        guard let place = segments.firstIndex(of: "backend-api") else { return "/api/codex/usage" }
        return "/" + String(repeating: "../", count: segments.count - place - 1) + "wham/usage"
    }
}

extension ChappieEndpoint {
    /// The environment variables that name another server for clients that are given no endpoint; the first that is set
    /// and not empty counts.
    ///
    /// OpenAI's own libraries read the second one beside `OPENAI_API_KEY`: a key of a company's gateway must not go to
    /// the vendor.
    package static let baseURLVariables = ["CHAPPIE_BASE_URL", "OPENAI_BASE_URL"]

    /// The endpoint of a configuration that is given neither an endpoint nor a credential: `other(_:)` with the URL in
    /// the environment variable `CHAPPIE_BASE_URL`, or else `OPENAI_BASE_URL`, and the key in `OPENAI_API_KEY`; or
    /// `openAI` when both are unset, empty, or OpenAI's own.
    ///
    /// The environment is read at each access. With a value that is not an http or https URL, each turn fails as an
    /// invalid request.
    public static var `default`: Self { Self.default(in: ProcessInfo.processInfo.environment) }

    static func `default`(in environment: [String: String]) -> Self {
        let addresses = Self.baseURLVariables.lazy.compactMap { environment[$0] }
        guard let address = addresses.first(where: { !$0.isEmpty }) else { return .openAI }
        let url = URL(string: address) ?? URL(filePath: "/")
        guard url != Self.openAI.baseURL else { return .openAI }
        var endpoint = Self.other(url)
        endpoint.apiKeyVariable = Self.openAI.apiKeyVariable
        return endpoint
    }

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
    /// It refuses to store, requires every answer to be streamed, and accepts no `max_output_tokens`. Its support of
    /// lanes is unknown. A credential has to name its account; `originator` names the requesting program. Its list of
    /// models requires a version of that program; the accepted versions are unknown.
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

    /// Returns an endpoint of Azure OpenAI, for the name of a resource and a version of its API.
    ///
    /// Without a version, and with `preview` or `latest`, requests go to `/openai/v1`; with a dated version to
    /// `/openai`. Models are named by their deployments, and keys go into `api-key`; for a token of Entra ID set
    /// `credentialFieldName` to nil. Its support of WebSockets is unknown: they are off.
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
    /// Responses are not stored, and reasoning is returned encrypted. WebSockets and the key of the prompt cache are
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
    /// WebSockets, storage and encrypted reasoning depend on the server behind the gateway: they are off, or not
    /// mentioned.
    public static let vercelAIGateway: Self = {
        var endpoint = Self(Self.url(host: "ai-gateway.vercel.sh", path: "/v1"))
        endpoint.supportsWebSocket = false
        endpoint.apiKeyVariable = "AI_GATEWAY_API_KEY"
        return endpoint
    }()

    /// Returns a URL of these parts; characters that are invalid in a host make a URL that the engine refuses.
    static func url(host: String, path: String, query: (name: String, value: String)? = nil) -> URL {
        var components = URLComponents()
        components.scheme = "https"
        // The engine names the fault of a host that has to be encoded.
        components.encodedHost = PercentEncoding.encode(host)
        components.path = path
        components.queryItems = query.map { [URLQueryItem(name: $0.name, value: $0.value)] }
        return components.url ?? URL(filePath: "/")
    }
}
