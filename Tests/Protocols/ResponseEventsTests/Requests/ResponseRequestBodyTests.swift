// One request, two forms; and writing JSON by hand.

import Foundation
import Testing

@testable import ResponseEvents

@Suite struct ResponseRequestBodyTests {
    @Test func membersKeepTheirTextAndOrder() throws {
        let json =
            #" { "model" : "m", "temperature":1.10, "x":12345678901234567890.0100 , "s":"\u00e9\/", "tools":[ ] } "#
        let body = try ResponseRequestBody(json: Array(json.utf8))
        let members = #""model":"m","temperature":1.10,"x":12345678901234567890.0100,"s":"\u00e9\/","tools":[ ]"#
        #expect(text(body.httpBody()) == "{\(members),\"stream\":true}")
        #expect(text(try body.webSocketMessage()) == #"{"type":"response.create",\#(members)}"#)
    }

    @Test func eachFormOmitsTheMembersOfTheOther() throws {
        let json = #"""
            {"type":"x","stream":false,"background":true,"generate":false,"stream_id":"a","previous_response_id":"r"}
            """#
        let body = try ResponseRequestBody(json: Array(json.utf8))
        #expect(text(body.httpBody()) == #"{"stream":true,"background":true,"previous_response_id":"r"}"#)
        #expect(
            text(try body.webSocketMessage())
                == #"{"type":"response.create","generate":false,"stream_id":"a","previous_response_id":"r"}"#)
    }

    @Test func anEmptyBodyHasBothForms() throws {
        let body = try ResponseRequestBody(json: Array("{}".utf8))
        #expect(text(body.httpBody()) == #"{"stream":true}"#)
        #expect(text(try body.webSocketMessage()) == #"{"type":"response.create"}"#)
    }

    @Test func theLastOfSeveralMembersCounts() throws {
        let body = try ResponseRequestBody(json: Array(#"{"a":1,"b":2,"\u0061":3}"#.utf8))
        #expect(text(body.httpBody()) == #"{"a":3,"b":2,"stream":true}"#)
    }

    @Test(arguments: [
        ("", ResponseEventError.notJSON), ("[]", .notObject), ("{", .notJSON), (#"{"a":1}{"#, .notJSON),
        (#"{"a":01}"#, .notJSON), ("null", .notObject),
    ])
    func textThatIsNotAnObjectIsRefused(json: String, reason: ResponseEventError) {
        #expect(throws: ResponseRequestBodyError.invalidBody(reason)) {
            try ResponseRequestBody(json: Array(json.utf8))
        }
    }

    @Test func overridesReplaceMembers() throws {
        let json = #"{"model":"a","reasoning":{"summary":"auto","effort":"low"},"input":"x","n":1}"#
        let overrides = ResponseRequestBody.Overrides(
            model: "b\"", instructions: "Be\nkind", reasoningEffort: "high", serviceTier: "priority",
            input: .text("Grüße \u{2028}"))
        let body = try ResponseRequestBody(json: Array(json.utf8), overrides: overrides)
        let message = #"{"type":"message","role":"user","content":[{"type":"input_text","text":"Grüße "# + "\u{2028}"
        let expected =
            #"{"model":"b\"","reasoning":{"summary":"auto","effort":"high"},"input":["# + message + #""}]}],"n":1,"#
            + #""instructions":"Be\nkind","service_tier":"priority","stream":true}"#
        #expect(text(body.httpBody()) == expected)
    }

    @Test(arguments: ["", #""reasoning":null,"#, #""reasoning":"x","#])
    func effortNeedsNoReasoningBefore(member: String) throws {
        let body = try ResponseRequestBody(
            json: Array("{\(member)\"a\":1}".utf8), overrides: .init(reasoningEffort: "low"))
        let object = try #require(
            JSONSerialization.jsonObject(with: Data(body.httpBody())) as? [String: Any])
        #expect((object["reasoning"] as? [String: String]) == ["effort": "low"])
    }

    @Test func modelMessagesAreSentBackAsOutput() throws {
        let messages: [ResponseRequestBody.Message] = [
            .init(role: "system", text: "s"), .init(role: "assistant", text: "a"),
        ]
        let body = try ResponseRequestBody(json: Array("{}".utf8), overrides: .init(input: .messages(messages)))
        #expect(
            body.inputElements?.map(text) == [
                #"{"type":"message","role":"system","content":[{"type":"input_text","text":"s"}]}"#,
                #"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}"#,
            ])
    }

    @Test func itemsMayReplaceTheInput() throws {
        let items = #"[ {"a":1}, 2 ]"#
        let body = try ResponseRequestBody(json: Array("{}".utf8), overrides: .init(input: .json(Array(items.utf8))))
        #expect(body.inputElements?.map(text) == [#"{"a":1}"#, "2"])
        for wrong in ["", "{}", "1", "[", "[1],\"b\":[2]", "[1]}", "1,\"a\":[]"] {
            #expect(throws: ResponseRequestBodyError.invalidInput) {
                try ResponseRequestBody(json: Array("{}".utf8), overrides: .init(input: .json(Array(wrong.utf8))))
            }
        }
    }

    @Test(arguments: [
        ("{}", true, #"[{"type":"web_search"}]"#), ("{}", false, nil), (#"{"tools":[]}"#, false, "[]"),
        (
            #"{"tools":[{"type":"function","name":"f"}]}"#, true,
            #"[{"type":"function","name":"f"},{"type":"web_search"}]"#
        ),
        (#"{"tools":[{"type":"web_search","x":1}]}"#, true, #"[{"type":"web_search","x":1}]"#),
        (#"{"tools":[1,{"type":"web_search_preview"},{"b":[2]}]}"#, false, #"[1,{"b":[2]}]"#),
        (#"{"tools":null}"#, true, #"[{"type":"web_search"}]"#),
    ])
    func webSearchIsAddedOnceAndTakenOut(json: String, hasWebSearch: Bool, tools: String?) throws {
        let body = try ResponseRequestBody(json: Array(json.utf8), overrides: .init(hasWebSearch: hasWebSearch))
        let expected = tools.map { #"{"tools":\#($0),"stream":true}"# } ?? #"{"stream":true}"#
        #expect(text(body.httpBody()) == expected)
    }

    @Test func continuationSendsOnlyNewInput() throws {
        let body = try ResponseRequestBody(json: Array(#"{"model":"m","input":[1],"client_metadata":{"k":"v"}}"#.utf8))
        let options = ResponseRequestBody.WebSocketOptions(
            continuation: .init(previousResponseID: "resp_1", inputJSON: Array("[2]".utf8)), turnState: "ts",
            streamID: "main", isWarmUp: true)
        let expected =
            #"{"type":"response.create","model":"m","input":[2],"client_metadata":{"k":"v","x-codex-turn-state":"ts"},"#
            + #""previous_response_id":"resp_1","stream_id":"main","generate":false}"#
        #expect(text(try body.webSocketMessage(options)) == expected)
        #expect(throws: ResponseRequestBodyError.invalidInput) {
            try body.webSocketMessage(.init(continuation: .init(previousResponseID: "r", inputJSON: [0x5B])))
        }
    }

    @Test func aRequestKnowsWhetherItContinuesAnother() throws {
        let body = { try ResponseRequestBody(json: Array(($0 as String).utf8)) }
        let first = try body(#"{"model":"m","tools":[],"input":[1],"client_metadata":{}}"#)
        #expect(try body(#"{"tools":[],"input":[1,2],"model":"m"}"#).isContinuation(of: first))
        #expect(try !body(#"{"tools":[1],"input":[1,2],"model":"m"}"#).isContinuation(of: first))
        #expect(try !body(#"{"tools":[],"input":[1,2],"model":"m","store":true}"#).isContinuation(of: first))
        #expect(try !body(#"{"model":"m"}"#).isContinuation(of: first))
    }

    @Test(arguments: [
        (#"{"background":true,"store":true}"#, true), (#"{"background":true}"#, false), (#"{"store":true}"#, false),
        (#"{"background":true,"store":false}"#, false), (#"{"background":"true","store":true}"#, false),
    ])
    func aStoredBackgroundResponseCanBeResumed(json: String, isResumable: Bool) throws {
        #expect(try ResponseRequestBody(json: Array(json.utf8)).isResumable == isResumable)
    }

    // MARK: Strings

    @Test(arguments: [
        ("", #""""#), ("a\"b\\c/", #""a\"b\\c/""#), ("\u{8}\t\n\u{c}\r", #""\b\t\n\f\r""#),
        ("\0\u{1}\u{b}\u{1f}\u{7f}", #""\u0000\u0001\u000b\u001f"# + "\u{7f}\""), ("é\u{2028}😀", "\"é\u{2028}😀\""),
    ])
    func aStringIsEscapedWhereItMustBe(string: String, json: String) {
        #expect(text(JSONText.string(string)) == json)
    }

    @Test func everyScalarValueSurvivesTheWayThere() throws {
        var string = ""
        for value in Array(0...0x2FF) + [0x2028, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x10FFFF] {
            string.unicodeScalars.append(try #require(Unicode.Scalar(UInt32(value))))
        }
        let json = #"{"type":"response.output_text.delta","delta":"# + text(JSONText.string(string)) + "}"
        #expect(try deltaText(json).utf8.elementsEqual(string.utf8))
    }
}

private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
