import ChappieTransport
import Foundation
import Testing

@testable import Chappie

/// The presets: their URLs, and the capabilities that they declare.
@Suite struct EndpointTests {
    @Test(arguments: [
        (ChappieEndpoint.openAI, "https://api.openai.com/v1"),
        (.chatGPT, "https://chatgpt.com/backend-api/codex"),
        (.azureOpenAI(resource: "my-res"), "https://my-res.openai.azure.com/openai/v1"),
        (
            .azureOpenAI(resource: "my-res", apiVersion: "preview"),
            "https://my-res.openai.azure.com/openai/v1?api-version=preview"
        ),
        (
            .azureOpenAI(resource: "my-res", apiVersion: "2025-04-01-preview"),
            "https://my-res.openai.azure.com/openai?api-version=2025-04-01-preview"
        ),
        (.xAI, "https://api.x.ai/v1"), (.vercelAIGateway, "https://ai-gateway.vercel.sh/v1"),
        (.anthropic, "https://api.anthropic.com/v1"), (.openRouter, "https://openrouter.ai/api/v1"),
        (.deepSeek, "https://api.deepseek.com/v1"), (.mistral, "https://api.mistral.ai/v1"),
        (.groq, "https://api.groq.com/openai/v1"), (.together, "https://api.together.xyz/v1"),
        (.gemini, "https://generativelanguage.googleapis.com/v1beta/openai"), (.ollama, "http://localhost:11434/v1"),
        (.llamaCpp, "http://localhost:8080/v1"), (.vLLM, "http://localhost:8000/v1"),
        (.lmStudio, "http://localhost:1234/v1"), (.liteLLM, "http://localhost:4000/v1"),
    ])
    func aPresetHasAnAddress(_ endpoint: ChappieEndpoint, address: String) {
        #expect(endpoint.baseURL.absoluteString == address)
    }

    @Test func aServerThatIsKnownByNameSpeaksItsDialect() {
        let messages = ChappieEndpoint.named.filter { $0.endpoint.dialect == .messages }.map(\.name)
        let responses = ChappieEndpoint.named.filter { $0.endpoint.dialect == .responses }.map(\.name)
        #expect(messages == ["anthropic"] && responses == ["openai", "xai", "vercel"])
        #expect(Set(ChappieEndpoint.named.map(\.name)).count == ChappieEndpoint.named.count)
        for (name, endpoint) in ChappieEndpoint.named {
            #expect(endpoint.supportsWebSocket == (name == "openai"))
            // A server on this machine needs no key.
            #expect(endpoint.requiresCredential == (endpoint.baseURL.scheme == "https"), "\(name)")
            #expect(endpoint.apiKeyVariable != nil || !endpoint.requiresCredential, "\(name)")
        }
    }

    @Test(arguments: ["", "a b", "a/b", "a:b@c", "x.evil.example/?"])
    func invalidAzureResourceNameReachesNoOtherHost(_ resource: String) {
        let url = ChappieEndpoint.azureOpenAI(resource: resource).baseURL
        let host = url.host(percentEncoded: true)
        #expect(host == nil || host?.hasSuffix(".openai.azure.com") == true)
        #expect(url.user() == nil)
    }

    @Test func endpointCapabilitiesDetermineTheRequest() {
        var configuration = ChappieConfiguration(endpoint: .chatGPT)
        #expect(configuration.engine.policy == .default)
        #expect(configuration.engine.usesLanes == false)
        #expect(configuration.engine.sendsClientMetadata)
        #expect(configuration.engine.additionalFields.map(\.name) == ["originator"])
        configuration.additionalFields = [(name: "Originator", value: "mine"), (name: "X-A", value: "1")]
        #expect(configuration.engine.additionalFields.map(\.value) == ["mine", "1"])
        configuration.endpoint = .xAI
        #expect(configuration.engine.policy == .httpSSEOnly)
        configuration.endpoint = .azureOpenAI(resource: "r")
        #expect(configuration.engine.credentialFieldName == "api-key")
        configuration.endpoint = .openAI
        #expect(configuration.engine.usesLanes == false)
        configuration.usesLanes = true
        #expect(configuration.engine.usesLanes)
        configuration.endpoint.supportsLanes = false
        #expect(configuration.engine.usesLanes == false)
        configuration.endpoint.supportsWebSocket = false
        #expect(configuration.engine.policy == .httpSSEOnly)
    }

    @Test func endpointDeterminesTheseMembersOfTheEngine() throws {
        var configuration = ChappieConfiguration(endpoint: .azureOpenAI(resource: "r"))
        configuration.transport.baseURL = try #require(URL(string: "https://other.example/v1"))
        configuration.transport.credentialFieldName = nil
        configuration.transport.sendsClientMetadata = true
        configuration.transport.sendsBetaField = true
        configuration.transport.webSocketPath = "/other"
        configuration.endpoint.webSocketSubprotocol = "a"
        configuration.timeouts.connect = .seconds(3)
        configuration.transport.limits.eventByteCount = 5
        let engine = configuration.engine
        #expect(engine.baseURL == configuration.endpoint.baseURL)
        #expect(engine.credentialFieldName == "api-key")
        #expect(!engine.sendsClientMetadata)
        #expect(!engine.sendsBetaField)
        #expect(engine.webSocketPath == nil && engine.webSocketSubprotocol == "a")
        // Every other member is the program's.
        #expect(engine.timeouts.connect == .seconds(3))
        #expect(engine.limits.eventByteCount == 5)
    }

    // MARK: Credentials

    @Test func requestWithoutARequiredCredentialIsNotSent() async throws {
        var configuration = ChappieConfiguration(credential: { _ in nil })
        await #expect(throws: ChappieClientError.missingCredential) {
            try await configuration.engine.credential(.connecting)
        }
        configuration.endpoint = .other(configuration.endpoint.baseURL)
        #expect(try await configuration.engine.credential(.connecting) == nil)
    }

    @Test func chatGPTEndpointRequiresAnAccount() async throws {
        var configuration = ChappieConfiguration(apiKey: "k", endpoint: .chatGPT)
        await #expect(throws: ChappieClientError.missingAccountID) {
            try await configuration.engine.credential(.connecting)
        }
        let credential = ChappieCredential(bearerToken: "k", accountID: "a")
        configuration.credential = { _ in credential }
        #expect(try await configuration.engine.credential(.rejected(credential)) == credential)
    }

    @Test(arguments: [
        (ChappieEndpoint.openAI, "OPENAI_API_KEY"), (.azureOpenAI(resource: "r"), "AZURE_OPENAI_API_KEY"),
        (.xAI, "XAI_API_KEY"), (.vercelAIGateway, "AI_GATEWAY_API_KEY"), (.anthropic, "ANTHROPIC_API_KEY"),
        (.liteLLM, "LITELLM_API_KEY"),
    ])
    func aKeyIsReadFromTheEnvironment(_ endpoint: ChappieEndpoint, variable: String) {
        #expect(endpoint.credential(in: [variable: "k"]) == ChappieCredential(bearerToken: "k"))
        #expect(endpoint.credential(in: [variable: ""]) == nil)
        #expect(endpoint.credential(in: ["OTHER": "k"]) == nil)
    }

    @Test func environmentNamesTheServerOfClientsWithoutAnEndpoint() throws {
        #expect(ChappieEndpoint.default(in: [:]) == .openAI)
        #expect(ChappieEndpoint.default(in: ["CHAPPIE_BASE_URL": ""]) == .openAI)
        let endpoint = ChappieEndpoint.default(in: ["CHAPPIE_BASE_URL": "http://127.0.0.1:8080/v1"])
        #expect(endpoint.baseURL == (try #require(URL(string: "http://127.0.0.1:8080/v1"))))
        #expect(endpoint.credential(in: ["OPENAI_API_KEY": "k"])?.bearerToken == "k")
        #expect(!endpoint.requiresCredential)
        let own = ChappieEndpoint.default(in: ["CHAPPIE_BASE_URL": "https://api.openai.com/v1"])
        #expect(own == .openAI)
        // The engine refuses it when a turn is read.
        #expect(ChappieEndpoint.default(in: ["CHAPPIE_BASE_URL": "http://[::"]).baseURL.scheme == "file")
        #expect(ChappieConfiguration(apiKey: "k").endpoint == .openAI)
        #expect(ChappieConfiguration(credential: { _ in nil }).endpoint == .openAI)
    }

    /// A key of a gateway is set with its address, as for OpenAI's own libraries, and must not go to the vendor.
    @Test(arguments: [
        (["OPENAI_BASE_URL": "http://o.test/v1"], "http://o.test/v1"),
        (["OPENAI_BASE_URL": "http://o.test/v1", "CHAPPIE_BASE_URL": "http://c.test/v1"], "http://c.test/v1"),
        (["OPENAI_BASE_URL": "http://o.test/v1", "CHAPPIE_BASE_URL": ""], "http://o.test/v1"),
        (["OPENAI_BASE_URL": ""], "https://api.openai.com/v1"),
    ])
    func baseURLOfOpenAIsLibrariesIsReadSecond(_ environment: [String: String], _ url: String) {
        #expect(ChappieEndpoint.default(in: environment).baseURL.absoluteString == url)
    }

    @Test(arguments: [([:], "gpt-5.5"), (["CHAPPIE_MODEL": ""], "gpt-5.5"), (["CHAPPIE_MODEL": "m"], "m")])
    func environmentNamesTheDefaultModel(_ environment: [String: String], _ model: String) {
        #expect(ChappieConfiguration.model(in: environment) == model)
    }

    @Test func endpointWithoutWebSocketsKeepsTheRecoverySettings() {
        var configuration = ChappieConfiguration(endpoint: .xAI)
        configuration.streamingTransportPolicy.recovery = .never
        configuration.streamingTransportPolicy.carriesFinishedItems = true
        let policy = configuration.engine.policy
        #expect(!policy.prefersWebSocket)
        #expect(policy.recovery == .never)
        #expect(policy.carriesFinishedItems)
    }

    @Test func chatGPTAndOtherEndpointsReadNoKey() {
        #expect(ChappieEndpoint.chatGPT.credential(in: ["OPENAI_API_KEY": "k"]) == nil)
        #expect(ChappieEndpoint.other(ChappieEndpoint.openAI.baseURL).credential(in: ["OPENAI_API_KEY": "k"]) == nil)
    }
}
