import Chappie
import ChappieTestServer
import Foundation
import Testing

/// The requests of the presets as a server receives them.
@Suite(.timeLimit(.minutes(10))) struct ClientEndpointTests {
    /// The first attempt of a turn, as a server saw it.
    private static func attempt(
        _ endpoint: ChappieEndpoint, credential: ChappieCredential = ChappieCredential(bearerToken: "key"),
        query: String = "", _ change: (inout ChappieConfiguration) -> Void = { _ in }
    ) async throws -> (record: ChappieTestServer.RequestRecord, body: ChappieJSONValue) {
        try await withServer(scripted([responseEvents(1, [], text: "Done.")])) { server in
            var endpoint = endpoint
            endpoint.baseURL = try #require(URL(string: server.baseURL + query))
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.endpoint = endpoint
                    $0.credential = { _ in credential }
                    change(&$0)
                })
            let outcome = await client.outcome()
            #expect(outcome.text == "Done.")
            let record = try #require(server.log.first)
            return (record, try #require(record.bodies.first.flatMap { ChappieJSONValue(jsonText: $0) }))
        }
    }

    @Test func openAIRequestUsesAWebSocketWithTheBetaField() async throws {
        let (record, body) = try await Self.attempt(.openAI)
        #expect(record.transport == .webSocket)
        #expect(record.hasAuthorization)
        #expect(record.value(of: "OpenAI-Beta") == "responses_websockets=2026-02-06")
        #expect(body["store"] == false)
        #expect(body["include"] == ["reasoning.encrypted_content"])
        #expect(body["prompt_cache_key"]?.string?.isEmpty == false)
    }

    @Test(arguments: Wire.allCases) func chatGPTRequestHasAccountAndOriginatorFields(over wire: Wire) async throws {
        let account = ChappieCredential(bearerToken: "token", accountID: "acct_1")
        let (record, body) = try await Self.attempt(.chatGPT, credential: account) {
            $0.streamingTransportPolicy = wire.policy
        }
        #expect(record.value(of: "ChatGPT-Account-ID") == "acct_1")
        #expect(record.value(of: "originator") == "chappie")
        #expect(record.value(of: "User-Agent")?.isEmpty == false)
        #expect(body["store"] == false)
        #expect(body["stream"] == (wire == .httpSSE ? true : nil))
        #expect(body["max_output_tokens"] == nil)
    }

    @Test func azureRequestUsesHTTPWithAKeyAndAPIVersion() async throws {
        let (record, body) = try await Self.attempt(
            .azureOpenAI(resource: "r", apiVersion: "preview"), query: "?api-version=preview")
        #expect(record.transport == .http)
        #expect(record.query == "api-version=preview")
        #expect(record.hasAuthorization == false)
        #expect(body["store"] == false)
    }

    @Test(arguments: [ChappieEndpoint.xAI, .vercelAIGateway])
    func requestsToOtherEndpointsUseHTTPWithoutCacheKey(_ endpoint: ChappieEndpoint) async throws {
        let (record, body) = try await Self.attempt(endpoint)
        #expect(record.transport == .http)
        #expect(record.hasAuthorization)
        #expect(body["store"] == endpoint.storesResponses.map { .bool($0) })
        #expect(body["prompt_cache_key"] == nil)
    }

    @Test func unknownServerReceivesNoSpecialMembers() async throws {
        let (record, body) = try await Self.attempt(.other(ChappieEndpoint.openAI.baseURL))
        guard case .object(let members) = body else {
            Issue.record("not an object")
            return
        }
        #expect(Set(members.keys) == ["type", "model", "input"])
        #expect(record.transport == .webSocket)
        #expect(record.value(of: "OpenAI-Beta") == nil)
    }

    @Test func anyPropertyCanBeChanged() async throws {
        var endpoint = ChappieEndpoint.xAI
        endpoint.supportsWebSocket = true
        endpoint.storesResponses = true
        endpoint.additionalFields = [.init(name: "X-Own", value: "1")]
        let (record, body) = try await Self.attempt(endpoint)
        #expect(record.transport == .webSocket)
        #expect(record.value(of: "x-own") == "1")
        #expect(body["store"] == true)
    }

    // MARK: Bad input

    @Test(arguments: ["", "[]", "{\"model\":}", #"{"input":{"a":1}}"#, #"{"input":5}"#])
    func invalidBodyFailsBeforeARequestIsSent(_ body: String) async throws {
        try await withServer(scripted([responseEvents(1, [], text: "Done.")])) { server in
            let client = Chappie.client(configuration: .loopback(server))
            let request = ChappieResponseRequest(bodyJSON: Array(body.utf8))
            let outcome = await ClientOutcome.read(client.streamHandle(request))
            guard case .transport(let failure)? = outcome.clientError else {
                Issue.record("not a failure: \(String(describing: outcome.error))")
                return
            }
            #expect(failure.code == .invalidRequest)
            #expect(server.log.isEmpty)
            #expect(client.context.isEmpty)
        }
    }

    @Test(arguments: Wire.allCases)
    func argumentsThatAreNoObjectGoBackToTheModelAndNotToTheTool(over wire: Wire) async throws {
        let record = ToolRecord()
        let asked = Locked(0)
        let tool = ChappieHostTool(name: "clock", description: "", policy: .ask) { call in
            record.note(call)
            return ChappieToolResult(output: "noon")
        }
        let calls = [#"{"zone":"UTC"}{"zone":"UTC"}"#, #"{"zone": UTC}"#, #"{"zone":"UTC"}"#]
        let responses = calls.enumerated().map { responseEvents($0 + 1, [functionCall("c\($0)", "clock", $1)]) }
        try await withServer(scripted(responses + [responseEvents(4, [], text: "Done.")])) { server in
            let client = Chappie.client(
                configuration: .loopback(server, over: wire) {
                    $0.tools = [tool]
                    $0.toolApprovalHandler = { _ in
                        asked.update { $0 += 1 }
                        return .approved()
                    }
                })
            let outcome = await client.outcome()
            #expect(outcome.error == nil)
            #expect(outcome.text == "Done.")
            #expect(record.calls.map(\.arguments) == [calls[2]])
            #expect(asked.value == 1)
            #expect(outcome.results.map(\.status) == [.failed, .failed, .completed])
            let isNotObject = "The tool was not run: its arguments are not one JSON object."
            // Over a WebSocket only what is new is sent.
            let sent = wire == .webSocket ? server.inputs.flatMap { $0 } : server.inputs.last ?? []
            #expect(
                sent.compactMap { $0["output"]?.string } == [
                    isNotObject + " The object ends before offset 14, and more follows.",
                    isNotObject + " At offset 9 is what JSON does not allow there.", "noon",
                ])
        }
    }

    @Test func twoDifferentCallsWithOneNameEndTheTurnAndNeitherRuns() async throws {
        let record = ToolRecord()
        let tool = ChappieHostTool(name: "t", description: "") { call in
            record.note(call)
            return ChappieToolResult(output: "")
        }
        let calls = [functionCall("c", "t", "{}"), functionCall("c", "t", "[]")]
        try await withServer(scripted([responseEvents(1, calls)])) { server in
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = [tool] })
            let outcome = await client.outcome()
            #expect(outcome.clientError == .invalidResponse)
            #expect(record.calls.isEmpty)
        }
    }

    @Test func oneCallThatStandsTwiceRunsOnce() async throws {
        let record = ToolRecord()
        let tool = ChappieHostTool(name: "t", description: "") { call in
            record.note(call)
            return ChappieToolResult(output: "out")
        }
        let calls = responseEvents(1, [functionCall("c", "t"), functionCall("c", "t")])
        try await withServer(scripted([calls, responseEvents(2, [], text: "Done.")])) { server in
            let client = Chappie.client(configuration: .loopback(server, over: .httpSSE) { $0.tools = [tool] })
            let outcome = await client.outcome()
            #expect(outcome.text == "Done.")
            #expect(record.calls.count == 1)
            #expect(server.inputs.last?.count { $0["type"] == "function_call_output" } == 1)
        }
    }

    @Test func outputOf100MegabytesIsCutWithANote() async throws {
        let tool = ChappieHostTool(name: "t", description: "") { _ in
            ChappieToolResult(output: String(repeating: "x", count: 100 << 20))
        }
        let responses = [responseEvents(1, [functionCall("c", "t")]), responseEvents(2, [], text: "Done.")]
        try await withServer(scripted(responses)) { server in
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = [tool] })
            let outcome = await client.outcome()
            #expect(outcome.text == "Done.")
            #expect(
                outcome.results.first?.output.hasSuffix("[The output was cut here: it has 104857600 bytes.]") == true)
            #expect(server.log.first?.bodyByteCount ?? 0 < 2 << 20)
        }
    }
}
