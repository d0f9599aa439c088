// Items without a type: their members show what they are, so that nothing of theirs is left out.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct UntypedItemTests {
    private enum Kind: CaseIterable {
        case message, untypedPart, textMessage, refusal, summary, content, call, tool

        /// The members of an item, behind its type.
        var members: String {
            switch self {
            case .message: #""role":"assistant","content":[{"type":"output_text","text":"Hello"}]"#
            case .untypedPart: #""role":"assistant","content":[{"text":"Hello"}]"#
            case .textMessage: #""content":"Hello""#
            case .refusal: #""content":[{"type":"refusal","refusal":"No"}]"#
            case .summary: #""summary":[{"text":"Hm"}],"content":[]"#
            case .content: #""content":[{"type":"reasoning_text","text":"Hm"}]"#
            case .call: #""call_id":"c","name":"f","arguments":"{}""#
            case .tool: #""call_id":"c","name":"f","input":"x""#
            }
        }

        /// Returns whether a turn has delivered the item once, and nothing else.
        func isDelivered(_ outcome: TurnOutcome, _ response: CompletedResponse?) -> Bool {
            let refusal = outcome.events.reduce(into: "") {
                if case .refusalDelta(let delta) = $1 { $0 += delta }
            }
            let calls = response?.calls.map { "\($0.name) \($0.payload)" }
            return outcome.error == nil
                && outcome.text == ([.message, .untypedPart, .textMessage].contains(self) ? "Hello" : "")
                && refusal == (self == .refusal ? "No" : "")
                && outcome.reasoning == (self == .summary || self == .content ? "Hm" : "")
                && calls == (self == .call ? ["f {}"] : self == .tool ? ["f x"] : [])
        }
    }

    /// The item stands in its end, in the list at the end of the response, or in both.
    @Test(arguments: Kind.allCases, ["", #""type":null,"#, #""type":"","#])
    private func itemsWithoutATypeAreDelivered(_ kind: Kind, type: String) async {
        let item = #"{"id":"i",\#(type)\#(kind.members)}"#
        for places in 1..<4 {
            let list = places & 2 != 0 ? #","output":[\#(item)]"# : ""
            let events =
                [Event.created] + (places & 1 != 0 ? [Event.done(item)] : []) + [Event.completed("r", list)]
            let (outcome, response) = await TurnFixture([.socket(events)]) { $0.rawEvents = .none }
                .complete(conversation([WireItem.question]) { $0.runsCalls = true })
            #expect(kind.isDelivered(outcome, response), "\(outcome) \(response?.calls.count ?? -1) of \(events)")
        }
    }

    /// The response has the type as well, where only the list at its end has the item.
    @Test func aListedItemIsKeptWithItsType() async {
        let list = #","output":[{"id":"i",\#(Kind.message.members)}]"#
        let (_, response) = await TurnFixture([.socket([Event.created, Event.completed("r", list)])])
            .complete(conversation([WireItem.question]))
        let items = response?.items.map { String(decoding: $0, as: UTF8.self) } ?? []
        #expect(items.count == 1 && items[0].contains(#""type":"message""#), "\(items)")
    }

    /// Readers of raw events recognise a call by its type.
    @Test(arguments: ["", #""type":null,"#, #""type":"","#])
    private func aCallWithoutATypeIsGivenWithIt(type: String) async {
        let list = #","output":[{"type":"function_call","id":"i",\#(Kind.call.members)}]"#
        let item = #"{"id":"i",\#(type)\#(Kind.call.members)}"#
        for list in ["", list] {
            let (outcome, _) = await TurnFixture([
                .socket([Event.created, Event.done(item), Event.completed("r", list)])
            ])
            .complete(conversation([WireItem.question]))
            let calls = outcome.events.filter { event in
                guard case .raw("response.output_item.done", let payload) = event else { return false }
                return payload.contains(#""type":"function_call""#)
            }
            #expect(calls.count == 1, "\(outcome)")
        }
    }

    /// An item of which nothing shows what it is has no output.
    @Test func itemWithoutMembersSaysNothing() async {
        let list = #","output":[{"id":"x"},{"content":[]},7,{"role":"user","content":"hi"}]"#
        let (outcome, _) = await TurnFixture([.socket([Event.created, Event.completed("r", list)])])
            .complete(conversation([WireItem.question]))
        #expect(outcome.error == nil && outcome.text.isEmpty)
    }
}
