// Deltas of an item behind its own end: Ollama (openai/responses.go), LiteLLM (streaming_iterator.py) and OmniRoute (issue
// 13693) finish reasoning when text follows it, and go on with it.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct ContinuedItemTests {
    private static func item(_ id: String, _ text: String, isContent: Bool = false) -> String {
        let members =
            if id == "m" {
                #""type":"message","role":"assistant","content":[{"type":"output_text","text":"\#(text)"}]"#
            } else if isContent {
                #""type":"reasoning","summary":[],"content":[{"type":"output_text","text":"\#(text)"}]"#
            } else {
                #""type":"reasoning","summary":[{"type":"summary_text","text":"\#(text)"}]"#
            }
        return #"{"id":"\#(id)",\#(members)}"#
    }

    private static func delta(_ text: String, _ id: String, at index: Int) -> String {
        let type = id == "m" ? "output_text" : "reasoning_summary_text"
        return #"{"type":"response.\#(type).delta","item_id":"\#(id)","output_index":\#(index),"delta":"\#(text)"}"#
    }

    private static func added(_ id: String, at index: Int) -> String {
        let type = id == "m" ? "message" : "reasoning"
        let item = #"{"id":"\#(id)","type":"\#(type)"}"#
        return #"{"type":"response.output_item.added","output_index":\#(index),"item":\#(item)}"#
    }

    private static let call = #"{"id":"f","type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#

    /// Reasoning that goes on behind its end and the beginning of a message; the end lists these items.
    private static func events(
        lateIndex: Int, isAnnounced: Bool = true, late: [String] = ["nk", " twice"], list: [String]
    ) -> [String] {
        let place = isAnnounced ? 1 : 0
        let begin = [
            Event.created, Self.added("t", at: 0), Self.delta("Thi", "t", at: 0), Event.done(Self.item("t", "Thi")),
        ]
        let end = [
            Self.delta("lo", "m", at: place), Event.done(Self.item("m", "Hello"), at: place),
            Event.done(Self.call, at: 2),
            Event.completed("r", list.isEmpty ? "" : #","output":[\#(list.joined(separator: ","))]"#),
        ]
        return begin + (isAnnounced ? [Self.added("m", at: 1)] : []) + [Self.delta("Hel", "m", at: place)]
            + late.map { Self.delta($0, "t", at: lateIndex) } + end
    }

    private static func run(
        _ scripts: [[ScriptStep]], isHTTP: Bool = false
    ) async -> (outcome: TurnOutcome, response: CompletedResponse?) {
        await TurnFixture(scripts + [.socket([Event.completed])]) {
            $0.rawEvents = .none
            $0.policy = isHTTP ? .httpSSEOnly : ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
        }.complete(conversation([WireItem.question]) { $0.runsCalls = true })
    }

    private static func isDelivered(_ result: (outcome: TurnOutcome, response: CompletedResponse?)) -> Bool {
        result.outcome.error == nil && result.outcome.text == "Hello" && result.outcome.reasoning == "Think twice"
            && result.response?.calls.map(\.callID) == ["c"]
    }

    @Test(arguments: [(0, true), (1, true), (0, false)], [false, true])
    func reasoningBehindItsEndComesWhereTheListHasIt(_ layout: (index: Int, isAnnounced: Bool), isContent: Bool) async {
        let list = [Self.item("t", "Think twice", isContent: isContent), Self.item("m", "Hello"), Self.call]
        let events = Self.events(lateIndex: layout.index, isAnnounced: layout.isAnnounced, list: list)
        let again = Self.events(
            lateIndex: layout.index, isAnnounced: layout.isAnnounced, late: ["nk twi", "ce"], list: list)
        #expect(Self.isDelivered(await Self.run([.socket(events)])), "\(events)")
        for cut in 1..<events.count {
            let begun = Array(events.prefix(cut))
            #expect(Self.isDelivered(await Self.run([.socket(begun, isBroken: true), .socket(again)])), "\(cut)")
            #expect(Self.isDelivered(await Self.run([.http(begun), .http(again)], isHTTP: true)), "\(cut)")
        }
    }

    /// The list is missing, lacks what came behind the end, or has more or something else; or what came behind the end has
    /// come before.
    @Test(arguments: [
        ["nk", " twice"]: [], ["nk", " once"]: ["Think twice"], ["nk"]: ["Think twice"], ["Thi"]: ["Thi"],
        ["nk", " twice", "!"]: ["Think twice"], ["x"]: ["Thi"],
    ])
    func outputBehindAnEndThatNoListConfirmsIsRefused(late: [String], texts: [String]) async {
        let list = texts.isEmpty ? [] : texts.map { Self.item("t", $0) } + [Self.item("m", "Hello"), Self.call]
        let (outcome, response) = await Self.run([.socket(Self.events(lateIndex: 0, late: late, list: list))])
        #expect(outcome.error != nil)
        #expect(outcome.reasoning == "Thi")
        #expect(response == nil)
    }

    @Test func textOfAMessageBehindItsEndComesWhereTheListHasIt() async {
        let events = [
            Event.created, Self.added("m", at: 0), Self.delta("Hel", "m", at: 0), Event.done(Self.item("m", "Hel")),
            Self.delta("lo", "m", at: 0), Event.completed("r", #","output":[\#(Self.item("m", "Hello"))]"#),
        ]
        let (outcome, _) = await Self.run([.socket(events)])
        #expect(outcome.error == nil)
        #expect(outcome.events == [.textDelta("Hel"), .textDelta("lo"), .completed])
    }

    /// Another item of reasoning begins before it, and ends.
    @Test func reasoningBehindItsEndComesWhereItemsAreInterleaved() async {
        let list = [Self.item("t", "Think"), Self.item("u", "Hm "), Self.item("m", "Hello")]
        let events = [
            Event.created, Self.added("t", at: 0), Self.delta("Th", "t", at: 0), Self.added("u", at: 1),
            Self.delta("Hm ", "u", at: 1), Event.done(Self.item("u", "Hm "), at: 1), Self.delta("i", "t", at: 0),
            Event.done(Self.item("t", "Thi")), Self.added("m", at: 2), Self.delta("Hello", "m", at: 2),
            Self.delta("nk", "t", at: 0), Event.done(Self.item("m", "Hello"), at: 2),
            Event.completed("r", #","output":[\#(list.joined(separator: ","))]"#),
        ]
        let (outcome, _) = await Self.run([.socket(events)])
        #expect(outcome.error == nil)
        #expect(outcome.reasoning == "ThHm ink")
        #expect(outcome.text == "Hello")
    }

    /// A consumer concatenates reasoning, so that what came before other reasoning cannot come behind it.
    @Test func reasoningBehindAnEndAndBeforeOtherReasoningIsRefused() async {
        let list = [Self.item("t", "Think"), Self.item("u", "Hmm")]
        let events = [
            Event.created, Self.added("t", at: 0), Self.delta("Thi", "t", at: 0), Event.done(Self.item("t", "Thi")),
            Self.delta("nk", "t", at: 0), Self.added("u", at: 1), Self.delta("Hmm", "u", at: 1),
            Event.done(Self.item("u", "Hmm"), at: 1),
            Event.completed("r", #","output":[\#(list.joined(separator: ","))]"#),
        ]
        let (outcome, _) = await Self.run([.socket(events)])
        #expect(outcome.error != nil)
        #expect(outcome.reasoning == "ThiHmm")
    }

    /// An item that goes on is not whole, although it has an end.
    @Test(arguments: [false, true])
    func itemThatGoesOnIsNotGivenBack(goesOn: Bool) async {
        let begun = [
            Event.created, Self.added("m", at: 0), Self.delta("Hel", "m", at: 0), Event.done(Self.item("m", "Hel")),
            Self.added("t", at: 1), goesOn ? Self.delta("lo", "m", at: 0) : Self.delta("Th", "t", at: 1),
        ]
        let whole = goesOn ? [Self.added("m", at: 0), Self.delta("Hello", "m", at: 0)] : []
        let fixture = TurnFixture([
            .socket(begun, isBroken: true), .socket([Event.created] + whole + [Event.completed]),
        ]) {
            $0.policy = ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
            $0.policy.carriesFinishedItems = true
            $0.rawEvents = .none
        }
        let outcome = await fixture.run()
        #expect(outcome.text == (goesOn ? "Hello" : "Hel"))
        #expect(fixture.transport.connections.last?.messages.first?.contains("assistant") == !goesOn)
    }

    /// A turn that continued behind what waits would not get it.
    @Test func positionStaysBeforeOutputThatWaits() async throws {
        let list = [Self.item("t", "Think twice"), Self.item("m", "Hello"), Self.call]
        let events = Self.events(lateIndex: 0, list: list).enumerated().map { number, event in
            #"{"sequence_number":\#(number),"# + event.dropFirst()
        }
        let fixture = TurnFixture([.http(events)]) {
            $0.policy = .httpSSEOnly
            $0.rawEvents = .none
        }
        let handle = fixture.instance.streamHandle(CursorResumeTests.request)
        var points: [Int??] = []
        for try await event in handle.events {
            if case .raw = event { continue }
            points.append(handle.resumePoint.map(\.sequenceNumber))
        }
        #expect(points == [2, 5, nil, 11, 11])
    }

    /// The list of an end under another identifier may be another response's.
    @Test func endUnderAnotherIdentifierConfirmsNothing() async {
        let list = [Self.item("t", "Think twice"), Self.item("m", "Hello"), Self.call]
        let end = Event.completed("other", #","output":[\#(list.joined(separator: ","))]"#)
        let (outcome, _) = await Self.run([.socket(Self.events(lateIndex: 0, list: list).dropLast() + [end])])
        #expect(outcome.error != nil)
        #expect(outcome.reasoning == "Thi")
    }

    /// The limit of output counts what waits.
    @Test(arguments: [10, 11])
    func outputThatWaitsIsLimited(limit: Int) async {
        let list = [Self.item("t", "Think twice"), Self.item("m", "Hello"), Self.call]
        let outcome = await TurnFixture([.socket(Self.events(lateIndex: 0, list: list))]) {
            $0.limits.outputByteCount = limit
            $0.rawEvents = .none
        }.run()
        #expect(outcome.reasoning == (limit == 11 ? "Think twice" : "Thi"))
        #expect((outcome.error == nil) == (limit == 11))
    }

    /// The text of other agents is passed on as it comes, and is in no list that is compared.
    @Test func textOfAnotherAgentBehindItsEndIsRefused() async {
        let agent = #"{"id":"m","type":"message","agent":{"agent_name":"/root/a"},"content":[]}"#
        let events =
            ["added", "done"].map { #"{"type":"response.output_item.\#($0)","output_index":1,"item":\#(agent)}"# }
            + [Self.delta("late", "m", at: 1), Event.completed("r", #","output":[\#(agent)]"#)]
        let (outcome, _) = await Self.run([.socket([Event.created] + events)])
        #expect(outcome.outcomes == ["event.contradictory", "completed"])
    }

    /// Another item is announced at the index that the deltas behind the end have, as by Ollama.
    @Test func reasoningGoesOnWhereAnotherItemHasItsIndex() async {
        let list = [Self.item("t", "Think twice"), Self.item("m", "Hello"), Self.call]
        let call = Self.call.replacing(#""{}""#, with: #""""#)
        let added = { (item: String) in #"{"type":"response.output_item.added","output_index":1,"item":\#(item)}"# }
        let events = [
            Event.created, Self.added("t", at: 0), Self.delta("Thi", "t", at: 0), Event.done(Self.item("t", "Thi")),
            Self.added("m", at: 1), Self.delta("Hello", "m", at: 1), Self.delta("nk", "t", at: 1),
            Event.done(Self.item("m", "Hello"), at: 1), added(call), Event.done(Self.call, at: 1),
            Self.delta(" twice", "t", at: 1), Event.completed("r", #","output":[\#(list.joined(separator: ","))]"#),
        ]
        let (outcome, response) = await Self.run([.socket(events)])
        #expect(outcome.error == nil)
        #expect(outcome.reasoning == "Think twice" && outcome.text == "Hello")
        #expect(response?.calls.count == 1)
    }
}
