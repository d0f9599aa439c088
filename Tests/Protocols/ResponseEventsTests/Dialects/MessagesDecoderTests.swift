import Foundation
import Testing

@testable import ResponseEvents

/// The oddities of recorded servers of Anthropic's Messages, each in a few events.
@Suite struct MessagesDecoderTests {
    private static let start = message("")
    private static let end = [#"{"type":"content_block_stop","index":0}"#] + stop("end_turn")
    private static let calls = stop("tool_use")

    private static func message(_ rest: String, id: String = "msg_1", content: String = "[]") -> String {
        #"{"type":"message_start","message":{"id":"\#(id)","type":"message","role":"assistant","model":"m","#
            + #""content":\#(content),"stop_reason":null,"usage":{"input_tokens":7,"output_tokens":1}\#(rest)}}"#
    }

    private static func stop(_ reason: String, _ usage: String = #"{"output_tokens":9}"#) -> [String] {
        [
            #"{"type":"message_delta","delta":{"stop_reason":"\#(reason)","stop_sequence":null},"usage":\#(usage)}"#,
            #"{"type":"message_stop"}"#,
        ]
    }

    private static func block(_ block: String, at index: Int = 0) -> String {
        #"{"type":"content_block_start","index":\#(index),"content_block":\#(block)}"#
    }

    private static func delta(_ type: String, _ name: String, _ text: String, at index: Int = 0) -> String {
        #"{"type":"content_block_delta","index":\#(index),"delta":{"type":"\#(type)","\#(name)":"\#(text)"}}"#
    }

    private static let text = block(#"{"type":"text","text":""}"#)

    private func answer(_ lines: [String]) throws -> DialectAnswer { try DialectAnswer(lines, by: MessagesDecoder()) }

    // MARK: Output

    @Test func textIsThatOfTheDeltas() throws {
        let answer = try self.answer(
            [
                Self.start, #"{"type":"ping"}"#, Self.text, Self.delta("text_delta", "text", #"Hé\n"#),
                Self.delta("text_delta", "text", ""), Self.delta("text_delta", "text", #"\ud83d\ude00 \"q\""#),
            ] + Self.end)
        #expect(answer.text == "Hé\n😀 \"q\"")
        #expect(answer.items == ["message"] && answer.begun == ["msg_1"])
        #expect(answer.status == "completed" && answer.id == "msg_1" && answer.model == "m")
        #expect(answer.usage == ["input_tokens": 7, "output_tokens": 9])
    }

    @Test func inputThatWasReadFromACacheOrWrittenToOneIsInput() throws {
        let usage =
            #"{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":4000,"#
            + #""output_tokens_details":{"thinking_tokens":50}}"#
        let answer = try self.answer([Self.start] + Self.stop("end_turn", usage))
        #expect(answer.usage == ["input_tokens": 330, "output_tokens": 4000])
        let huge = #"{"input_tokens":9223372036854775807,"cache_read_input_tokens":9223372036854775807}"#
        #expect(try self.answer([Self.start] + Self.stop("end_turn", huge)).status == "completed")
        // A count that is null leaves what was said before.
        let null = #"{"input_tokens":null,"output_tokens":2}"#
        #expect(
            try self.answer([Self.start] + Self.stop("end_turn", null)).usage
                == ["input_tokens": 7, "output_tokens": 2])
    }

    @Test func thinkingGoesBackWithItsSignature() throws {
        let answer = try self.answer(
            [
                Self.start, Self.block(#"{"type":"thinking","thinking":"","signature":""}"#),
                Self.delta("thinking_delta", "thinking", "Hm"), Self.delta("thinking_delta", "thinking", ", \\\"7\\\""),
                Self.delta("signature_delta", "signature", "c2ln"), Self.block(#"{"type":"text","text":"Se"}"#, at: 1),
                Self.delta("text_delta", "text", "ven", at: 1),
            ] + Self.end)
        #expect(answer.reasoning == "Hm, \"7\"")
        #expect(answer.text == "Seven")
        #expect(answer.items == ["reasoning", "message"])
        #expect(
            answer.itemTexts.first
                == #"{"content":[{"text":"Hm, \"7\"","type":"reasoning_text"}],"#
                + #""messages":{"signature":"c2ln","thinking":"Hm, \"7\"","type":"thinking"},"summary":[],"type":"reasoning"}"#
        )
    }

    /// Thinking without text has a signature all the same, and redacted thinking is data.
    @Test func thinkingWithoutTextGoesBack() throws {
        let answer = try self.answer(
            [
                Self.start, Self.block(#"{"type":"thinking","thinking":"","signature":""}"#),
                Self.delta("thinking_delta", "thinking", ""), Self.delta("signature_delta", "signature", "cw=="),
                Self.block(#"{"type":"redacted_thinking","data":"ZGF0YQ=="}"#, at: 1),
                Self.block(#"{"type":"thinking","thinking":""}"#, at: 2),
            ] + Self.end)
        #expect(
            answer.itemTexts == [
                #"{"messages":{"signature":"cw==","thinking":"","type":"thinking"},"summary":[],"type":"reasoning"}"#,
                #"{"messages":{"data":"ZGF0YQ==","type":"redacted_thinking"},"summary":[],"type":"reasoning"}"#,
            ])
    }

    @Test func citationsGoBackWithTheirText() throws {
        let citation = #"{"type":"web_search_result_location","url":"u","encrypted_index":"e"}"#
        let answer = try self.answer(
            [
                Self.start, Self.block(#"{"type":"text","text":"","citations":[]}"#),
                Self.delta("text_delta", "text", "a"),
                #"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":\#(citation)}}"#,
            ] + Self.end)
        #expect(answer.text == "a")
        #expect(answer.itemTexts.first?.contains(#""messages":{"citations":[{"encrypted_index":"e""#) == true)
    }

    @Test func blocksThatOnlyThisAPIHasAreItems() throws {
        let answer = try self.answer(
            [
                Self.start, Self.block(#"{"type":"server_tool_use","id":"srv","name":"web_search","input":{}}"#),
                Self.delta("input_json_delta", "partial_json", #"{\"query\":"#),
                Self.delta("input_json_delta", "partial_json", #"\"x\"}"#),
                Self.block(
                    #"{"type":"web_search_tool_result","tool_use_id":"srv","content":[{"a":[[[[[1]]]]]}]}"#, at: 1),
                Self.block(#"{"type":"compaction","content":null}"#, at: 2),
                Self.delta("compaction_delta", "content", "sum", at: 2),
            ] + Self.end)
        #expect(answer.items == ["server_tool_use", "web_search_tool_result", "compaction"])
        #expect(answer.calls.isEmpty)
        #expect(
            answer.itemTexts.first
                == #"{"messages":{"id":"srv","input":{"query":"x"},"name":"web_search","type":"server_tool_use"},"type":"server_tool_use"}"#
        )
        #expect(answer.itemTexts.last == #"{"messages":{"content":"sum","type":"compaction"},"type":"compaction"}"#)
    }

    /// It is no call, whatever its type says.
    @Test(arguments: ["message", "reasoning", "function_call", "custom_tool_call"])
    func aBlockIsNoItemOfAnotherMeaning(_ type: String) throws {
        let block = #"{"type":"\#(type)","call_id":"i","name":"f","arguments":"{}"}"#
        let answer = try self.answer([Self.start, Self.block(block)] + Self.calls)
        #expect(answer.items == ["block"] && answer.calls.isEmpty)
    }

    /// A delta's kind decides, where its index says something else or there is no block.
    @Test(arguments: [nil, text, block(#"{"type":"tool_use","id":"i","name":"f","input":{}}"#)])
    func deltaOfAnotherKindBeginsItsOwnBlock(_ block: String?) throws {
        let answer = try self.answer(
            [Self.start, block].compactMap { $0 } + [
                Self.delta("thinking_delta", "thinking", "a"), Self.delta("text_delta", "text", "b"),
                Self.delta("text_delta", "text", "c"),
            ] + Self.end)
        #expect(answer.reasoning == "a" && answer.text == "bc")
        #expect(answer.status == "completed")
    }

    // MARK: Calls

    @Test(arguments: [
        [
            delta("input_json_delta", "partial_json", ""), delta("input_json_delta", "partial_json", #"{\"a\":"#),
            delta("input_json_delta", "partial_json", "1}"),
        ],
        [delta("input_json_delta", "partial_json", #"{\"a\":1}"#)],
    ])
    func argumentsComeInPieces(_ pieces: [String]) throws {
        let call = Self.block(#"{"type":"tool_use","id":"toolu_1","name":"f","input":{}}"#)
        let answer = try self.answer([Self.start, call] + pieces + Self.calls)
        #expect(answer.calls == [#"toolu_1 f {"a":1}"#])
        #expect(answer.status == "completed")
    }

    /// Otherwise the call would run without them.
    @Test(arguments: [0, 7]) func argumentsUnderAnotherIndexAreThoseOfTheNewestCall(_ index: Int) throws {
        let answer = try self.answer(
            [
                Self.start, Self.text, Self.delta("text_delta", "text", "x"),
                Self.block(#"{"type":"tool_use","id":"i","name":"f","input":{}}"#, at: 1),
                Self.delta("input_json_delta", "partial_json", #"{\"a\":"#, at: index),
                Self.delta("input_json_delta", "partial_json", "1}", at: index),
            ] + Self.calls)
        #expect(answer.calls == [#"i f {"a":1}"#] && answer.text == "x")
    }

    @Test func argumentsMayStandInTheBeginningOrNowhere() throws {
        let answer = try self.answer(
            [
                Self.start, Self.block(#"{"type":"tool_use","id":"i","name":"f","input":{}}"#),
                Self.delta("input_json_delta", "partial_json", ""),
                Self.block(
                    #"{"type":"tool_use","id":"j","name":"g","input":{"b":[1,"x"]},"caller":{"type":"direct"}}"#, at: 1),
                Self.block(#"{"type":"tool_use","id":"k","name":"h"}"#, at: 2),
            ] + Self.calls)
        #expect(answer.calls == ["i f {}", #"j g {"b":[1,"x"]}"#, "k h {}"])
        #expect(answer.itemTexts[1].contains(#""messages":{"caller":{"type":"direct"}}"#))
    }

    @Test func aWholeMessageMayStandInItsStart() throws {
        let answer = try self.answer([
            Self.message(
                #","stop_reason":"tool_use""#, content: #"[{"type":"tool_use","id":"i","name":"f","input":{"a":1}}]"#),
            #"{"type":"message_stop"}"#,
        ])
        #expect(answer.calls == [#"i f {"a":1}"#])
        #expect(answer.status == "completed")
    }

    @Test func pieceOfABlockWithoutATypeIsNotDropped() throws {
        let delta = #"{"index":0,"delta":{"type":"text_delta","text":"l"}}"#
        #expect(throws: ResponseEventError.invalidField(.delta)) {
            try self.answer([Self.start, Self.text, delta] + Self.end)
        }
    }

    /// The blocks that follow say the content again, or none follows.
    @Test func contentOfTheStartCountsWhereNoBlockBegins() throws {
        let start = Self.message("", content: #"[{"type":"text","text":"Hi"}]"#)
        let blocks = [Self.text, Self.delta("text_delta", "text", "H"), Self.delta("text_delta", "text", "i")]
        #expect(try self.answer([start] + Self.end).text == "Hi")
        #expect(try self.answer([start, start] + Self.end).text == "Hi")
        let answer = try self.answer([start] + blocks + Self.end)
        #expect(answer.text == "Hi" && answer.items == ["message"])
    }

    @Test(arguments: [#"{\"a\":"#, #"{\"a\":1"#, "{"]) func cutArgumentsMakeAnIncompleteAnswer(_ json: String) throws {
        let answer = try self.answer(
            [
                Self.start, Self.text, Self.delta("text_delta", "text", "x"),
                Self.block(#"{"type":"tool_use","id":"i","name":"f","input":{}}"#, at: 1),
                Self.delta("input_json_delta", "partial_json", json, at: 1),
            ] + Self.calls)
        #expect(answer.calls.isEmpty && answer.status == "incomplete" && answer.reason == "cut_arguments")
    }

    // MARK: The end

    @Test(
        arguments: [
            ("end_turn", "completed", nil), ("stop_sequence", "completed", nil), ("tool_use", "completed", nil),
            ("max_tokens", "incomplete", "max_output_tokens"),
            ("model_context_window_exceeded", "incomplete", "max_output_tokens"), ("refusal", "incomplete", "refusal"),
            ("pause_turn", "completed", nil), ("a new \\\"one\\\"", "incomplete", "a new \"one\""),
        ] as [(String, String, String?)])
    func theReasonIsTheOutcome(_ reason: String, _ status: String, _ word: String?) throws {
        let call = Self.block(#"{"type":"tool_use","id":"i","name":"f","input":{}}"#)
        let answer = try self.answer([Self.start, call] + Self.stop(reason))
        #expect(answer.status == status && answer.reason == word)
        #expect(answer.calls == (status == "completed" ? ["i f {}"] : []))
    }

    @Test func onlyMessageStopProvesTheEnd() throws {
        let lines = [Self.start, Self.text, Self.delta("text_delta", "text", "x")] + Self.stop("end_turn").dropLast()
        #expect(try DialectAnswer(lines, by: MessagesDecoder(), endsInOrder: true).status == nil)
        #expect(try DialectAnswer(lines + ["[DONE]"], by: MessagesDecoder(), endsInOrder: true).status == nil)
        let decoder = MessagesDecoder()
        for line in [Self.start, Self.text, "[DONE]", #"{"type":"message_delta"}"#, "{}", "x", ""] {
            #expect(!withPadded(Array(line.utf8)) { decoder.isTerminal($0) })
        }
        #expect(withPadded(Array(#"{ "type": "message_stop" }"#.utf8)) { decoder.isTerminal($0) })
    }

    @Test func whatFollowsTheEndIsIgnored() throws {
        let answer = try self.answer(
            [Self.start] + Self.end + [Self.delta("text_delta", "text", "x"), "[DONE]"] + Self.end)
        #expect(answer.text.isEmpty && answer.status == "completed" && answer.otherCount == 0)
    }

    @Test func anotherMessageIsAnotherAnswer() throws {
        #expect(try self.answer([Self.start, Self.start] + Self.end).begun == ["msg_1"])
        #expect(try self.answer([Self.start, Self.message("", id: "msg_2")] + Self.end).begun == ["msg_1", "msg_2"])
    }

    @Test func errorsAndOtherAPIsAreNotItsEvents() throws {
        let others = [
            #"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, #"{"error":"x"}"#,
            #"{"type":"rate_limit_error","message":"Slow down"}"#, #"{"type":"response.created"}"#,
            chunk(#"{"content":"x"}"#), "[1]", "no JSON",
        ]
        let answer = try self.answer(others)
        #expect(answer.otherCount == others.count)
        #expect(try self.answer([Self.start, #"{"type":"new_event"}"#] + Self.end).status == "completed")
    }

    /// Some servers leave the type to the server-sent event.
    @Test func anEventWithoutATypeHasThatOfItsName() throws {
        let decoder = MessagesDecoder()
        let data = Array(#"{"index":0,"delta":{"type":"text_delta","text":"x"}}"#.utf8)
        let reading = try withPadded(data) { data in
            try Array("content_block_delta".utf8).withUnsafeBytes { try decoder.read(data, named: $0) }
        }
        guard case .event(_, isSurfaced: true) = reading else {
            Issue.record("no output")
            return
        }
        #expect(decoder.eventType == "content_block_delta")
    }

    // MARK: Limits

    @Test(arguments: ["text_delta", "thinking_delta", "input_json_delta", "signature_delta"])
    func whatIsKeptIsLimited(_ type: String) throws {
        let name = ["text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"][type]
        func read(_ byteCount: Int) throws {
            let decoder = MessagesDecoder(byteCountLimit: 200)
            let call = #"{"type":"tool_use","id":"i","name":"f","input":{}}"#
            _ = try withPadded(Array(Self.block(call).utf8)) { try decoder.read($0) }
            for _ in 0..<byteCount {
                let line = Self.delta(type, name ?? "signature", "x")
                _ = try withPadded(Array(line.utf8)) { try decoder.read($0) }
            }
        }
        try read(100)
        #expect(throws: ResponseEventError.tooLarge) { try read(201) }
    }

    @Test func blocksAreLimited() throws {
        let decoder = MessagesDecoder()
        func read(_ index: Int) throws {
            _ = try withPadded(Array(Self.block(#"{"type":"text","text":""}"#, at: index).utf8)) {
                try decoder.read($0)
            }
        }
        for index in 0..<ResponseSummary.maximumOutputCount { try read(index) }
        #expect(throws: ResponseEventError.tooManyItems) { try read(ResponseSummary.maximumOutputCount) }
    }

    // MARK: Bad input

    private static let sample =
        [
            start, block(#"{"type":"thinking","thinking":""}"#), delta("thinking_delta", "thinking", "é\\u00e9"),
            delta("signature_delta", "signature", "s"), block(#"{"type":"text","text":""}"#, at: 1),
            delta("text_delta", "text", "a\\n", at: 1),
            block(#"{"type":"tool_use","id":"i","name":"f","input":{}}"#, at: 2),
            delta("input_json_delta", "partial_json", #"{\"a\":1}"#, at: 2),
        ] + calls

    /// An event that is cut at any byte is no JSON, and changes nothing.
    @Test func truncationAtEveryByteChangesNothing() throws {
        let whole = try self.answer(Self.sample)
        #expect(whole.calls == [#"i f {"a":1}"#] && whole.reasoning == "éé" && whole.text == "a\n")
        for (place, line) in Self.sample.enumerated() {
            for count in 0..<line.utf8.count {
                var lines = Self.sample
                lines.insert(String(decoding: Array(line.utf8.prefix(count)), as: UTF8.self), at: place)
                var answer = try self.answer(lines)
                answer.otherCount = 0
                #expect(answer == whole)
            }
        }
    }

    /// Every byte of an event replaced: whatever it means then, nothing traps, and every event can be decoded.
    @Test(arguments: sample) func replacedBytesNeverCrashTheDecoder(_ line: String) throws {
        let bytes = Array(line.utf8)
        for place in bytes.indices {
            for byte in ["\"", "{", "}", "[", "]", ",", ":", "\\", "0", "n", " "].map({ $0.utf8.first ?? 0 }) {
                var changed = bytes
                changed[place] = byte
                do {
                    _ = try self.answer(Self.sample + [String(decoding: changed, as: UTF8.self)] + Self.calls)
                } catch is ResponseEventError {
                    continue
                }
            }
        }
    }

    /// Any member absent, null, or of another type.
    @Test(arguments: ["null", "7", "-1", "true", "\"x\"", "[]", "{}", "[[]]", "1e9", "99999999999999999999"])
    func membersOfOtherTypesNeverCrashTheDecoder(_ value: String) throws {
        let events: [(type: String, members: [String])] = [
            ("message_start", ["message"]), ("content_block_start", ["index", "content_block"]),
            ("content_block_delta", ["index", "delta"]), ("message_delta", ["delta", "usage"]), ("\(value)", ["type"]),
        ]
        for (type, members) in events {
            for member in members {
                self.read([#"{"type":"\#(type.filter { $0 != "\"" })","\#(member)":\#(value)}"#] + Self.end)
            }
        }
        for member in ["id", "model", "content", "usage", "stop_reason"] {
            _ = try self.answer([#"{"type":"message_start","message":{"\#(member)":\#(value)}}"#] + Self.end)
        }
        for member in ["type", "text", "thinking", "signature", "data", "id", "name", "input", "content"] {
            for type in ["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use"] {
                let block = #"{"type":"\#(type)","\#(member)":\#(value)}"#
                _ = try self.answer([Self.start, Self.block(block)] + Self.end)
                _ = try self.answer([Self.message("", content: "[\(block),\(value)]")] + Self.end)
            }
        }
        for (type, member) in [
            ("text_delta", "text"), ("thinking_delta", "thinking"), ("signature_delta", "signature"),
            ("input_json_delta", "partial_json"), ("citations_delta", "citation"), ("compaction_delta", "content"),
        ] {
            let delta = #"{"type":"content_block_delta","delta":{"type":"\#(type)","\#(member)":\#(value)}}"#
            self.read([Self.start, delta] + Self.end)
        }
    }

    /// Reads events that may be refused.
    private func read(_ lines: [String]) {
        #expect {
            _ = try self.answer(lines)
            throw ResponseEventError.invalidField(.delta)
        } throws: {
            $0 as? ResponseEventError == .invalidField(.delta)
        }
    }

    @Test(arguments: [
        #""delta":{"text":"x"}"#, #""delta":{"type":"text_delta","text":{"a":1}}"#, #""delta":null"#, #""index":0"#,
        #""delta":{"type":"thinking_delta","thinking":7}"#, #""delta":{"type":null,"partial_json":"{}"}"#,
    ])
    func aDeltaWithoutWhatItsTypeNeedsIsRefused(_ member: String) {
        #expect(throws: ResponseEventError.invalidField(.delta)) {
            _ = try self.answer([Self.start, Self.text, #"{"type":"content_block_delta",\#(member)}"#] + Self.end)
        }
    }

    /// The input in an event may be an object in place of its text, and an empty one says nothing.
    @Test(arguments: ["{}", "null", #""""#]) func inputIsReadInEachForm(_ input: String) throws {
        let call = Self.block(#"{"type":"tool_use","id":"i","name":"f","input":\#(input)}"#)
        let object =
            #"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":{"a":1}}}"#
        #expect(try self.answer([Self.start, call, object] + Self.calls).calls == [#"i f {"a":1}"#])
        let text = Self.delta("input_json_delta", "partial_json", #"{\"a\":1}"#)
        #expect(try self.answer([Self.start, call, text] + Self.calls).calls == [#"i f {"a":1}"#])
        #expect(try self.answer([Self.start, call] + Self.calls).calls == ["i f {}"])
    }

    @Test(arguments: [
        (#"{"type":"tool_use","id":"i","name":"","input":{}}"#, "unnamed_call"),
        (#"{"type":"tool_use","name":"f","input":{}}"#, "unnamed_call"),
        (#"{"type":"text","text":"x"}"#, "missing_call"),
    ])
    func aCallThatCannotRunMakesAnIncompleteAnswer(_ block: String, _ reason: String) throws {
        let answer = try self.answer([Self.start, Self.block(block)] + Self.calls)
        #expect(answer.calls.isEmpty && answer.status == "incomplete" && answer.reason == reason)
    }

    @Test(arguments: ["max_tokens", "refusal", "a new one"])
    func anAnswerThatIsNotWholeIsNotMadeWholeByALaterReason(_ reason: String) throws {
        let call = Self.block(#"{"type":"tool_use","id":"i","name":"f","input":{}}"#)
        for later in ["end_turn", "tool_use"] {
            let answer = try self.answer([Self.start, call] + Self.stop(reason).prefix(1) + Self.stop(later))
            #expect(answer.calls.isEmpty && answer.status == "incomplete")
            let whole = try self.answer([Self.start, call] + Self.stop(later).prefix(1) + Self.stop(reason))
            #expect(whole.calls.isEmpty && whole.status == "incomplete")
        }
    }

    /// A message that begins again is another answer once it has output, also under its own identifier or none.
    @Test(arguments: ["msg_1", "msg_2", ""]) func aMessageThatBeginsAgainBehindOutputIsAnother(_ id: String) throws {
        let again = Self.message("", id: id)
        let count = id == "msg_2" ? 2 : 1
        #expect(try self.answer([Self.start, again, Self.text] + Self.end).begun.count == count)
        #expect(try self.answer([Self.start, Self.text, again] + Self.end).begun.count == count)
        let text = Self.delta("text_delta", "text", "x")
        #expect(try self.answer([Self.start, Self.text, text, again] + Self.end).begun.count == 2)
    }
}
