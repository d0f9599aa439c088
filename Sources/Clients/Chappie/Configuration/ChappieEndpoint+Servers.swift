public import PlatformFoundation

/// Servers of Chat Completions and of Messages.
///
/// Each has the address and the environment variable of its key that its operator documents. What a server takes beyond
/// the API itself goes into a request's body (`ChappieResponseRequest.bodyJSON`), whose unknown members are passed on.
extension ChappieEndpoint {
    /// Anthropic, in its own Messages API: the key in `x-api-key`, from `ANTHROPIC_API_KEY`.
    public static let anthropic: Self = {
        var endpoint = Self.messages(Self.url(host: "api.anthropic.com", path: "/v1"))
        endpoint.requiresCredential = true
        endpoint.apiKeyVariable = "ANTHROPIC_API_KEY"
        return endpoint
    }()

    /// OpenRouter, where models are named `creator/model`; the key is in `OPENROUTER_API_KEY`.
    public static let openRouter = Self.chat(host: "openrouter.ai", path: "/api/v1", key: "OPENROUTER_API_KEY")

    /// DeepSeek; the key is in `DEEPSEEK_API_KEY`.
    public static let deepSeek = Self.chat(host: "api.deepseek.com", path: "/v1", key: "DEEPSEEK_API_KEY")

    /// Mistral; the key is in `MISTRAL_API_KEY`.
    public static let mistral = Self.chat(host: "api.mistral.ai", path: "/v1", key: "MISTRAL_API_KEY")

    /// Groq; the key is in `GROQ_API_KEY`.
    public static let groq = Self.chat(host: "api.groq.com", path: "/openai/v1", key: "GROQ_API_KEY")

    /// Together; the key is in `TOGETHER_API_KEY`.
    public static let together = Self.chat(host: "api.together.xyz", path: "/v1", key: "TOGETHER_API_KEY")

    /// Google's Gemini, by its compatible address; the key is in `GEMINI_API_KEY`.
    public static let gemini = Self.chat(
        host: "generativelanguage.googleapis.com", path: "/v1beta/openai", key: "GEMINI_API_KEY")

    /// Ollama on this machine, at its own port; no key is needed.
    public static let ollama = Self.local(port: 11434)

    /// The server of llama.cpp on this machine, at its own port; no key is needed.
    public static let llamaCpp = Self.local(port: 8080)

    /// vLLM on this machine, at its own port; a key, where it was started with one, is in `VLLM_API_KEY`.
    public static let vLLM = Self.local(port: 8000, key: "VLLM_API_KEY")

    /// LM Studio on this machine, at its own port; no key is needed.
    public static let lmStudio = Self.local(port: 1234)

    /// LiteLLM's proxy on this machine, at its own port; the key is in `LITELLM_API_KEY`.
    ///
    /// For a proxy elsewhere set `baseURL`, such as `https://llm.example.org/v1`.
    public static let liteLLM = Self.local(port: 4000, key: "LITELLM_API_KEY")

    /// Returns an endpoint for any server of Anthropic's Messages, such as a gateway; a credential is sent only if there is
    /// one, in `x-api-key`.
    ///
    /// The base URL is the address before `/messages`. For a server that wants `Authorization: Bearer …` set
    /// `credentialFieldName` to `Authorization`.
    public static func messages(_ baseURL: URL) -> Self {
        var endpoint = Self.other(baseURL)
        endpoint.dialect = .messages
        endpoint.supportsWebSocket = false
        return endpoint
    }

    /// The presets that need no argument, by the names that the command line has for them.
    package static let named: [(name: String, endpoint: Self)] = [
        ("openai", .openAI), ("xai", .xAI), ("vercel", .vercelAIGateway), ("anthropic", .anthropic),
        ("openrouter", .openRouter), ("deepseek", .deepSeek), ("mistral", .mistral), ("groq", .groq),
        ("together", .together), ("gemini", .gemini), ("ollama", .ollama), ("llama.cpp", .llamaCpp), ("vllm", .vLLM),
        ("lmstudio", .lmStudio), ("litellm", .liteLLM),
    ]

    private static func chat(host: String, path: String, key: String) -> Self {
        var endpoint = Self.chatCompletions(Self.url(host: host, path: path))
        endpoint.requiresCredential = true
        endpoint.apiKeyVariable = key
        return endpoint
    }

    private static func local(port: Int, key: String? = nil) -> Self {
        var endpoint = Self.chatCompletions(
            URL(string: "http://localhost:\(port)/v1") ?? URL(filePath: "/"))
        endpoint.apiKeyVariable = key
        return endpoint
    }
}
