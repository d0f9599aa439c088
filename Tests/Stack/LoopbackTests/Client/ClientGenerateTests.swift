import Chappie
import ChappieTestServer
import Foundation
import Testing

/// Answers as values of a type, over sockets.
@Suite(.timeLimit(.minutes(10))) struct ClientGenerateTests {
    private struct City: Decodable, Equatable, Sendable {
        let name: String
        let size: Int?
    }

    private static let answer = #"{"name":"Oslo","size":7}"#
    private static let oslo = City(name: "Oslo", size: 7)

    private static func quoted(_ text: String) -> String { text.replacing("\"", with: "\\\"") }

    /// A response of one message whose text is this JSON.
    private static func response(_ number: Int, _ items: [String] = [], json: String = Self.answer) -> [String] {
        responseEvents(number, items, text: Self.quoted(json))
    }

    /// A response of two messages, of which the last one is the answer.
    private static func commented(_ number: Int) -> [String] {
        let texts = ["Found it. ", Self.quoted(Self.answer)].enumerated()
        let output = texts.flatMap { index, text in
            let part = #"{"type":"output_text","text":"\#(text)"}"#
            let item = #"{"type":"message","id":"msg_\#(index)","role":"assistant","content":[\#(part)]}"#
            let place = #""output_index":\#(index)"#
            return [
                #"{"type":"response.output_text.delta",\#(place),"content_index":0,"delta":"\#(text)"}"#,
                #"{"type":"response.output_item.done",\#(place),"item":\#(item)}"#,
            ]
        }
        let id = #""id":"resp_\#(number)""#
        return [#"{"type":"response.created","response":{\#(id),"status":"in_progress"}}"#] + output
            + [#"{"type":"response.completed","response":{\#(id),"status":"completed","output":[]}}"#]
    }

    /// Returns the error of a turn whose only response is this one.
    private static func error(
        over wire: Wire, _ events: [String]
    ) async throws -> ChappieStructuredOutputError? {
        try await withServer(scripted([events])) { server in
            let client = Chappie.client(configuration: .loopback(server, over: wire))
            return await #expect(throws: ChappieStructuredOutputError.self) {
                try await client.generate("The capital of Norway?", as: City.self)
            }
        }
    }

    @Test(arguments: Wire.allCases)
    func answerIsAValueAndTheRequestHasItsSchema(over wire: Wire) async throws {
        try await withServer(scripted([Self.response(1)])) { server in
            let client = Chappie.client(configuration: .loopback(server, over: wire))
            let city = try await client.generate("The capital of Norway?", as: City.self)
            #expect(city == Self.oslo)
            let format = server.requests.last?["text"]?["format"]
            #expect(format?["type"] == "json_schema" && format?["name"] == "City" && format?["strict"] == true)
            let schema = try ChappieJSONSchema(of: City.self)
            #expect(format?["schema"] == schema.json)
            // The turn belongs to the conversation.
            #expect(client.context.items.map { $0["role"]?.string } == ["user", "assistant"])
        }
    }

    @Test func schemaAndFormatOfTheRequestAreSent() async throws {
        let schema = try ChappieJSONSchema(parsing: #"{"type":"object","properties":{"name":{"type":"string"}}}"#)
        try await withServer(scripted([Self.response(1)])) { server in
            let client = Chappie.client(configuration: .loopback(server))
            let first = try await client.generate("Which?", as: City.self, schema: schema)
            #expect(first == Self.oslo)
            #expect(server.requests.last?["text"]?["format"]?["schema"] == schema.json)
            #expect(server.requests.last?["text"]?["format"]?["strict"] == false)
            var request = ChappieResponseRequest("Which?")
            request.textFormat = try .jsonSchema(name: "mine", schema: schema, description: "d")
            let city: City = try await client.generate(request)
            #expect(city == Self.oslo)
            #expect(server.requests.last?["text"]?["format"]?["name"] == "mine")
            #expect(server.requests.last?["text"]?["format"]?["description"] == "d")
        }
    }

    @Test(arguments: Wire.allCases)
    func answerIsTheLastMessageBehindTheCallsOfTools(over wire: Wire) async throws {
        let tool = ChappieHostTool(name: "look", description: "Looks.") { _ in ChappieToolResult(output: "Oslo") }
        let first = Self.response(1, [functionCall("c1", "look")], json: "Let me look.")
        try await withServer(scripted([first, Self.commented(2)])) { server in
            let client = Chappie.client(configuration: .loopback(server, over: wire) { $0.tools = [tool] })
            var request = ChappieResponseRequest(.user("The capital of Norway?"))
            request.toolChoice = .function("look")
            let city = try await client.generate(request, as: City.self)
            #expect(city == Self.oslo)
            let choices = server.requests.map { $0["tool_choice"] }
            // A demand in every request would never let the model answer.
            #expect(choices == [["type": "function", "name": "look"], "auto"])
            #expect(server.requests.map { $0["text"]?["format"]?["name"] } == ["City", "City"])
        }
    }

    @Test(arguments: Wire.allCases)
    func refusalIsAnError(over wire: Wire) async throws {
        let item =
            #"{"type":"message","id":"m","role":"assistant","content":[{"type":"refusal","refusal":"I cannot."}]}"#
        let error = try await Self.error(
            over: wire,
            [
                #"{"type":"response.created","response":{"id":"r1","status":"in_progress"}}"#,
                #"{"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"I "}"#,
                #"{"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"cannot."}"#,
                #"{"type":"response.output_item.done","output_index":0,"item":\#(item)}"#,
                #"{"type":"response.completed","response":{"id":"r1","status":"completed","output":[]}}"#,
            ])
        #expect(error == .refused("I cannot."))
    }

    @Test(arguments: Wire.allCases)
    func incompleteAnswerIsAnErrorWithItsReason(over wire: Wire) async throws {
        let end = #""status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}"#
        let error = try await Self.error(
            over: wire,
            [
                #"{"type":"response.created","response":{"id":"r1","status":"in_progress"}}"#,
                #"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"{\"na"}"#,
                #"{"type":"response.incomplete","response":{"id":"r1",\#(end)}}"#,
            ])
        guard case .incomplete(let response)? = error else {
            Issue.record("another error")
            return
        }
        #expect(response.incompleteReason == "max_output_tokens")
    }

    @Test(arguments: Wire.allCases)
    func answerThatDoesNotMatchIsAnError(over wire: Wire) async throws {
        #expect(
            try await Self.error(over: wire, Self.response(1, json: #"{"name":7}"#))
                == .doesNotMatch(codingPath: "name", .otherType))
        #expect(try await Self.error(over: wire, Self.response(1, json: "Oslo")) == .notJSON(offset: 0))
    }

    @Test func typeWithoutASchemaIsRefusedBeforeAnythingIsSent() async throws {
        enum Unknown: String, Decodable { case a }
        struct Undetermined: Decodable { let value: Unknown }
        let server = try ChappieTestServer()
        defer { server.stop() }
        let client = Chappie.client(configuration: .loopback(server))
        let error = await #expect(throws: ChappieStructuredOutputError.self) {
            try await client.generate("Which?", as: Undetermined.self)
        }
        #expect(error == .noSchema(codingPath: "value", type: "Unknown", .rejectsValues))
        #expect(server.log.isEmpty)
        #expect(client.context.isEmpty)
    }

    private struct Plan: Decodable, ChappieDescribed {
        enum Kind: String, Decodable, CaseIterable { case walk, swim }
        struct Stop: Decodable {
            let place: String
            let link: URL?
        }

        let when: Date
        let id: UUID
        let kind: Kind
        let stops: [Stop]
        let price: Decimal
        let photo: Data
        let notes: [String: Int]
        static let memberDescriptions = ["when": "The beginning"]
    }

    /// The scripted model answers a request for JSON with a value of its schema.
    @Test(arguments: Wire.allCases)
    func testServerAnswersInTheFormatOfTheRequest(over wire: Wire) async throws {
        try await withServer(ChappieTestServer.Configuration()) { server in
            let client = Chappie.client(configuration: .loopback(server, over: wire))
            let plan = try await client.generate("Plan a day.", as: Plan.self)
            #expect(plan.when == Date(timeIntervalSince1970: 1_767_268_800))
            #expect(plan.kind == .walk && plan.stops.count == 1)
            let schema = server.requests.last?["text"]?["format"]?["schema"]
            #expect(schema?["properties"]?["when"]?["description"] == "The beginning")
            let seconds = JSONDecoder()
            seconds.dateDecodingStrategy = .secondsSince1970
            let other = try await client.generate("Plan a day.", as: Plan.self, decoder: seconds)
            #expect(other.when == Date(timeIntervalSince1970: 1))
        }
    }

    /// A tool whose result has a part that cannot be sent.
    @Test func resultOfAToolThatCannotBeSentEndsTheTurn() async throws {
        let tool = ChappieHostTool(name: "draw", description: "Draws.") { _ in
            ChappieToolResult(parts: [.image(url: "/tmp/a.png")])
        }
        try await withServer(scripted([responseEvents(1, [functionCall("c1", "draw")])])) { server in
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = [tool] })
            let outcome = await client.outcome()
            guard case .toolExecutionFailed("draw", let message)? = outcome.clientError else {
                Issue.record("another error")
                return
            }
            #expect(message.contains("result.parts[0].url is not a URL"))
            #expect(server.requests.count == 1)
        }
    }
}
