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

    /// Its name and its arguments show that an item without a type and a `call_id` is a call: it is treated as one with the
    /// type.
    @Test(arguments: [#""arguments":"{\"a\":1}""#, #""arguments":"""#, #""input":"x""#])
    func aCallWithoutATypeAndACallIDIsNotLost(payload: String) async {
        let isTool = payload.contains("input")
        let typed = #""type":"\#(isTool ? "custom_tool_call" : "function_call")","#
        let closing = isTool ? "custom_tool_call_input.done" : "function_call_arguments.done"
        let arguments = #"{"type":"response.\#(closing)","output_index":0,"item_id":"i",\#(payload)}"#
        let item = { (type: String) in #"{"id":"i",\#(type)"name":"f",\#(payload)}"# }
        for callID in ["", #""call_id":"c","#] {
            let added =
                #"{"type":"response.output_item.added","output_index":0,"item":{"id":"i",\#(typed)\#(callID)"name":"f"}}"#
            for (places, runsCalls) in (1..<16).flatMap({ [($0, true), ($0, false)] }) where places > 3 {
                let run = { (type: String) in
                    let list = places & 8 != 0 ? #","output":[\#(item(type))]"# : ""
                    let events =
                        [Event.created] + (places & 1 != 0 ? [added] : []) + (places & 2 != 0 ? [arguments] : [])
                        + (places & 4 != 0 ? [Event.done(item(type))] : []) + [Event.completed("r", list)]
                    let (outcome, response) = await TurnFixture([.socket(events)])
                        .complete(conversation([WireItem.question]) { $0.runsCalls = runsCalls })
                    let calls = response.map { $0.calls.map { "\($0.callID) \($0.name) \($0.payload)" } }
                    return "\(String(describing: outcome.clientError)) \(outcome.rawTypes) \(calls ?? ["-"])"
                }
                let expected = await run(typed)
                for type in ["", #""type":null,"#, #""type":"","#] {
                    let result = await run(type)
                    #expect(result == expected, "\(callID) \(type) \(places)")
                }
            }
        }
    }

    /// A call is announced without a `call_id`, and its end shows no kind: that does not say that it is no call.
    @Test(arguments: [#""arguments":"{}""#, #""content":[]"#])
    func anEndWithoutATypeDoesNotHideACall(members: String) async {
        let added =
            #"{"type":"response.output_item.added","output_index":0,"item":{"id":"i","type":"function_call","name":"f"}}"#
        let arguments =
            #"{"type":"response.function_call_arguments.done","output_index":0,"item_id":"i","arguments":"{}"}"#
        let item = #"{"id":"i",\#(members)}"#
        for begun in [[added], [added, arguments]] {
            for list in ["", #","output":[\#(item)]"#] {
                let events = [Event.created] + begun + [Event.done(item), Event.completed("r", list)]
                let (outcome, response) = await TurnFixture([.socket(events)])
                    .complete(conversation([WireItem.question]) { $0.runsCalls = true })
                #expect(outcome.error != nil && response == nil, "\(events)")
            }
        }
    }
}
