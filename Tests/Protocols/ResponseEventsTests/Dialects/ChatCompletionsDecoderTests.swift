import Foundation
import Testing

@testable import ResponseEvents

/// The oddities of recorded servers, each in a few chunks.
@Suite struct ChatCompletionsDecoderTests {
    private static let done = "[DONE]"
    private static let stop = chunk("{}", finish: "stop")
    private static let calls = chunk("{}", finish: "tool_calls")

    // MARK: Output

    @Test func textIsThatOfTheDeltas() throws {
        let answer = try DialectAnswer([
            chunk(#"{"role":"assistant","content":""}"#), chunk(#"{"content":"Hé\n"}"#), chunk(#"{"content":null}"#),
            chunk(#"{"content":"\ud83d\ude00 \"q\""}"#), Self.stop, Self.done,
        ])
        #expect(answer.text == "Hé\n😀 \"q\"")
        #expect(answer.items == ["message"])
        #expect(answer.status == "completed")
        #expect(answer.id == "c1" && answer.model == "m")
    }

    @Test(arguments: [
        #"{"reasoning_content":"ab"}"#, #"{"reasoning":"ab"}"#, #"{"reasoning":"ab","reasoning_content":"ab"}"#,
        #"{"reasoning":"ab","reasoning_details":[{"type":"reasoning.text","text":"ab"}]}"#,
        #"{"reasoning_details":[{"type":"reasoning.text","text":"a"},{"type":"reasoning.summary","summary":"b"}]}"#,
        #"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}"#,
        #"{"content":[{"type":"thinking","thinking":"ab"}]}"#, #"{"content":[{"type":"reasoning","text":"ab"}]}"#,
        #"{"content":"","reasoning":"","reasoning_content":"ab"}"#,
    ])
    func reasoningHasManyNames(_ delta: String) throws {
        let answer = try DialectAnswer([chunk(delta), chunk(#"{"content":"c"}"#), Self.stop, Self.done])
        #expect(answer.reasoning == "ab")
        #expect(answer.text == "c")
        #expect(answer.status == "completed")
    }

    @Test func detailsRepeatReasoningThatWasReadUnderAnotherName() throws {
        let details = #"{"reasoning_details":[{"type":"reasoning.text","text":"ab","signature":"s"}]}"#
        let answer = try DialectAnswer([chunk(#"{"reasoning":"ab"}"#), chunk(details), Self.stop, Self.done])
        #expect(answer.reasoning == "ab")
    }

    /// A text that another member repeats, in pieces of its own, is one text; another member's own text is delivered.
    @Test(arguments: [
        (["reasoning", "a"], ["reasoning_content", "ab"], "ab"),
        (["reasoning", "ab"], ["reasoning_content", "c"], "abc"),
        (["reasoning_content", "ab"], ["reasoning", "a"], "ab"),
        (["reasoning", "aa"], ["reasoning_text", "b"], "aab"),
    ])
    func reasoningThatAnotherMemberRepeatsIsOneText(_ first: [String], _ second: [String], _ text: String) throws {
        let pieces = [first, second].map { name in
            name[1].map { chunk(#"{"\#(name[0])":"\#($0)"}"#) }
        }
        let end = [Self.stop, Self.done]
        #expect(try DialectAnswer(pieces[0] + pieces[1] + end).reasoning == text)
        // In turn: each member has the first letter, and then its own.
        let turns = try DialectAnswer(pieces[0].prefix(1) + pieces[1] + pieces[0].dropFirst() + end)
        #expect(turns.reasoning == (text.hasSuffix("c") ? "acb" : text == "aab" ? "aba" : "ab"))
    }

    @Test func reasoningBehindDetailsThatSaidItIsOneText() throws {
        let details = #"{"reasoning_details":[{"type":"reasoning.text","text":"ab"}]}"#
        for pieces in [["abc"], ["a", "bc"], ["ab", "c"]] {
            let chunks = pieces.map { chunk(#"{"reasoning":"\#($0)"}"#) }
            #expect(try DialectAnswer([chunk(details)] + chunks + [Self.stop, Self.done]).reasoning == "abc")
        }
    }

    @Test func partsOfAContentMayBeRefusalsAndHaveNoType() throws {
        let answer = try DialectAnswer([
            chunk(#"{"content":[{"text":"a"},{"type":"refusal","refusal":"b"},{"type":"other","text":"c"}]}"#),
            Self.stop, Self.done,
        ])
        #expect(answer.text == "a" && answer.refusal == "b")
    }

    @Test func partsOfAContentAreTextAndWhatIsUnknown() throws {
        let answer = try DialectAnswer([
            chunk(#"{"content":[{"type":"text","text":"a"},{"type":"image","url":"x"},"b",{"type":"text"}]}"#),
            chunk(#"{"content":7}"#), chunk(#"{"content":{"type":"text","text":"c"}}"#), Self.stop, Self.done,
        ])
        #expect(answer.text == "ab7c")
    }

    @Test func refusalIsNoText() throws {
        let answer = try DialectAnswer([
            chunk(#"{"refusal":"I can"}"#), chunk(#"{"refusal":"not."}"#), Self.stop, Self.done,
        ])
        #expect(answer.refusal == "I cannot.")
        #expect(answer.text.isEmpty)
    }

    @Test func onlyTheFirstChoiceIsRead() throws {
        let other = #"{"index":1,"delta":{"content":"x"},"finish_reason":"length"}"#
        let two = #"{"choices":[\#(other),{"index":0,"delta":{"content":"a"}}]}"#
        let answer = try DialectAnswer([two, Self.stop, Self.done])
        #expect(answer.text == "a")
        #expect(answer.status == "completed")
        let another = #"{"choices":[{"index":1,"delta":{"content":"x"},"finish_reason":"stop"}]}"#
        #expect(try DialectAnswer([another, Self.done]).status == nil)
    }

    // MARK: Calls

    @Test(arguments: [
        // The identifier and the name in the first piece only.
        [
            callChunk("0", id: #""i""#, name: #""f""#, arguments: #""""#), callChunk("0", arguments: #""{\"a\"""#),
            callChunk("0", arguments: #"":1}""#),
        ],
        // In one piece, without an index, or with one that begins at 1.
        [callChunk("0", id: #""i""#, name: #""f""#, arguments: #""{\"a\":1}""#)],
        [callChunk(nil, id: #""i""#, name: #""f""#, arguments: #""{\"a\":1}""#)],
        [callChunk("1", id: #""i""#, name: #""f""#, arguments: #""{\"a\":1}""#)],
        // An object instead of its text.
        [callChunk("0", id: #""i""#, name: #""f""#, arguments: #"{"a":1}"#)],
        // The identifier and the name empty, null or repeated in later pieces.
        [
            callChunk("0", id: #""i""#, name: #""f""#, arguments: #""{\"a\"""#),
            callChunk("0", id: #""""#, name: "null", arguments: #"":1""#),
            callChunk("0", id: #""i""#, name: #""f""#, arguments: #""}""#), callChunk("0", id: "null"),
        ],
        // The name behind the arguments.
        [callChunk("0", id: #""i""#, arguments: #""{\"a\":1}""#), callChunk("0", name: #""f""#)],
    ])
    func callComesInPieces(_ pieces: [String]) throws {
        let answer = try DialectAnswer(pieces + [Self.calls, Self.done])
        #expect(answer.calls == [#"i f {"a":1}"#])
        #expect(answer.status == "completed")
    }

    @Test func callsAreInterleaved() throws {
        let answer = try DialectAnswer([
            callChunk("0", id: #""i""#, name: #""f""#), callChunk("1", id: #""j""#, name: #""g""#),
            callChunk("1", arguments: #""{\"b\"""#), callChunk("0", arguments: #""{\"a\"""#),
            callChunk("0", arguments: #"":1}""#), callChunk("1", arguments: #"":2}""#), Self.calls, Self.done,
        ])
        #expect(answer.calls == [#"i f {"a":1}"#, #"j g {"b":2}"#])
    }

    @Test func anotherIdentifierAndNameUnderOneIndexIsAnotherCall() throws {
        let answer = try DialectAnswer([
            callChunk("0", id: #""i""#, name: #""f""#, arguments: #""{}""#),
            callChunk("0", id: #""j""#, name: #""f""#, arguments: #""{}""#), Self.calls, Self.done,
        ])
        #expect(answer.calls == ["i f {}", "j f {}"])
    }

    @Test(arguments: [nil, #""""#, "null"]) func emptyArgumentsAreAnObject(_ arguments: String?) throws {
        let piece = callChunk("0", id: #""i""#, name: #""f""#, arguments: arguments)
        #expect(try DialectAnswer([piece, Self.calls, Self.done]).calls == ["i f {}"])
    }

    @Test func callWithoutAnIdentifierGetsOne() throws {
        let pieces = [
            callChunk("0", name: #""f""#, arguments: #""{}""#), callChunk("1", name: #""f""#, arguments: #""{}""#),
        ]
        #expect(try DialectAnswer(pieces + [Self.calls, Self.done]).calls == ["call_0_c1 f {}", "call_1_c1 f {}"])
    }

    @Test func callHasTheServersIdentifierAlsoWhereThatIsLate() throws {
        let late = [
            callChunk("0", name: #""f""#, arguments: #""{""#), callChunk("0", id: #""i""#, arguments: #""}""#),
        ]
        #expect(try DialectAnswer(late + [Self.calls, Self.done]).calls == ["i f {}"])
        // A call without one is named when the answer ends.
        let piece = #"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}}]}"#
        #expect(try DialectAnswer([piece, Self.calls, Self.done]).calls == ["call_0_c1 f {}"])
    }

    @Test func callIsNotNamedAfterALongIdentifierOfTheAnswer() throws {
        let call = #"{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}"#
        for (count, rest) in [(64, String(repeating: "c", count: 64)), (65, "")] {
            let id = String(repeating: "c", count: count)
            let piece = #"{"id":"\#(id)","choices":[{"delta":\#(call)}]}"#
            #expect(try DialectAnswer([piece, Self.calls, Self.done]).calls == ["call_0_\(rest) f {}"])
        }
    }

    @Test func callIsAnnouncedWithItsWholeName() throws {
        let answer = try DialectAnswer([
            callChunk("0", id: #""i""#, name: #""get_""#),
            callChunk("1", id: #""j""#, name: #""f""#, arguments: #""{}""#),
            callChunk("0", name: #""rain""#), callChunk("0", arguments: #""{}""#), Self.calls, Self.done,
        ])
        #expect(answer.calls == ["i get_rain {}", "j f {}"])
    }

    @Test func functionCallMemberIsRead() throws {
        let answer = try DialectAnswer([
            chunk(#"{"function_call":{"name":"f","arguments":"{"}}"#), chunk(#"{"function_call":{"arguments":"}"}}"#),
            chunk("{}", finish: "function_call"), Self.done,
        ])
        #expect(answer.calls == ["call_0_c1 f {}"])
    }

    /// llama-cpp-python 0.3.36 writes each piece of a call twice, with the name and the identifier in all of them.
    @Test func functionCallMemberBesideToolCallsIsIgnored() throws {
        func piece(_ arguments: String) -> String {
            let function = #"{"name":"f","arguments":"\#(arguments)"}"#
            let call = #"{"index":0,"id":"i","type":"function","function":\#(function)}"#
            return chunk(#"{"role":null,"content":null,"function_call":\#(function),"tool_calls":[\#(call)]}"#)
        }
        let nothing = #"{"role":"assistant","content":null,"function_call":null,"tool_calls":null}"#
        let pieces = [chunk(nothing), piece("{"), piece(#"\"a\":"#), piece("1}")]
        let answer = try DialectAnswer(pieces + [chunk(nothing, finish: "tool_calls"), Self.done])
        #expect(answer.calls == [#"i f {"a":1}"#])
    }

    @Test(arguments: ["null", "[]"]) func functionCallMemberBesideNoToolCallsIsRead(_ calls: String) throws {
        let piece = chunk(#"{"tool_calls":\#(calls),"function_call":{"name":"f","arguments":"{}"}}"#)
        let answer = try DialectAnswer([piece, chunk("{}", finish: "function_call"), Self.done])
        #expect(answer.calls == ["call_0_c1 f {}"])
    }

    @Test func callWithoutANameMakesTheAnswerIncomplete() throws {
        let unnamed = callChunk("1", id: #""j""#, arguments: #""{}""#)
        let named = callChunk("0", id: #""i""#, name: #""f""#, arguments: #""{}""#)
        for pieces in [[unnamed], [named, unnamed], [unnamed, named], [callChunk("0", id: #""i""#)]] {
            let answer = try DialectAnswer(pieces + [Self.calls, Self.done])
            #expect(answer.calls.isEmpty)
            #expect(answer.status == "incomplete" && answer.reason == "unnamed_call")
        }
        let nothing = try DialectAnswer([named, callChunk("1"), Self.calls, Self.done])
        #expect(nothing.calls == ["i f {}"] && nothing.status == "completed")
    }

    /// Arguments under another index than the beginning of their call: its identifier says whose they are, and without one
    /// no tool runs.
    @Test(arguments: [#""i""#, nil]) func argumentsUnderAnotherIndexAreNotLost(id: String?) throws {
        let begin = callChunk("0", id: #""i""#, name: #""f""#, arguments: #""""#)
        let answer = try DialectAnswer([
            begin, callChunk("1", id: id, arguments: #""{\"a\":1}""#), Self.calls, Self.done,
        ])
        #expect(answer.calls == (id == nil ? [] : [#"i f {"a":1}"#]))
        #expect(answer.reason == (id == nil ? "unnamed_call" : nil))
    }

    @Test(arguments: ["tool_calls", "function_call", "tool_use"])
    func aReasonThatNamesCallsOfWhichNoneHasComeIsNoWholeAnswer(_ reason: String) throws {
        let answer = try DialectAnswer([chunk(#"{"content":"a"}"#, finish: reason), Self.done])
        #expect(answer.text == "a" && answer.status == "incomplete" && answer.reason == "missing_call")
    }

    /// The two forms of a call are those of one call, also in two deltas.
    @Test(arguments: [true, false]) func aCallInBothFormsIsOne(hasIdentifier: Bool) throws {
        let call = callChunk("0", id: hasIdentifier ? #""i""# : nil, name: #""f""#, arguments: #""{}""#)
        let old = chunk(#"{"function_call":{"name":"f","arguments":"{}"}}"#)
        let answer = try DialectAnswer([call, old, Self.calls, Self.done])
        #expect(answer.calls == [hasIdentifier ? "i f {}" : "call_0_c1 f {}"])
    }

    @Test(arguments: ["tool_calls", "stop"]) func cutArgumentsMakeTheAnswerIncomplete(_ reason: String) throws {
        let answer = try DialectAnswer([
            callChunk("0", id: #""i""#, name: #""f""#, arguments: #""{\"a\":\"b""#), chunk("{}", finish: reason),
            Self.done,
        ])
        #expect(answer.calls.isEmpty)
        #expect(answer.status == "incomplete")
        #expect(answer.reason == "cut_arguments")
    }

    // MARK: The end

    @Test(arguments: [
        ("stop", "completed", nil), ("eos", "completed", nil),
        ("length", "incomplete", "max_output_tokens"), ("model_length", "incomplete", "max_output_tokens"),
        ("content_filter", "incomplete", "content_filter"), ("error", "failed", nil), ("STOP", "completed", nil),
        ("SAFETY", "incomplete", "content_filter"), ("abort", "incomplete", "abort"),
        (
            "function_call_filter: MALFORMED_FUNCTION_CALL", "incomplete",
            "function_call_filter: MALFORMED_FUNCTION_CALL"
        ),
    ])
    func reasonDecidesWhatTheEndIs(_ reason: String, _ status: String, _ cause: String?) throws {
        let answer = try DialectAnswer([chunk(#"{"content":"a"}"#, finish: reason), Self.done])
        #expect(answer.status == status)
        #expect(answer.reason == cause)
        #expect(answer.text == "a")
    }

    /// OpenRouter's form of an error in a choice, with any reason beside it, and with none.
    @Test(arguments: ["tool_calls", "stop", "error", nil]) func errorInTheChoiceFailsTheAnswer(_ reason: String?) throws
    {
        let call = callChunk("0", id: #""i""#, name: #""f""#, arguments: #""{}""#)
        let written = reason.map { "\"\($0)\"" } ?? "null"
        let error = #"{"index":0,"delta":{},"finish_reason":\#(written),"error":{"code":502,"message":"over \u00e9"}}"#
        let answer = try DialectAnswer([call, #"{"choices":[\#(error)]}"#, chunk("{}", finish: "stop"), Self.done])
        #expect(answer.calls.isEmpty && answer.status == "failed")
        // An error that is empty says nothing.
        let none = ["{}", #"{"message":"","code":0}"#, #"{"a":null,"b":[{}]}"#, "[]", "false", #""""#]
        for value in none {
            let whole = [call, chunk("{}", finish: "tool_calls", #","error":\#(value)"#), Self.done]
            #expect(try DialectAnswer(whole).calls == ["i f {}"])
        }
    }

    @Test(arguments: ["refusal", "MALFORMED_FUNCTION_CALL", "error", "incomplete", "failed", "cancelled", "abort"])
    func callIsNotFinishedWhereTheModelDidNotEndTheAnswer(_ native: String) throws {
        let call = callChunk("0", id: #""i""#, name: #""f""#, arguments: #""{}""#)
        let reasons = #""finish_reason":"tool_calls","native_finish_reason":"\#(native)""#
        let answer = try DialectAnswer([call, #"{"choices":[{"index":0,"delta":{},\#(reasons)}]}"#, Self.done])
        #expect(answer.calls.isEmpty && answer.status == "incomplete" && answer.reason == native)
    }

    /// A gateway adds an end of its own behind that of the model.
    @Test(arguments: ["length", "content_filter", "abort", "error"])
    func anAnswerThatIsNotWholeIsNotMadeWholeByALaterReason(_ reason: String) throws {
        let call = callChunk("0", id: #""i""#, name: #""f""#, arguments: #""{}""#)
        let whole = [chunk("{}", finish: "stop"), Self.done]
        let answer = try DialectAnswer([call, chunk("{}", finish: reason)] + whole)
        #expect(answer.calls.isEmpty && answer.status == (reason == "error" ? "failed" : "incomplete"))
        let reasons = #""finish_reason":"tool_calls","native_finish_reason":"max_tokens""#
        let native = #"{"choices":[{"index":0,"delta":{},\#(reasons)}]}"#
        #expect(try DialectAnswer([call, native] + whole).status == "incomplete")
        let late = [call, chunk("{}", finish: "stop"), chunk("{}", finish: "length"), Self.done]
        #expect(try DialectAnswer(late).status == "incomplete")
    }

    /// A gateway says that the answer is whole, and the model was cut off (recorded: OpenRouter).
    @Test func callIsNotFinishedWhereTheModelReachedItsLimit() throws {
        let call = callChunk("0", id: #""i""#, name: #""f""#)
        for (word, cause) in [("max_output_tokens", "max_output_tokens"), ("SAFETY", "content_filter")] {
            let reasons = #""finish_reason":"tool_calls","native_finish_reason":"\#(word)""#
            let end = #"{"choices":[{"index":0,"delta":{},\#(reasons)}]}"#
            let answer = try DialectAnswer([call, end, Self.done])
            #expect(answer.status == "incomplete" && answer.reason == cause)
            #expect(answer.calls.isEmpty)
        }
    }

    /// Each chunk has an identifier of its own, and the name again (reported: vllm-project/vllm pull request 23522).
    @Test func callRunsOnceWhereEachChunkHasAnIdentifier() throws {
        let begun = callChunk("0", id: #""i""#, name: #""f""#, arguments: #""""#)
        let end = [chunk("{}", finish: "tool_calls"), Self.done]
        let rest = callChunk("0", id: #""j""#, name: #""f""#, arguments: #""{\"x\":1}""#)
        #expect(try DialectAnswer([begun, rest] + end).calls == [#"i f {"x":1}"#])
        // Another name, or no arguments again, are another call.
        let other = callChunk("0", id: #""j""#, name: #""g""#, arguments: #""{}""#)
        #expect(try DialectAnswer([begun, other] + end).calls == ["i f {}", "j g {}"])
        let empty = callChunk("0", id: #""j""#, name: #""f""#, arguments: #""""#)
        #expect(try DialectAnswer([begun, empty] + end).calls == ["i f {}", "j f {}"])
        let cut = [begun, callChunk("0", id: #""j""#, name: #""f""#, arguments: #""{\"x\"""#)]
        let answer = try DialectAnswer(cut + [callChunk("0", id: #""k""#, name: #""f""#, arguments: #"":1}""#)] + end)
        #expect(answer.calls.isEmpty && answer.reason == "cut_arguments")
    }

    /// Reported: su-kaka/gcli2api issue 406.
    @Test(arguments: ["0", nil], ["f", "g"])
    func callsOfOneIndexWithoutIdentifiersAreToldApart(index: String?, name: String) throws {
        let answer = try DialectAnswer([
            callChunk(index, id: #""""#, name: #""f""#, arguments: #""{\"x\":1}""#),
            callChunk(index, id: #""""#, name: "\"\(name)\"", arguments: #""{\"x\":2}""#),
            chunk("{}", finish: "tool_calls"), Self.done,
        ])
        #expect(answer.calls == [#"call_0_c1 f {"x":1}"#, #"call_1_c1 \#(name) {"x":2}"#])
    }

    /// Reported: continuedev/continue issue 5849.
    @Test func nameMayComeInPieces() throws {
        let begun = callChunk("0", id: #""i""#, name: #""edit""#, arguments: #""""#)
        for rest in [#""_file""#, #""edit""#] {
            let answer = try DialectAnswer([
                begun, callChunk("0", name: rest, arguments: #""{}""#), chunk("{}", finish: "tool_calls"), Self.done,
            ])
            #expect(answer.calls == [rest == #""edit""# ? "i edit {}" : "i edit_file {}"])
        }
    }

    /// The form before tools, in chunks of its own before and between those of `tool_calls`.
    @Test func callInBothFormsRunsOnce() throws {
        let old = { (arguments: String) in
            chunk(#"{"function_call":{"name":"f","arguments":"\#(arguments)"}}"#)
        }
        let new = { (arguments: String) in
            callChunk("0", id: #""i""#, name: #""f""#, arguments: "\"\(arguments)\"")
        }
        let (first, second) = (#"{\"x\":"#, "1}")
        for reason in ["tool_calls", "function_call", "stop"] {
            let end = [chunk("{}", finish: reason), Self.done]
            for chunks in [
                [old(first + second), new(first + second)], [old(first), new(first), old(second), new(second)],
                [new(first), old(first), new(second), old(second)],
            ] {
                #expect(try DialectAnswer(chunks + end).calls == [#"i f {"x":1}"#])
            }
            #expect(try DialectAnswer([old(first), old(second)] + end).calls == [#"call_0_c1 f {"x":1}"#])
        }
    }

    /// A value in the place of output that is none is not dropped.
    @Test(arguments: [
        #"{"delta":"Hi"}"#, #"{"delta":{"content":true}}"#, #"{"delta":{"tool_calls":"x"}}"#,
        #"{"delta":{"tool_calls":[7]}}"#, #"{"delta":{"tool_calls":[{"index":0,"function":[]}]}}"#,
        #"{"delta":{"function_call":"f"}}"#, #"{"message":"Hi"}"#,
    ])
    func outputOfAnotherTypeIsAnError(_ choice: String) {
        #expect(throws: ResponseEventError.invalidField(.delta)) { try DialectAnswer([#"{"choices":[\#(choice)]}"#]) }
        #expect(throws: ResponseEventError.invalidField(.delta)) {
            try DialectAnswer([#"{"object":"chat.completion.chunk","choices":\#(choice)}"#])
        }
    }

    @Test func oneCallMayStandInPlaceOfTheArray() throws {
        let piece = { (arguments: String) in
            let call = #"{"index":"","id":"i","function":{"name":"f","arguments":"\#(arguments)"}}"#
            return #"{"choices":[{"index":"","delta":{"tool_calls":\#(call)}}]}"#
        }
        let answer = try DialectAnswer([piece(#"{\"a\""#), piece(":1}"), Self.calls, Self.done])
        #expect(answer.calls == [#"i f {"a":1}"#])
    }

    @Test func messageBehindDeltasCompletesTheirText() throws {
        let message = { (text: String) in
            #"{"choices":[{"index":0,"delta":{},"message":{"content":"\#(text)"},"finish_reason":"stop"}]}"#
        }
        for (text, whole) in [("Hello", "Hello"), ("Hel", "Hel"), ("Bye", "Hel"), ("", "Hel")] {
            #expect(try DialectAnswer([chunk(#"{"content":"Hel"}"#), message(text), Self.done]).text == whole)
        }
        #expect(try DialectAnswer([message("Hello"), Self.done]).text == "Hello")
    }

    @Test func answerInOneChunkMayBeAMessage() throws {
        let message = #"{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}"#
        let answer = try DialectAnswer([#"{"choices":[\#(message)]}"#, Self.done])
        #expect(answer.text == "Hi")
        #expect(
            try DialectAnswer([chunk(#"{"content":"Hi"}"#), #"{"choices":[\#(message)]}"#, Self.done]).text == "Hi")
    }

    @Test func noCallIsFinishedInAnIncompleteAnswer() throws {
        let call = callChunk("0", id: #""i""#, name: #""f""#, arguments: #""{}""#)
        let answer = try DialectAnswer([call, chunk("{}", finish: "length"), Self.done])
        #expect(answer.status == "incomplete")
        #expect(answer.calls.isEmpty && answer.items.isEmpty)
    }

    @Test func bodyEndsInOrderWithoutTheMark() throws {
        let lines = [chunk(#"{"content":"a"}"#), Self.stop]
        #expect(try DialectAnswer(lines, endsInOrder: true).status == "completed")
        #expect(try DialectAnswer(lines).status == nil)
        #expect(try DialectAnswer(lines + [Self.done], endsInOrder: true).status == "completed")
    }

    @Test(arguments: [[], ["[DONE]"], [" [DONE]\n"]]) func withoutAReasonNothingEnds(_ mark: [String]) throws {
        let lines = [chunk(#"{"content":"a"}"#), chunk("{}", finish: "")]
        #expect(try DialectAnswer(lines + mark, endsInOrder: true).status == nil)
    }

    @Test func textBehindTheReasonBelongsToTheAnswer() throws {
        let answer = try DialectAnswer([chunk("{}", finish: "stop"), chunk(#"{"content":"a"}"#), Self.done])
        #expect(answer.text == "a")
        #expect(answer.status == "completed")
    }

    @Test func nothingBehindTheMarkIsRead() throws {
        let answer = try DialectAnswer([Self.stop, Self.done, chunk(#"{"content":"a"}"#), Self.stop, Self.done])
        #expect(answer.text.isEmpty)
    }

    @Test func theLastReasonCounts() throws {
        let answer = try DialectAnswer([Self.stop, chunk("{}", finish: "length"), Self.done])
        #expect(answer.status == "incomplete")
    }

    // MARK: Usage

    @Test(arguments: [
        [stop, #"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}"#],
        [stop, #"{"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}"#],
        [
            chunk("{}", #","usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}"#),
            chunk(
                "{}", finish: "stop", #","usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}"#),
        ],
        [
            chunk("{}", finish: "stop", #","usage":null"#),
            #"{"choices":[],"x_groq":{"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}}"#,
        ],
        [
            #"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":3,"#
                + #""completion_tokens":5,"total_tokens":8}}]}"#
        ],
    ])
    func usageIsWhereTheServerHasIt(_ lines: [String]) throws {
        let usage = try DialectAnswer(lines + [Self.done]).usage
        #expect(usage == ["input_tokens": 3, "output_tokens": 5, "total_tokens": 8])
    }

    @Test func oddCountsAreLeftOut() throws {
        let usage = #","usage":{"prompt_tokens":"3","completion_tokens":-1,"total_tokens":{}}"#
        let answer = try DialectAnswer([chunk("{}", finish: "stop", usage), Self.done])
        #expect(answer.usage == ["input_tokens": 3, "output_tokens": 0])
    }

    // MARK: What is no chunk

    @Test(arguments: [
        #"{"error":{"message":"m","code":500}}"#, #"{"error":"m"}"#, #"{"type":"ping"}"#, "ping", "[]", "7", "{",
        #"{"object":"error","message":"m"}"#, #"{"detail":"m"}"#,
        chunk(#"{"content":"x"}"#, finish: "error", #","error":{"code":502,"message":"m"}"#),
        #"{"type":"response.created","response":{"id":"r"}}"#,
    ])
    func anythingElseIsLeftToTheEngine(_ line: String) throws {
        let answer = try DialectAnswer([chunk(#"{"content":"a"}"#), line])
        #expect(answer.otherCount == 1)
        #expect(answer.text == "a")
    }

    @Test(arguments: [
        #"{"object":"chat.completion.chunk"}"#, #"{"choices":null,"usage":{}}"#, #"{"choices":[7,null,[]]}"#,
    ])
    func chunkWithoutAChoiceSaysNothing(_ line: String) throws {
        let answer = try DialectAnswer([line, chunk(#"{"content":"a"}"#), Self.stop, Self.done])
        #expect(answer.otherCount == 0)
        #expect(answer.text == "a" && answer.status == "completed")
    }

    @Test(arguments: [#""error":null"#, #""error":"""#, #""error":false"#, #""error":0"#])
    func memberThatStatesNoErrorIsNone(_ member: String) throws {
        let answer = try DialectAnswer([chunk(#"{"content":"a"}"#, finish: nil, ",\(member)"), Self.stop, Self.done])
        #expect(answer.text == "a" && answer.status == "completed")
    }

    // MARK: Limits

    @Test func answerIsKeptUpToTheLimit() throws {
        func read(_ byteCount: Int) throws {
            let decoder = ChatCompletionsDecoder(byteCountLimit: 100)
            for _ in 0..<byteCount {
                _ = try withPadded(Array(chunk(#"{"content":"x"}"#).utf8)) { try decoder.read($0) }
            }
        }
        try read(99)
        try read(100)
        #expect(throws: ResponseEventError.tooLarge) { try read(101) }
    }

    @Test func itemsAreLimited() throws {
        let decoder = ChatCompletionsDecoder()
        func read(_ index: Int) throws {
            let line = callChunk(String(index), id: "\"\(index)\"", name: #""f""#)
            _ = try withPadded(Array(line.utf8)) { try decoder.read($0) }
        }
        for index in 0..<ResponseSummary.maximumOutputCount { try read(index) }
        #expect(throws: ResponseEventError.tooManyItems) { try read(ResponseSummary.maximumOutputCount) }
    }

    @Test func chunkIsLimited() throws {
        let decoder = ChatCompletionsDecoder()
        let text = String(repeating: "x", count: JSONScanner.maximumEventByteCount)
        #expect(throws: ResponseEventError.tooLarge) {
            _ = try withPadded(Array(chunk("{\"content\":\"\(text)\"}").utf8)) { try decoder.read($0) }
        }
    }

    // MARK: Bad input

    private static let sample = [
        chunk(#"{"role":"assistant","reasoning":"é\u00e9"}"#), chunk(#"{"content":"a\n"}"#),
        callChunk("0", id: #""i""#, name: #""f""#, arguments: #""{\"a\":1}""#),
        chunk("{}", finish: "tool_calls", #","usage":{"prompt_tokens":1}"#),
    ]

    /// A chunk that is cut at any byte is no JSON, and changes nothing.
    @Test func truncationAtEveryByteChangesNothing() throws {
        let whole = try DialectAnswer(Self.sample + [Self.done])
        #expect(whole.calls == [#"i f {"a":1}"#])
        for (place, line) in Self.sample.enumerated() {
            for count in 0..<line.utf8.count {
                let cut = String(decoding: Array(line.utf8.prefix(count)), as: UTF8.self)
                var lines = Self.sample
                lines.insert(cut, at: place)
                // A scalar that is cut is no UTF-8 in the stream, and U+FFFD here.
                var answer = try DialectAnswer(lines + [Self.done])
                answer.otherCount = 0
                #expect(answer == whole, "\(cut)")
            }
        }
    }

    /// Every byte of a chunk replaced: whatever it means then, nothing traps, and every event can be decoded.
    @Test(arguments: sample) func replacedBytesNeverCrashTheDecoder(_ line: String) throws {
        let bytes = Array(line.utf8)
        for place in bytes.indices {
            for byte in ["\"", "{", "}", "[", "]", ",", ":", "\\", "0", "n", " "].map({ $0.utf8.first ?? 0 }) {
                var changed = bytes
                changed[place] = byte
                do {
                    _ = try DialectAnswer(
                        Self.sample + [String(decoding: changed, as: UTF8.self), Self.stop, Self.done])
                } catch is ResponseEventError {
                    continue
                }
            }
        }
    }

    /// Any member absent, null, or of another type.
    @Test(arguments: ["null", "7", "-1", "true", "\"x\"", "[]", "{}", "[[]]", "1e999", "99999999999999999999"])
    func membersOfOtherTypesNeverCrashTheDecoder(_ value: String) throws {
        let members = ["id", "object", "model", "choices", "usage", "service_tier", "x_groq", "type"]
        for member in members { try Self.read([#"{"\#(member)":\#(value),"choices":[]}"#]) }
        for member in ["index", "delta", "finish_reason", "usage"] {
            try Self.read([#"{"choices":[{"\#(member)":\#(value)}]}"#, Self.done], endsInOrder: true)
        }
        for member in ["content", "reasoning", "reasoning_details", "refusal", "tool_calls", "function_call"] {
            try Self.read([chunk(#"{"\#(member)":\#(value)}"#), Self.stop, Self.done])
        }
        for member in ["index", "id", "function", "type"] {
            try Self.read([chunk(#"{"tool_calls":[{"\#(member)":\#(value)}]}"#), Self.calls, Self.done])
        }
        for member in ["name", "arguments"] {
            let piece = #"{"tool_calls":[{"index":0,"function":{"\#(member)":\#(value)}}]}"#
            try Self.read([chunk(piece), Self.calls, Self.done])
        }
    }

    /// Plays lines that may be refused.
    private static func read(_ lines: [String], endsInOrder: Bool = false) throws {
        do {
            _ = try DialectAnswer(lines, endsInOrder: endsInOrder)
        } catch ResponseEventError.invalidField {
            return
        }
    }
}
