// Odd and invalid input: bytes, escapes, numbers and nesting that break a careless reader, wherever they stand.

import Foundation
import Testing

@testable import ResponseEvents

@Suite struct ResponseEventBadInputTests {
    static let invalidUTF8: [[UInt8]] = [
        [0x80], [0xC0, 0x80], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80],
        [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFF],
    ]

    @Test(arguments: handMadeEvents)
    func bytesThatAreNotUTF8AreRefusedInEveryPlace(event: String) {
        let original = Array(event.utf8)
        var decoder = ResponseEventDecoder()
        for bytes in Self.invalidUTF8 {
            for (index, isInString) in placesInStrings(original).enumerated() {
                let error = decodingError(
                    Array(original[..<index]) + bytes + Array(original[index...]), decoder: &decoder)
                if isInString {
                    #expect(error == .invalidUTF8, "\(bytes) at \(index)")
                } else {
                    #expect(error == .invalidUTF8 || error == .notJSON, "\(bytes) at \(index)")
                }
            }
        }
        #expect(decodingError(original, decoder: &decoder) == nil)
    }

    @Test(arguments: handMadeEvents)
    func aZeroByteIsRefusedInEveryPlace(event: String) {
        let original = Array(event.utf8)
        var decoder = ResponseEventDecoder()
        for index in 0...original.count {
            for padding in Array("\0\"}".utf8) {
                let error = decodingError(
                    Array(original[..<index]) + [0] + Array(original[index...]), padding: padding, decoder: &decoder)
                #expect(error == .notJSON, "at \(index)")
            }
        }
    }

    @Test func anEscapedZeroIsACharacter() throws {
        #expect(try deltaText(#"{"type":"response.output_text.delta","delta":"a\u0000b"}"#) == "a\0b")
        for json in [
            #"{"type":"response.completed\u0000","response":{}}"#, #"{"type":"\u0000","delta":"x"}"#,
            #"{"type":"error\u0000","message":"x"}"#,
        ] {
            try withEvent(Array(json.utf8)) { event in
                guard case .unknown = event.kind else {
                    Issue.record("not unknown: \(json)")
                    return
                }
            }
        }
        #expect(decodingError(#"{"type\u0000":"keepalive"}"#) == .missingType)
        #expect(decodingError(#"{"type":"response.output_text.delta","delta\u0000":"x"}"#) == .invalidField(.delta))
    }

    // MARK: Halves of surrogate pairs

    @Test(arguments: [
        (#"\ud83d"#, 0, 0xD83D), (#"\uDE00"#, 0xDE00, 0), (#"\ude00\ud83d"#, 0xDE00, 0xD83D),
        (#"\ud83d\ud83d"#, 0, 0xD83D), (#"\ud83d\ude00"#, 0, 0), (#"\ud83d\u0041"#, 0, 0), (#"a\ude00\ud83db"#, 0, 0),
        (#"\\ud83d"#, 0, 0), (#"\\\ud83d"#, 0, 0xD83D), (#"\\\\ud83d"#, 0, 0), (#"\udfff x \udbff"#, 0xDFFF, 0xDBFF),
        ("plain", 0, 0), (#"\n"#, 0, 0), ("", 0, 0),
    ])
    func surrogateHalvesAtTheEndsOfADeltaAreReported(escaped: String, second: UInt16, first: UInt16) throws {
        var decoder = ResponseEventDecoder(maximumByteCount: 1_024)
        // The first is read whole, the others by the pattern that it has left.
        for text in ["x", escaped, escaped, "x"] {
            let json = Array(#"{"type":"response.output_text.delta","delta":"\#(text)"}"#.utf8)
            try withPadded(json) { json in
                let event = try decoder.decode(json)
                #expect(event.deltaHalves.second == (text == "x" ? 0 : second))
                #expect(event.deltaHalves.first == (text == "x" ? 0 : first))
            }
        }
    }

    @Test(arguments: [#"\ud83d"#, #"\uDE00"#, #"\ude00\ud83d"#, #"\ud83d\ud83d"#, #"\ud83d\u0041"#])
    func halfAPairIsReplacedInEveryField(escape: String) throws {
        let text = try deltaText(#"{"type":"response.output_text.delta","delta":"\#(escape)"}"#)
        #expect(text.hasPrefix("\u{FFFD}"))
        let call = #"{"type":"function_call","id":"\#(escape)","name":"\#(escape)","arguments":"\#(escape)"}"#
        try withEvent(Array(#"{"type":"response.output_item.done","item":\#(call)}"#.utf8)) { event in
            guard case .outputItemDone(_, let item) = event.kind else {
                Issue.record("not an item")
                return
            }
            #expect(item.id == text)
            #expect(item.name == text)
            #expect(item.payload == text)
            #expect(String(item.json) == call)
        }
        let response = #"{"id":"\#(escape)","error":{"code":"\#(escape)","message":"\#(escape)"}}"#
        try withEvent(Array(#"{"type":"response.failed","response":\#(response)}"#.utf8)) { event in
            guard case .failed(let summary) = event.kind else {
                Issue.record("not failed")
                return
            }
            #expect(summary.id == text)
            #expect(summary.errorCode == text)
            #expect(summary.errorMessage == text)
        }
        try withEvent(Array(#"{"type":"error","message":"\#(escape)","headers":{"\#(escape)":"x"}}"#.utf8)) { event in
            guard case .error(let error) = event.kind else {
                Issue.record("not an error")
                return
            }
            #expect(error.facts.message == text)
            #expect(error.headers.map(\.name) == [text])
        }
        // A name that contains one is not a known name.
        #expect(decodingError(#"{"type\#(escape)":"keepalive"}"#) == .missingType)
        try withEvent(Array(#"{"type":"keepalive\#(escape)"}"#.utf8)) { event in
            #expect(String(event.typeName) == "keepalive" + text)
            guard case .unknown = event.kind else {
                Issue.record("not unknown")
                return
            }
        }
    }

    // MARK: Numbers

    static let hugeNumbers = [
        "9223372036854775808", "18446744073709551616", "-9223372036854775809", "1e999", "-1e999",
        String(repeating: "9", count: 400), "1e-999", "0.\(String(repeating: "0", count: 400))1",
    ]

    @Test(arguments: hugeNumbers)
    func aNumberPast64BitsIsNotKnown(number: String) throws {
        let usage = #"{"input_tokens":\#(number),"output_tokens":\#(number),"total_tokens":\#(number)}"#
        try withEvent(Array(#"{"type":"response.completed","response":{"usage":\#(usage)}}"#.utf8)) { event in
            guard case .completed(let response) = event.kind else {
                Issue.record("not completed")
                return
            }
            #expect(response.usage == nil)
        }
        // What rounds to zero is a number, and no count.
        let isTiny = Double(number) == 0
        let error = #"{"type":"error","status":\#(number),"resets_at":\#(number),"resets_in_seconds":\#(number)}"#
        try withEvent(Array(error.utf8)) { event in
            guard case .error(let error) = event.kind else {
                Issue.record("not an error")
                return
            }
            #expect(error.statusCode == nil)
            #expect(error.facts.resetsAt == (isTiny ? 0 : nil))
            #expect(error.facts.resetsInSeconds == (isTiny ? 0 : nil))
        }
    }

    @Test(arguments: hugeNumbers)
    func aUsageLimitPast64BitsIsNotKnown(number: String) throws {
        let window = #"{"used_percent":1,"window_minutes":\#(number),"reset_at":\#(number)}"#
        let limits = #"{"primary":\#(window),"secondary":{"used_percent":\#(number),"reset_at":5}}"#
        try withEvent(Array(#"{"type":"codex.rate_limits","rate_limits":\#(limits)}"#.utf8)) { event in
            guard case .rateLimits(let snapshot) = event.kind else {
                Issue.record("not that event")
                return
            }
            let isTiny = Double(number) == 0
            #expect(snapshot.primary?.usedPercent == 1)
            #expect(snapshot.primary?.windowMinutes == (isTiny ? 0 : nil))
            #expect(snapshot.primary?.resetsAt == (isTiny ? 0 : nil))
            // A percentage has no bound but that of its type.
            #expect(snapshot.secondary?.usedPercent == Double(number).flatMap { $0.isFinite ? $0 : nil })
        }
    }

    // MARK: Members that come twice

    @Test func theLastOfSeveralMembersCountsInEveryObject() throws {
        let response =
            #"{"id":7,"usage":{"input_tokens":1},"id":"b","error":{"code":"x"},"error":null,"usage":"#
            + #"{"output_tokens":3,"output_tokens":4,"input_tokens_details":{"cached_tokens":5},"#
            + #""input_tokens_details":6}}"#
        try withEvent(Array(#"{"type":"response.completed","response":1,"response":\#(response)}"#.utf8)) { event in
            guard case .completed(let response) = event.kind else {
                Issue.record("not completed")
                return
            }
            #expect(response.id == "b")
            #expect(response.errorCode == nil)
            #expect(response.usage == ChappieTokenUsage(outputTokens: 4))
        }
        let call = #"{"arguments":"a","input":{"b":1},"arguments":null,"input":"c"}"#
        try withEvent(Array(#"{"type":"response.output_item.done","item":\#(call)}"#.utf8)) { event in
            guard case .outputItemDone(_, let item) = event.kind else {
                Issue.record("not an item")
                return
            }
            #expect(item.payload == "c")
        }
        let error =
            #"{"type":"x","type":"error","error":{"code":"a"},"error":{"code":"b","code":"c"},"status":1,"status":503}"#
        try withEvent(Array(error.utf8)) { event in
            guard case .error(let error) = event.kind else {
                Issue.record("not an error")
                return
            }
            #expect(error.facts.code == "c")
            #expect(error.statusCode == 503)
        }
    }

    @Test func lastOfTenThousandRepeatedMembersIsUsed() throws {
        let members = (0..<10_000).map { #""delta":"\#($0)""# }.joined(separator: ",")
        #expect(try deltaText(#"{\#(members),"type":"response.output_text.delta"}"#) == "9999")
        #expect(try deltaText(#"{"type":"response.output_text.delta",\#(members),"delta":null}"#).isEmpty)
        #expect(
            decodingError(#"{"type":"response.output_text.delta",\#(members),"delta":true}"#) == .invalidField(.delta))
    }

    // MARK: Nesting

    @Test(arguments: [
        (#"{"type":"keepalive","x":"#, "}"), (#"{"type":"response.output_text.delta","delta":"#, "}"),
        (#"{"type":"response.output_item.done","item":{"arguments":"#, "}}"),
        (#"{"type":"response.completed","response":{"output":"#, "}}"),
        (#"{"type":"response.failed","response":{"error":{"code":"#, "}}}"),
        (#"{"type":"response.completed","response":{"usage":{"input_tokens_details":{"cached_tokens":"#, "}}}}"),
        (#"{"type":"error","error":{"message":"#, "}}"), (#"{"type":"codex.rate_limits","rate_limits":"#, "}"),
        (#"{"type":"response.metadata","headers":{"openai-model":"#, "}}"),
    ])
    func tenThousandLevelsAreTooDeepInEveryPlace(before: String, after: String) {
        for (open, close) in [("[", "]"), (#"{"a":"#, "}"), (#"[{"type":"#, "}]")] {
            let nested = String(repeating: open, count: 10_000) + "1" + String(repeating: close, count: 10_000)
            #expect(decodingError(before + nested + after) == .tooDeep)
            #expect(decodingError(before + nested) != nil)
            #expect(ServerErrorFacts(body: (before + nested + after).utf8) == nil)
        }
    }

    @Test(arguments: ["1", "-0.5", "true", "null", "{}", #"{"type":"keepalive"}"#, "[]", #"["keepalive"]"#])
    func typeMustBeAString(value: String) throws {
        #expect(decodingError(#"{"type":\#(value)}"#) == .missingType)
        #expect(decodingError(#"{"delta":"x","type":"keepalive","type":\#(value)}"#) == .missingType)
        // A string that comes later is one.
        #expect(decodingError(#"{"type":\#(value),"type":"keepalive"}"#) == nil)
        #expect(decodingError(#"{"x":{"type":"keepalive"}}"#) == .missingType)
    }
}

/// For each place between two bytes of a JSON text, the beginning and the end among them, whether it is in a string
/// and not in an escape.
private func placesInStrings(_ json: [UInt8]) -> [Bool] {
    var places = [false]
    var isInString = false
    var escape = 0
    for byte in json {
        if escape > 0 {
            escape -= 1
            if byte == UInt8(ascii: "u") { escape = 4 }
        } else if byte == UInt8(ascii: "\\") {
            escape = 1
        } else if byte == UInt8(ascii: "\"") {
            isInString.toggle()
        }
        places.append(isInString && escape == 0)
    }
    return places
}
