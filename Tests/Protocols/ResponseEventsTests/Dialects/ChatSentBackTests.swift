// The parts of a chat completion that go back to its server: reasoning under its names, and members of calls.

import Testing

@testable import ResponseEvents

@Suite struct ChatSentBackTests {
    private static let ending = [chunk("{}", finish: "stop"), "[DONE]"]

    private static func answer(_ deltas: [String]) throws -> DialectAnswer {
        try DialectAnswer(deltas.map { chunk($0) } + Self.ending)
    }

    // MARK: Reasoning

    @Test(arguments: [
        ([#"{"reasoning_content":"a"}"#, #"{"reasoning_content":"\"b"}"#], #"{"reasoning_content":"a\"b"}"#),
        ([#"{"reasoning":"a"}"#, #"{"reasoning":"b"}"#], #"{"reasoning":"ab"}"#),
        // Each name, although one of them is delivered.
        ([#"{"reasoning":"a","reasoning_content":"a"}"#], #"{"reasoning_content":"a","reasoning":"a"}"#),
        (
            [#"{"reasoning_text":"a"}"#, #"{"reasoning_opaque":"x"}"#],
            #"{"reasoning_text":"a","reasoning_opaque":"x"}"#
        ),
        // An empty text is one, and `null` is none.
        ([#"{"reasoning_content":"","reasoning":null}"#, #"{"content":"a"}"#], #"{"reasoning_content":""}"#),
    ])
    func textsKeepTheirNames(_ deltas: [String], _ expected: String) throws {
        let answer = try Self.answer(deltas)
        #expect(answer.sentBack == [expected])
        #expect(answer.status == "completed")
    }

    @Test(arguments: [
        // Pieces with an index, whose signature comes last and without a text.
        (
            [
                #"[{"type":"reasoning.text","text":"","signature":"","format":"f","index":0}]"#,
                #"[{"type":"reasoning.text","text":"a","format":"f","index":0}]"#,
                #"[{"type":"reasoning.text","text":"b","format":"f","index":0}]"#,
                #"[{"type":"reasoning.text","signature":"s","format":"f","index":0}]"#,
            ], #"[{"type":"reasoning.text","text":"ab","signature":"s","format":"f","index":0}]"#
        ),
        // Types and indices tell elements apart, also where they come in turns.
        (
            [
                #"[{"type":"reasoning.summary","summary":"a","index":0}]"#,
                #"[{"type":"reasoning.encrypted","data":"x","id":"i","index":0}]"#,
                #"[{"type":"reasoning.summary","summary":"c","index":1},{"type":"reasoning.summary","summary":"b","index":0}]"#,
            ],
            #"[{"type":"reasoning.summary","summary":"ab","index":0},"#
                + #"{"type":"reasoning.encrypted","data":"x","id":"i","index":0},"#
                + #"{"type":"reasoning.summary","summary":"c","index":1}]"#
        ),
        // Without an index the newest element goes on.
        (
            [#"[{"type":"reasoning.text","text":"a","provider":"p"}]"#, #"[{"text":"b","type":"reasoning.text"}]"#],
            #"[{"type":"reasoning.text","text":"ab","provider":"p"}]"#
        ),
        // Another identifier is another element, and a signature ends one.
        (
            [
                #"[{"type":"e","data":"x","id":"i","index":0},{"type":"e","data":"y","id":"j","index":0}]"#,
                #"[{"type":"t","text":"a","signature":"s"},{"type":"t","text":"b","signature":"u"}]"#,
            ],
            #"[{"type":"e","data":"x","id":"i","index":0},{"type":"e","data":"y","id":"j","index":0},"#
                + #"{"type":"t","text":"a","signature":"s"},{"type":"t","text":"b","signature":"u"}]"#
        ),
        // Other values are those of the newest piece, and `null` is none.
        (
            [
                #"[{"type":"t","text":"a","x":[1, 2],"id":null,"y":1}]"#,
                #"[{"type":"t","text":null,"id":"i","y":2}, 7]"#,
            ],
            #"[{"type":"t","text":"a","x":[1, 2],"y":2,"id":"i"}]"#
        ),
    ])
    func elementsArePutTogether(_ pieces: [String], _ expected: String) throws {
        for name in ["reasoning_details", "thinking_blocks"] {
            let answer = try Self.answer(pieces.map { #"{"\#(name)":\#($0)}"# })
            #expect(answer.sentBack == [#"{"\#(name)":\#(expected)}"#])
        }
    }

    @Test(arguments: [
        (
            [
                #"[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]"#,
                #"[{"type":"thinking","thinking":[{"type":"text","text":"b"}],"closed":true},{"type":"text","text":"c"}]"#,
            ], #"[{"type":"thinking","thinking":[{"type":"text","text":"ab"}],"closed":true}]"#, "ab"
        ),
        (
            [
                #"[{"type":"reasoning","summary":[{"type":"summary_text","text":"a"}]}]"#,
                #"[{"type":"reasoning","summary":[{"type":"summary_text","text":"","signature":"s"}]}]"#,
            ], #"[{"type":"reasoning","summary":[{"type":"summary_text","text":"a","signature":"s"}]}]"#, "a"
        ),
        ([#"[{"type":"thinking","thinking":"ab"}]"#], #"[{"type":"thinking","thinking":"ab"}]"#, "ab"),
    ])
    func partsOfTheContentArePutTogether(_ pieces: [String], _ expected: String, _ text: String) throws {
        let answer = try Self.answer(pieces.map { #"{"content":\#($0)}"# })
        #expect(answer.sentBack == [#"{"content":\#(expected)}"#])
        #expect(answer.reasoning == text)
    }

    @Test func reasoningStandsAtItsPlace() throws {
        let details = #"{"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}"#
        let call = callChunk("0", id: #""i""#, name: #""f""#, arguments: #""{}""#)
        let text = chunk(#"{"content":"a"}"#)
        #expect(try DialectAnswer([chunk(details), call] + Self.ending).items == ["reasoning", "function_call"])
        #expect(
            try DialectAnswer([text, chunk(details), call] + Self.ending).items == [
                "message", "reasoning", "function_call",
            ])
        let empty = chunk(#"{"reasoning_content":""}"#)
        #expect(
            try DialectAnswer([empty, text, call] + Self.ending).items == ["message", "function_call", "reasoning"])
        #expect(try DialectAnswer([text] + Self.ending).items == ["message"])
    }

    @Test func incompleteAnswerHasNoneToSendBack() throws {
        let cut = [chunk(#"{"reasoning_content":"a"}"#), chunk("{}", finish: "length"), "[DONE]"]
        #expect(try DialectAnswer(cut).items.isEmpty)
    }

    // MARK: Calls

    @Test(arguments: [
        (
            [#""function":{"name":"f","arguments":"{}"},"extra_content":{"google": {"thought_signature":"s"}}"#],
            #"{"extra_content":{"google": {"thought_signature":"s"}}}"#
        ),
        // In a later piece, and the newest counts.
        (
            [
                #""function":{"name":"f","arguments":"{}"},"extra_content":null"#,
                #""function":{"arguments":""},"extra_content":{"vertex":{"thought_signature":"s"}}"#,
                #""extra_content":{"vertex":{"thought_signature":"u"}}"#,
            ], #"{"extra_content":{"vertex":{"thought_signature":"u"}}}"#
        ),
        ([#""thought_signature":"s\"","function":{"name":"f"}"#], #"{"thought_signature":"s\""}"#),
        ([#""function":{"name":"f","thought_signature":"s"}"#], #"{"function":{"thought_signature":"s"}}"#),
    ])
    func signatureOfACallGoesBackWithIt(_ pieces: [String], _ expected: String) throws {
        let lines = pieces.map { chunk(#"{"tool_calls":[{"index":0,"id":"i",\#($0)}]}"#) }
        let answer = try DialectAnswer(lines + Self.ending)
        #expect(answer.sentBack == [expected])
        #expect(answer.calls == ["i f {}"])
    }

    @Test func otherMembersOfACallAreLeftOut() throws {
        let call = #"{"tool_calls":[{"index":0,"id":"i","x":1,"function":{"name":"f","y":2},"extra_content":null}]}"#
        #expect(try Self.answer([call]).sentBack.isEmpty)
    }

    // MARK: Limits

    @Test func whatIsKeptIsLimited() throws {
        func read(_ delta: String, _ count: Int) throws {
            let decoder = ChatCompletionsDecoder(byteCountLimit: 1000)
            for _ in 0..<count { _ = try withPadded(Array(chunk(delta).utf8)) { try decoder.read($0) } }
        }
        let text = String(repeating: "x", count: 100)
        // A text is kept for its item and for its member.
        try read(#"{"reasoning_content":"\#(text)"}"#, 5)
        for delta in [
            #"{"reasoning_content":"\#(text)"}"#, #"{"reasoning_opaque":"\#(text)"}"#,
            #"{"reasoning_details":[{"type":"t","data":"\#(text)"}]}"#, #"{"thinking_blocks":[{"id":"a"},{"id":"b"}]}"#,
            #"{"content":[{"type":"thinking","thinking":"\#(text)"}]}"#,
        ] {
            #expect(throws: ResponseEventError.tooLarge) { try read(delta, 11) }
        }
        // A replaced value does not grow.
        try read(#"{"tool_calls":[{"index":0,"extra_content":{"x":"\#(text)"}}]}"#, 50)
        #expect(throws: ResponseEventError.tooLarge) {
            try read(#"{"tool_calls":[{"index":0,"extra_content":{"x":"\#(String(repeating: text, count: 10))"}}]}"#, 1)
        }
    }

    @Test func membersOfAnElementAreLimited() throws {
        let members = (0..<100).map { #""m\#($0)":1"# }.joined(separator: ",")
        let answer = try Self.answer([#"{"reasoning_details":[{\#(members)}]}"#])
        #expect(answer.sentBack.first?.contains("\"m31\"") == true)
        #expect(answer.sentBack.first?.contains("\"m32\"") == false)
    }
}
