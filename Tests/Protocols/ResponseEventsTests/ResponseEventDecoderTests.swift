// Each kind of event, as the decoder reads it.

import Testing

@testable import ResponseEvents

@Suite struct ResponseEventDecoderTests {
    @Test(arguments: [
        ("response.output_text.delta", ResponseEvent.DeltaKind.text, 2),
        ("response.refusal.delta", .refusal, 2),
        ("response.reasoning_text.delta", .reasoningText, 2),
        ("response.reasoning_summary_text.delta", .reasoningSummary, 3),
        ("response.function_call_arguments.delta", .functionArguments, 2),
        ("response.custom_tool_call_input.delta", .customInput, 2),
    ])
    func aDeltaNamesItsSlot(type: String, kind: ResponseEvent.DeltaKind, part: Int) throws {
        let json = """
            {"output_index":1,"delta":"It is ","summary_index":3,"content_index":2,"sequence_number":4,"type":"\(type)"}
            """
        try withEvent(Array(json.utf8)) { event in
            guard case .delta(let found, let outputIndex, let partIndex, let text) = event.kind else {
                Issue.record("not a delta")
                return
            }
            #expect(found == kind)
            #expect(outputIndex == 1)
            #expect(partIndex == part)
            #expect(String(text) == "It is ")
            #expect(event.sequenceNumber == 4)
            #expect(String(event.typeName) == type)
            #expect(!event.kind.isContentFree)
        }
    }

    @Test func absentIndexIsZeroAndAbsentNumberIsNil() throws {
        try withEvent(Array(#"{"type":"response.output_text.delta","delta":""}"#.utf8)) { event in
            guard case .delta(.text, 0, 0, let text) = event.kind else {
                Issue.record("not that delta")
                return
            }
            #expect(text.isEmpty)
            #expect(event.sequenceNumber == nil)
            #expect(event.streamID == nil)
        }
    }

    @Test(arguments: [
        ("0", 0), ("7", 7), ("999999999999999999", 999_999_999_999_999_999), ("1000000000000000000", nil),
        ("-1", nil), ("1.0", nil), ("1e2", nil), ("18446744073709551616", nil), ("\"7\"", nil), ("null", nil),
        ("[7]", nil), ("{}", nil), ("true", nil),
    ])
    func aNumberThatIsNoSmallIntegerIsAbsent(text: String, number: Int?) throws {
        let json = #"{"type":"keepalive","sequence_number":\#(text),"output_index":\#(text)}"#
        try withEvent(Array(json.utf8)) { #expect($0.sequenceNumber == number) }
    }

    @Test(arguments: [
        ("0", 0), ("7", 7), ("999999999999999999", 999_999_999_999_999_999), ("1000000000000000000", -1), ("-1", -1),
        ("1.0", -1), ("1e2", -1), ("18446744073709551616", -1), ("\"7\"", 0), ("null", 0), ("[7]", 0), ("true", 0),
    ])
    func invalidPositionDiffersFromAMissingOne(text: String, index: Int) throws {
        let json =
            #"{"type":"response.output_text.delta","output_index":\#(text),"content_index":\#(text),"delta":"a"}"#
        try withEvent(Array(json.utf8)) { event in
            guard case .delta(.text, let outputIndex, let partIndex, _) = event.kind else {
                Issue.record("not that delta")
                return
            }
            #expect(outputIndex == index)
            #expect(partIndex == index)
        }
    }

    @Test func aFunctionCallIsCopiedOutOfItsItem() throws {
        let json = handMadeEvents.first { $0.contains("get_weather") } ?? ""
        try withEvent(Array(json.utf8)) { event in
            guard case .outputItemDone(let index, let item) = event.kind else {
                Issue.record("not an item")
                return
            }
            #expect(index == 1)
            #expect(item.kind == .functionCall)
            #expect(item.typeName == "function_call")
            #expect(item.id == "fc_1")
            #expect(item.status == "completed")
            #expect(item.callID == "call_1")
            #expect(item.name == "get_weather")
            #expect(item.namespace == "n")
            #expect(item.payload == #"{"city":"Oslo"}"#)
            #expect(String(item.json).hasPrefix(#"{"id":"fc_1""#))
            #expect(String(item.json).hasSuffix(#"\"Oslo\"}"}"#))
        }
    }

    @Test(arguments: [
        (#""arguments":{"a": [1, "\u00e9"]}"#, #"{"a": [1, "\u00e9"]}"#), (#""arguments":"""#, ""),
        (#""arguments":null"#, nil), (#""arguments":12"#, "12"), (#""id":"x""#, nil), (#""input":"a\tb""#, "a\tb"),
    ])
    func aCallsPayloadIsTextWhateverTheServerSends(member: String, payload: String?) throws {
        let json = #"{"type":"response.output_item.done","item":{"type":"function_call",\#(member) } }"#
        try withEvent(Array(json.utf8)) { event in
            guard case .outputItemDone(0, let item) = event.kind else {
                Issue.record("not an item")
                return
            }
            #expect(item.payload == payload)
        }
    }

    @Test(arguments: [
        ("message", ItemSummary.Kind.message), ("reasoning", .reasoning), ("function_call", .functionCall),
        ("custom_tool_call", .customToolCall), ("web_search_call", .other), ("", .other),
    ])
    func anItemHasAKind(type: String, kind: ItemSummary.Kind) throws {
        try withEvent(Array(#"{"type":"response.output_item.added","item":{"type":"\#(type)"}}"#.utf8)) { event in
            guard case .outputItemAdded(_, let item) = event.kind else {
                Issue.record("not an item")
                return
            }
            #expect(item.kind == kind)
            #expect(event.kind.isContentFree)
        }
    }

    @Test func theEndOfAResponseIsSummedUp() throws {
        let json = handMadeEvents.first { $0.contains("response.completed") } ?? ""
        try withEvent(Array(json.utf8)) { event in
            guard case .completed(let response) = event.kind else {
                Issue.record("not completed")
                return
            }
            #expect(response.id == "resp_1")
            #expect(response.status == "completed")
            #expect(response.endsTurn == false)
            let usage = ChappieTokenUsage(
                inputTokens: 8, cachedInputTokens: 6, outputTokens: 5, reasoningTokens: 3, totalTokens: 13)
            #expect(response.usage == usage)
            #expect(String(response.json).hasSuffix(#""end_turn":false}"#))
            #expect(event.kind.isTerminal)
        }
    }

    @Test func aFailureKeepsItsCodeAndAnEarlyEndItsReason() throws {
        let failure = #"""
            {"type":"response.failed","response":{"error":{"message":"a\"b","code":429,"type":"t"},"usage":null}}
            """#
        try withEvent(Array(failure.utf8)) { event in
            guard case .failed(let response) = event.kind else {
                Issue.record("not failed")
                return
            }
            #expect(response.errorCode == "429")
            #expect(response.errorType == "t")
            #expect(response.errorMessage == "a\"b")
            #expect(response.usage == nil)
            #expect(response.endsTurn == nil)
        }
        let early = #"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"steered"}}}"#
        try withEvent(Array(early.utf8)) { event in
            guard case .incomplete(let response) = event.kind else {
                Issue.record("not incomplete")
                return
            }
            #expect(response.incompleteReason == "steered")
        }
    }

    @Test func metadataHandsOutTheTurnStateInOneSpellingOnly() throws {
        let headers = #""headers":{"X-Codex-Turn-State":["ts-1"],"openai-MODEL":"m","n":7}"#
        try withEvent(Array(#"{"type":"response.metadata",\#(headers)}"#.utf8)) { event in
            guard case .metadata("ts-1", "m") = event.kind else {
                Issue.record("not that metadata")
                return
            }
        }
        try withEvent(Array(#"{"type":"codex.response.metadata",\#(headers)}"#.utf8)) { event in
            guard case .metadata(nil, "m") = event.kind else {
                Issue.record("not that metadata")
                return
            }
        }
        try withEvent(Array(#"{"type":"response.metadata","headers":null}"#.utf8)) { event in
            guard case .metadata(nil, nil) = event.kind else {
                Issue.record("not that metadata")
                return
            }
        }
    }

    @Test(arguments: [
        "codex.rate_limits", "response.metadata", "codex.response.metadata", "responsesapi.websocket_timing",
        "keepalive", "response.queued", "response.in_progress", "response.content_part.added",
        "response.reasoning_summary_part.added",
    ])
    func stepsWithoutContentAreContentFree(type: String) throws {
        try withEvent(Array(#"{"type":"\#(type)"}"#.utf8)) { event in
            #expect(event.kind.isContentFree)
            #expect(!event.kind.isTerminal)
        }
    }

    @Test func knownTypeIsOtherAndUnknownTypeIsUnknown() throws {
        try withEvent(Array(#"{"type":"response.output_text.annotation.added","text":"t"}"#.utf8)) { event in
            guard case .other = event.kind else {
                Issue.record("not known")
                return
            }
        }
        for type in ["", "x", "response.output_text.deltas", "response.output_text.delt\\u00e4", "Error"] {
            try withEvent(Array(#"{"type":"\#(type)","delta":{"a":1}}"#.utf8)) { event in
                guard case .unknown = event.kind else {
                    Issue.record("not unknown: \(type)")
                    return
                }
            }
        }
    }

    @Test func namesMayBeWrittenWithEscapes() throws {
        let json = #"{"\u0074ype":"response.output\u005ftext.delta","de\u006cta":"x","stream\u005fid":"l\u0061ne"}"#
        try withEvent(Array(json.utf8)) { event in
            guard case .delta(.text, 0, 0, let text) = event.kind else {
                Issue.record("not that delta")
                return
            }
            #expect(String(text) == "x")
            #expect(String(event.typeName) == "response.output_text.delta")
            #expect(event.streamID.map { String($0) } == "lane")
        }
    }

    @Test func theLastOfSeveralMembersCounts() throws {
        #expect(try deltaText(#"{"delta":1,"type":"x","type":"response.output_text.delta","delta":"b"}"#) == "b")
        let json = #"""
            {"type":"response.output_item.done","item":{"id":"a","name":7,"call_id":"c"},"item":{"id":"b"}}
            """#
        try withEvent(Array(json.utf8)) { event in
            guard case .outputItemDone(_, let item) = event.kind else {
                Issue.record("not an item")
                return
            }
            #expect(item.id == "b")
            #expect(item.callID == nil)
            #expect(String(item.json) == #"{"id":"b"}"#)
        }
    }

    @Test(arguments: ["id", "type", "status", "call_id", "name", "namespace"])
    func aWrongTypeIsForgottenWhenTheMemberComesAgain(name: String) throws {
        let item = { (members: String) in #"{"type":"response.output_item.done","item":{\#(members)}}"# }
        for value in ["7", "[1]", "{}", "true"] {
            #expect(decodingError(item(#""\#(name)":\#(value),"\#(name)":"x""#)) == nil)
            #expect(decodingError(item(#""\#(name)":\#(value),"\#(name)":null"#)) == nil)
            #expect(decodingError(item(#""\#(name)":"x","\#(name)":\#(value)"#)) == .invalidField(.item))
            #expect(decodingError(item(#""\#(name)":\#(value),"other":"x""#)) == .invalidField(.item))
        }
        let response = #"{"type":"response.completed","response":{"id":7,"status":[],"id":"r","status":"s"}}"#
        #expect(decodingError(response) == nil)
        let wrong = #"{"type":"response.completed","response":{"id":7,"status":[],"id":"r"}}"#
        #expect(decodingError(wrong) == .invalidField(.response))
    }

    @Test func oneDecoderDecodesManyEvents() throws {
        var decoder = ResponseEventDecoder()
        let large = String(repeating: "x\\n", count: 400_000)
        for round in 0..<3 {
            for text in ["a", large, "b\\u0041", ""] {
                let json = Array(#"{"type":"response.output_text.delta","delta":"\#(text)\#(round)"}"#.utf8)
                let decoded = try withPadded(json) { bytes in
                    guard case .delta(_, _, _, let text) = try decoder.decode(bytes).kind else { return "" }
                    return String(text)
                }
                #expect(decoded.hasSuffix("\(round)"))
                #expect(!decoded.contains("\\"))
            }
        }
    }
}
