// Reasoning that a server sends in both members of its item, piece by piece (reported: peonist-ai/halogen-flash-server issue
// 67, chenyme/grok2api pull request 960).

import ChappieTransport
import Testing

@Suite struct MirroredReasoningTests {
    private static func delta(_ text: String, isSummary: Bool) -> String {
        let type = isSummary ? "reasoning_summary_text" : "reasoning_text"
        return #"{"type":"response.\#(type).delta","item_id":"t","output_index":0,"delta":"\#(text)"}"#
    }

    private static let added =
        #"{"type":"response.output_item.added","output_index":0,"item":{"id":"t","type":"reasoning","summary":[]}}"#

    /// Returns the closing events of an item with these texts, as the bits of a number choose.
    private static func closings(_ choice: Int, content: String, summary: String) -> [String] {
        let parts =
            #""content":[{"type":"reasoning_text","text":"\#(content)"}],"#
            + #""summary":[{"type":"summary_text","text":"\#(summary)"}]"#
        let item = #"{"id":"t","type":"reasoning",\#(choice & 8 == 0 ? parts : #""summary":[]"#)}"#
        var events: [String] = []
        if choice & 1 != 0 {
            for (type, text) in [("reasoning_text", content), ("reasoning_summary_text", summary)] {
                events.append(
                    #"{"type":"response.\#(type).done","item_id":"t","output_index":0,"text":"\#(text)"}"#)
            }
        }
        if choice & 2 != 0 {
            events.append(#"{"type":"response.output_item.done","output_index":0,"item":\#(item)}"#)
        }
        let output = choice & 4 != 0 ? #","output":[\#(item)]"# : ""
        return events + [#"{"type":"response.completed","response":{"id":"r"\#(output)}}"#]
    }

    private static func run(_ scripts: [[ScriptStep]]) async -> TurnOutcome {
        await TurnFixture(scripts) { $0.rawEvents = .none }.run()
    }

    @Test(arguments: [true, false], 0..<16)
    func reasoningInBothMembersComesOnce(isSummaryFirst: Bool, choice: Int) async {
        let pieces = ["The", " user", " is", " asking"]
        let text = pieces.joined()
        let inTurns = pieces.flatMap { piece in
            [isSummaryFirst, !isSummaryFirst].map { Self.delta(piece, isSummary: $0) }
        }
        let inOrder =
            pieces.map { Self.delta($0, isSummary: isSummaryFirst) }
            + [Self.delta(text, isSummary: !isSummaryFirst)]
        for deltas in [inTurns, inOrder] {
            let events = [Event.created, Self.added] + deltas
            let end = Self.closings(choice, content: text, summary: text)
            let whole = await Self.run([.socket(events + end), .socket([Event.completed])])
            #expect(whole.error == nil)
            #expect(whole.events == pieces.map { .reasoningDelta($0) } + [.completed])
            // A cut, and a replay in other pieces.
            let other = [true, false].map { Self.delta(text, isSummary: $0 == isSummaryFirst) }
            let cut = await Self.run([
                .socket(Array(events.dropLast(3)), isBroken: true),
                .socket([Event.created, Self.added] + other + end),
            ])
            #expect(cut.error == nil)
            #expect(cut.reasoning == text)
        }
    }

    /// Either member is ahead, in pieces of its own.
    @Test(arguments: [true, false], 0..<16)
    func aMemberThatGoesAheadIsDeliveredOnce(isSummaryFirst: Bool, choice: Int) async {
        let text = "Let me see"
        for (size, otherSize) in [(1, 2), (2, 1), (2, 3), (3, 2), (4, 7), (7, 4), (3, 10)] {
            var (rest, otherRest) = (text[...], text[...])
            var deltas: [String] = []
            while !rest.isEmpty || !otherRest.isEmpty {
                deltas += [
                    Self.delta(String(rest.prefix(size)), isSummary: isSummaryFirst),
                    Self.delta(String(otherRest.prefix(otherSize)), isSummary: !isSummaryFirst),
                ]
                (rest, otherRest) = (rest.dropFirst(size), otherRest.dropFirst(otherSize))
            }
            let events = [Event.created, Self.added] + deltas
            let answer = [ScriptStep].socket(events + Self.closings(choice, content: text, summary: text))
            for cut in stride(from: 2, through: events.count, by: 2) {
                let outcome = await Self.run([.socket(Array(events.prefix(cut)), isBroken: true), answer])
                #expect(outcome.error == nil && outcome.reasoning == text, "\(outcome.reasoning), \(cut): \(events)")
            }
        }
    }

    /// The text that closes the member behind has a rest that begins like what the other one has brought.
    @Test func theRestOfAClosingTextIsDeliveredBehindALead() async {
        let done = #"{"type":"response.reasoning_text.done","item_id":"t","output_index":0,"text":"hahaha"}"#
        let outcome = await Self.run([
            .socket([
                Event.created, Self.added, Self.delta("ha", isSummary: false), Self.delta("haha", isSummary: true),
                done,
                Event.completed,
            ])
        ])
        #expect(outcome.error == nil && outcome.reasoning == "hahaha", "\(outcome.reasoning)")
    }

    /// The members begin alike, or not at all: both are delivered, and nothing of either is left out.
    ///
    /// One that only begins the other is a repetition, unless an event closes it as a text of its own.
    @Test(arguments: ["The end", "Theory", "Summary", "T", "The"], 0..<8)
    func differentReasoningInBothMembersIsDelivered(summary: String, choice: Int) async {
        let deltas = ["The", " user"].map { Self.delta($0, isSummary: false) }
        let others = summary.map { Self.delta(String($0), isSummary: true) }
        let end = Self.closings(choice, content: "The user", summary: summary)
        let outcome = await Self.run([
            .socket([Event.created, Self.added] + deltas + others + end), .socket([Event.completed]),
        ])
        #expect(outcome.error == nil)
        let isRepetition = choice == 0 && "The user".hasPrefix(summary)
        #expect(outcome.reasoning == (isRepetition ? "The user" : "The user" + summary))
    }
}
