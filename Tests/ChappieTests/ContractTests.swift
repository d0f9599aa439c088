// The public contract, a sentence a test: the name, or the comment above, is the sentence that it shows.
//
// Sentences about what goes over a wire are shown against servers, in Tests/LoopbackTests:
//
// - "the output goes back to the model as a follow-up request by itself": ClientToolTests
// - "a tool whose policy is ask waits; answered through the toolApprovalHandler": ClientToolTests
// - "`.completed` exactly once, then the stream ends cleanly": ClientToolTests, ClientConversationTests, StreamingTests
// - "`.textDelta`: in order, never empty; concatenated they are the response's text": StreamingTests, EveryByteCutTests
// - "`.raw`: event type and payload text before any parsing": DriverOutputTests
// - "`.usageLimits`: mid-stream snapshot": RecoveryTests
// - "cancel() stops the transport at once; cancelling the consuming task, and dropping the stream, do the same; a
// stream
//   cancelled while its consumer waits throws CancellationError": ClientConversationTests, CancellationTests
// - "By default every streaming turn opens or reuses a WebSocket; a failed one is retried, then HTTP/SSE for the
// instance;
//   the consumer cannot tell; output is verified and suppressed, or streamingTransportReplayDiverged": RecoveryTests,
//   AdaptiveFallbackTests, ScenarioTests, ClientToolLoopTests
// - "Doubles per retry up to the maximum; Retry-After replaces the delay, capped; used up: usageLimitReached or
//   httpError(429); a far reset is not retried": RetryPolicyTests, DriverFailureTests, RefusalTests
// - "send returns the whole text; response returns ChappieResponse": ClientConversationTests
// - "One turn at a time per conversation, or alreadyRunning; run limits": ClientConversationTests, ClientToolTests
// - "Both error types are LocalizedError; on every error category, isRetryable, …": ChappieClientErrorTests
// - "A circuit breaker per endpoint": CircuitTests, CircuitBreakerTests
import Chappie
import Foundation
import Testing

/// Names and defaults: they compile, and they are these.
@Suite struct ContractTests {
    // MARK: 1.1 Streaming

    @Test(
        "`ChappieStreamEvent` (an enum, `Sendable`). Streams are `AsyncThrowingStream<ChappieStreamEvent, any Error>`.")
    func streams() {
        let client = Chappie.client()
        let stream: AsyncThrowingStream<ChappieStreamEvent, any Error> = client.stream("hi")
        _ = stream
        _ = client.stream(.user("hi"))
        _ = client.streamResponse(ChappieResponseRequest("hi"))
    }

    @Test("the cases of `ChappieStreamEvent`")
    func cases() {
        let event = ChappieStreamEvent.textDelta("a")
        switch event {
        case .textDelta(let text): #expect(text == "a")
        case .usageLimits(let snapshot): _ = (snapshot.primary?.usedPercent, snapshot.secondary?.windowMinutes)
        case .toolCallRequested(let request): _ = (request.name, request.arguments, request.policy)
        case .toolCallCompleted(let result): _ = (result.status, result.output, result.duration)
        case .approvalRequested(let request): _ = (request.name, request.arguments)
        case .completed, .raw(type: _, payload: _), .reasoningDelta, .refusalDelta, .diagnostic: break
        }
    }

    @Test("policy applied (`automatic`, `ask`, `deny`); its status (`completed`, `failed`, `denied`, `cancelled`)")
    func policiesAndStatuses() {
        #expect(ChappieToolPolicy.allCases.map(\.rawValue) == ["automatic", "ask", "deny"])
        #expect(ChappieToolStatus.allCases.map(\.rawValue) == ["completed", "failed", "denied", "cancelled"])
    }

    @Test("`client.streamHandle(_:)` returns a `ChappieStreamHandle`: the event stream, and `cancel()`")
    func handles() async {
        let client = Chappie.client()
        for handle in [
            client.streamHandle("hi"), client.streamHandle(.user("hi")),
            client.streamHandle(ChappieResponseRequest("hi")),
        ] {
            let typed: ChappieStreamHandle = handle
            typed.cancel()
            var iterator = typed.events.makeAsyncIterator()
            await #expect(throws: CancellationError.self) { try await iterator.next() }
        }
    }

    @Test(
        "`.user(\"…\", fastMode: true)` is `ChappieMessageOptions(fastMode: true)`, which means low reasoning effort.")
    func fastMode() {
        #expect(ChappieInputMessage.user("hi", fastMode: true).options == ChappieMessageOptions(fastMode: true))
        #expect(ChappieInputMessage.user("hi").options == ChappieMessageOptions(fastMode: false))
        #expect(ChappieMessageOptions().fastMode == false)
        // That it is low effort: RequestComposerTests.
    }

    @Test("`ChappieInputMessage`: `.system(_:)`, `.user(_:)`, `.assistant(_:)`, …")
    func messages() {
        let messages: [ChappieInputMessage] = [.system("a"), .developer("b"), .user("c"), .assistant("d")]
        #expect(messages.map(\.role) == [.system, .developer, .user, .assistant])
        #expect(messages.map(\.text) == ["a", "b", "c", "d"])
    }

    @Test(
        "`ChappieResponseRequest` customises model, reasoning effort, service tier and search tool access for one turn."
    )
    func requests() {
        var request = ChappieResponseRequest("hi")
        #expect(request.model == nil && request.reasoningEffort == nil)
        #expect(request.serviceTier == nil && request.searchAccess == nil)
        request.model = "m"
        request.reasoningEffort = "xhigh"
        request.serviceTier = "priority"
        request.searchAccess = .live
        #expect(request.serviceTier == .priority)
    }

    // MARK: 1.2 Transport policy

    // `ChappieStreamingTransportPolicy(prefersWebSocket: Bool = true, maxWebSocketReconnectionAttempts: Int = 5,
    // fallsBackToHTTPSSE: Bool = true)`. `.default` is that; `.httpSSEOnly` is `(false, 0, true)`.
    @Test("names and defaults of `ChappieStreamingTransportPolicy`")
    func transportPolicy() {
        let policy = ChappieStreamingTransportPolicy()
        #expect(policy.prefersWebSocket)
        #expect(policy.maxWebSocketReconnectionAttempts == 5)
        #expect(policy.fallsBackToHTTPSSE)
        #expect(ChappieStreamingTransportPolicy.default == policy)
        #expect(
            ChappieStreamingTransportPolicy.httpSSEOnly
                == ChappieStreamingTransportPolicy(
                    prefersWebSocket: false, maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: true))
    }

    // MARK: 1.3 Rate-limit backoff

    // `ChappieRateLimitBackoffPolicy(maxRetries: 2, initialDelay: 1 s, maximumDelay: 30 s, respectsRetryAfterHeader:
    // true)`; `.default`, `.disabled` (= `maxRetries: 0`). Negative values become 0.
    @Test("names and defaults of `ChappieRateLimitBackoffPolicy`")
    func backoffPolicy() {
        let policy = ChappieRateLimitBackoffPolicy()
        #expect(policy.maxRetries == 2)
        #expect(policy.initialDelay == .seconds(1))
        #expect(policy.maximumDelay == .seconds(30))
        #expect(policy.respectsRetryAfterHeader)
        #expect(ChappieRateLimitBackoffPolicy.default == policy)
        #expect(ChappieRateLimitBackoffPolicy.disabled == ChappieRateLimitBackoffPolicy(maxRetries: 0))
        let negative = ChappieRateLimitBackoffPolicy(
            maxRetries: -1, initialDelay: .seconds(-1), maximumDelay: .seconds(-1))
        #expect(negative.maxRetries == 0)
        #expect(negative.initialDelay == .zero && negative.maximumDelay == .zero)
    }

    // MARK: 1.4 Errors

    @Test("the cases of `ChappieClientError`")
    func errors() {
        let errors: [ChappieClientError] = [
            .missingCredential, .missingRefreshToken, .missingAccountID, .reauthenticationRequired("r"),
            .missingToolHandler("t"), .toolApprovalDenied("t", "r"), .toolExecutionFailed("t", "m"),
            .toolLoopLimitExceeded(1), .streamingTransportReplayDiverged("d"), .httpError(429, "b"), .invalidResponse,
        ]
        for error in errors {
            #expect(!error.localizedDescription.isEmpty)
            #expect(error.localizedDescription.hasSuffix("."))
        }
    }

    @Test("`ChappieUsageLimit`: `type`, `message`, `plan` (with `displayName`), `resetsAt`, `primary`, `secondary`")
    func usageLimit() {
        func facts(of limit: ChappieUsageLimit) -> [Any?] {
            [limit.type, limit.message, limit.plan?.displayName, limit.resetsAt, limit.primary, limit.secondary]
        }
        _ = facts
    }

    // MARK: 1.6 Client, tools

    // `Chappie.client(configuration:)`, `Chappie.client(harness:tools:)`, `Chappie.client(rateLimitBackoff:)`,
    // `Chappie.client(streamingTransportPolicy:)`; every argument has a default.
    @Test("ways to make a client")
    func clients() {
        let tool = ChappieHostTool(name: "t", description: "d") { call in ChappieToolResult(output: call.name) }
        #expect(Chappie.client(configuration: ChappieConfiguration(model: "m")).configuration.model == "m")
        let both = Chappie.client(harness: .none, tools: [tool])
        #expect(both.configuration.harness == .none)
        #expect(both.configuration.tools.map(\.name) == ["t"])
        #expect(Chappie.client(rateLimitBackoff: .disabled).configuration.rateLimitBackoff == .disabled)
        let http = Chappie.client(streamingTransportPolicy: .httpSSEOnly)
        #expect(http.configuration.streamingTransportPolicy == .httpSSEOnly)
        let plain = Chappie.client()
        #expect(plain.configuration.harness == .default)
        #expect(plain.configuration.streamingTransportPolicy == .default)
        #expect(plain.configuration.rateLimitBackoff == .default)
    }

    // `ChappieConfiguration`: `model`, `harness`, `rateLimitBackoff`, `streamingTransportPolicy`, credential,
    // endpoint.
    @Test("`ChappieConfiguration` has these members")
    func configuration() {
        let configuration = ChappieConfiguration(
            model: "m", harness: .none, rateLimitBackoff: .disabled, streamingTransportPolicy: .httpSSEOnly,
            endpoint: .xAI, credential: { _ in nil })
        #expect(configuration.model == "m")
        #expect(configuration.endpoint == .xAI)
    }

    // `ChappieHarness(name:summary:instructions:capabilities:tools:)`, `.default`, `.none`;
    // `ChappieHarnessTool(name:description:inputSchema:)`
    @Test("names of harnesses and their tools")
    func harness() {
        let tool = ChappieHarnessTool(name: "t", description: "d", inputSchema: ["type": "object"])
        let harness = ChappieHarness(
            name: "n", summary: "s", instructions: "i", capabilities: [.webSearch], tools: [tool])
        #expect(harness.tools == [tool])
        #expect(ChappieHarness.none.instructions == nil && ChappieHarness.none.tools.isEmpty)
        #expect(ChappieHarness.default.instructions?.isEmpty == false)
    }

    // `ChappieHostTool(name:description:inputSchema:) { call in ChappieToolResult(output:) }`;
    // `ChappieToolCall.argumentsJSON: ChappieJSONValue?`
    @Test("names of host tools and calls")
    func hostTool() {
        let tool = ChappieHostTool(name: "t", description: "d", inputSchema: ["type": "object"]) { call in
            let json: ChappieJSONValue? = call.argumentsJSON
            return ChappieToolResult(output: json?["a"]?.string ?? "")
        }
        #expect(tool.policy == .automatic)
        #expect(ChappieToolCall(callID: "c", name: "t", arguments: #"{"a":"b"}"#).argumentsJSON == ["a": "b"])
        #expect(ChappieToolCall(callID: "c", name: "t", arguments: "{").argumentsJSON == nil)
        #expect(ChappieToolCall(callID: "c", name: "t", arguments: "").argumentsJSON == nil)
    }

    @Test("`ChappieJSONValue` is object, array, string, number, bool, null.")
    func jsonValue() {
        let values: [ChappieJSONValue] = [.object([:]), .array([]), .string(""), .number(0), .bool(true), .null]
        #expect(values == [[:], [], "", 0, true, nil])
    }

    @Test("answered with `.approved()` or `.denied()`")
    func approvals() {
        let handler: ChappieToolApprovalHandler = { request in request.name == "t" ? .approved() : .denied() }
        _ = Chappie.client(toolApprovalHandler: handler)
        #expect(ChappieToolApproval.denied("r") != .denied())
        #expect(ChappieToolApproval.approved() != .denied())
    }

    // MARK: 2 What this package adds

    @Test("Run limits: tool calls, round trips, wall clock")
    func runLimits() {
        let limits = ChappieRunLimits()
        #expect(limits.toolCalls == 64)
        #expect(limits.roundTrips == 32)
        #expect(limits.duration == nil)
        #expect(limits == ChappieConfiguration().limits)
        let negative = ChappieRunLimits(
            toolCalls: -1, roundTrips: -1, duration: .seconds(-1), concurrentTools: -1, toolOutputByteCount: -1)
        #expect(
            negative
                == ChappieRunLimits(
                    toolCalls: 0, roundTrips: 0, duration: .zero, concurrentTools: 1, toolOutputByteCount: 0))
    }

    @Test("`rawEvents: .unsurfaced` (default) | `.all` | `.none`; `.diagnostic` off by default")
    func defaultsOfEvents() {
        #expect(ChappieConfiguration().rawEvents == .unsurfaced)
        #expect(ChappieConfiguration().reportsDiagnostics == false)
    }

    @Test("Endpoint presets: OpenAI, ChatGPT, Azure OpenAI, xAI, Vercel AI Gateway, any base URL.")
    func presets() throws {
        let url = try #require(URL(string: "http://127.0.0.1:8080/v1"))
        let presets: [ChappieEndpoint] = [
            .openAI, .chatGPT, .azureOpenAI(resource: "r", apiVersion: "preview"), .xAI, .vercelAIGateway, .other(url),
        ]
        #expect(Set(presets.map(\.baseURL)).count == presets.count)
        #expect(ChappieConfiguration().endpoint == .openAI)
        // What they send: EndpointTests, RequestComposerTests, ClientEndpointTests.
    }
}
