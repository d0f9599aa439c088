// The arguments and environment of `chappie stream`.
import Chappie
import ChappieSignIn
import Foundation
import Testing

@testable import ChappieCommand

private func options(_ words: [String], _ environment: [String: String] = [:]) throws(UsageError) -> StreamOptions {
    try StreamOptions(ArgumentParser(StreamCommand.syntax).parse(words), environment: environment)
}

private func configuration(_ words: String...) throws -> ChappieConfiguration {
    try options(words + ["hi"]).configuration(baseURL: #require(URL(string: "http://127.0.0.1:1/v1")))
}

@Suite struct StreamOptionsTests {
    @Test func accountIsTheDefaultEndpoint() throws {
        #expect(try options(["hi"]).endpoint == .account)
        #expect(try options(["hi"], ["OPENAI_API_KEY": "", "CHAPPIE_BASE_URL": ""]).endpoint == .account)
    }

    @Test func demoOptionSelectsTheEmbeddedServerWithoutACredential() throws {
        let demo = try options(["hi", "--demo"], ["OPENAI_API_KEY": "k", "CHAPPIE_BASE_URL": "http://b/v1"])
        #expect(demo.endpoint == .embedded)
        #expect(demo.credential == nil)
        for (option, value) in [("account", "work"), ("api-key", "k"), ("base-url", "http://b/v1")] {
            #expect(throws: UsageError("--demo and --\(option) exclude each other")) {
                try options(["hi", "--demo", "--" + option, value])
            }
        }
    }

    @Test func aKeyAloneMeansTheDefaultAddress() throws {
        let streamed = try options(["hi"], ["OPENAI_API_KEY": "k"])
        #expect(streamed.endpoint == .remote(try #require(URL(string: BaseURL.byDefault))))
        #expect(streamed.credential == ChappieCredential(bearerToken: "k"))
    }

    @Test(arguments: [
        (["OPENAI_BASE_URL": "http://o/v1"], "http://o/v1"),
        (["OPENAI_BASE_URL": "http://o/v1", "CHAPPIE_BASE_URL": "http://c/v1"], "http://c/v1"),
        (["OPENAI_BASE_URL": "http://o/v1", "CHAPPIE_BASE_URL": ""], "http://o/v1"),
        (["OPENAI_BASE_URL": ""], "https://api.openai.com/v1"),
    ])
    func keyGoesToTheAddressBesideItInTheEnvironment(_ addresses: [String: String], _ url: String) throws {
        let environment = addresses.merging(["OPENAI_API_KEY": "k"]) { $1 }
        #expect(try options(["hi"], environment).endpoint == .remote(try #require(URL(string: url))))
    }

    @Test func optionsPrecedeTheEnvironment() throws {
        let environment = ["CHAPPIE_BASE_URL": "http://b/v1", "CHAPPIE_API_KEY": "c", "OPENAI_API_KEY": "o"]
        #expect(try options(["hi"], environment).credential?.bearerToken == "c")
        #expect(try options(["hi"], environment).endpoint == .remote(try #require(URL(string: "http://b/v1"))))
        let given = try options(["hi", "--api-key", "g", "--base-url", "https://g/v1"], environment)
        #expect(given.credential?.bearerToken == "g")
        #expect(given.endpoint == .remote(try #require(URL(string: "https://g/v1"))))
    }

    @Test func anAccountThatIsNamedPrecedesTheEnvironmentsKey() throws {
        let named = try options(["hi", "--account", "work"], ["OPENAI_API_KEY": "k", "CHAPPIE_API_KEY": "k"])
        #expect(named.credential == nil)
        #expect(named.endpoint == .account)
        // Nor does its token go where the environment's key goes.
        #expect(try options(["hi", "--account", "work"], ["CHAPPIE_BASE_URL": "http://b/v1"]).endpoint == .account)
        let address = try options(
            ["hi", "--account", "work", "--base-url", "http://g/v1"], ["CHAPPIE_BASE_URL": "http://b/v1"])
        #expect(address.endpoint == .remote(try #require(URL(string: "http://g/v1"))))
        #expect(throws: UsageError("--account and --api-key exclude each other")) {
            try options(["hi", "--account", "work", "--api-key", "k"])
        }
    }

    @Test func anAccountIsSpokenForByTheRulesOfItsEndpoint() throws {
        var account = ChappieConfiguration(endpoint: .chatGPT)
        account.signIn.account = "work"
        account.credentialStorage = ChappieMemoryCredentialStorage()
        let own = try options(["hi", "--account", "work"]).configuration(account: account)
        #expect(own.endpoint == .chatGPT)
        #expect(own.signIn.account == "work")
        #expect(own.credentialStorage is ChappieMemoryCredentialStorage)
        #expect(own.endpoint.requiresAccountID)
        #expect(own.credential == nil)
        let other = try options(["hi", "--account", "work", "--base-url", "http://127.0.0.1:1/backend-api/codex"])
            .configuration(account: account)
        #expect(other.endpoint.baseURL.absoluteString == "http://127.0.0.1:1/backend-api/codex")
        #expect(!other.endpoint.requiresAccountID)
    }

    @Test func anAddressWithoutAKeySendsNone() throws {
        #expect(try options(["hi", "--base-url", "http://127.0.0.1:8080/v1"]).credential == nil)
    }

    @Test(arguments: ["foo", "ftp://host/v1", "http://", "https:///v1", "", "host:80"])
    func wrongAddressesAreUsageErrors(_ address: String) {
        #expect(throws: UsageError.self) { try options(["hi", "--base-url=\(address)"]) }
    }

    @Test func theRequestCarriesTheFields() throws {
        let request = try options([
            "hi", "--model", "m", "--instructions", "i", "--effort", "low", "--service-tier", "flex", "--web-search",
        ]).request
        #expect(request.messages == [.user("hi")])
        #expect(request.model == "m")
        #expect(request.instructions == "i")
        #expect(request.reasoningEffort == "low")
        #expect(request.serviceTier == "flex")
        #expect(request.searchAccess == .live)
    }

    @Test func theProxyIsTheOptionsOrTheEnvironments() throws {
        let remote = ["hi", "--base-url", "https://g/v1"]
        let url = try #require(URL(string: "https://g/v1"))
        #expect(try options(remote).configuration(baseURL: url).proxy == .environment)
        let proxy = "http://u:p@h:1"
        #expect(try options(remote + ["--proxy", proxy]).configuration(baseURL: url).proxy == .url(proxy))
        // The server in this process is not reached through a proxy of the environment.
        #expect(try options(["hi", "--demo"]).configuration(baseURL: url).proxy == ChappieProxyPolicy.none)
        #expect(try options(["hi", "--demo", "--proxy", proxy]).configuration(baseURL: url).proxy == .url(proxy))
    }

    @Test func toolsAreCommands() throws {
        let streamed = try options(["hi", "--tool", "a=true", "--tool=b=cat", "--approve", "ask"])
        #expect(streamed.tools.map(\.name) == ["a", "b"])
        #expect(streamed.approval == .ask)
        #expect(try options(["hi"]).approval == nil)
        #expect(throws: UsageError.self) { try options(["hi", "--tool", "a=true", "--tool", "a=false"]) }
        #expect(throws: UsageError.self) { try options(["hi", "--approve", "perhaps"]) }
    }

    @Test func theTimeOfATurnWithToolsIsTheClients() throws {
        let made = try configuration("--timeout", "9", "--tool", "a=true")
        #expect(made.limits.duration == .seconds(9))
        #expect(made.timeouts.total == nil)
        #expect(try configuration("--timeout", "9").limits.duration == nil)
    }

    @Test func aHyphenReadsThePromptLater() throws {
        #expect(try options(["-"]).prompt == .input)
        #expect(try options(["-"]).request.messages.isEmpty)
        #expect(try options(["hi"]).prompt == .argument)
    }

    @Test func inputThatIsNoTerminalIsThePromptForWantOfAnother() throws {
        func source(_ words: String...) throws -> StreamOptions.PromptSource {
            try StreamOptions(ArgumentParser(StreamCommand.syntax).parse(words), environment: [:], pipesInput: true)
                .prompt
        }
        #expect(try source() == .pipe)
        #expect(try source("-") == .input)
        #expect(try source("hi") == .argument)
        #expect(throws: UsageError.self) { try source("--request", "/nonexistent/file") }
    }

    @Test func thereHasToBeAPromptOrARequest() {
        #expect(throws: UsageError.self) { try options([]) }
        #expect(throws: UsageError.self) { try options(["--request", "/nonexistent/file"]) }
    }

    @Test func theDefaultsAreTheEnginesButForRawEvents() throws {
        let made = try configuration()
        #expect(made.streamingTransportPolicy == .default)
        #expect(made.timeouts == ChappieTimeouts())
        #expect(made.rateLimitBackoff == .default)
        #expect(made.maxHTTPRetries == 5)
        #expect(made.rawEvents == .none)
        #expect(made.reportsDiagnostics)
        #expect(made.tls.trust == .system)
    }

    @Test func timeoutsAreSetAndDisabledWithZero() throws {
        let made = try configuration(
            "--connect-timeout", "1.5", "--first-event-timeout", "0", "--idle-timeout", "0", "--timeout", "9")
        #expect(made.timeouts.connect == .milliseconds(1500))
        #expect(made.timeouts.firstEvent == nil)
        #expect(made.timeouts.idle == nil)
        #expect(made.timeouts.total == .seconds(9))
        #expect(try configuration("--connect-timeout=0", "--timeout=0").timeouts.connect == nil)
    }

    @Test func reconnectsCountForBothTransports() throws {
        let made = try configuration("--max-reconnects", "0", "--retry-429", "7")
        #expect(made.streamingTransportPolicy == ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0))
        #expect(made.maxHTTPRetries == 0)
        #expect(made.rateLimitBackoff.maxRetries == 7)
    }

    @Test func pathAndSubprotocolOfTheWebSocketAreTheEndpoints() throws {
        let made = try configuration("--websocket-path", "/responses/ws", "--websocket-subprotocol", "a.v1")
        #expect(made.endpoint.webSocketPath == "/responses/ws" && made.endpoint.webSocketSubprotocol == "a.v1")
        #expect(made.engine.webSocketPath == "/responses/ws" && made.engine.webSocketSubprotocol == "a.v1")
        let other = try configuration("--no-compression")
        #expect(other.endpoint.webSocketPath == nil && other.endpoint.webSocketSubprotocol == nil)
    }

    @Test func dialectIsTheEndpoints() throws {
        #expect(try configuration("--no-compression").endpoint.dialect == .responses)
        let made = try configuration("--dialect", "chat", "--base-url", "http://b/v1")
        #expect(made.endpoint.dialect == .chatCompletions)
        #expect(made.engine.dialect == .chatCompletions)
        #expect(throws: UsageError("option --dialect needs one of responses, chat, messages, not 'gemini'")) {
            try configuration("--dialect", "gemini")
        }
        let address = ["CHAPPIE_BASE_URL": "http://b/v1"]
        #expect(try options(["hi"], address.merging(["CHAPPIE_DIALECT": "chat"]) { $1 }).dialect == .chatCompletions)
        #expect(throws: UsageError("CHAPPIE_DIALECT needs one of responses, chat, messages, not 'x'")) {
            try options(["hi"], address.merging(["CHAPPIE_DIALECT": "x"]) { $1 })
        }
        #expect(throws: UsageError.self) { try options(["hi", "--dialect", "chat"]) }
    }

    @Test func aKnownServerHasItsAddressItsDialectAndItsKey() throws {
        let keys = [
            "OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "CHAPPIE_BASE_URL": "http://b/v1", "CHAPPIE_MODEL": "m",
        ]
        #expect(throws: UsageError.self) { try options(["hi", "--endpoint", "ollama"]) }
        #expect(try options(["hi", "--endpoint", "ollama", "--model", "q"]).request.model == "q")
        let made = try options(["hi", "--endpoint", "anthropic"], keys)
        #expect(made.endpoint == .remote(ChappieEndpoint.anthropic.baseURL) && made.dialect == .messages)
        #expect(made.credential == ChappieCredential(bearerToken: "a"))
        let groq = try options(["hi", "--endpoint", "groq"], keys)
        #expect(groq.credential == nil && groq.missingKey == "GROQ_API_KEY" && made.missingKey == nil)
        #expect(NoServerError(keyVariable: groq.missingKey).message.contains("set GROQ_API_KEY"))
        let other = try options(["hi", "--endpoint", "litellm", "--base-url", "https://h/v1", "--api-key", "k"], keys)
        let url = try #require(URL(string: "https://h/v1"))
        #expect(other.endpoint == .remote(url) && other.credential == ChappieCredential(bearerToken: "k"))
        let configuration = other.configuration(baseURL: url)
        #expect(configuration.endpoint.dialect == .chatCompletions && configuration.endpoint.baseURL == url)
        for arguments in [
            ["--endpoint", "nobody"], ["--endpoint", "groq", "--demo"], ["--endpoint", "groq", "--account", "x"],
        ] {
            #expect(throws: UsageError.self) { try options(["hi"] + arguments, keys) }
        }
    }

    @Test func httpOnlyTrustFileAndRawOptionsAreApplied() throws {
        let made = try configuration("--http-only", "--ca-file", "ca.pem", "--raw", "all")
        #expect(made.streamingTransportPolicy == .httpSSEOnly)
        #expect(made.tls.trust == .file(path: "ca.pem"))
        #expect(made.rawEvents == .all)
    }

    @Test func compressionAndPingIntervalAreSetByOptions() throws {
        let made = try configuration("--no-compression", "--ping-interval", "7.5")
        #expect(!made.offersCompression)
        #expect(made.timeouts.pingInterval == .milliseconds(7500))
        #expect(try configuration("--ping-interval", "0").timeouts.pingInterval == nil)
        #expect(try configuration().offersCompression)
    }
}
