// Adding input to a response that is being generated, and its consequences.

import ResponseEvents
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct SteeringTests {
    private static let accepted = #"{"type":"response.steer.accepted","steer":{"id":"s","previous_response_id":"r1"}}"#
    private static let pending =
        #"{"type":"response.steer.pending","steer":{"id":"s"},"reason":"waiting_for_required_input"}"#
    private static func failed(_ code: String) -> String {
        #"{"type":"response.steer.failed","steer":{"id":"s"},"error":{"code":"\#(code)","message":"secret words"}}"#
    }
    /// The answer to the steering with an identifier.
    private static func answer(_ type: String, _ id: String) -> ScriptStep {
        .text(
            #"{"type":"response.steer.\#(type)","steer":{"id":"\#(id)","previous_response_id":"r1"},"#
                + #""error":{"code":"successor_creation_failed"}}"#)
    }
    private static func steered(_ id: String, output: String = "") -> String {
        #"{"type":"response.incomplete","response":{"id":"\#(id)","status":"incomplete","#
            + #""incomplete_details":{"reason":"steered"}\#(output)}}"#
    }
    private static func done(_ text: String, _ index: Int = 0) -> String {
        Event.done(WireItem.sentMessage(text), at: index)
    }

    /// A turn that has read `before` and was steered, and the script of its server.
    private struct Steered {
        let fixture: TurnFixture
        let turn: TurnDriver
        let handle: ChappieStreamHandle
        var events: [ChappieStreamEvent] = []
        var error: (any Error)?

        init(
            before: [String] = [Event.created("r1"), Event.text("one ")], after: [ScriptStep],
            more scripts: [[ScriptStep]] = [], steers: [String] = ["more"], runsCalls: Bool = false,
            _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
        ) async {
            self.fixture = TurnFixture([.socket(before) + after] + scripts) {
                $0.rawEvents = .none
                $0.reportsDiagnostics = true
                configure(&$0)
            }
            self.turn = self.fixture.instance.turn(
                conversation([WireItem.question]) { $0.runsCalls = runsCalls })
            self.handle = ChappieStreamHandle(turn: self.turn)
            do {
                while try await self.take() != .textDelta("one ") {}
                for text in steers { try self.handle.steer(text) }
                while try await self.take() != nil {}
            } catch {
                self.error = error
            }
        }

        private mutating func take() async throws -> ChappieStreamEvent? {
            let event = try await self.handle.events.next()
            if let event { self.events.append(event) }
            return event
        }

        var text: String { TurnOutcome(events: self.events).text }
        /// The time since the first connection was requested.
        var elapsed: Duration { self.fixture.clock.now - self.fixture.transport.connections[0].start }
        var news: [ChappieDiagnostic.Kind] {
            TurnOutcome(events: self.events).diagnostics.map(\.kind).filter { $0 != .connected }
        }
    }

    private static let successor: [ScriptStep] = [
        .request, .text(accepted), .text(done("one ")), .text(steered("r1")), .text(Event.created("r2")),
        .text(Event.text("two")), .text(done("two")), .text(Event.completed("r2")),
    ]

    // MARK: Success

    @Test func theStreamGoesOnWithTheSuccessor() async {
        let steered = await Steered(after: Self.successor)
        #expect(steered.error == nil)
        #expect(steered.text == "one two")
        #expect(steered.events.filter { $0 == .completed }.count == 1)
        #expect(steered.news == [.steered])
        let message = SentMessage(steered.fixture.messages[0].last)
        #expect(message?.members["type"] as? String == "response.steer")
        #expect(message?.previousResponseID == "r1")
        #expect(message?.inputCount == 1)
        #expect(message?.members.count == 3)
        #expect(steered.fixture.messages[0].last?.contains(WireItem.user("more")) == true)
        #expect(steered.fixture.transport.requests.count == 1)
        #expect(steered.turn.report.attempts.map(\.outcome) == ["completed"])
    }

    @Test func steeredTurnLeavesBothResponsesAndTheMessage() async {
        let steered = await Steered(after: Self.successor)
        let response = steered.turn.completedResponse
        #expect(response?.id == "r2")
        #expect(response?.itemTexts == [WireItem.message("one "), WireItem.user("more"), WireItem.message("two")])
        // The connection records the same.
        steered.fixture.transport.connections[0].append(.again(Event.created("r3"), Event.completed("r3")))
        let items = [WireItem.question] + (response?.itemTexts ?? []) + [WireItem.user("next")]
        _ = await steered.fixture.run(conversation(items))
        #expect(SentMessage(steered.fixture.messages[0].last)?.previousResponseID == "r2")
        #expect(SentMessage(steered.fixture.messages[0].last)?.inputCount == 1)
    }

    @Test func cutOffItemIsTakenFromTheTerminalEvent() async {
        let cut = #","output":[\#(WireItem.sentMessage("one "))]"#
        let steered = await Steered(
            after: [
                .request, .text(Self.accepted), .text(Self.steered("r1", output: cut)), .text(Event.created("r2")),
                .text(Self.done("two")), .text(Event.completed("r2")),
            ])
        #expect(
            steered.turn.completedResponse?.itemTexts == [
                WireItem.message("one "), WireItem.user("more"), WireItem.message("two"),
            ])
    }

    @Test func outputOfTheSuccessorIsNewEvenIfItIsTheSame() async {
        let call = Event.done(WireItem.sentCall("a"), at: 1)
        let steered = await Steered(
            before: [Event.created("r1"), call, Event.text("one ")],
            after: [
                .request, .text(Self.accepted), .text(Self.steered("r1")), .text(Event.created("r2")),
                .text(call.replacing(#""call_id":"a""#, with: #""call_id":"b""#)), .text(Event.text("one ")),
                .text(Event.completed("r2")),
            ]
        ) { $0.rawEvents = .unsurfaced }
        #expect(steered.error == nil)
        #expect(steered.text == "one one ")
        #expect(TurnOutcome(events: steered.events).rawTypes.filter { $0 == "response.output_item.done" }.count == 2)
        #expect(steered.turn.completedResponse?.calls.map(\.callID) == ["a", "b"])
    }

    @Test func aResponseIsSteeredMoreThanOnce() async {
        let steered = await Steered(
            after: [
                .request, .request, .text(Self.accepted), .text(Self.accepted), .text(Self.done("one ")),
                .text(Self.steered("r1")), .text(Event.created("r2")), .text(Self.done("two")),
                .text(Event.completed("r2")),
            ], steers: ["more", "and more"])
        #expect(steered.error == nil)
        #expect(steered.news == [.steered, .steered])
        #expect(
            steered.turn.completedResponse?.itemTexts == [
                WireItem.message("one "), WireItem.user("more"), WireItem.user("and more"), WireItem.message("two"),
            ])
    }

    @Test func numbersBeginAgainWithoutAGap() async {
        func numbered(_ event: String, _ number: Int) -> ScriptStep {
            .text(event.dropLast() + #","sequence_number":\#(number)}"#)
        }
        let steered = await Steered(
            before: [],
            after: [
                numbered(Event.created("r1"), 0), numbered(Event.text("one "), 1), .request,
                numbered(Self.accepted, 2), numbered(Self.steered("r1"), 3), numbered(Event.created("r2"), 0),
                numbered(Event.text("two"), 1), numbered(Event.completed("r2"), 2),
            ])
        #expect(steered.text == "one two")
        #expect(steered.news == [.steered])
    }

    @Test func handleSteersTheRunningTurnWithAText() async throws {
        let fixture = TurnFixture([.socket([Event.created("r1"), Event.text("one ")]) + Self.successor]) {
            $0.rawEvents = .none
        }
        let handle = fixture.instance.streamHandle(conversation([WireItem.question]))
        var text = ""
        for try await event in handle.events {
            guard case .textDelta(let delta) = event else { continue }
            if text.isEmpty {
                #expect(throws: ChappieSteeringError.invalidInput) { try handle.steer("") }
                try handle.steer("more")
            }
            text += delta
        }
        #expect(text == "one two")
        #expect(fixture.messages[0].last?.contains(WireItem.user("more")) == true)
    }

    // MARK: Failure

    @Test func refusedSteeringLeavesTheResponseUnchanged() async {
        for (code, reason) in [("too_many_pending_steers", "too_many_pending_steers"), ("secret", nil)] {
            let steered = await Steered(
                after: [
                    .request, .text(Self.failed(code)), .text(Event.text("two")), .text(Self.done("one two")),
                    .text(Event.completed("r1")),
                ])
            #expect(steered.error == nil)
            #expect(steered.text == "one two")
            #expect(TurnOutcome(events: steered.events).diagnostics.last?.kind == .steerFailed)
            #expect(TurnOutcome(events: steered.events).diagnostics.last?.reason == reason)
            #expect(steered.turn.completedResponse?.itemTexts == [WireItem.message("one two")])
            #expect(!steered.fixture.calls(0).contains(.cancel))
        }
    }

    // MARK: Behind a complete response

    // openai-python 3.57.0, `types/responses/response_steer_*_event.py`: "Acceptance means the server owns the input, not
    // that it has been applied. The successor's `response.created` event is the commit point"; "Normal completion can
    // also be followed by an automatic successor".

    private static let completion: [ScriptStep] = [.text(done("one ")), .text(Event.completed("r1"))]
    private static let rest: [ScriptStep] = [
        .text(Event.created("r2")), .text(Event.text("two")), .text(done("two")), .text(Event.completed("r2")),
    ]

    @Test(arguments: [false, true]) func successorOfACompleteResponseContinuesTheStream(isAcceptedLate: Bool) async {
        let accepted = [ScriptStep.text(Self.accepted)]
        let before = isAcceptedLate ? Self.completion + accepted : accepted + Self.completion
        // The turn goes on for as long as the server needs.
        let steered = await Steered(after: [.request] + before + [.pause(.seconds(59))] + Self.rest) {
            $0.timeouts.firstEvent = .seconds(60)
        }
        #expect(steered.error == nil)
        #expect(steered.text == "one two")
        #expect(steered.events.filter { $0 == .completed }.count == 1)
        #expect(steered.events.last == .completed)
        let response = steered.turn.completedResponse
        #expect(response?.id == "r2")
        #expect(response?.itemTexts == [WireItem.message("one "), WireItem.user("more"), WireItem.message("two")])
        #expect(response?.endsTurn == true)
        // The connection goes on from the successor.
        steered.fixture.transport.connections[0].append(.again(Event.created("r3"), Event.completed("r3")))
        let items = [WireItem.question] + (response?.itemTexts ?? []) + [WireItem.user("next")]
        _ = await steered.fixture.run(conversation(items))
        #expect(SentMessage(steered.fixture.messages[0].last)?.previousResponseID == "r2")
        #expect(SentMessage(steered.fixture.messages[0].last)?.inputCount == 1)
    }

    @Test func laterSteeringOfASuccessorIsAwaitedToo() async {
        let steered = await Steered(
            after: [.request, .request, Self.answer("accepted", "s1")] + Self.completion + [
                .text(Event.created("r2")), .text(Event.text("two")), Self.answer("accepted", "s2"),
                .text(Self.done("two")), .text(Event.completed("r2")), .text(Event.created("r3")),
                .text(Event.text(" three")), .text(Self.done(" three")), .text(Event.completed("r3")),
            ], steers: ["more", "and more"])
        #expect(steered.error == nil)
        #expect(steered.text == "one two three")
        #expect(
            steered.turn.completedResponse?.itemTexts == [
                WireItem.message("one "), WireItem.user("more"), WireItem.message("two"), WireItem.user("and more"),
                WireItem.message(" three"),
            ])
    }

    /// A refusal behind the completion ends the turn, and leaves the connection for the next one.
    @Test(arguments: [[], [accepted]]) func refusalBehindACompleteResponseEndsTheTurn(answers: [String]) async {
        let steered = await Steered(
            after: [.request] + answers.map { .text($0) } + Self.completion
                + [.text(Self.failed("response_already_completed"))])
        #expect(steered.error == nil)
        #expect(steered.text == "one ")
        #expect(steered.news == answers.map { _ in .steered } + [.steerFailed])
        #expect(TurnOutcome(events: steered.events).diagnostics.last?.reason == "response_already_completed")
        let response = steered.turn.completedResponse
        #expect(response?.id == "r1")
        #expect(response?.itemTexts == [WireItem.message("one ")])
        #expect(response?.endsTurn == true)
        #expect(!steered.fixture.calls(0).contains(.cancel))
        steered.fixture.transport.connections[0].append(.again(Event.created("r2"), Event.completed("r2")))
        let items = [WireItem.question, WireItem.message("one "), WireItem.user("next")]
        _ = await steered.fixture.run(conversation(items))
        #expect(SentMessage(steered.fixture.messages[0].last)?.previousResponseID == "r1")
        #expect(SentMessage(steered.fixture.messages[0].last)?.inputCount == 1)
    }

    @Test func refusalOfOneOfTwoLeavesTheOther() async {
        let answers = [
            Self.answer("accepted", "s1"), Self.answer("accepted", "s2"), Self.answer("failed", "s1"),
        ]
        let steered = await Steered(
            after: [.request, .request] + answers + Self.completion + Self.rest, steers: ["more", "and more"])
        #expect(steered.error == nil)
        #expect(
            steered.turn.completedResponse?.itemTexts == [
                WireItem.message("one "), WireItem.user("and more"), WireItem.message("two"),
            ])
    }

    /// Without a successor the turn ends with the complete response, and with what was not answered.
    @Test(
        arguments: [
            ScriptStep.pause(.seconds(600)), .ended(.closed(code: 1006, reason: "")),
            .text(#"{"type":"error","status":500,"error":{"code":"server_error"}}"#),
        ], [false, true])
    func absentSuccessorEndsTheTurnWithTheUnansweredInput(end: ScriptStep, runsCalls: Bool) async {
        let steered = await Steered(
            after: [.request, .text(Self.accepted)] + Self.completion + [end] + Self.rest,
            more: [.webSocket(Event.created("r3"), Event.completed("r3"))], runsCalls: runsCalls
        ) {
            $0.timeouts.firstEvent = .seconds(9)
        }
        #expect(steered.error == nil)
        #expect(steered.text == "one ")
        #expect(steered.events.last == .completed)
        #expect(steered.news == [.steered, runsCalls ? .steerPending : .steerFailed])
        let response = steered.turn.completedResponse
        #expect(response?.id == "r1")
        #expect(response?.itemTexts == [WireItem.message("one "), WireItem.user("more")])
        // The model has not answered it.
        #expect(response?.endsTurn == false)
        // The server may still use it, so this connection is not used again.
        if case .pause = end { #expect(steered.elapsed == .seconds(9)) }
        #expect(steered.fixture.transport.requests.count == 1)
        _ = await steered.fixture.run(conversation([WireItem.question]))
        #expect(steered.fixture.transport.requests.count == 2)
    }

    @Test func absentAnswerEndsTheTurnWithoutTheInput() async {
        let steered = await Steered(after: [.request] + Self.completion) { $0.timeouts.firstEvent = .seconds(9) }
        #expect(steered.error == nil)
        #expect(steered.news == [.steerFailed])
        #expect(steered.turn.completedResponse?.itemTexts == [WireItem.message("one ")])
        #expect(steered.turn.completedResponse?.endsTurn == true)
        #expect(steered.fixture.calls(0).contains(.cancel))
        #expect(steered.elapsed == .seconds(9))
    }

    /// Some servers send `pending` in place of `accepted`.
    @Test func inputThatWasToWaitIsCommittedByASuccessor() async {
        let steered = await Steered(
            after: [.request, .text(Self.pending), .text(Self.done("one ")), .text(Self.steered("r1"))] + Self.rest)
        #expect(steered.error == nil)
        #expect(steered.text == "one two")
        #expect(
            steered.turn.completedResponse?.itemTexts == [
                WireItem.message("one "), WireItem.user("more"), WireItem.message("two"),
            ])
    }

    @Test func absentSuccessorOfAResponseThatWasEndedEarlyIsAFailure() async {
        let steered = await Steered(after: [.request, .text(Self.accepted), .text(Self.steered("r1"))]) {
            $0.timeouts.firstEvent = .seconds(9)
        }
        #expect((steered.error as? ChappieClientError)?.tag == "timeout.firstEvent")
        #expect(steered.text == "one ")
        #expect(steered.elapsed == .seconds(9))
    }

    @Test(arguments: [false, true]) func responseThatWasEndedEarlyForRefusedInputIsIncomplete(isLate: Bool) async {
        let ends = [Self.steered("r1"), Self.failed("successor_creation_failed")]
        let steered = await Steered(
            after: [.request, .text(Self.accepted)] + (isLate ? ends : ends.reversed()).map { .text($0) })
        guard case .responseTerminalFailure(let response)? = steered.error as? ChappieClientError else {
            Issue.record("no failure")
            return
        }
        #expect(response.incompleteReason == "steered")
        #expect(steered.news == [.steered, .steerFailed])
    }

    @Test func steeringBehindTheEndHasNoTarget() async throws {
        let signal = Signal()
        let fixture = TurnFixture([
            .socket([Event.created("r1"), Event.text("one ")]) + [.request, .text(Self.accepted)] + Self.completion
                + [.hang(signal)]
        ]) { $0.rawEvents = .none }
        let handle = fixture.instance.streamHandle(conversation([WireItem.question]))
        var events = handle.events.makeAsyncIterator()
        #expect(try await events.next() == .textDelta("one "))
        try handle.steer("more")
        let reading = Task { await TurnFixture.read(handle) }
        await signal.wait()
        #expect(throws: ChappieSteeringError.notCreated) { try handle.steer("and more") }
        handle.cancel()
        #expect(await reading.value.error is CancellationError)
    }

    // MARK: Pending input

    private static let call = Event.done(WireItem.sentCall("a"), at: 1)
    private static let calling: [ScriptStep] = [
        .text(done("one ")), .text(call), .text(Event.completed("r1")),
    ]

    /// openai-python 3.57.0, `response_steer_pending_event.py`: "submit one continuation per parent with the same
    /// `previous_response_id` and WebSocket lane"; "The queued steering input is prepended in submission order to the
    /// continuation's input".
    @Test(arguments: [[accepted], []]) func pendingInputGoesWithTheOutputsOnTheSameConnection(before: [String]) async {
        let steered = await Steered(
            after: [.request] + before.map { .text($0) } + Self.calling + [.text(Self.pending)])
        #expect(steered.error == nil)
        #expect(steered.news == before.map { _ in .steered } + [.steerPending])
        let response = steered.turn.completedResponse
        #expect(response?.itemTexts == [WireItem.message("one "), WireItem.call("a"), WireItem.user("more")])
        #expect(response?.calls.map(\.callID) == ["a"])
        steered.fixture.transport.connections[0].append(.again(Event.created("r2"), Event.completed("r2")))
        let items = [WireItem.question] + (response?.itemTexts ?? []) + [WireItem.output("a")]
        #expect(await steered.fixture.run(conversation(items)).error == nil)
        #expect(steered.fixture.transport.requests.count == 1)
        let message = SentMessage(steered.fixture.messages[0].last)
        #expect(message?.previousResponseID == "r1")
        #expect(message?.inputCount == 1)
        #expect(steered.fixture.messages[0].last?.contains(WireItem.user("more")) == false)
        #expect(steered.fixture.messages[0].last?.contains(WireItem.output("a")) == true)
    }

    /// The server still waits for the outputs on this connection, so a request without them goes to another one.
    @Test func requestThatDoesNotContinueAPendingResponseHasItsOwnConnection() async {
        let steered = await Steered(
            after: [.request, .text(Self.accepted)] + Self.calling + [.text(Self.pending)],
            more: [.webSocket(Event.created("r2"), Event.completed("r2"))])
        _ = await steered.fixture.run(conversation([WireItem.question]))
        #expect(steered.fixture.transport.requests.count == 2)
        #expect(steered.fixture.calls(0).contains(.close))
        #expect(SentMessage(steered.fixture.messages[1].last)?.previousResponseID == nil)
    }

    /// A response may wait for approvals, which this package does not give: the turn is over.
    @Test func pendingInputWithoutCallsEndsTheTurn() async {
        let steered = await Steered(
            after: [.request, .text(Self.accepted)] + Self.completion + [.text(Self.pending)], runsCalls: true)
        #expect(steered.error == nil)
        #expect(steered.turn.completedResponse?.itemTexts == [WireItem.message("one "), WireItem.user("more")])
        #expect(steered.turn.completedResponse?.endsTurn == true)
    }

    @Test func unrequestedSteeringEndIsAFailure() async {
        let fixture = TurnFixture([.socket([Event.created("r1"), Self.steered("r1")])])
        guard case .responseTerminalFailure(let response)? = await fixture.run().clientError else {
            Issue.record("no failure")
            return
        }
        #expect(response.incompleteReason == "steered")
    }

    @Test func incompleteResponseDuringSteeringIsAFailure() async {
        let steered = await Steered(after: [
            .request, .text(Event.incomplete.replacing(#""id":"r""#, with: #""id":"r1""#)),
        ])
        guard case .responseTerminalFailure? = steered.error as? ChappieClientError else {
            Issue.record("no failure")
            return
        }
    }

    @Test(arguments: [0, 1, 2, 3])
    func steeredRequestIsNotRetried(progress: Int) async {
        let script: [ScriptStep] = [
            .text(Self.accepted), .text(Self.steered("r1")), .text(Event.created("r2")),
        ]
        let steered = await Steered(
            after: [.request] + script.prefix(progress) + [.ended(.closed(code: 1006, reason: ""))],
            more: [.socket([Event.created("r3"), Event.text("one "), Event.completed("r3")])])
        #expect((steered.error as? ChappieClientError)?.tag == "ws.close.1006")
        #expect(steered.fixture.transport.requests.count == 1)
        #expect(steered.turn.report.reconnects == 0)
        #expect((steered.error as? ChappieClientError)?.replaySafety == .outputDelivered)
    }

    @Test(arguments: [401, 429, 503])
    func steeredRequestIsNotRetriedAfterAnErrorInBand(status: Int) async {
        let steered = await Steered(
            after: [.request, .text(#"{"type":"error","status":\#(status),"error":{"code":"x"}}"#)],
            more: [.socket([Event.completed("r3")])]
        ) { $0.credential = { _ in ChappieCredential(bearerToken: "t") } }
        #expect(steered.error != nil)
        #expect(steered.fixture.transport.requests.count == 1)
    }

    @Test func aReplayThatHasNotCaughtUpCannotBeSteeredOn() async {
        // The second attempt has repeated "one " but not its continuation when it is steered.
        let fixture = TurnFixture([
            .socket([Event.created("r1"), Event.text("one "), Event.text("two")], isBroken: true),
            .socket([Event.created("r2"), Event.text("one ")]) + [
                .heard, .request, .text(Self.accepted), .text(Self.steered("r2")), .text(Event.created("r3")),
                .text(Event.text("three")), .text(Event.completed("r3")),
            ],
        ]) {
            $0.rawEvents = .none
            $0.timeouts.stall = .seconds(1)
            $0.reportsDiagnostics = true
        }
        let handle = fixture.instance.streamHandle(conversation([WireItem.question]))
        var error: (any Error)?
        do {
            while let event = try await handle.events.next() {
                if case .diagnostic(let news) = event, news.kind == .stalled { try handle.steer(inputJSON: "[{}]") }
            }
        } catch let thrown {
            error = thrown
        }
        #expect(error as? ChappieClientError == .streamingTransportReplayDiverged("one two"))
    }

    // MARK: Without a response to steer

    @Test func steeringBeforeTheStreamIsReadIsRefused() {
        let handle = TurnFixture([.socket([])]).instance.streamHandle(conversation([WireItem.question]))
        #expect(throws: ChappieSteeringError.notRunning) { try handle.steer("more") }
    }

    @Test func steeringAfterTheEndIsRefused() async {
        let fixture = TurnFixture([.socket([Event.created("r1"), Event.completed("r1")])])
        let turn = fixture.instance.turn(conversation([WireItem.question]))
        _ = await TurnFixture.read(ChappieStreamHandle(turn: turn))
        #expect(throws: ChappieSteeringError.notRunning) { try turn.steer(Array("[{}]".utf8)) }
        #expect(fixture.messages[0].count == 1)
    }

    @Test func steeringDuringACredentialRefreshIsRefused() async {
        let handles = LockedValue<(turn: TurnDriver, error: ChappieSteeringError?)?>(nil)
        let fixture = TurnFixture([.refusal(401), .socket([Event.completed("r1")])]) {
            $0.credential = { request in
                let first = ChappieCredential(bearerToken: "a")
                guard request == .rejected(first) else { return first }
                handles.withLock { known in
                    do { try known?.turn.steer(Array("[{}]".utf8)) } catch {
                        known?.error = error as? ChappieSteeringError
                    }
                }
                return ChappieCredential(bearerToken: "b")
            }
        }
        let turn = fixture.instance.turn(conversation([WireItem.question]))
        handles.withLock { $0 = (turn, nil) }
        while (try? await turn.next(for: .events)) != nil {}
        #expect(handles.withLock { $0?.error } == .notRunning)
        handles.withLock { $0 = nil }
    }

    @Test func steeringAfterACancellationIsRefusedWhateverTheDriverStillDoes() {
        let turn = TurnFixture([.socket([])]).instance.turn(conversation([WireItem.question]))
        let permission = turn.control.permission
        let connection = ScriptedConnection([], clock: ManualClock())
        let steering = Steering()
        steering.begin(over: .webSocket, on: connection)
        steering.cancel()
        steering.begin(over: .webSocket, on: connection)
        #expect(throws: ChappieSteeringError.notRunning) {
            try steering.steer(Array("[{}]".utf8), permission, attempt: 1) {}
        }
    }

    @Test func steeringBeforeTheResponseIDIsRefused() async throws {
        let fixture = TurnFixture([.socket([Event.text("a")])]) { $0.rawEvents = .none }
        let handle = fixture.instance.streamHandle(conversation([WireItem.question]))
        #expect(try await handle.events.next() == .textDelta("a"))
        #expect(throws: ChappieSteeringError.notCreated) { try handle.steer(inputJSON: "[{}]") }
        #expect(fixture.messages[0].count == 1)
        handle.cancel()
    }

    @Test func steeringOverHTTPIsRefused() async throws {
        let fixture = TurnFixture([.http([Event.created("r1"), Event.text("a")])]) {
            $0.policy = .httpSSEOnly
            $0.rawEvents = .none
        }
        let handle = fixture.instance.streamHandle(conversation([WireItem.question]))
        #expect(try await handle.events.next() == .textDelta("a"))
        #expect(throws: ChappieSteeringError.notOverWebSocket) { try handle.steer(inputJSON: "[{}]") }
        handle.cancel()
    }

    @Test(arguments: ["", "[]", "{}", "null", "[1]", "[[]]", #"["text"]"#, "[{}", "[{}]x", "\"text\""])
    func anInputThatIsNoListOfItemsIsNotSent(input: String) async throws {
        let fixture = TurnFixture([.socket([Event.created("r1"), Event.text("a")])]) { $0.rawEvents = .none }
        let handle = fixture.instance.streamHandle(conversation([WireItem.question]))
        #expect(try await handle.events.next() == .textDelta("a"))
        #expect(throws: ChappieSteeringError.invalidInput) { try handle.steer(inputJSON: input) }
        #expect(fixture.messages[0].count == 1)
        handle.cancel()
    }

    @Test func everyErrorHasASentence() {
        let sentences = ChappieSteeringError.allCases.compactMap(\.errorDescription)
        #expect(Set(sentences).count == ChappieSteeringError.allCases.count)
        #expect(sentences.allSatisfy { $0.hasSuffix(".") })
    }

    // MARK: A program that examines requests

    @Test func willSendReceivesSteeringMessages() async throws {
        let bodies = LockedValue<[String]>([])
        let fixture = TurnFixture([.socket([Event.created("r1"), Event.text("one ")]) + Self.successor]) {
            $0.rawEvents = .none
            $0.willSend = { request in
                bodies.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
            }
        }
        let handle = fixture.instance.streamHandle(conversation([WireItem.question]))
        #expect(try await handle.events.next() == .textDelta("one "))
        let connection = fixture.transport.connections[0]
        await connection.sent.wait()
        try handle.steer("more")
        await connection.sent.wait()
        #expect(try await handle.events.next() == .textDelta("two"))
        while try await handle.events.next() != nil {}
        #expect(bodies.withLock { $0 } == fixture.messages[0])
    }

    @Test func willSendMayRefuseSteering() async throws {
        struct No: Error {}
        let signal = Signal()
        let fixture = TurnFixture([.socket([Event.created("r1"), Event.text("one ")]) + [.hang(signal)]]) {
            $0.rawEvents = .none
            $0.willSend = { request in
                if String(decoding: request.body, as: UTF8.self).contains("response.steer") { throw No() }
            }
        }
        let handle = fixture.instance.streamHandle(conversation([WireItem.question]))
        #expect(try await handle.events.next() == .textDelta("one "))
        let reading = Task { try await handle.events.next() }
        await signal.wait()
        try handle.steer("more")
        await #expect(throws: ChappieClientError.requestRefused("No()")) { try await reading.value }
        #expect(fixture.messages[0].count == 1)
    }
}
