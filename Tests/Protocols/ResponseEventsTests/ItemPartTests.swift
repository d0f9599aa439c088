// The texts that items hold, as the events that end an item and a response say them.

import Testing

@testable import ResponseEvents

@Suite struct ItemPartTests {
    /// The members of an item, copied.
    private struct Facts: Equatable {
        var kind: ItemSummary.Kind
        var id: String?
        var agentName: String?
        var parts: [Part] = []
        var json: String

        init(_ item: ItemSummary) {
            self.kind = item.kind
            self.id = item.id
            self.agentName = item.agentName
            self.parts = item.parts.map { Part($0.kind, $0.index, String($0.text)) }
            self.json = String(item.json)
        }
    }

    struct Part: Equatable, Sendable {
        var kind: ResponseEvent.DeltaKind
        var index: Int
        var text: String

        init(_ kind: ResponseEvent.DeltaKind, _ index: Int, _ text: String) {
            self.kind = kind
            self.index = index
            self.text = text
        }
    }

    /// Returns the facts of an item in each of the events that can contain it.
    private func items(_ json: String, _ decoder: inout ResponseEventDecoder) throws -> [Facts] {
        var found: [Facts] = []
        for event in [
            #"{"type":"response.output_item.added","item":\#(json)}"#,
            #"{"item":\#(json),"type":"response.output_item.done"}"#,
            #"{"type":"response.completed","response":{"id":"r","output":[\#(json)]}}"#,
            #"{"response":{"output":[\#(json)]},"type":"response.incomplete"}"#,
            #"{"type":"response.failed","response":{"output":[\#(json)],"error":null}}"#,
        ] {
            try withPadded(Array(event.utf8)) { bytes in
                // The event outlives its items: of one that is not kept Swift 6.3.1 reads them when they are gone.
                let decoded = try decoder.decode(bytes)
                switch decoded.kind {
                case .outputItemAdded(_, let item), .outputItemDone(_, let item): found.append(Facts(item))
                case .completed(let response), .incomplete(let response), .failed(let response):
                    found += response.output.map(Facts.init)
                default: break
                }
            }
        }
        #expect(found.count == 5)
        #expect(found.allSatisfy { $0 == found.first && $0.json == json }, "\(json)")
        return found
    }

    private func expect(
        _ json: String, _ parts: [Part], location: SourceLocation = #_sourceLocation
    ) throws {
        var decoder = ResponseEventDecoder()
        let found = try self.items(json, &decoder).first?.parts
        #expect(found == parts, "\(json)", sourceLocation: location)
    }

    // MARK: Kinds of items

    @Test func messageHasItsTextsAndRefusals() throws {
        try self.expect(
            #"""
            {"type":"message","id":"m","content":[{"type":"output_text","text":"a"},{"type":"output_audio","text":"b"},
            {"type":"text","text":"c"},{"type":"refusal","refusal":"d","text":"e"},{"type":"reasoning_text","text":"f"},
            {"type":"summary_text","text":"g"}],"summary":[{"type":"summary_text","text":"h"}],"arguments":"i"}
            """#, [Part(.text, 0, "a"), Part(.text, 2, "c"), Part(.refusal, 3, "d")])
    }

    @Test func reasoningHasItsSummariesAndItsTexts() throws {
        try self.expect(
            #"""
            {"content":[{"type":"output_text","text":"a"},{"type":"reasoning_text","text":"b"},
            {"text":"c","type":"reasoning_text"}],"summary":[{"type":"summary_text","text":"d"},{"type":"other",
            "text":"e"},{"text":"f"},{"type":null,"text":"g"},{"type":7,"text":"h"}],"type":"reasoning","input":"i"}
            """#,
            [
                Part(.reasoningSummary, 0, "d"), Part(.reasoningSummary, 2, "f"), Part(.reasoningSummary, 3, "g"),
                Part(.reasoningText, 0, "a"), Part(.reasoningText, 1, "b"), Part(.reasoningText, 2, "c"),
            ])
    }

    @Test(arguments: [("function_call", ResponseEvent.DeltaKind.functionArguments), ("custom_tool_call", .customInput)])
    func callHasItsPayload(type: String, kind: ResponseEvent.DeltaKind) throws {
        for (members, text) in [
            (#""arguments":"{\"a\":\"\u00fc\"}""#, #"{"a":"ü"}"#), (#""input":"select 1;""#, "select 1;"),
            (#""arguments":"""#, ""), (#""arguments":{"a": "\u00fc"}"#, #"{"a": "\u00fc"}"#),
            (#""arguments":12"#, "12"), (#""input":null"#, nil), (#""content":[{"type":"text","text":"a"}]"#, nil),
            (#""arguments":"a","arguments":"b""#, "b"), (#""arguments":"a","arguments":null"#, nil),
        ] as [(String, String?)] {
            try self.expect(#"{"type":"\#(type)",\#(members)}"#, text.map { [Part(kind, 0, $0)] } ?? [])
            try self.expect(#"{\#(members),"type":"\#(type)"}"#, text.map { [Part(kind, 0, $0)] } ?? [])
        }
    }

    @Test(arguments: ["web_search_call", "function_call_output", "Message"])
    func otherItemHasNoParts(type: String) throws {
        let texts = #"[{"type":"output_text","text":"a"},{"type":"summary_text","text":"b"}]"#
        try self.expect(
            #"{"type":"\#(type)","content":\#(texts),"summary":\#(texts),"arguments":"c","input":"d"}"#, [])
    }

    @Test(arguments: ["", #""type":"","#, #""type":null,"#])
    func anItemWithoutATypeHasThePartsOfWhatItShows(type: String) throws {
        let texts = #"[{"type":"output_text","text":"a"},{"type":"summary_text","text":"b"}]"#
        let reasoning = [Part(.reasoningSummary, 1, "b"), Part(.reasoningText, 0, "a")]
        try self.expect(#"{\#(type)"content":\#(texts),"summary":\#(texts),"arguments":"c"}"#, reasoning)
        try self.expect(#"{\#(type)"content":\#(texts)}"#, [Part(.text, 0, "a")])
        for (name, kind) in [("arguments", ResponseEvent.DeltaKind.functionArguments), ("input", .customInput)] {
            try self.expect(#"{\#(type)"call_id":"1","content":\#(texts),"\#(name)":"c"}"#, [Part(kind, 0, "c")])
            // A call without an identifier could not be answered.
            try self.expect(#"{\#(type)"\#(name)":"c"}"#, [])
        }
    }

    // MARK: How parts are written

    @Test func membersMayStandInEveryOrder() throws {
        let members = [
            #""type":"message""#, #""id":"m""#,
            #""content":[{"annotations":[],"text":"a","type":"output_text"},{"refusal":"b","type":"refusal"}]"#,
            #""agent":{"agent_name":"/root"}"#, #""status":"completed""#,
        ]
        var decoder = ResponseEventDecoder()
        for order in permutations(of: members) {
            let item = try #require(try self.items("{\(order.joined(separator: ","))}", &decoder).first)
            #expect(item.kind == .message)
            #expect(item.id == "m")
            #expect(item.agentName == "/root")
            #expect(item.parts == [Part(.text, 0, "a"), Part(.refusal, 1, "b")])
        }
    }

    @Test(arguments: [
        (#"{"type":"output_text"}"#, []), (#"{"type":"output_text","text":null}"#, []),
        (#"{"type":"output_text","text":7}"#, []), (#"{"type":"output_text","text":["a"]}"#, []),
        (#"{"type":"output_text","refusal":"a"}"#, []), (#"{"type":"refusal","text":"a"}"#, []),
        (#"{"type":null,"text":"a"}"#, ["a"]), (#"{"text":"a"}"#, ["a"]), (#"{"type":[],"text":"a"}"#, []),
        ("null", []),
        ("7", []), (#""a""#, []), ("[]", []), (#"[{"type":"output_text","text":"a"}]"#, []), ("{}", []),
        (#"{"type":"output_text","text":""}"#, [""]), (#"{"type":"output_text","text":"a","text":"b"}"#, ["b"]),
        (#"{"type":"output_text","text":"a","text":null}"#, []), (#"{"type":"x","type":"text","text":"a"}"#, ["a"]),
        (#"{"type":"output\u005ftext","te\u0078t":"\ud83d\ude00\n\ud83d"}"#, ["😀\n\u{FFFD}"]),
        (#"{ "text" : "a" , "type" : "text" }"#, ["a"]),
    ])
    func partWithoutATextIsLeftOutAndKeepsItsPlace(part: String, texts: [String]) throws {
        try self.expect(
            #"{"type":"message","content":[\#(part),{"type":"output_text","text":"next"}]}"#,
            texts.map { Part(.text, 0, $0) } + [Part(.text, 1, "next")])
    }

    @Test func lastOfRepeatedContentMembersIsUsed() throws {
        let list = { (text: String) in #"[{"type":"output_text","text":"\#(text)"}]"# }
        try self.expect(
            #"{"type":"message","content":\#(list("a")),"content":\#(list("b"))}"#, [Part(.text, 0, "b")])
        // A text in the place of the list is its one part.
        try self.expect(#"{"type":"message","content":\#(list("a")),"content":"b"}"#, [Part(.text, 0, "b")])
        try self.expect(#"{"type":"message","content":"b","content":\#(list("a"))}"#, [Part(.text, 0, "a")])
        for value in ["null", "[]", "7", "{}", #"{"type":"output_text","text":"c"}"#] {
            try self.expect(#"{"type":"message","content":\#(list("a")),"content":\#(value)}"#, [])
            try self.expect(
                #"{"type":"message","content":\#(value),"c\u006fntent":\#(list("a"))}"#, [Part(.text, 0, "a")])
        }
    }

    @Test func lastOfRepeatedItemMembersIsUsed() throws {
        let item = { (text: String) in #"{"type":"message","content":[{"type":"text","text":"\#(text)"}]}"# }
        let event = #"{"type":"response.output_item.done","item":\#(item("a")),"item":\#(item("b"))}"#
        try withEvent(Array(event.utf8)) { event in
            guard case .outputItemDone(_, let item) = event.kind else {
                Issue.record("not an item")
                return
            }
            #expect(item.parts.map { String($0.text) } == ["b"])
        }
    }

    @Test(arguments: [
        (#""agent":{"agent_name":"/root"}"#, "/root"), (#""agent":{"agent_name":"\/a\u0062"}"#, "/ab"),
        (#""agent":{"agent_name":""}"#, nil), (#""agent":{"agent_name":null}"#, nil), (#""agent":{}"#, nil),
        (#""agent":null"#, nil), (#""agent":"a""#, nil), (#""agent":{"agent_name":7}"#, nil),
        (#""agent_name":"a""#, nil), (#""agent":{"agent_name":"a","agent_name":"b"}"#, "b"),
        (#""agent":{"agent_name":"a"},"agent":{}"#, nil), (#""agent":{"x":{"agent_name":"a"}}"#, nil),
    ])
    func itemNamesItsAgent(member: String, name: String?) throws {
        var decoder = ResponseEventDecoder()
        let items = try self.items(#"{"type":"message",\#(member),"id":"a"}"#, &decoder)
        #expect(items.map(\.agentName) == Array(repeating: name, count: 5))
    }

    @Test(arguments: [(#""role":"user""#, "user"), (#""role":"""#, nil), (#""role":null"#, nil), (#""x":1"#, nil)])
    func emptyRoleIsNone(member: String, role: String?) throws {
        for type in ["added", "done"] {
            let event = #"{"type":"response.output_item.\#(type)","item":{"type":"message",\#(member)}}"#
            try withEvent(Array(event.utf8)) { event in
                switch event.kind {
                case .outputItemAdded(_, let item), .outputItemDone(_, let item): #expect(item.role == role)
                default: Issue.record("not an item")
                }
            }
        }
    }

    @Test func tenThousandPartsAreReadOneAfterAnother() throws {
        var decoder = ResponseEventDecoder()
        for count in [10_000, 1, 3_000, 0] {
            let parts = (0..<count).map { #"{"type":"text","text":"\n\#($0)"}"# }.joined(separator: ",")
            let found = try self.items(#"{"type":"message","content":[\#(parts)]}"#, &decoder).first?.parts
            #expect(found == (0..<count).map { Part(.text, $0, "\n\($0)") })
        }
    }

    // MARK: The output of a response

    private func output(of response: String, type: String = "response.completed") throws -> [Facts] {
        try withEvent(Array(#"{"type":"\#(type)","response":\#(response)}"#.utf8)) { event in
            switch event.kind {
            case .completed(let response), .incomplete(let response), .failed(let response):
                return response.output.map(Facts.init)
            default:
                Issue.record("not an end")
                return []
            }
        }
    }

    @Test func outputHasItsItemsInOrder() throws {
        let items = [
            #"{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"a\n"}]}"#,
            #"{"type":"function_call","id":"fc","arguments":"{}","agent":{"agent_name":"x"}}"#,
            #"{"id":"m","content":[{"text":"b","type":"output_text"}],"type":"message"}"#,
        ]
        let output = try self.output(of: #"{"output":[\#(items.joined(separator: " , "))],"id":"r"}"#)
        #expect(output.map(\.id) == ["rs", "fc", "m"])
        #expect(output.map(\.kind) == [.reasoning, .functionCall, .message])
        #expect(output.map(\.agentName) == [nil, "x", nil])
        #expect(output.map(\.json) == items)
        #expect(
            output.map(\.parts) == [
                [Part(.reasoningSummary, 0, "a\n")], [Part(.functionArguments, 0, "{}")], [Part(.text, 0, "b")],
            ])
    }

    @Test func elementThatIsNoObjectKeepsItsPlace() throws {
        let output = try self.output(of: #"{"output":[null,{"id":"a"},7,"b",[{"id":"c"}],true,{"id":"d"}]}"#)
        #expect(output.map(\.id) == [nil, "a", nil, nil, nil, nil, "d"])
        #expect(output.allSatisfy { $0.kind == .other && $0.parts.isEmpty })
        #expect(output.map(\.json) == ["", #"{"id":"a"}"#, "", "", "", "", #"{"id":"d"}"#])
    }

    @Test(arguments: [
        "{}", #"{"output":null}"#, #"{"output":{"id":"a"}}"#, #"{"output":7}"#, #"{"output":"a"}"#, #"{"output":[]}"#,
        #"{"output":[{"id":"a"}],"output":[]}"#, #"{"output":[{"id":"a"}],"output":null}"#,
        #"{"x":{"output":[{"id":"a"}]}}"#, #"{"id":"r"},"other":{"output":[{"id":"a"}]}"#,
        #"{"output":[{"id":"a"}]},"response":{"id":"r"}"#,
    ])
    func responseWithoutOutputHasNone(response: String) throws {
        #expect(try self.output(of: response).isEmpty)
    }

    @Test func lastOutputMemberIsUsed() throws {
        #expect(try self.output(of: #"{"output":[{"id":"a"},1],"output":[{"id":"b"}]}"#).map(\.id) == ["b"])
        let twice = #"{"output":[{"id":"a"}]},"response":{"output":[1,{"id":"b"}]}"#
        #expect(try self.output(of: twice).map(\.id) == [nil, "b"])
    }

    @Test(arguments: ["id", "type", "status", "call_id", "name", "namespace"])
    func textOfAnotherTypeInTheOutputIsAbsent(name: String) throws {
        for value in ["7", "[1]", #"{"a":"b"}"#, "true"] {
            let output = try self.output(of: #"{"output":[{"\#(name)":\#(value)},{"id":"a"}]}"#)
            #expect(output.map(\.id) == [nil, "a"])
        }
    }

    @Test func noMoreElementsAreListedThanTheLimit() throws {
        #expect(ResponseSummary.maximumOutputCount == 16_384)
        for count in [16_383, 16_384, 16_385, 40_000] {
            let elements = Array(repeating: "0", count: count - 1) + [#"{"id":"last"}"#]
            let output = try self.output(of: #"{"output":[\#(elements.joined(separator: ","))]}"#)
            #expect(output.count == min(count, 16_384))
            #expect(output.last?.id == (count > 16_384 ? nil : "last"))
        }
        let beyond = Array(repeating: "0", count: 16_384).joined(separator: ",")
        #expect(decodingError(#"{"type":"response.completed","response":{"output":[\#(beyond),01]}}"#) == .notJSON)
    }

    // MARK: Nesting and validity

    /// The places where values may be nested, and the number of containers around them.
    static let places: [(before: String, after: String, depth: Int)] = [
        (#"{"type":"response.content_part.done","part":{"x":"#, "}}", 2),
        (#"{"type":"response.content_part.done","part":{"text":"#, "}}", 2),
        (#"{"type":"response.content_part.done","part":"#, "}", 1),
        (#"{"type":"response.output_text.done","text":"#, "}", 1),
        (#"{"type":"response.output_text.done","item_id":"#, "}", 1),
        (#"{"type":"response.output_item.done","item":{"content":[{"text":"#, "}]}}", 4),
        (#"{"type":"response.output_item.done","item":{"summary":["#, "]}}", 3),
        (#"{"type":"response.output_item.done","item":{"agent":{"agent_name":"#, "}}}", 3),
        (#"{"type":"response.completed","response":{"output":"#, "}}", 2),
        (#"{"type":"response.completed","response":{"output":["#, "]}}", 3),
        (#"{"type":"response.completed","response":{"output":[{"id":"#, "}]}}", 4),
        (#"{"type":"response.completed","response":{"output":[{"arguments":"#, "}]}}", 4),
        (#"{"type":"response.completed","response":{"output":[{"content":[{"type":"#, "}]}]}}", 6),
        (#"{"type":"response.completed","response":{"output":[{"agent":{"x":"#, "}}]}}", 5),
    ]

    @Test func nestingIsLimitedInEveryPlace() {
        var decoder = ResponseEventDecoder()
        for (before, after, depth) in Self.places {
            for (count, isTooDeep) in [(512 - depth, false), (513 - depth, true), (10_000, true)] {
                let nested = String(repeating: "[", count: count) + String(repeating: "]", count: count)
                let error = decodingError(Array((before + nested + after).utf8), decoder: &decoder)
                // An item's text must be a text.
                let expected: ResponseEventError? = isTooDeep ? .tooDeep : nil
                #expect(error == expected, "\(before) \(count)")
            }
        }
    }

    @Test func everyByteIsCheckedInEveryPlace() {
        var decoder = ResponseEventDecoder()
        for (before, after, _) in Self.places {
            for value in ["01", "nul", #""\x""#, #""\ud8""#, "[1,]", #"{"a"}"#, #"{"a":1,}"#, "[", "1 2", "\u{1}"] {
                let error = decodingError(Array((before + value + after).utf8), decoder: &decoder)
                #expect(error == .notJSON, "\(before) \(value)")
            }
            let bytes = Array(before.utf8) + [0x22, 0xC3, 0x22] + Array(after.utf8)
            #expect(decodingError(bytes, decoder: &decoder) == .invalidUTF8)
        }
    }
}
