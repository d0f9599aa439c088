// The events that close a slot: their text, wherever it stands, and what an event without it is.

import Testing

@testable import ResponseEvents

@Suite struct ClosingEventTests {
    /// A type of event that closes a slot, and how its text is written.
    struct Closing: CustomTestStringConvertible, Sendable {
        let type: String
        let kind: ResponseEvent.DeltaKind
        /// The member of the event or of its part that has the text.
        let member: String
        /// The type of the part; nil when the event has the text itself.
        var partType: String?

        var testDescription: String { "\(self.type) \(self.partType ?? self.member)" }

        /// The member that has the text, directly or in a part.
        func text(_ json: String) -> String {
            guard let partType = self.partType else { return #""\#(self.member)":\#(json)"# }
            return #""part":{"annotations":[{"text":"no"}],"\#(self.member)":\#(json),"type":"\#(partType)"}"#
        }

        func event(_ members: String...) -> String {
            "{" + ([#""type":"\#(self.type)""#] + members).joined(separator: ",") + "}"
        }
    }

    static let texts = [
        Closing(type: "response.output_text.done", kind: .text, member: "text"),
        Closing(type: "response.refusal.done", kind: .refusal, member: "refusal"),
        Closing(type: "response.reasoning_summary_text.done", kind: .reasoningSummary, member: "text"),
        Closing(type: "response.reasoning_text.done", kind: .reasoningText, member: "text"),
        Closing(type: "response.function_call_arguments.done", kind: .functionArguments, member: "arguments"),
        Closing(type: "response.custom_tool_call_input.done", kind: .customInput, member: "input"),
    ]

    static let parts = [
        Closing(type: "response.content_part.done", kind: .text, member: "text", partType: "output_text"),
        Closing(type: "response.content_part.done", kind: .text, member: "text", partType: "text"),
        Closing(type: "response.content_part.done", kind: .refusal, member: "refusal", partType: "refusal"),
        Closing(type: "response.content_part.done", kind: .reasoningText, member: "text", partType: "reasoning_text"),
        Closing(
            type: "response.reasoning_summary_part.done", kind: .reasoningSummary, member: "text",
            partType: "summary_text"),
    ]

    /// The text of an event that closes a slot, and its place.
    private struct Facts: Equatable {
        var kind: ResponseEvent.DeltaKind
        var outputIndex = 0
        var partIndex = 0
        var text: String
        var itemID: String?
    }

    private func expect(
        _ json: String, _ expected: Facts?, location: SourceLocation = #_sourceLocation
    ) throws {
        try withEvent(Array(json.utf8)) { event in
            switch event.kind {
            case .partDone(let kind, let outputIndex, let partIndex, let text):
                let found = Facts(
                    kind: kind, outputIndex: outputIndex, partIndex: partIndex, text: String(text),
                    itemID: event.itemID.map { String($0) })
                #expect(found == expected, "\(json)", sourceLocation: location)
                #expect(!event.kind.isContentFree, sourceLocation: location)
            case .contentFree(responseID: nil):
                #expect(expected == nil, "\(json)", sourceLocation: location)
                #expect(event.kind.isContentFree, sourceLocation: location)
            default:
                Issue.record("\(json) is neither", sourceLocation: location)
            }
            #expect(!event.kind.isTerminal, sourceLocation: location)
        }
    }

    // MARK: The text

    @Test(arguments: Self.texts + Self.parts)
    func textAndPlaceAreReadInEveryOrderOfMembers(closing: Closing) throws {
        let isSummary = closing.kind == .reasoningSummary
        let expected = Facts(
            kind: closing.kind, outputIndex: 3, partIndex: isSummary ? 5 : 4, text: "Grüße 👩🏽‍🚀", itemID: "msg_1")
        let members = [
            #""type":"\#(closing.type)""#, #""item_id":"msg_1""#, #""output_index":3"#,
            #""content_index":4,"summary_index":5"#, closing.text(#""Grüße 👩🏽‍🚀""#),
        ]
        for order in permutations(of: members) { try self.expect("{\(order.joined(separator: ","))}", expected) }
    }

    @Test(arguments: Self.parts)
    func membersOfAPartMayStandInEveryOrder(closing: Closing) throws {
        let members = [
            #""type":"\#(closing.partType ?? "")""#, #""\#(closing.member)":"a""#, #""annotations":[]"#,
            #""status":"incomplete""#,
        ]
        for order in permutations(of: members) {
            try self.expect(
                closing.event(#""part":{\#(order.joined(separator: ","))}"#), Facts(kind: closing.kind, text: "a"))
        }
    }

    @Test(arguments: Self.texts + Self.parts)
    func escapesAreReplacedInTextsNamesAndTypes(closing: Closing) throws {
        let escaped = closing.text(#""a\n\"\u00fc\ud83d\ude00\ud83d""#)
        let expected = Facts(kind: closing.kind, text: "a\n\"ü😀\u{FFFD}", itemID: "m/1")
        try self.expect(closing.event(escaped, #""item_id":"m\/1""#), expected)
        try self.expect(closing.event(#""item\u005fid":"m\u002f1""#, escaped), expected)
        let member = closing.text(#""a""#).replacingName(closing.member, with: closing.member.escapingLast)
        try self.expect(closing.event(member), Facts(kind: closing.kind, text: "a"))
        guard let partType = closing.partType else { return }
        let type = closing.text(#""a""#).replacingName(partType, with: partType.escapingLast)
        try self.expect(closing.event(type), Facts(kind: closing.kind, text: "a"))
    }

    @Test(arguments: Self.texts + Self.parts)
    func emptyTextIsAText(closing: Closing) throws {
        try self.expect(closing.event(closing.text(#""""#)), Facts(kind: closing.kind, text: ""))
    }

    @Test(arguments: Self.texts + Self.parts)
    func lastMemberWithANameCounts(closing: Closing) throws {
        let a = closing.text(#""a""#)
        let b = closing.text(#""b""#)
        try self.expect(closing.event(a, b), Facts(kind: closing.kind, text: "b"))
        try self.expect(closing.event(closing.text("7"), b), Facts(kind: closing.kind, text: "b"))
        try self.expect(closing.event(a, closing.text("null")), nil)
        try self.expect(closing.event(a, closing.text("[1]")), nil)
        let ids = [#""item_id":7"#, #""item_id":"x""#, #""item_id":"y""#]
        try self.expect(
            closing.event(ids[0], ids[1], a, ids[2]), Facts(kind: closing.kind, text: "a", itemID: "y"))
        guard let type = closing.partType else { return }
        for value in ["null", "{}", "7", #""x""#, "[]"] {
            try self.expect(closing.event(a, #""part":\#(value)"#), nil)
            try self.expect(closing.event(#""part":\#(value)"#, a), Facts(kind: closing.kind, text: "a"))
        }
        let twice = #""part":{"type":"x","\#(closing.member)":1,"type":"\#(type)","\#(closing.member)":"b"}"#
        try self.expect(closing.event(twice), Facts(kind: closing.kind, text: "b"))
    }

    @Test(arguments: Self.texts + Self.parts)
    func longTextsAreReadOneAfterAnother(closing: Closing) throws {
        var decoder = ResponseEventDecoder()
        for count in [3, 200_000, 5, 70_000] {
            let text = String(repeating: #"x\n"#, count: count)
            try withPadded(Array(closing.event(closing.text("\"\(text)\"")).utf8)) { bytes in
                guard case .partDone(closing.kind, 0, 0, let found) = try decoder.decode(bytes).kind else {
                    Issue.record("not that event")
                    return
                }
                #expect(String(found) == String(repeating: "x\n", count: count))
            }
        }
    }

    // MARK: No text

    @Test(arguments: Self.texts + Self.parts)
    func eventWithoutItsTextIsContentFree(closing: Closing) throws {
        try self.expect(closing.event(), nil)
        try self.expect(closing.event(#""other":"a""#, #""delta":"a""#), nil)
        for value in ["null", "7", "-1.5e3", "true", "[]", #"["a"]"#, "{}", #"{"text":"a"}"#] {
            try self.expect(closing.event(closing.text(value)), nil)
        }
    }

    @Test(arguments: Self.texts)
    func textOfAnotherMemberIsNotTaken(closing: Closing) throws {
        for member in ["text", "refusal", "arguments", "input", "delta"] where member != closing.member {
            try self.expect(closing.event(#""\#(member)":"a""#), nil)
        }
        try self.expect(closing.event(#""part":{"type":"output_text","text":"a"}"#), nil)
    }

    @Test(arguments: Self.parts)
    func partOfAnotherTypeIsContentFree(closing: Closing) throws {
        let types = ["output_text", "text", "refusal", "reasoning_text", "summary_text", "output_audio", ""]
        let texts = #""text":"a","refusal":"b""#
        let isSummary = closing.kind == .reasoningSummary
        let kinds: [String: Facts] =
            isSummary
            ? [
                "summary_text": Facts(kind: .reasoningSummary, text: "a"),
                "": Facts(kind: .reasoningSummary, text: "a"),
            ]
            : [
                "output_text": Facts(kind: .text, text: "a"), "text": Facts(kind: .text, text: "a"),
                "refusal": Facts(kind: .refusal, text: "b"), "reasoning_text": Facts(kind: .reasoningText, text: "a"),
            ]
        for type in types {
            try self.expect(closing.event(#""part":{"type":"\#(type)",\#(texts)}"#), kinds[type])
        }
        for type in ["7", "[]", "{}", "true"] {
            try self.expect(closing.event(#""part":{"type":\#(type),\#(texts)}"#), nil)
        }
        // A summary has only summary texts.
        let untyped = isSummary ? Facts(kind: .reasoningSummary, text: "a") : nil
        try self.expect(closing.event(#""part":{\#(texts)}"#), untyped)
        try self.expect(closing.event(#""part":{\#(texts),"type":null}"#), untyped)
        try self.expect(closing.event(#""text":"a""#, #""refusal":"a""#), nil)
    }

    @Test func textOfAnEarlierEventIsForgotten() throws {
        var decoder = ResponseEventDecoder()
        for closing in Self.texts + Self.parts {
            withPadded(Array(closing.event(closing.text(#""a""#), #""item_id":"x""#).utf8)) { bytes in
                _ = try? decoder.decode(bytes)
            }
            try withPadded(Array(closing.event().utf8)) { bytes in
                let event = try decoder.decode(bytes)
                guard case .contentFree(responseID: nil) = event.kind, event.itemID == nil else {
                    Issue.record("\(closing.type) has a text")
                    return
                }
            }
        }
    }

    // MARK: Items and responses

    @Test(arguments: handMadeEvents.filter { !$0.contains(#""item_id""#) })
    func everyEventHasTheIdentifierOfItsItem(json: String) throws {
        for (member, itemID) in [
            (#""item_id":"fc_1""#, "fc_1"), (#""item_id":"\u0066c_1""#, "fc_1"), (#""item_id":"""#, nil),
            (#""item_id":null"#, nil), (#""item_id":7"#, nil), (#""item_id":["a"]"#, nil), (#""id":"a""#, nil),
        ] as [(String, String?)] {
            try withEvent(Array("{\(member),\(json.dropFirst())".utf8)) { event in
                #expect(event.itemID.map { String($0) } == itemID)
            }
        }
    }

    @Test(arguments: ["response.queued", "response.in_progress"])
    func stepNamesItsResponse(type: String) throws {
        var decoder = ResponseEventDecoder()
        let earlier = Array(#"{"type":"response.completed","response":{"id":"earlier"}}"#.utf8)
        for (member, responseID) in [
            (#""response":{"id":"resp_1","status":"queued"}"#, "resp_1"), (#""response":{"id":"r\u0031"}"#, "r1"),
            (#""response":{"id":null}"#, nil), (#""response":{"id":7,"status":[]}"#, nil), (#""response":{}"#, nil),
            (#""response":null"#, nil), (#""response":"resp_1""#, nil), (#""id":"resp_1""#, nil),
            (#""response":{"id":"a"},"response":{"id":"b"}"#, "b"), (#""response":{"id":"a"},"response":{}"#, nil),
        ] as [(String, String?)] {
            for json in [#"{"type":"\#(type)",\#(member)}"#, #"{\#(member),"type":"\#(type)"}"#] {
                withPadded(earlier) { bytes in _ = try? decoder.decode(bytes) }
                try withPadded(Array(json.utf8)) { bytes in
                    guard case .contentFree(let found) = try decoder.decode(bytes).kind else {
                        Issue.record("\(json) is another event")
                        return
                    }
                    #expect(found == responseID, "\(json)")
                }
            }
        }
    }

    @Test(arguments: [
        "response.content_part.added", "response.reasoning_summary_part.added", "responsesapi.websocket_timing",
    ])
    func contentFreeEventsHaveNoResponseIdentifier(type: String) throws {
        try withEvent(Array(#"{"type":"\#(type)","response":{"id":"r"}}"#.utf8)) { event in
            guard case .contentFree(responseID: nil) = event.kind else {
                Issue.record("it names one")
                return
            }
        }
    }
}

/// All orders of some elements.
func permutations<Element>(of elements: [Element]) -> [[Element]] {
    guard let first = elements.first else { return [[]] }
    return permutations(of: Array(elements.dropFirst())).flatMap { rest in
        (0...rest.count).map { rest[..<$0] + [first] + rest[$0...] }.map(Array.init)
    }
}

extension String {
    /// The name with its last letter as an escape.
    fileprivate var escapingLast: String {
        let code = self.utf8.last.map { String($0, radix: 16) } ?? ""
        return self.dropLast() + "\\u00" + code
    }

    fileprivate func replacingName(_ name: String, with other: String) -> String {
        self.split(separator: "\"\(name)\"", omittingEmptySubsequences: false).joined(separator: "\"\(other)\"")
    }
}
