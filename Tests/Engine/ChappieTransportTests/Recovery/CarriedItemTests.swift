// Finished items of a broken response as input of the next request, so that only the unfinished one is made again.

import Foundation
import StreamTransport
import Testing

@testable import ChappieTransport

/// Items of a response, and events about them.
private enum Item {
    static func text(_ text: String, at index: Int) -> String {
        #"{"type":"response.output_text.delta","output_index":\#(index),"content_index":0,"delta":"\#(text)"}"#
    }

    static func reasoning(_ text: String, at index: Int) -> String {
        #"{"type":"response.reasoning_summary_text.delta","output_index":\#(index),"summary_index":0,"delta":"\#(text)"}"#
    }

    static func done(_ item: String, at index: Int) -> String {
        #"{"type":"response.output_item.done","output_index":\#(index),"item":\#(item)}"#
    }

    static func message(_ text: String) -> String {
        #"{"id":"msg","type":"message","role":"assistant","status":"completed","content":"#
            + #"[{"type":"output_text","text":"\#(text)"}]}"#
    }

    static func carriedMessage(_ text: String) -> String {
        #"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"\#(text)"}]}"#
    }

    static func call(_ id: String) -> String {
        #"{"id":"fc","type":"function_call","status":"completed","call_id":"\#(id)","name":"f","arguments":"{}"}"#
    }

    static func carriedCall(_ id: String) -> String {
        #"{"type":"function_call","call_id":"\#(id)","name":"f","arguments":"{}"}"#
    }

    static func output(_ id: String) -> String {
        #"{"type":"function_call_output","call_id":"\#(id)","output":"4"}"#
    }

    static let question = #"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#
}

@Suite struct CarriedItemTests {
    private static func fixture(
        _ scripts: [[ScriptStep]], _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) -> TurnFixture {
        TurnFixture(scripts) {
            $0.policy.carriesFinishedItems = true
            configure(&$0)
        }
    }

    /// A response that breaks in its second item.
    private static let cut: [String] = [
        Event.created, Item.text("Hello ", at: 0), Item.done(Item.message("Hello "), at: 0), Item.text("wor", at: 1),
    ]
    /// The second item only.
    private static let rest: [String] = [
        Event.created, Item.text("wo", at: 0), Item.text("rld", at: 0), Item.done(Item.message("world"), at: 0),
        Event.completed,
    ]

    private static func broken(_ events: [String], isHTTP: Bool = false) -> [ScriptStep] {
        isHTTP
            ? [.opened(200)] + events.map { .body(Event.sse($0)) } + [.ended(.complete)]
            : [.opened(101), .request] + events.map { .text($0) } + [.ended(.closed(code: 1006, reason: ""))]
    }

    private static func whole(_ events: [String], isHTTP: Bool = false) -> [ScriptStep] {
        isHTTP
            ? [.opened(200)] + events.map { .body(Event.sse($0)) } + [.ended(.complete)]
            : [.opened(101), .request] + events.map { .text($0) }
    }

    /// The `input` of each request that was sent, unparsed.
    private static func inputs(_ fixture: TurnFixture) -> [String] {
        zip(fixture.transport.requests, fixture.transport.connections).compactMap { request, connection in
            guard let body = request.body ?? connection.messages.first, let start = body.range(of: #""input":"#) else {
                return nil
            }
            // The input is an array here, and the last of its kind to close.
            let text = body[start.upperBound...]
            guard let end = text.lastIndex(of: "]") else { return nil }
            return String(text[...end])
        }
    }

    // MARK: Carried items

    @Test(arguments: [false, true])
    func aFinishedMessageIsGivenBackAndTheRestIsVerified(isHTTP: Bool) async {
        let fixture = Self.fixture([Self.broken(Self.cut, isHTTP: isHTTP), Self.whole(Self.rest, isHTTP: isHTTP)]) {
            if isHTTP {
                $0.policy = .httpSSEOnly
                $0.policy.carriesFinishedItems = true
            }
        }
        let outcome = await fixture.run(ChappieTransportRequest(prompt: "hi"))
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello world")
        #expect(
            Self.inputs(fixture) == [
                "[\(Item.question)]", "[\(Item.question),\(Item.carriedMessage("Hello "))]",
            ])
        #expect(outcome.report.attempts.map(\.rung) == [nil, .verifiedReplay])
        #expect(outcome.report.verifiedReplayByteCount == 3)
        #expect(outcome.rawTypes.filter { $0 == "response.output_item.done" }.count == 2)
    }

    @Test func finishedItemsAreNotCarriedWithoutTheOption() async {
        let again = [
            Event.created, Item.text("Hello ", at: 0), Item.done(Item.message("Hello "), at: 0),
            Item.text("world", at: 1), Event.completed,
        ]
        let fixture = Self.fixture([Self.broken(Self.cut), Self.whole(again)]) {
            $0.policy.carriesFinishedItems = false
        }
        let outcome = await fixture.run(ChappieTransportRequest(prompt: "hi"))
        #expect(outcome.text == "Hello world")
        #expect(Self.inputs(fixture) == ["[\(Item.question)]", "[\(Item.question)]"])
    }

    @Test(arguments: [
        (#""x""#, #"[{"type":"message","role":"user","content":"x"},"#), ("[]", "["),
        (#"[{"type":"item_reference","id":"i"}]"#, #"[{"type":"item_reference","id":"i"},"#), (nil, "["),
    ])
    func carriedItemsFollowTheCallersInput(_ input: String?, _ beginning: String) async {
        let fixture = Self.fixture([Self.broken(Self.cut), Self.whole(Self.rest)])
        let body = input.map { #"{"input":\#($0)}"# } ?? "{}"
        let outcome = await fixture.run(ChappieTransportRequest(body: Array(body.utf8)))
        #expect(outcome.text == "Hello world")
        #expect(Self.inputs(fixture).last == beginning + Item.carriedMessage("Hello ") + "]")
    }

    @Test func inputThatIsNoListIsSentUnchanged() async {
        let again = [Item.text("Hello ", at: 0), Item.text("world", at: 1), Event.completed]
        let fixture = Self.fixture([Self.broken(Self.cut), Self.whole(again)])
        let outcome = await fixture.run(ChappieTransportRequest(body: Array(#"{"input":{"a":1}}"#.utf8)))
        #expect(outcome.text == "Hello world")
        #expect(fixture.transport.connections[1].messages.first?.contains(#""input":{"a":1}"#) == true)
    }

    @Test func severalCutsAccumulate() async {
        let second = [
            Event.created, Item.text("world", at: 0), Item.done(Item.message("world"), at: 0), Item.text("!", at: 1),
        ]
        let third = [Event.created, Item.text("!?", at: 0), Event.completed]
        let fixture = Self.fixture([Self.broken(Self.cut), Self.broken(second), Self.whole(third)])
        let outcome = await fixture.run(ChappieTransportRequest(prompt: "hi"))
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello world!?")
        #expect(
            Self.inputs(fixture).last
                == "[\(Item.question),\(Item.carriedMessage("Hello ")),\(Item.carriedMessage("world"))]")
    }

    @Test func aCutInTheReplayKeepsWhatWasCarried() async {
        let fixture = Self.fixture([
            Self.broken(Self.cut), Self.broken([Event.created, Item.text("w", at: 0)]), .broken(),
            Self.whole(Self.rest),
        ])
        let outcome = await fixture.run(ChappieTransportRequest(prompt: "hi"))
        #expect(outcome.text == "Hello world")
        let carried = "[\(Item.question),\(Item.carriedMessage("Hello "))]"
        #expect(Self.inputs(fixture) == ["[\(Item.question)]", carried, carried, carried])
    }

    @Test func aContradictionInTheRestIsADivergence() async {
        let fixture = Self.fixture([
            Self.broken(Self.cut), Self.whole([Item.text("moon", at: 0), Event.completed]),
        ])
        let outcome = await fixture.run(ChappieTransportRequest(prompt: "hi"))
        #expect(outcome.clientError == .streamingTransportReplayDiverged("Hello wor"))
    }

    @Test func finishedItemsAreCarriedOverToTheFallback() async {
        let fixture = Self.fixture([Self.broken(Self.cut), Self.whole(Self.rest, isHTTP: true)]) {
            $0.policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0)
            $0.policy.carriesFinishedItems = true
            $0.reportsDiagnostics = true
        }
        let outcome = await fixture.run(ChappieTransportRequest(prompt: "hi"))
        #expect(outcome.text == "Hello world")
        #expect(fixture.transport.requests.map(\.isWebSocket) == [true, false])
        #expect(outcome.diagnostics.count { $0.kind == .fellBack } == 1)
        #expect(Self.inputs(fixture).last == "[\(Item.question),\(Item.carriedMessage("Hello "))]")
    }

    @Test func anItemBehindAnUnfinishedOneIsMadeAgain() async {
        let first = [
            Item.text("a", at: 0), Item.text("b", at: 1), Item.done(Item.message("b"), at: 1), Item.text("c", at: 2),
        ]
        let again = [
            Item.text("a", at: 0), Item.text("b", at: 1), Item.text("c", at: 2), Item.text("d", at: 2), Event.completed,
        ]
        let fixture = Self.fixture([Self.broken(first), Self.whole(again)])
        let outcome = await fixture.run(ChappieTransportRequest(prompt: "hi"))
        #expect(outcome.text == "abcd")
        #expect(Self.inputs(fixture).last == "[\(Item.question)]")
    }

    @Test func reasoningGoesAlongWhenItIsEncrypted() async {
        let reasoning = #"{"id":"rs","type":"reasoning","summary":[],"encrypted_content":"x"}"#
        let carried = #"{"type":"reasoning","summary":[],"encrypted_content":"x"},"#
        let first = [
            Item.reasoning("hm", at: 0), Item.done(reasoning, at: 0), Item.text("Hello ", at: 1),
            Item.done(Item.message("Hello "), at: 1), Item.text("wor", at: 2),
        ]
        let fixture = Self.fixture([Self.broken(first), Self.whole(Self.rest)])
        let outcome = await fixture.run(ChappieTransportRequest(prompt: "hi"))
        #expect(outcome.text == "Hello world")
        #expect(outcome.events.filter { $0 == .reasoningDelta("hm") }.count == 1)
        #expect(Self.inputs(fixture).last == "[\(Item.question),\(carried)\(Item.carriedMessage("Hello "))]")
    }

    @Test(arguments: ["", #","encrypted_content":null"#])
    func unencryptedReasoningAndLaterItemsAreNotCarried(_ field: String) async {
        let reasoning = #"{"id":"rs","type":"reasoning","summary":[]\#(field)}"#
        let beginning = [
            Item.text("Hello ", at: 0), Item.done(Item.message("Hello "), at: 0), Item.reasoning("hm", at: 1),
            Item.done(reasoning, at: 1), Item.text("wor", at: 2), Item.done(Item.message("wor"), at: 2),
        ]
        let again = [
            Event.created, Item.reasoning("hm", at: 0), Item.done(reasoning, at: 0), Item.text("world", at: 1),
            Event.completed,
        ]
        let fixture = Self.fixture([Self.broken(beginning), Self.whole(again)])
        let outcome = await fixture.run(ChappieTransportRequest(prompt: "hi"))
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello world")
        #expect(outcome.events.filter { $0 == .reasoningDelta("hm") }.count == 1)
        #expect(Self.inputs(fixture).last == "[\(Item.question),\(Item.carriedMessage("Hello "))]")
    }

    // MARK: Calls

    /// A message, a call, and the beginning of another message.
    private static let cutBehindCall: [String] = [
        Item.text("Hello ", at: 0), Item.done(Item.message("Hello "), at: 0), Item.done(Item.call("1"), at: 1),
        Item.text("wor", at: 2),
    ]

    @Test func aCallWithoutItsOutputIsMadeAgain() async {
        let again = [Item.done(Item.call("1"), at: 0), Item.text("world", at: 1), Event.completed]
        let fixture = Self.fixture([Self.broken(Self.cutBehindCall), Self.whole(again)])
        let outcome = await fixture.run(ChappieTransportRequest(prompt: "hi"))
        #expect(outcome.text == "Hello world")
        #expect(Self.inputs(fixture).last == "[\(Item.question),\(Item.carriedMessage("Hello "))]")
        // The message's, and the call's, once each.
        #expect(outcome.rawTypes == ["response.output_item.done", "response.output_item.done"])
    }

    @Test func aCallGoesWithItsOutputBehindIt() async {
        let asked = LockedValue<[String]>([])
        let second = [Item.text("world", at: 0), Item.done(Item.message("world"), at: 0), Item.text("!", at: 1)]
        let fixture = Self.fixture([
            Self.broken(Self.cutBehindCall), Self.broken(second), .broken(),
            Self.whole([Item.text("!", at: 0), Event.completed]),
        ]) {
            $0.toolOutput = { call in
                asked.withLock { $0.append(call) }
                return Array(Item.output("1").utf8)
            }
        }
        let outcome = await fixture.run(ChappieTransportRequest(prompt: "hi"))
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello world!")
        #expect(asked.withLock { $0 } == [Item.call("1")])
        let carried = "\(Item.carriedMessage("Hello ")),\(Item.carriedCall("1")),\(Item.output("1"))"
        let inputs = Self.inputs(fixture)
        #expect(inputs[1] == "[\(Item.question),\(carried)]")
        #expect(inputs[2] == "[\(Item.question),\(carried),\(Item.carriedMessage("world"))]")
        #expect(inputs[3] == inputs[2])
        #expect(outcome.rawTypes.filter { $0 == "response.output_item.done" }.count == 3)
    }

    @Test func severalCallsAreAskedForInOrder() async {
        let asked = LockedValue<[String]>([])
        let first = [Item.done(Item.call("1"), at: 0), Item.done(Item.call("2"), at: 1), Item.text("a", at: 2)]
        let fixture = Self.fixture([Self.broken(first), Self.whole([Item.text("ab", at: 0), Event.completed])]) {
            $0.toolOutput = { call in
                let count = asked.withLock { calls in
                    calls.append(call)
                    return calls.count
                }
                return Array(Item.output("\(count)").utf8)
            }
        }
        let outcome = await fixture.run(ChappieTransportRequest(prompt: "hi"))
        #expect(outcome.text == "ab")
        #expect(asked.withLock { $0 } == [Item.call("1"), Item.call("2")])
        let calls = ["1", "2"].map { "\(Item.carriedCall($0)),\(Item.output($0))" }
        #expect(Self.inputs(fixture).last == "[\(Item.question),\(calls.joined(separator: ","))]")
    }

    @Test func aToolThatFailsEndsTheTurn() async {
        struct NoOutput: Error {}
        let fixture = Self.fixture([Self.broken(Self.cutBehindCall), Self.whole(Self.rest)]) {
            $0.toolOutput = { _ in throw NoOutput() }
        }
        let outcome = await fixture.run(ChappieTransportRequest(prompt: "hi"))
        #expect(outcome.error is NoOutput)
        #expect(fixture.transport.requests.count == 1)
        #expect(outcome.report.replaySafety == .outputDelivered)
        #expect(outcome.text == "Hello wor")
    }

    @Test func aCancellationWhileAToolRunsOpensNothing() async {
        let handles = LockedValue<ChappieStreamHandle?>(nil)
        let fixture = Self.fixture([Self.broken(Self.cutBehindCall), Self.whole(Self.rest)]) {
            $0.toolOutput = { _ in
                handles.withLock { $0 }?.cancel()
                return Array(Item.output("1").utf8)
            }
        }
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi"))
        handles.withLock { $0 = handle }
        let outcome = await TurnFixture.read(handle)
        handles.withLock { $0 = nil }
        #expect(outcome.error is CancellationError)
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func toolOutputIsNotRequestedWithoutARetry() async {
        let fixture = Self.fixture([Self.broken(Self.cutBehindCall)]) {
            $0.policy.recovery = .resumeOnly
            $0.toolOutput = { _ in
                Issue.record("asked")
                return []
            }
        }
        let outcome = await fixture.run(ChappieTransportRequest(prompt: "hi"))
        #expect(outcome.transportFailure?.code == .webSocketClosed)
    }
}
