import ChappieTransport
import Foundation
import ResponseEvents
import Testing

@testable import Chappie

/// The typed members of requests, and requests of whole bodies.
@Suite struct TypedRequestTests {
    private static func body(
        of request: ChappieResponseRequest, _ change: (inout ChappieConfiguration) -> Void = { _ in }
    ) -> String {
        var configuration = ChappieConfiguration(model: "m", harness: .none, endpoint: .other(URL(filePath: "/")))
        change(&configuration)
        let composer = RequestComposer(configuration)
        let body = composer.body(of: request, items: [], conversationID: "conv")
        return String(decoding: body, as: UTF8.self)
    }

    private static func body(_ set: (inout ChappieResponseRequest) throws -> Void) rethrows -> String {
        var request = ChappieResponseRequest([])
        try set(&request)
        return Self.body(of: request)
    }

    private static func whole(_ members: String) -> String { #"{"model":"m","input":[]\#(members)}"# }

    // MARK: Members

    @Test func propertiesWithoutAValueAreNotSent() {
        #expect(Self.body { _ in } == Self.whole(""))
    }

    @Test func samplingIsSentAsNumbers() {
        let body = Self.body {
            $0.temperature = 0.7
            $0.topP = 1
        }
        #expect(body == Self.whole(#","temperature":0.7,"top_p":1"#))
    }

    @Test func textsAreSentUnderTheirNames() {
        let body = Self.body {
            $0.metadata = ["b": "2", "a": "1\n"]
            $0.previousResponseID = "resp_1"
            $0.promptCacheKey = "key"
            $0.truncation = .auto
            $0.include = [.webSearchSources, "x.y"]
        }
        #expect(
            body
                == Self.whole(
                    #","include":["web_search_call.action.sources","x.y"],"prompt_cache_key":"key","#
                        + #""metadata":{"a":"1\n","b":"2"},"previous_response_id":"resp_1","truncation":"auto""#))
    }

    @Test(arguments: [
        (ChappieToolChoice.auto, #""auto""#), (.none, #""none""#), (.required, #""required""#),
        (.function("f"), #"{"type":"function","name":"f"}"#), (.customTool("c"), #"{"type":"custom","name":"c"}"#),
        (.hostedTool(type: "web_search"), #"{"type":"web_search"}"#),
    ])
    func choiceOfToolsIsSent(choice: ChappieToolChoice, json: String) {
        #expect(Self.body { $0.toolChoice = choice } == Self.whole(#","tool_choice":\#(json)"#))
    }

    @Test(
        arguments: [
            (#""auto""#, nil), (#""none""#, nil), (#""required""#, #""auto""#),
            (#"{"type":"function","name":"f"}"#, #""auto""#), (#"{"type":"custom","name":"c"}"#, #""auto""#),
            (#"{"type":"web_search"}"#, #""auto""#), (#"{"type":"allowed_tools","mode":"auto","tools":[]}"#, nil),
            (#"{"type":"allowed_tools","mode":"required","tools":[]}"#, #""auto""#),
        ] as [(String, String?)])
    func demandForACallAppliesToTheFirstRequest(choice: String, later: String?) throws {
        let request = try ChappieResponseRequest(bodyJSON: #"{"tool_choice":\#(choice)}"#)
        let composer = RequestComposer(ChappieConfiguration(apiKey: "key", model: "m"))
        for isFirst in [true, false] {
            let body = composer.body(of: request, items: [], conversationID: "c", isFirst: isFirst)
            let sent = try JSONObjectText(body)["tool_choice"].map { String(decoding: $0, as: UTF8.self) }
            #expect(sent == (isFirst ? choice : later ?? choice))
        }
    }

    @Test func formatOfTextIsSent() throws {
        #expect(Self.body { $0.textFormat = .text } == Self.whole(#","text":{"format":{"type":"text"}}"#))
        #expect(Self.body { $0.textFormat = .jsonObject } == Self.whole(#","text":{"format":{"type":"json_object"}}"#))
        let schema = try ChappieJSONSchema(parsing: #"{"type":"object","z":1}"#)
        let format = try ChappieTextFormat.jsonSchema(name: "n", schema: schema, isStrict: true, description: "d")
        #expect(
            Self.body { $0.textFormat = format }
                == Self.whole(
                    #","text":{"format":{"type":"json_schema","name":"n","description":"d","strict":true,"#
                        + #""schema":{"type":"object","z":1}}}"#))
    }

    @Test func formatIsStrictIfTheSchemaClosesItsObjects() throws {
        let open = try ChappieJSONSchema(["type": "object"])
        let closed = try ChappieJSONSchema(["type": "object", "required": [], "additionalProperties": false])
        #expect(try ChappieTextFormat.jsonSchema(name: "n", schema: open).schema?.isStrict == false)
        #expect(try ChappieTextFormat.jsonSchema(name: "n", schema: closed).schema?.isStrict == true)
        #expect(try ChappieTextFormat.jsonSchema(name: "n", schema: closed, isStrict: false).schema?.isStrict == false)
    }

    @Test func propertiesReplaceMembersOfABodyAndLeaveTheOthers() throws {
        var request = try ChappieResponseRequest(
            bodyJSON: #"{"temperature":2,"text":{"verbosity":"low"},"include":["a"],"seed":7}"#)
        #expect(
            Self.body(of: request)
                == #"{"temperature":2,"text":{"verbosity":"low"},"include":["a"],"seed":7,"model":"m","input":[]}"#)
        request.temperature = 0
        request.textFormat = .jsonObject
        request.include = []
        #expect(
            Self.body(of: request)
                == #"{"temperature":0,"text":{"verbosity":"low","format":{"type":"json_object"}},"include":[],"#
                + #""seed":7,"model":"m","input":[]}"#)
    }

    @Test func endpointsEncryptedReasoningIsIncludedInAnyCase() {
        func include(_ set: (inout ChappieResponseRequest) -> Void) -> ChappieJSONValue? {
            var request = ChappieResponseRequest([])
            set(&request)
            let body = Self.body(of: request) { $0.endpoint.returnsEncryptedReasoning = true }
            return ChappieJSONValue(jsonText: body)?["include"]
        }
        #expect(include { _ in } == ["reasoning.encrypted_content"])
        #expect(include { $0.include = ["a"] } == ["a", "reasoning.encrypted_content"])
        #expect(include { $0.include = [.encryptedReasoning, "a"] } == ["reasoning.encrypted_content", "a"])
        #expect(include { $0.bodyJSON = Array(#"{"include":["b"]}"#.utf8) } == ["b"])
    }

    @Test func requestsOwnKeyOfThePromptCacheReplacesTheConversations() {
        var request = ChappieResponseRequest([])
        let takesKey: (inout ChappieConfiguration) -> Void = { $0.endpoint.takesPromptCacheKey = true }
        #expect(Self.body(of: request, takesKey) == Self.whole(#","prompt_cache_key":"conv""#))
        request.promptCacheKey = "mine"
        #expect(Self.body(of: request, takesKey) == Self.whole(#","prompt_cache_key":"mine""#))
    }

    // MARK: Bodies

    private struct Body: Encodable {
        let seed: Int
        let input: String
        let url: URL?
    }

    @Test func bodyMayBeATextDataOrAValue() throws {
        let json = #"{"input":"hi","seed":7,"url":"https://example.org/a"}"#
        let value = Body(seed: 7, input: "hi", url: URL(string: "https://example.org/a"))
        let requests = [
            ChappieResponseRequest(bodyJSON: Array(json.utf8)), try ChappieResponseRequest(bodyJSON: json),
            try ChappieResponseRequest(bodyJSON: Data(json.utf8)), try ChappieResponseRequest(encoding: value),
        ]
        for request in requests {
            #expect(request.bodyJSON == Array(json.utf8))
            #expect(request.messages.isEmpty)
        }
    }

    // MARK: Pictures and files

    @Test func pictureMayBeGivenAsBytes() throws {
        #expect(
            try ChappieContentPart.image(data: [0xFF, 0xD8], mediaType: "image/jpeg")
                == .image(url: "data:image/jpeg;base64,/9g="))
        #expect(
            try ChappieContentPart.image(data: Data([0]), mediaType: "image/svg+xml", detail: "low")
                == .image(url: "data:image/svg+xml;base64,AA==", detail: "low"))
        #expect(
            try ChappieContentPart.file(name: "a.pdf", data: [1, 2, 3], mediaType: "application/pdf")
                == .file(name: "a.pdf", dataURL: "data:application/pdf;base64,AQID"))
    }
}
