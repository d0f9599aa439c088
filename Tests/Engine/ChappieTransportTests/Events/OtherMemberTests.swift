// Reasoning that is written in one member of its item and closed in the other one (reported: lidge-jun/opencodex pull
// request 2007): content decides whether that is the text once more.

import StreamTransport
import Testing

@testable import ChappieTransport

/// An item of reasoning whose closing events have a text in the member that its deltas are not of.
private struct OtherMember {
    /// The relation of the closing text to the deltas.
    enum Variant: CaseIterable {
        case empty, equal, trimmed, longer, shorter, other

        var text: String {
            switch self {
            case .empty: ""
            case .equal: OtherMember.thought
            case .trimmed: "Let me think."
            case .longer: OtherMember.thought + "Once more."
            case .shorter: "Let me"
            case .other: "The plan"
            }
        }
    }

    /// The identifiers of the item.
    enum Naming: CaseIterable {
        /// It is not announced, and has none.
        case unannounced
        /// It is announced without one.
        case none
        /// All events have an empty one.
        case empty
        /// It is announced under one, which all events have.
        case named
    }

    /// The `output_index` of the closing events.
    enum Index: CaseIterable {
        case same, next, absent
    }

    let isSummary: Bool
    let naming: Naming
    let index: Index
    let variant: Variant
    /// The closing events, a bit each: of the text, of the part, of the item, of the response.
    let closings: Int
    /// Indicates whether the ends of the item and of the response have the text of the deltas as well.
    let hasBoth: Bool

    static let thought = "Let me think. "

    static func all(isSummary: Bool, _ naming: Naming) -> [Self] {
        Index.allCases.flatMap { index in
            Variant.allCases.flatMap { variant in
                // Each closing event alone, all of them, and the ends.
                [1, 2, 4, 8, 12, 15].flatMap { closings in
                    // Where the text closes alone before, it is not known that the item has two.
                    (closings & 3 == 0 ? [false, true] : [false]).map {
                        Self(
                            isSummary: isSummary, naming: naming, index: index, variant: variant, closings: closings,
                            hasBoth: $0)
                    }
                }
            }
        }
    }

    private var itemID: String {
        switch self.naming {
        case .unannounced, .none: ""
        case .empty: #""item_id":"","#
        case .named: #""item_id":"t","#
        }
    }

    private func item(_ text: String, isWhole: Bool) -> String {
        let id = self.itemID.replacing("item_id", with: "id")
        guard isWhole else { return #"{\#(id)"type":"reasoning","summary":[]}"# }
        var parts = [
            (self.isSummary, self.hasBoth ? Self.thought : ""), (!self.isSummary, text),
        ].map { isSummary, text in
            let part = #"{"type":"\#(isSummary ? "summary_text" : "reasoning_text")","text":"\#(text)"}"#
            return #""\#(isSummary ? "summary" : "content")":[\#(text.isEmpty ? "" : part)]"#
        }
        parts.sort()
        return #"{\#(id)"type":"reasoning",\#(parts.joined(separator: ","))}"#
    }

    private func event(_ type: String, _ members: String, isClosing: Bool = true) -> String {
        let index =
            switch self.index {
            case .same: #""output_index":0,"#
            case .next: #""output_index":\#(isClosing ? 1 : 0),"#
            case .absent: isClosing ? "" : #""output_index":0,"#
            }
        return #"{"type":"response.\#(type)",\#(index)\#(members)}"#
    }

    var events: [String] {
        let (own, other) =
            self.isSummary ? ("reasoning_summary", "reasoning") : ("reasoning", "reasoning_summary")
        let text = self.variant.text
        let part = #"{"type":"\#(self.isSummary ? "reasoning_text" : "summary_text")","text":"\#(text)"}"#
        let item = self.item(text, isWhole: true)
        let announcement = self.event(
            "output_item.added", #""item":\#(self.item("", isWhole: false))"#, isClosing: false)
        let closings = [
            self.event("\(other)_text.done", #"\#(self.itemID)"text":"\#(text)""#),
            self.event(
                self.isSummary ? "content_part.done" : "reasoning_summary_part.done",
                #"\#(self.itemID)"part":\#(part)"#),
            self.event("output_item.done", #""item":\#(item)"#),
        ]
        return [Event.created] + (self.naming == .unannounced ? [] : [announcement])
            + ["Let ", "me", " think. "].map {
                self.event("\(own)_text.delta", #"\#(self.itemID)"delta":"\#($0)""#, isClosing: false)
            }
            + closings.enumerated().compactMap { self.closings & (1 << $0) != 0 ? $1 : nil }
            + [Event.completed("r", self.closings & 8 != 0 ? #","output":[\#(item)]"# : "")]
    }

    /// The reasoning by the rule.
    var reasoning: String {
        switch self.variant {
        case .empty, .equal, .trimmed: Self.thought
        case .longer where !self.hasBoth: self.variant.text
        case .shorter, .other, .longer: Self.thought + self.variant.text
        }
    }
}

@Suite struct OtherMemberTests {
    private static func run(_ scripts: [[ScriptStep]]) async -> TurnOutcome {
        await TurnFixture(scripts) { $0.rawEvents = .none }.run()
    }

    @Test(arguments: [true, false], OtherMember.Naming.allCases)
    private func reasoningThatIsClosedInTheOtherMemberComesOnce(
        isSummary: Bool, naming: OtherMember.Naming
    ) async {
        for item in OtherMember.all(isSummary: isSummary, naming) {
            let events = item.events
            for cut in [nil, 3] {
                let begun = cut.map { [[ScriptStep].socket(Array(events.prefix($0)), isBroken: true)] } ?? []
                let outcome = await Self.run(begun + [.socket(events), .socket(events), .socket(events)])
                let comment =
                    "\(item.variant) \(item.index) \(item.hasBoth) \(cut ?? 0) \(outcome.reasoning): \(events)"
                #expect(outcome.error == nil && outcome.reasoning == item.reasoning, "\(comment)")
            }
        }
    }
}
