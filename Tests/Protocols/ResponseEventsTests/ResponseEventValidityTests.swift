// Input that the decoder refuses: only text that is JSON to the last byte is accepted, and no input crashes.

import Foundation
import Testing

@testable import ResponseEvents

@Suite struct ResponseEventValidityTests {
    @Test(arguments: handMadeEvents + SharedData.examples)
    func anEventCutOffAnywhereIsAnError(event: String) {
        let bytes = Array(event.utf8)
        var decoder = ResponseEventDecoder()
        for count in 0..<bytes.count {
            for padding in Array("\0}],\"".utf8) {
                let error = decodingError(Array(bytes[..<count]), padding: padding, decoder: &decoder)
                #expect(error == .notJSON || error == .invalidUTF8, "cut at \(count), padding \(padding)")
            }
        }
        #expect(decodingError(bytes, decoder: &decoder) == nil)
    }

    @Test(arguments: [
        "", " ", "hello", "{", "}", "{}}", "{}{}", "{} x", "{}\0", #"{"type":"x"},"#, #"{"type":"x"} null"#,
        #"{"type":"x"}["#, #"{type:"x"}"#, "{'type':'x'}", #"{"type" "x"}"#, #"{"type":"x",}"#, #"{,"type":"x"}"#,
        #"{"type":"x""a":1}"#, #"{"type":"x" "a":1}"#, #"{"type"::"x"}"#, #"{"type":"x":"y"}"#, #"{"type":}"#,
        #"{"type":"x","a"}"#, #"{"type":"x","a":tru}"#, #"{"type":"x","a":trues}"#, #"{"type":"x","a":nul}"#,
        #"{"type":"x","a":NaN}"#, #"{"type":"x","a":+1}"#, #"{"type":"x","a":01}"#, #"{"type":"x","a":1.}"#,
        #"{"type":"x","a":.5}"#, #"{"type":"x","a":1e}"#, #"{"type":"x","a":-}"#, #"{"type":"x","a":1 2}"#,
        #"{"type":"x","a":0x1}"#, #"{"type":"x","a":[1,]}"#, #"{"type":"x","a":[,1]}"#, #"{"type":"x","a":[1 2]}"#,
        #"{"type":"x","a":[1}"#, #"{"type":"x","a":{"b":1]}"#, #"{"type":"x","a":[}]}"#, #"{"type":"x","a":{1:2}}"#,
        #"{"type":"x","a":"\x"}"#, #"{"type":"x","a":"\u12g4"}"#, #"{"type":"x","a":"\u123"}"#,
        #"{"type":"x","a":"\"}"#,
        #"{"type":"x","\q":1}"#, "{\"type\":\"x\",\"a\":\"\u{1}\"}", "{\"type\":\"x\",\"a\":\"\n\"}",
        "{\"type\":\"x\",\"a\":1\u{c}}", "{\"type\":\"x\",\u{a0}\"a\":1}", "\u{feff}{\"type\":\"x\"}",
        #"{"type":"x","a":[1]]}"#, #"{"type":"x","a":{"b":{"c":1}}"#, #"{"type":"x","a":[{"b":[1}]}"#,
        #"/**/{"type":"x"}"#, #"{"type":"x"}//"#, #"{"type":"x","a":"b"c}"#, #"{"type":"x","a":[["b":1]]}"#,
        #"{"type":"x","a":["b":1,"c"]}"#, #"{"type":"x","a":"b":{"c":1}}"#,
    ])
    func invalidJSONIsRefused(text: String) {
        for padding in [0, UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: "1"), UInt8(ascii: "\"")] {
            #expect(decodingError(text, padding: padding) == .notJSON, "padding \(padding)")
        }
    }

    @Test(arguments: [
        #" {"type":"x"} "#, "\r\n\t{ \"type\" : \"x\" ,\n\"a\" : [ ] , \"b\":{ } }\n",
        #"{"type":"x","a":[-0,0.5,1E5,1e-5,1.25E+9,123456789012345678901234567890,1e999,-1e-999]}"#,
        #"{"type":"x","a":"\"\\\/\b\f\n\r\tA","":{"":[[],[[]],{}]},"b":[true,false,null]}"#,
        "{\"type\":\"x\",\"a\":\"\u{7f}\u{2028}\u{10FFFF}\"}",
    ])
    func validJSONIsAccepted(text: String) {
        #expect(decodingError(text) == nil)
    }

    @Test(arguments: ["[]", "[{\"type\":\"x\"}]", "null", "true", "12", "-0.5", "\"type\"", " \"x\" "])
    func anotherValueThanAnObjectIsRefused(text: String) {
        #expect(decodingError(text) == .notObject)
    }

    @Test(arguments: [#"{}"#, #"{"type":null}"#, #"{"type":7}"#, #"{"type":{}}"#, #"{"type":["x"]}"#, #"{"Type":"x"}"#])
    func anEventNeedsAType(text: String) {
        #expect(decodingError(text) == .missingType)
    }

    @Test(arguments: [
        ("response.output_text.delta", "delta", ResponseEventError.Field.delta),
        ("response.refusal.delta", "delta", .delta), ("response.reasoning_text.delta", "delta", .delta),
        ("response.reasoning_summary_text.delta", "delta", .delta),
        ("response.function_call_arguments.delta", "delta", .delta),
        ("response.custom_tool_call_input.delta", "delta", .delta),
        ("response.output_item.added", "item", .item), ("response.output_item.done", "item", .item),
        ("response.created", "response", .response), ("response.completed", "response", .response),
        ("response.failed", "response", .response), ("response.incomplete", "response", .response),
    ])
    func aNeededMemberMustBeThereAndOfItsType(type: String, name: String, field: ResponseEventError.Field) {
        #expect(decodingError(#"{"type":"\#(type)"}"#) == .invalidField(field))
        // A delta of null says nothing, as an empty one does.
        for value in ["1", "true", "[]", "[{}]"] + (name == "delta" ? ["{}"] : ["null", "\"x\""]) {
            #expect(decodingError(#"{"type":"\#(type)","\#(name)":\#(value)}"#) == .invalidField(field))
            #expect(decodingError(#"{"\#(name)":\#(value),"type":"\#(type)"}"#) == .invalidField(field))
        }
    }

    @Test(arguments: ["id", "type", "status", "call_id", "name", "namespace"])
    func theTextsOfAnItemMustBeTexts(name: String) {
        let event = { (value: String) in
            #"{"type":"response.output_item.done","item":{"\#(name)":\#(value),"x":1}}"#
        }
        for value in ["1", "{}", "[]", "false"] { #expect(decodingError(event(value)) == .invalidField(.item)) }
        #expect(decodingError(event("null")) == nil)
        #expect(decodingError(event("\"\"")) == nil)
    }

    @Test(arguments: ["error", "incomplete_details", "usage", "model", "end_turn", "output"])
    func optionalMembersMayHaveAnyType(name: String) {
        for value in ["null", "1", "{}", "[]", "\"x\"", "[[{}]]", #"{"code":{},"cached_tokens":"x","reason":[]}"#] {
            #expect(decodingError(#"{"type":"response.completed","response":{"\#(name)":\#(value)}}"#) == nil)
        }
    }

    @Test(arguments: [
        ("\\u00e4\\n", "ä\n"), ("\\ud83d\\ude00", "😀"), ("\\uD83D\\uDE00", "😀"), ("\\u0000", "\0"),
        ("\\ud83d", "\u{FFFD}"), ("\\ude00", "\u{FFFD}"), ("\\ud83dx", "\u{FFFD}x"), ("\\ud83d\\n", "\u{FFFD}\n"),
        ("\\ud83d\\ud83d\\ude00", "\u{FFFD}😀"), ("\\ude00\\ud83d", "\u{FFFD}\u{FFFD}"),
        ("\\udbff\\udfff", "\u{10FFFF}"),
        ("\\uFFFF\\u07ff\\u0800", "\u{FFFF}\u{7FF}\u{800}"), ("\\\"\\\\\\/\\b\\f\\r\\t", "\"\\/\u{8}\u{c}\r\t"),
        ("\\\\u0041", "\\u0041"), ("é\\\\", "é\\"),
    ])
    func escapesAreUndoneAndHalfAPairIsReplaced(escaped: String, text: String) throws {
        #expect(
            try deltaText(#"{"type":"response.output_text.delta","delta":"\#(escaped)"}"#).utf8.elementsEqual(text.utf8)
        )
    }

    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC3], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF],
            [0xF0, 0x9F, 0x98],
        ] as [[UInt8]])
    func invalidUTF8IsRefusedWhereverItStands(bytes: [UInt8]) {
        for (before, after) in [
            (#"{"type":"response.output_text.delta","delta":""#, #""}"#), (#"{"type":"x","a":[""#, #""]}"#),
            (#"{"type":"x",""#, #"":1}"#), (#"{"type":"x"#, #""}"#),
        ] {
            #expect(decodingError(Array(before.utf8) + bytes + Array(after.utf8)) == .invalidUTF8)
        }
        bytes.withUnsafeBufferPointer { #expect(BorrowedText(validating: $0)?.byteCount == nil) }
        let text = [UInt8]("{\"type\":\"x\"}".utf8)
        text.withUnsafeBufferPointer { #expect(BorrowedText(validating: $0).map { String($0) } == #"{"type":"x"}"#) }
        #expect(decodingError(text + bytes) != nil)
    }

    @Test(arguments: [("[", "]"), (#"{"a":"#, "}")])
    func nestingHasALimit(open: String, close: String) {
        let event = { (depth: Int) in
            let inner = open == "[" ? "" : "1"
            return #"{"type":"x","a":"# + String(repeating: open, count: depth - 1) + inner
                + String(repeating: close, count: depth - 1) + "}"
        }
        #expect(decodingError(event(511)) == nil)
        #expect(decodingError(event(512)) == nil)
        #expect(decodingError(event(513)) == .tooDeep)
        #expect(decodingError(event(100_000)) == .tooDeep)
        #expect(decodingError(#"{"type":"x","a":"# + String(repeating: open, count: 100_000)) == .notJSON)
    }

    @Test func sizeHasALimit() {
        let event = Array(#"{"type":"keepalive"}"#.utf8)
        for (limit, isAccepted) in [(event.count + 1, true), (event.count, true), (event.count - 1, false)] {
            var error: ResponseEventError?
            do {
                try withEvent(event, maximumByteCount: limit) { _ in }
            } catch let thrown as ResponseEventError {
                error = thrown
            } catch {}
            #expect(error == (isAccepted ? nil : .tooLarge))
        }
    }

    @Test func everyByteReplacedGivesWhatFoundationFinds() {
        // Both know the same JSON, but for two things: Foundation refuses halves of surrogate pairs, and lets a comma
        // stand before a closing bracket.
        for event in handMadeEvents where !event.contains("\\ud83d") {
            let original = Array(event.utf8)
            var decoder = ResponseEventDecoder()
            for index in original.indices {
                for byte in Array("\"\\{}[]:, 0-.eut\0\u{1F}".utf8) {
                    var bytes = original
                    bytes[index] = byte
                    let error = decodingError(bytes, decoder: &decoder)
                    if hasTrailingComma(bytes) { continue }
                    let isJSON = (try? JSONSerialization.jsonObject(with: Data(bytes))) != nil
                    #expect(
                        (error != .notJSON && error != .invalidUTF8) == isJSON,
                        "\(String(decoding: bytes, as: UTF8.self))")
                }
            }
        }
    }
}

/// Returns whether somewhere, be it in a string, a closing bracket follows a comma.
private func hasTrailingComma(_ bytes: [UInt8]) -> Bool {
    var last: UInt8 = 0
    for byte in bytes where !" \n\0".utf8.contains(byte) {
        if last == UInt8(ascii: ","), byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") { return true }
        last = byte
    }
    return false
}
