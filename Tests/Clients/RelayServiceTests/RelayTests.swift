import ChappieTransport
import Foundation
import ResponseEvents
import Testing

@testable import ChappieRelay
@testable import RelayService

/// The routes of methods and targets.
@Suite struct RelayRouteTests {
    private static let id = ChappieStreamID()

    private func route(
        _ method: String, _ path: String, _ query: String? = nil, isUpgrade: Bool = false
    ) -> RelayRoute {
        RelayRoute(method: method, path: path, query: query, isUpgrade: isUpgrade)
    }

    @Test func everyPathHasItsMethods() {
        let id = Self.id
        #expect(self.route("POST", "/v1/responses") == .createResponse)
        #expect(self.route("POST", "/responses") == .createResponse)
        #expect(self.route("GET", "/v1/responses", isUpgrade: true) == .responsesWebSocket)
        #expect(self.route("GET", "/v1/responses") == .wrongMethod(allowed: "POST"))
        #expect(self.route("GET", "/v1/responses/resp_\(id)") == .response(id, streams: false, after: nil))
        #expect(
            self.route("GET", "/v1/responses/resp_\(id)", "stream=true&starting_after=7")
                == .response(id, streams: true, after: 7))
        #expect(self.route("POST", "/v1/responses/resp_\(id)/cancel") == .cancelResponse(id))
        #expect(self.route("DELETE", "/v1/responses/resp_\(id)") == .deleteResponse(id))
        #expect(self.route("POST", "/v1/responses/compact") == .compactConversation)
        #expect(self.route("GET", "/v1/responses/compact") == .wrongMethod(allowed: "POST"))
        #expect(self.route("POST", "/streams") == .createStream)
        #expect(self.route("HEAD", "/streams/\(id)") == .stream(id))
        #expect(self.route("DELETE", "/streams/\(id)") == .cancelStream(id))
        #expect(self.route("PUT", "/streams/\(id)") == .wrongMethod(allowed: "DELETE, GET"))
        #expect(self.route("GET", "/healthz") == .health)
        #expect(self.route("GET", "/readyz") == .readiness)
        #expect(self.route("GET", "/metrics") == .metrics)
        #expect(self.route("GET", "/") == .status && self.route("HEAD", "/") == .status)
        #expect(self.route("POST", "/") == .wrongMethod(allowed: "GET"))
    }

    @Test func otherPathsAreUnknown() {
        for path in [
            "", "*", "/v1", "//", "/v2/responses", "/v1/responses/x", "/v1/responses/resp_1", "/streams/..",
            "/streams/\(Self.id)/x", "/v1/responses/resp_\(Self.id)/input_items", "/v1/responses/\(Self.id)",
        ] {
            #expect(self.route("GET", path) == .unknown, "\(path)")
        }
    }
}

/// The keys of a relay's users.
@Suite struct RelayKeysTests {
    @Test func aKeyBelongsToItsName() throws {
        let keys = try RelayKeys("# users\nanna  0123456789abcdef\r\n\nben\tfedcba9876543210 # Ben\n")
        #expect(keys.name(of: "0123456789abcdef") == "anna")
        #expect(keys.name(of: "fedcba9876543210") == "ben")
        for token in ["", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef0"] {
            #expect(keys.name(of: token) == nil)
        }
    }

    @Test func aFileThatCannotBeUsedSaysWhere() {
        #expect(throws: RelayKeys.Failure.empty) { try RelayKeys("# nobody\n") }
        #expect(throws: RelayKeys.Failure.noKey(line: 2)) { try RelayKeys("a 0123456789abcdef\nb\n") }
        #expect(throws: RelayKeys.Failure.shortKey(line: 1)) { try RelayKeys("a 0123456789abcde") }
        #expect(throws: RelayKeys.Failure.repeatedKey(line: 2)) {
            try RelayKeys("a 0123456789abcdef\nb 0123456789abcdef")
        }
    }
}

/// The request that goes to the upstream for a client's.
@Suite struct RelayRequestTests {
    private func body(_ request: RelayRequest) -> String { String(decoding: request.request.body, as: UTF8.self) }

    @Test func theRelaysOwnMembersStayHere() throws {
        let json =
            #"{"type":"response.create","model":"m","stream":true,"background":true,"store":false,"#
            + #""input":"hi","stream_options":{}}"#
        let request = try RelayRequest(Array(json.utf8), model: "other")
        #expect(request.streams && request.isBackground && request.request.model == "m")
        #expect(self.body(request) == #"{"model":"m","store":false,"input":"hi"}"#)
        #expect(try self.body(RelayRequest(Array("{}".utf8), model: "other")) == #"{"model":"other"}"#)
        for text in ["", "[]", "{", "null", "\u{0}"] {
            #expect(throws: RelayRequest.Refusal.self) { try RelayRequest(Array(text.utf8), model: nil) }
        }
    }

    @Test(arguments: [
        ("{}", true), (#"{"store":true}"#, true), (#"{"store":null}"#, true), (#"{"store": false}"#, false),
    ])
    func responseWithoutStoreIsNotContinuedElsewhere(body: String, isStored: Bool) {
        #expect(RelayRequest.isStored(body) == isStored)
    }

    @Test(arguments: [
        (#""first""#, #"{"type":"message","role":"user","content":"first"},"#),
        (#"[{"a":1},{"b":2}]"#, #"{"a":1},{"b":2},"#),
        ("[ ]", ""), ("null", ""),
    ])
    func aContinuedResponseHasTheWholeInput(earlier: String, expected: String) throws {
        var request = try RelayRequest(Array(#"{"input":"next","previous_response_id":"resp_1"}"#.utf8), model: nil)
        #expect(request.previousResponseID == "resp_1")
        request.continues(#"{"input":\#(earlier)}"#, items: [#"{"c":3}"#])
        #expect(
            self.body(request)
                == #"{"input":[\#(expected){"c":3},{"type":"message","role":"user","content":"next"}]}"#)
    }
}

/// The answers to what fails.
@Suite struct RelayRefusalTests {
    /// A client that is told to try again would read the same damaged records for ever.
    @Test func onlyAJournalThatMayComeBackIsTriedAgain() {
        #expect(Relay.refusal(ChappieHubError.journal(.unavailable("full"))).status == 503)
        let refusal = Relay.refusal(ChappieHubError.journal(.damaged("the header of x cannot be read")))
        #expect(refusal.status == 500 && refusal.code == "stream_damaged")
    }
}

/// The responses that only their WebSocket may continue.
@Suite struct UnstoredResponsesTests {
    @Test func theNewestResponsesAreKept() {
        var responses = UnstoredResponses()
        for number in 1...UnstoredResponses.limit { responses.insert("\(number)") }
        #expect(responses.contains("1") && responses.contains("\(UnstoredResponses.limit)"))
        responses.insert("next")
        #expect(!responses.contains("1") && responses.contains("2") && responses.contains("next"))
        responses.remove("2")
        responses.remove("unknown")
        #expect(!responses.contains("2") && responses.contains("3"))
    }
}

/// A stream as the events of the Responses API.
@Suite struct ResponsesWriterTests {
    private static let id = ChappieStreamID()
    private static let stream = ChappieJournaledStream(
        id: Self.id, key: nil, header: [], epoch: 1, owner: "a", lastPosition: 0, isClosed: false,
        isCancellationRequested: false)
    private static let facts = Self.facts(body: "{}")

    private static func facts(
        body: String, previousResponseID: String? = nil, isBackground: Bool = false
    ) -> ChappieHub.Facts {
        ChappieHub.Facts(
            reader: nil, state: ChappieStreamState(Self.stream, nil), createdAt: 7, completedAt: nil,
            previousResponseID: previousResponseID, isBackground: isBackground, model: "m", upstreamModel: nil,
            usage: nil, items: [], body: body)
    }

    private func types(_ events: [ResponsesWriter.Event]) -> [String] { events.map(\.type) }

    private func object(_ event: ResponsesWriter.Event) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(event.json)) as? [String: Any])
    }

    /// Reads the events as a client does: text by delta, and the response at the end.
    private func check(_ events: [ResponsesWriter.Event]) throws {
        for (number, event) in events.enumerated() {
            let object = try self.object(event)
            #expect(event.number == number && object["sequence_number"] as? Int == number)
            #expect(object["type"] as? String == event.type)
        }
    }

    @Test func textReasoningAndCallsAreItems() throws {
        var writer = ResponsesWriter(Self.id, Self.facts)
        var events = writer.begin()
        for event: ChappieStreamEvent in [
            .reasoningDelta("Hm"), .raw(type: "x", payload: "{}"), .textDelta("Hel\"l"), .textDelta("o\n"),
        ] {
            events += writer.received(event)
        }
        let upstream = RelayedResponse(
            model: "m-1", usage: ChappieTokenUsage(inputTokens: 3, outputTokens: 4),
            items: [
                #"{"type":"reasoning","summary":[],"encrypted_content":"opaque"}"#,
                #"{"type":"message","role":"assistant","content":[]}"#,
                #"{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}"#,
            ])
        events += writer.completed(upstream)
        try self.check(events)
        #expect(
            self.types(events) == [
                "response.created", "response.in_progress", "response.output_item.added",
                "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta",
                "response.output_item.added", "response.content_part.added", "response.output_text.delta",
                "response.output_text.delta", "response.reasoning_summary_text.done",
                "response.reasoning_summary_part.done", "response.output_item.done", "response.output_text.done",
                "response.content_part.done", "response.output_item.done", "response.output_item.added",
                "response.function_call_arguments.delta", "response.function_call_arguments.done",
                "response.output_item.done", "response.completed",
            ])
        let last = try self.object(try #require(events.last))
        let response = try #require(last["response"] as? [String: Any])
        let output = try #require(response["output"] as? [[String: Any]])
        #expect(response["id"] as? String == "resp_\(Self.id)" && response["model"] as? String == "m-1")
        #expect((response["usage"] as? [String: Any])?["total_tokens"] as? Int == 7)
        #expect(output.map { $0["type"] as? String } == ["reasoning", "message", "function_call"])
        #expect(output[0]["encrypted_content"] as? String == "opaque")
        #expect(((output[1]["content"] as? [[String: Any]])?.first)?["text"] as? String == "Hel\"lo\n")
        #expect(output[2]["arguments"] as? String == #"{"a":1}"# && output[2]["status"] as? String == "completed")
        // Items are done in the order of the output, as clients keep them.
        let done = try events.filter { $0.type == "response.output_item.done" }.map { try self.object($0)["item"] }
        #expect(done.map { ($0 as? [String: Any])?["id"] as? String } == output.map { $0["id"] as? String })
    }

    @Test func aResponseWithoutDeltasHasItsItems() throws {
        var writer = ResponsesWriter(Self.id, Self.facts)
        var events = writer.begin()
        events += writer.completed(
            RelayedResponse(items: [#"{"type":"custom_tool_call","call_id":"c","name":"f","input":"x"}"#]))
        try self.check(events)
        #expect(
            self.types(events).dropFirst(2) == [
                "response.output_item.added", "response.custom_tool_call_input.delta",
                "response.custom_tool_call_input.done", "response.output_item.done", "response.completed",
            ])
    }

    @Test func aRefusalIsAPart() throws {
        var writer = ResponsesWriter(Self.id, Self.facts)
        var events = writer.begin() + writer.received(.refusalDelta("I can"))
        events += writer.received(.refusalDelta("not")) + writer.completed(RelayedResponse())
        try self.check(events)
        #expect(self.types(events).contains("response.refusal.done"))
    }

    @Test func aFailureKeepsWhatCame() throws {
        var writer = ResponsesWriter(Self.id, Self.facts)
        var events = writer.begin() + writer.received(.textDelta("Hel"))
        events += writer.failed(code: "http.500", message: "it \"broke\"")
        try self.check(events)
        let last = try self.object(try #require(events.last))
        let response = try #require(last["response"] as? [String: Any])
        #expect(response["status"] as? String == "failed")
        #expect((response["error"] as? [String: Any])?["code"] as? String == "http.500")
        #expect((response["output"] as? [Any])?.count == 1)
    }

    @Test func theObjectIsThatOfTheLastEvent() throws {
        var writer = ResponsesWriter(Self.id, Self.facts)
        _ = writer.begin() + writer.received(.textDelta("Hello"))
        let upstream = RelayedResponse(items: [#"{"type":"message","content":[]}"#])
        let object = writer.object(status: "completed", upstream)
        let last = try #require(writer.completed(upstream).last)
        #expect(RelayedItem.member("response", of: last.json) == object)
    }

    /// The members that the document of Open Responses requires of a response.
    @Test func responseHasEveryMemberOfTheDocument() throws {
        let required = [
            "id", "object", "created_at", "completed_at", "status", "incomplete_details", "model",
            "previous_response_id", "instructions", "output", "error", "tools", "tool_choice", "truncation",
            "parallel_tool_calls", "text", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs",
            "temperature", "reasoning", "usage", "max_output_tokens", "max_tool_calls", "store", "background",
            "service_tier", "metadata", "safety_identifier", "prompt_cache_key",
        ]
        var writer = ResponsesWriter(Self.id, Self.facts)
        let first = try #require(writer.begin().first)
        let last = try #require(writer.completed(RelayedResponse(completedAt: 9)).last)
        for event in [first, last] {
            let response = try #require(try self.object(event)["response"] as? [String: Any])
            #expect(required.filter { response[$0] == nil } == [])
            // Null is no value for these.
            for name in ["temperature", "top_p", "top_logprobs", "store", "truncation", "text", "tools"] {
                #expect(!(response[name] is NSNull), "\(name)")
            }
        }
        let response = try #require(try self.object(last)["response"] as? [String: Any])
        #expect(response["completed_at"] as? Int == 9)
    }

    @Test func responseRepeatsTheRequestsMembers() throws {
        let body = """
            {"temperature":0.5,"store":false,"top_p":null,"tools":[{"type":"function",
            "name":"f"}],"metadata":{"a":"b"},"text":{"verbosity":"low"},"input":"hi"}
            """
        let facts = Self.facts(body: body, previousResponseID: "resp_1", isBackground: true)
        let writer = ResponsesWriter(Self.id, facts)
        let json = writer.object(status: "in_progress")
        let object = try JSONSerialization.jsonObject(with: Data(json.utf8))
        let response = try #require(object as? [String: Any])
        #expect(!json.contains("\n"))
        #expect(response["temperature"] as? Double == 0.5 && response["store"] as? Bool == false)
        #expect(response["top_p"] as? Int == 1 && response["previous_response_id"] as? String == "resp_1")
        #expect(response["background"] as? Bool == true)
        #expect((response["tools"] as? [[String: String]])?.first?["name"] == "f")
        #expect(response["metadata"] as? [String: String] == ["a": "b"] && response["input"] == nil)
    }
}
