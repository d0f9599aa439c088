// Answers of the scripted model to requests for JSON.
import Testing

@testable import ChappieTestServer

@Suite struct SchemaSampleTests {
    private static func answer(_ schema: String) -> String? {
        let request = #"{"text":{"format":{"type":"json_schema","name":"a","schema":\#(schema)}}}"#
        return JSONValue(Array(request.utf8)).flatMap { SchemaSample.answer(to: $0)?.text }
    }

    @Test(arguments: [
        (
            #"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["b"]}"#,
            #"{"b":1}"#
        ),
        (
            #"{"type":"object","properties":{"a":{"type":["null","boolean"]},"b":{"type":"null"}}}"#,
            #"{"a":true,"b":null}"#
        ),
        (#"{"type":"string","format":"date-time"}"#, #""2026-01-01T12:00:00Z""#),
        (#"{"type":"string","enum":["x","y"]}"#, #""x""#), (#"{"const":3}"#, "3"),
        (#"{"type":"number","minimum":2.5,"multipleOf":4}"#, "4"), (#"{"type":"integer","maximum":0}"#, "0"),
        (#"{"type":"number","minimum":0.25,"maximum":0.75}"#, "0.5"), (#"{"type":"number","maximum":0.5}"#, "0"),
        (#"{"type":"string","minLength":6,"maxLength":6}"#, #""Osloaa""#),
        (#"{"type":"string","maxLength":2}"#, #""Os""#),
        (#"{"type":"array","items":{"type":"boolean"}}"#, "[true]"),
        (#"{"type":"array","items":{"type":"null"},"minItems":3}"#, "[null,null,null]"),
        (#"{"type":"array","items":{"type":"null"},"maxItems":0}"#, "[]"),
        (#"{"type":"array","prefixItems":[{"const":1},{"const":2}]}"#, "[1,2]"),
        (#"{"anyOf":[{"type":"null"},{"const":1}]}"#, "1"), (#"{"oneOf":[{"type":"null"}]}"#, "null"),
        (
            #"{"allOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":{"const":2}},"required":["b"]}]}"#,
            #"{"a":1,"b":2}"#
        ),
        (#"{"type":"object","additionalProperties":{"type":"integer"}}"#, #"{"example":1}"#),
        (#"{"type":"object","additionalProperties":false}"#, "{}"), ("{}", #""Oslo""#),
        (
            #"{"properties":{"k":{"const":1}},"required":["k"],"anyOf":[{"properties":{"z":{"const":2}},"required":["z"]}]}"#,
            #"{"k":1,"z":2}"#
        ),
        (
            #"{"properties":{"k":{"const":1}},"required":["k"],"allOf":[{"properties":{"z":{"const":2}},"required":["z"]}]}"#,
            #"{"k":1,"z":2}"#
        ),
        (#"{"anyOf":[{"const":null}]}"#, "null"),
        (#"{"items":{"anyOf":[{"const":1},{"const":2}]},"minItems":2,"uniqueItems":true}"#, "[1,2]"),
        (#"{"type":"object","minProperties":2}"#, #"{"example":"Oslo","example 2":"Oslo"}"#),
        (
            #"{"properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"}},"required":["b"],"minProperties":2}"#,
            #"{"b":null,"a":null}"#
        ),
        (
            #"{"properties":{"a":{"type":"null"}},"additionalProperties":{"type":"integer"},"minProperties":3}"#,
            #"{"a":null,"example":1,"example 2":1}"#
        ),
        (#"{"properties":{"a":{"type":"null"},"b":{"type":"null"}},"maxProperties":1}"#, #"{"a":null}"#),
        (#"{"properties":{"a":{"type":"null"}},"required":["a","b"]}"#, #"{"a":null,"b":"Oslo"}"#),
        (#"{"items":{"type":"string"},"minItems":5,"uniqueItems":true}"#, #"["Oslo","Bergen","東京","Zürich","Oslo 5"]"#),
        (#"{"items":{"enum":["x","y"]},"minItems":2,"uniqueItems":true}"#, #"["x","y"]"#),
        (#"{"items":{"enum":["x","y"]},"minItems":3,"uniqueItems":true}"#, #"["x","y"]"#),
        (#"{"items":{"type":"boolean"},"minItems":2,"uniqueItems":true}"#, "[true,false]"),
        (#"{"items":{"type":"integer","minimum":7},"minItems":3,"uniqueItems":true}"#, "[7,8,9]"),
        (#"{"items":{"type":"integer","multipleOf":5},"minItems":3,"uniqueItems":true}"#, "[5,10,15]"),
        (
            #"{"items":{"items":{"type":"integer"},"minItems":2,"uniqueItems":true},"minItems":2,"uniqueItems":true}"#,
            "[[1,2],[2,3]]"
        ),
        (
            #"{"items":{"properties":{"n":{"type":"integer"},"t":{"const":0}}},"minItems":2,"uniqueItems":true}"#,
            #"[{"n":1,"t":0},{"n":2,"t":0}]"#
        ),
        (##"{"$ref":"#/$defs/a","$defs":{"a":{"const":7}}}"##, "7"),
    ])
    func answerFitsTheSchema(schema: String, expected: String) {
        #expect(Self.answer(schema) == expected)
    }

    @Test func schemaThatContainsItselfEndsWhereItAllowsThat() {
        let list = ##"{"properties":{"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["next"]}"##
        #expect(Self.answer(list) == #"{"next":{"next":{"next":null}}}"#)
        let tree = ##"{"properties":{"leaves":{"type":"array","items":{"$ref":"#"}}},"required":["leaves"]}"##
        #expect(Self.answer(tree) == #"{"leaves":[{"leaves":[{"leaves":[]}]}]}"#)
    }

    @Test func schemaThatDemandsItselfHasAnEnd() {
        #expect(Self.answer(##"{"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}},"required":["a","b"]}"##) != nil)
        #expect(Self.answer(##"{"$ref":"#"}"##) == "null")
    }

    @Test func otherFormatsAreNotOfASchema() {
        func answer(_ text: String) -> String? {
            JSONValue(Array(text.utf8)).flatMap { SchemaSample.answer(to: $0)?.text }
        }
        #expect(answer("{}") == nil)
        #expect(answer(#"{"text":{"format":{"type":"text"}}}"#) == nil)
        #expect(answer(#"{"text":{"format":{"type":"json_object"}}}"#) == #"{"answer":"Oslo"}"#)
    }

    @Test func textOfTheProgramIsSentInAnyFormat() throws {
        let format = #"{"text":{"format":{"type":"json_object"}}}"#
        let body = try #require(JSONValue(Array(format.utf8)))
        func text(_ model: ChappieTestServer.ScriptedModel) -> String {
            let request = ScriptedRequest(body: body, bodyByteCount: 10, attempt: 1, response: 1)
            return ChappieTestServerTests.text(
                of: model.script(for: request).events.compactMap { JSONValue(Array($0.text.utf8)) })
        }
        var model = ChappieTestServer.ScriptedModel()
        #expect(text(model) == #"{"answer":"Oslo"}"#)
        model.text = "No."
        #expect(text(model) == "No.")
    }
}
