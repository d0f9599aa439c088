// The numbers of deltas' slots: two deltas with the same one are of the same slot, whatever came in between.

import Testing

@testable import ResponseEvents

@Suite struct DeltaShapeTests {
    /// The slot that a delta continues.
    private struct Slot: Hashable {
        var kind: ResponseEvent.DeltaKind
        var outputIndex: Int
        var partIndex: Int
        var itemID: String?
    }

    /// A delta, copied.
    private struct Delta: Equatable {
        var slot: Slot
        var text: String
        var shape: UInt
    }

    private static func scan(_ json: String, _ decoder: inout ResponseEventDecoder) throws -> Delta? {
        try withPadded(Array(json.utf8), padding: UInt8(ascii: "\"")) { bytes in
            try decoder.scan(bytes).map { delta in
                let slot = Slot(
                    kind: delta.kind, outputIndex: delta.outputIndex, partIndex: delta.partIndex,
                    itemID: delta.itemID.map { String($0) })
                return Delta(slot: slot, text: String(delta.text), shape: delta.shape)
            }
        }
    }

    private static func delta(
        _ number: Int, _ text: String, item: String = "msg_1", output: Int = 0, content: Int = 0,
        type: String = "output_text"
    ) -> String {
        #"{"type":"response.\#(type).delta","sequence_number":\#(number),"item_id":"\#(item)","#
            + #""output_index":\#(output),"content_index":\#(content),"delta":"\#(text)","obfuscation":"x\#(number)"}"#
    }

    @Test func deltasOfOneSlotHaveOneShape() throws {
        var decoder = ResponseEventDecoder()
        var shapes: Set<UInt> = []
        for number in 0..<20 {
            let delta = try #require(try Self.scan(Self.delta(number, "word \(number)\\n"), &decoder))
            #expect(delta.slot == Slot(kind: .text, outputIndex: 0, partIndex: 0, itemID: "msg_1"))
            #expect(delta.text == "word \(number)\n")
            shapes.insert(delta.shape)
        }
        #expect(shapes.count == 1)
        #expect(!shapes.contains(0))
    }

    @Test func everySlotHasItsOwnShape() throws {
        var decoder = ResponseEventDecoder()
        var shapes: [UInt] = []
        for json in [
            Self.delta(1, "a"), Self.delta(2, "a", item: "msg_2"), Self.delta(3, "a", item: "msg_22"),
            Self.delta(4, "a", item: ""), Self.delta(5, "a", output: 1), Self.delta(6, "a", content: 1),
            Self.delta(7, "a", type: "refusal"), Self.delta(8, "a", type: "reasoning_text"),
            #"{"type":"response.output_text.delta","delta":"a"}"#,
            #"{"type":"response.reasoning_summary_text.delta","delta":"a"}"#,
            #"{"type":"response.reasoning_summary_text.delta","delta":"a","summary_index":1}"#,
            #"{"type":"response.reasoning_summary_text.delta","delta":"a","summary_index":-1}"#,
        ] {
            for _ in 0..<3 { shapes.append(try #require(try Self.scan(json, &decoder)).shape) }
        }
        #expect(!shapes.contains(0))
        for index in stride(from: 0, to: shapes.count, by: 3) {
            #expect(Set(shapes[index..<(index + 3)]).count == 1)
        }
        #expect(Set(shapes).count == shapes.count / 3)
    }

    @Test func newItemHasItsShapeFromItsFirstDeltaOn() throws {
        var decoder = ResponseEventDecoder()
        var shapes: [[UInt]] = []
        for item in ["msg_1", "msg_2", "msg_3", "msg_4"] {
            shapes.append(
                try (0..<5).map { try #require(try Self.scan(Self.delta($0, "a", item: item), &decoder)).shape })
        }
        #expect(shapes.allSatisfy { Set($0).count == 1 && !$0.contains(0) })
        #expect(Set(shapes.joined()).count == 4)
    }

    @Test func identifierThatChangesWithEveryDeltaIsReadEachTime() throws {
        var decoder = ResponseEventDecoder()
        var shapes: Set<UInt> = []
        for number in 1...50 {
            let item = String(repeating: "i", count: number % 7) + "\(number)"
            let delta = try #require(try Self.scan(Self.delta(number, "a", item: item), &decoder))
            #expect(delta.slot.itemID == item)
            shapes.insert(delta.shape)
        }
        #expect(shapes.count == 50)
        #expect(!shapes.contains(0))
    }

    @Test(arguments: [
        (256, "", true), (257, "", false), (3, #"\\"#, true), (3, #"\""#, true), (3, #"\u0041"#, true), (0, "", true),
        (3, "ü日😀", true),
    ])
    func onlyALongIdentifierHasNoShape(count: Int, rest: String, hasShape: Bool) throws {
        var decoder = ResponseEventDecoder()
        let item = String(repeating: "i", count: count) + rest
        var shapes: Set<UInt> = []
        for number in 0..<5 {
            let delta = try #require(try Self.scan(Self.delta(number, "a", item: item), &decoder))
            let meaning =
                String(repeating: "i", count: count)
                + (rest == #"\\"# ? "\\" : rest == #"\""# ? "\"" : rest == #"\u0041"# ? "A" : rest)
            #expect(delta.slot.itemID == (meaning.isEmpty ? nil : meaning))
            shapes.insert(delta.shape)
        }
        #expect(shapes.count == 1)
        #expect(shapes.contains(0) == !hasShape)
    }

    @Test func absentIdentifierDiffersFromAnEmptyOne() throws {
        var decoder = ResponseEventDecoder()
        let absent = #"{"type":"response.output_text.delta","delta":"a"}"#
        let null = #"{"type":"response.output_text.delta","delta":"a","item_id":null}"#
        let empty = #"{"type":"response.output_text.delta","delta":"a","item_id":""}"#
        var shapes: [UInt] = []
        for json in [absent, null, empty, absent, absent] {
            shapes.append(try #require(try Self.scan(json, &decoder)).shape)
        }
        #expect(shapes[0] == shapes[1])
        #expect(shapes[1] != shapes[2])
        #expect(shapes[2] != shapes[3])
        #expect(shapes[3] == shapes[4])
    }

    @Test func laneDeltasAndOtherEventsAreNotScannedAsDeltas() throws {
        var decoder = ResponseEventDecoder()
        for json in handMadeEvents + [#"{"type":"response.output_text.delta","delta":"a","stream_id":"s"}"#] {
            let delta = try Self.scan(json, &decoder)
            #expect(
                (delta != nil) == (json.contains(".delta\"") && !json.contains("stream_id") && !json.contains("shell")))
        }
    }

    /// An event that closes a slot has the same members as a delta, and may be as long to the byte.
    @Test func closingEventIsNotLearnedAsADelta() throws {
        var decoder = ResponseEventDecoder()
        for number in 100..<140 {
            let text = "\(number)"
            let deltas = [
                #"{"type":"response.output_text.delta","item_id":"m","sequence_number":\#(number),"delta":"\#(text)"}"#,
                #"{"type":"response.function_call_arguments.delta","item_id":"m","delta":"\#(text)"}"#,
            ]
            let closings = [
                #"{"type":"response.output_text.done","item_id" :"m","sequence_number":\#(number),"text" :"\#(text)"}"#,
                #"{"type":"response.output_text.done","delta":"x","item_id":"m","text":"\#(text)"}"#,
                #"{"type":"response.function_call_arguments.done","item_id":"m","arguments":"\#(text)"}"#,
                #"{"type":"response.content_part.done","item_id":"m","part":{"type":"text","text":"\#(text)"}}"#,
                #"{"type":"response.output_text.done","item_id":"m","delta":"\#(text)"}"#,
            ]
            #expect(deltas[0].utf8.count == closings[0].utf8.count)
            for closing in closings {
                for json in deltas {
                    #expect(try Self.scan(closing, &decoder) == nil)
                    try withPadded(Array(closing.utf8)) { bytes in
                        let kind = try decoder.decode(bytes).kind
                        switch kind {
                        case .partDone(_, 0, 0, let found): #expect(String(found) == text)
                        case .contentFree: #expect(closing == closings[4])
                        default: Issue.record("\(closing) is something else")
                        }
                    }
                    let delta = try #require(try Self.scan(json, &decoder))
                    #expect(delta.text == text)
                    #expect(delta.slot.itemID == "m")
                    #expect(delta.slot.kind == (json == deltas[0] ? .text : .functionArguments))
                }
            }
        }
    }

    /// Random turns through slots and ways to write them.
    @Test(arguments: 0..<40)
    func sameShapeMeansSameSlot(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        var decoder = ResponseEventDecoder()
        var slots: [UInt: Slot] = [:]
        let items: [String?] = [nil, "", "a", "b", "msg_1", "msg_2", "m\u{5C}", String(repeating: "l", count: 300)]
        for number in 0..<600 {
            let slot = Slot(
                kind: ResponseEvent.DeltaKind.allCases[random.next(3)], outputIndex: random.next(2),
                partIndex: random.next(2), itemID: items[random.next(items.count)])
            let text = String(repeating: "t", count: random.next(4))
            let json = Self.written(slot, text: text, number: number, &random)
            var meaning = slot
            // An empty identifier is none.
            if slot.itemID == "" { meaning.itemID = nil }
            for _ in 0...random.next(3) {
                let delta = try #require(try Self.scan(json, &decoder))
                #expect(delta.slot == meaning)
                #expect(delta.text == text)
                if delta.shape != 0 {
                    #expect(slots[delta.shape, default: meaning] == meaning)
                    slots[delta.shape] = meaning
                }
            }
            if random.next(4) == 0 { _ = try Self.scan(handMadeEvents[random.next(handMadeEvents.count)], &decoder) }
        }
        #expect(slots.count > 10)
    }

    private static func written(_ slot: Slot, text: String, number: Int, _ random: inout SplitMix) -> String {
        let types: [ResponseEvent.DeltaKind: String] = [
            .text: "output_text", .refusal: "refusal", .reasoningSummary: "reasoning_summary_text",
        ]
        let part = slot.kind == .reasoningSummary ? "summary_index" : "content_index"
        var members = [
            #""type":"response.\#(types[slot.kind] ?? "").delta""#, #""output_index":\#(slot.outputIndex)"#,
            #""\#(part)":\#(slot.partIndex)"#, #""delta":"\#(text)""#,
        ]
        if let item = slot.itemID {
            let escaped = item.split(separator: "\\", omittingEmptySubsequences: false).joined(separator: #"\\"#)
            let written =
                random.next(5) == 0 && !item.isEmpty && item.first == "m" ? #"\u006d"# + escaped.dropFirst() : escaped
            members.append(#""item_id":"\#(written)""#)
        }
        if random.next(2) == 0 { members.append(#""sequence_number":\#(number)"#) }
        if random.next(3) == 0 { members.append(#""obfuscation":"o\#(random.next(3))""#) }
        if random.next(6) == 0 { members.append(#""logprobs":[{"token":"\#(text)"}]"#) }
        if random.next(8) == 0 { members.append(#""long":"\#(String(repeating: "x", count: 1_100))""#) }
        if random.next(4) == 0 { members.swapAt(random.next(members.count), random.next(members.count)) }
        return "{\(members.joined(separator: ","))}"
    }
}

/// Numbers from a seed.
private struct SplitMix {
    var state: UInt64

    mutating func next(_ bound: Int) -> Int {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((value ^ (value >> 31)) % UInt64(bound))
    }
}
