// Lists at the end of a response that omit a message whose text was delivered (Ollama, openai/responses.go,
// `buildFinalOutput`).

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct OmittedMessageTests {
    private static let call = #"{"id":"f","type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#
    private static let thought = #"{"id":"t","type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}]}"#

    private static func message(_ text: String) -> String {
        let part = text.isEmpty ? "" : #"{"type":"output_text","text":"\#(text)"}"#
        return #"{"id":"m","type":"message","role":"assistant","content":[\#(part)]}"#
    }

    private static func added(_ item: String, at index: Int) -> String {
        #"{"type":"response.output_item.added","output_index":\#(index),"item":\#(item)}"#
    }

    /// Reasoning, a message that `end` closes, if at all, and a call with an index; the end lists `output`.
    private static func events(callIndex: Int, end: [String] = [], output: [String]) -> [String] {
        [
            Event.created, Self.added(#"{"id":"t","type":"reasoning","summary":[]}"#, at: 0),
            #"{"type":"response.reasoning_summary_text.delta","item_id":"t","output_index":0,"delta":"Hm"}"#,
            Event.done(Self.thought, at: 0), Self.added(Self.message(""), at: 1),
            #"{"type":"response.output_text.delta","item_id":"m","output_index":1,"delta":"Let me "}"#,
            #"{"type":"response.output_text.delta","item_id":"m","output_index":1,"delta":"check."}"#,
        ] + end + [
            Self.added(#"{"id":"f","type":"function_call","call_id":"c","name":"f"}"#, at: callIndex),
            Event.done(Self.call, at: callIndex),
            Event.completed("r", #","output":[\#(output.joined(separator: ","))]"#),
        ]
    }

    private static func run(
        _ scripts: [[ScriptStep]], isHTTP: Bool = false
    ) async -> (outcome: TurnOutcome, response: CompletedResponse?) {
        await TurnFixture(scripts + [.socket([Event.completed])]) {
            $0.rawEvents = .none
            if isHTTP { $0.policy = .httpSSEOnly }
        }.complete(conversation([WireItem.question]) { $0.runsCalls = true })
    }

    private static func isDelivered(_ result: (outcome: TurnOutcome, response: CompletedResponse?)) -> Bool {
        result.outcome.error == nil && result.outcome.text == "Let me check." && result.outcome.reasoning == "Hm"
            && result.response?.calls.map(\.callID) == ["c"]
    }

    @Test(arguments: [1, 2], [[thought, call], [call]])
    func listOfCallsMayOmitAMessageWithoutAnEnd(callIndex: Int, output: [String]) async {
        let events = Self.events(callIndex: callIndex, output: output)
        for cut in 1..<events.count {
            let begun = Array(events.prefix(cut))
            #expect(Self.isDelivered(await Self.run([.socket(begun, isBroken: true), .socket(events)])), "\(cut)")
            #expect(Self.isDelivered(await Self.run([.http(begun), .http(events)], isHTTP: true)), "\(cut)")
        }
        let numbered = await Self.run([.socket(Event.numbered(events))])
        #expect(Self.isDelivered(numbered))
    }

    private static let closedText =
        #"{"type":"response.output_text.done","item_id":"m","output_index":1,"text":"Let me check."}"#

    /// A message that was closed belongs in the list, and so does one beside another message, or beside an item that no
    /// event has named; a list without calls is no list of what follows the message.
    @Test(arguments: [
        (end: [closedText], output: [call]), ([Event.done(message("Let me check."), at: 1)], [call]),
        ([], [thought]), ([], [call, message("Another.")]), ([], [call, message("")]),
        ([], [call, #"{"id":"x","type":"web_search_call"}"#]),
        ([], [call.replacing(#""f","type""#, with: #""x","type""#)]),
    ])
    func otherListsContradictTheText(end: [String], output: [String]) async {
        let (outcome, response) = await Self.run([.socket(Self.events(callIndex: 2, end: end, output: output))])
        let hasEmptyMessage = output.contains { $0.contains(#""content":[]"#) }
        // An empty message says nothing.
        guard !hasEmptyMessage else { return #expect(outcome.error == nil) }
        #expect(outcome.error != nil, "\(output)")
        #expect(response == nil, "\(output)")
    }

    /// Where a number of an event is missing, the list is what could show a lost delta.
    @Test func gapInTheNumbersContradictsAnOmittedMessage() async {
        var events = Event.numbered(Self.events(callIndex: 1, output: [Self.call]))
        events.remove(at: 5)
        let (outcome, response) = await Self.run([.socket(events)])
        #expect(outcome.error != nil)
        #expect(response == nil)
    }

    /// A gateway may rebuild the list without the agents of its items.
    @Test func textOfAnotherAgentIsNotTheRootsInAListWithoutAgents() async {
        func item(_ id: String, _ agent: String = "") -> String {
            let content = #"[{"type":"output_text","text":"\#(id)."}]"#
            return #"{"id":"\#(id)","type":"message","role":"assistant",\#(agent)"content":\#(content)}"#
        }
        let agent = #""agent":{"agent_name":"/root/sub"},"#
        let items = [item("a"), item("b", agent)]
        let events =
            items.enumerated().flatMap { place, item in
                ["added", "done"].map {
                    #"{"type":"response.output_item.\#($0)","output_index":\#(place),"item":\#(item)}"#
                }
            } + [Event.completed("r", #","output":[\#(item("a")),\#(item("b"))]"#)]
        let outcome = await TurnFixture([.socket([Event.created("r")] + events)]) { $0.rawEvents = .none }.run()
        #expect(outcome.error == nil)
        #expect(outcome.text == "a.")
    }
}
