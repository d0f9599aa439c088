// The public contract, a sentence a test: the name, or the comment above, is the sentence that it shows.
//
// Sentences about what happens, and not about names, are shown elsewhere: `ContractSentenceTests` has the list.
import Chappie
import Foundation
import Testing

/// Names and defaults of the public interface, which are contracts.
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
        case .completed, .raw(type: _, payload: _), .reasoningDelta, .refusalDelta, .restarted, .diagnostic: break
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
    func errorsHaveLocalizedDescriptionsAndFacts() {
        let errors: [ChappieClientError] = [
            .missingCredential, .missingRefreshToken, .missingAccountID, .reauthenticationRequired("r"),
            .missingToolHandler("t"), .toolApprovalDenied("t", "r"), .toolExecutionFailed("t", "m"),
            .toolLoopLimitExceeded(1), .streamingTransportReplayDiverged("d"), .httpError(429, "b"), .invalidResponse,
        ]
        for error in errors {
            #expect((error as any LocalizedError).errorDescription == error.localizedDescription)
            #expect(error.localizedDescription.hasSuffix("."))
        }
        // Values of these are made by the engine.
        func facts(of error: ChappieClientError) -> Any? {
            switch error {
            case .usageLimitReached(let limit): limit as ChappieUsageLimit
            case .responseTerminalFailure(let response): (response.status as String, response.errorPayload as String?)
            case .transport(let failure): failure as ChappieTransportFailure
            default: nil
            }
        }
        #expect(facts(of: .invalidResponse) == nil)
    }

    @Test("`ChappieUsageLimit`: `type`, `message`, `plan` (with `displayName`), `resetsAt`, `primary`, `secondary`")
    func usageLimit() {
        let names =
            [
                \ChappieUsageLimit.type, \.message, \.plan?.displayName, \.resetsAt, \.primary?.usedPercent,
                \.primary?.windowMinutes, \.secondary?.resetsAt,
            ] as [PartialKeyPath<ChappieUsageLimit>]
        #expect(Set(names).count == 7)
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
        #expect(ChappieHarness.default.instructions == nil)
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

    // On every error: `category` (`auth`, `network`, `validation`, `permission`, `rateLimit`, `server`, `internal`),
    // `isRetryable`, `retryGuidance` (`.refreshAuthThenRetry`, `.retryWithBackoff(afterSeconds:)`, `.none`),
    // `requiresUserAction`, `safeDescription`, `unsafeMessage`, `tag`, `shouldReport`.
    @Test("names of the facts of an error")
    func factsOfErrors() {
        #expect(
            ChappieErrorCategory.allCases.map(\.rawValue) == [
                "auth", "network", "validation", "permission", "rateLimit", "server", "internal",
            ])
        let error = ChappieClientError.httpError(429, "slow down")
        #expect(error.category == .rateLimit && error.isRetryable && error.tag == "http.429")
        guard case .retryWithBackoff(afterSeconds: 30) = error.retryGuidance else {
            Issue.record("\(error.retryGuidance)")
            return
        }
        #expect(ChappieClientError.httpError(401, "").retryGuidance == .refreshAuthThenRetry)
        #expect(ChappieClientError.missingCredential.retryGuidance == .none)
        #expect(ChappieClientError.missingCredential.requiresUserAction && !error.requiresUserAction)
        #expect(error.unsafeMessage == "slow down" && !error.safeDescription.contains("slow down"))
        #expect(ChappieClientError.invalidResponse.shouldReport && !error.shouldReport)
    }

    // `ChappieTransportFailure`: phase, transport, attempts, close code and reason, status code, request ids, bytes,
    // time since the last byte, and replay safety.
    @Test("names of the facts of a transport failure")
    func transportFailure() {
        #expect(
            ChappieTransportFailure.Phase.allCases.map(\.rawValue) == [
                "resolve", "connect", "proxy", "tls", "upgrade", "send", "firstEvent", "stream", "close",
            ])
        #expect(
            ChappieReplaySafety.allCases.map(\.rawValue) == [
                "notSent", "sentNoOutput", "outputDelivered", "completed",
            ])
        let names =
            [
                \ChappieTransportFailure.phase, \.transport, \.attempts, \.replaySafety, \.details.closeCode,
                \.details.closeReason, \.details.statusCode, \.details.requestID, \.details.clientRequestID,
                \.details.receivedByteCount, \.details.sinceLastByte,
            ] as [PartialKeyPath<ChappieTransportFailure>]
        #expect(Set(names).count == 11)
    }

    // `ChappieStreamReport`, on the handle: attempts with timings, reconnects, fallback and why, bytes in and out,
    // compression ratio, verified replay bytes, inter-token gaps.
    @Test("names of a report")
    func report() throws {
        let report: ChappieStreamReport = Chappie.client().streamHandle("hi").report
        #expect(report.attempts.isEmpty && report.reconnects == 0 && report.fallbackReason == nil)
        #expect(report.compressionRatio == nil && report.verifiedReplayByteCount == 0 && report.gaps == nil)
        let names =
            [
                \ChappieStreamReport.Attempt.resolved, \.connected, \.opened, \.firstEvent, \.duration,
                \.receivedByteCount, \.sentByteCount,
            ] as [PartialKeyPath<ChappieStreamReport.Attempt>]
        #expect(Set(names).count == 7)
    }

    @Test("Non-fatal news: reconnecting n of m, fell back, resumed, stalled, unknown event, sequence gap")
    func diagnosticKindsIncludeNonFatalEvents() {
        let kinds: Set<ChappieDiagnostic.Kind> = [
            .connected, .reconnecting, .fellBack, .resumed, .replayVerified, .stalled, .unknownEvent, .sequenceGap,
        ]
        #expect(kinds.isSubset(of: ChappieDiagnostic.Kind.allCases))
        let names: [PartialKeyPath<ChappieDiagnostic>] = [\.attempt, \.limit, \.reason, \.transport]
        #expect(Set(names).count == 4)
    }

    // a log sink with stable fields (context, category, retryable, tag, request id; message marked private), a metrics
    // sink (`operation`, `duration`, `outcome`), trace context in
    @Test("names of what is watched")
    func hooks() {
        var configuration = ChappieConfiguration()
        configuration.log = { entry in
            _ = (entry.context, entry.category, entry.isRetryable, entry.tag, entry.requestID, entry.privateMessage)
        }
        configuration.metrics = { metric in _ = (metric.operation, metric.duration, metric.outcome) }
        var request = ChappieResponseRequest("hi")
        request.traceContext = ChappieTraceContext(
            traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        #expect(request.traceContext != nil)
    }

    // opens after 5 consecutive failures, for 60 s
    @Test("defaults of the circuit breaker")
    func circuitBreaker() {
        #expect(
            ChappieConfiguration().circuitBreaker
                == ChappieCircuitBreakerPolicy(failureThreshold: 5, openDuration: .seconds(60)))
    }

    @Test("`ChappieTransport`: the engine without the client")
    func engine() throws {
        let url = try #require(URL(string: "http://127.0.0.1:8080/v1"))
        let configuration = ChappieTransportConfiguration(baseURL: url) { _ in ChappieCredential(bearerToken: "t") }
        let transport = ChappieStreamingTransport(configuration: configuration)
        let stream: AsyncThrowingStream<ChappieStreamEvent, any Error> = transport.stream(
            ChappieTransportRequest(body: Array(#"{"model":"m","input":"hi"}"#.utf8)))
        _ = stream
    }

    // `send(_:)` returns the whole text; `response(_:)` returns `ChappieResponse` (`outputText`, `status`, `usage`, …).
    @Test("names of whole answers")
    func answers() {
        let client = Chappie.client()
        let send: (String) async throws -> String = client.send
        let response: (String) async throws -> ChappieResponse = client.response
        _ = (send, response)
        let names: [PartialKeyPath<ChappieResponse>] = [\.outputText, \.status, \.usage]
        #expect(Set(names).count == 3)
    }

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
        #expect(ChappieConfiguration(apiKey: "k").endpoint == .openAI)
        // What they send: EndpointTests, RequestComposerTests, ClientEndpointTests.
    }
}
