// The recovery steps, and the ones that each policy permits.
import StreamSession
import StreamTransport
import Testing

@Suite struct TurnStateMachineRecoveryTests {
    private static let reset = AttemptFailure.transport(TransportFailure(phase: .stream, cause: .connectionLost))

    /// A response over HTTP that the server keeps, of which the first numbers have come.
    private static func background(
        upTo last: Int, recovery: ChappieRecoveryPolicy = .verify, isNamed: Bool = true
    ) -> TurnStateMachine {
        var streaming = ChappieStreamingTransportPolicy()
        streaming.recovery = recovery
        var machine = TurnStateMachine(
            policy: RetryPolicy(streaming: streaming), webSocket: .background, isResumable: true)
        #expect(machine.started() == .open(.first(.httpSSE)))
        #expect(machine.opened(attempt: 1) == .receive)
        if isNamed { machine.responseNamed("resp_1", attempt: 1) }
        for number in 0..<(last + 1) {
            #expect(machine.numbered(number, fingerprint: UInt64(number) + 7, attempt: 1) == .read)
        }
        return machine
    }

    private static func next(
        _ step: TurnStateMachine.Opening.RecoveryStep, retry: Int = 1, after failure: AttemptFailure = Self.reset
    ) -> TurnStateMachine.Opening {
        .init(
            attempt: retry + 1, transport: .httpSSE, reason: .reconnect(retry: retry, limit: 5, failure), step: step)
    }

    // MARK: Resuming

    @Test func aKeptResponseIsResumedBehindItsLastEvent() {
        var machine = Self.background(upTo: 4)
        #expect(machine.deltaReceived("Hello", attempt: 1) == .deliver(from: 0))
        let next = Self.next(.resume(ResumeCursor(responseID: "resp_1", lastSequenceNumber: 4)))
        #expect(machine.failed(Self.reset, attempt: 1, jitter: 0.5) == .wait(.milliseconds(200), then: next))
        #expect(machine.timerFired(attempt: 2) == .open(next))
        #expect(machine.opened(attempt: 2) == .receive)
        // No output is expected again.
        #expect(machine.isReplayVerified() == true)
        #expect(machine.numbered(4, fingerprint: 11, attempt: 2) == .skip)
        #expect(machine.numbered(5, fingerprint: 12, attempt: 2) == .read)
        #expect(machine.deltaReceived(" there", attempt: 2) == .deliver(from: 0))
        #expect(machine.completed(attempt: 2) == .finish)
        #expect(machine.delivery.deliveredText == "Hello there")
        #expect(machine.delivery.verifiedByteCount == 0)
    }

    @Test func responseIsResumedWithoutDeliveredOutput() {
        var machine = Self.background(upTo: 0)
        let next = Self.next(.resume(ResumeCursor(responseID: "resp_1", lastSequenceNumber: 0)))
        #expect(machine.failed(.endedEarly, attempt: 1, jitter: 0.5) != .ignore)
        #expect(machine.timerFired(attempt: 2) == .open(Self.next(next.step, after: .endedEarly)))
    }

    @Test func unnamedResponseIsSentAgain() {
        var machine = Self.background(upTo: 2, isNamed: false)
        #expect(
            machine.failed(Self.reset, attempt: 1, jitter: 0.5) == .wait(.milliseconds(200), then: Self.next(.again())))
    }

    @Test func outputWithoutANumberIsReadAgainFromTheBeginningAndCompared() {
        var machine = Self.background(upTo: 1)
        #expect(machine.numbered(nil, fingerprint: 0, attempt: 1) == .read)
        #expect(machine.deltaReceived("Hel", attempt: 1) == .deliver(from: 0))
        let next = Self.next(.resume(ResumeCursor(responseID: "resp_1", lastSequenceNumber: nil)))
        #expect(machine.failed(Self.reset, attempt: 1, jitter: 0.5) == .wait(.milliseconds(200), then: next))
        #expect(machine.timerFired(attempt: 2) == .open(next))
        #expect(machine.opened(attempt: 2) == .receive)
        #expect(machine.numbered(0, fingerprint: 7, attempt: 2) == .read)
        #expect(machine.numbered(nil, fingerprint: 0, attempt: 2) == .read)
        #expect(machine.deltaReceived("Hello", attempt: 2) == .deliver(from: 3))
        #expect(machine.completed(attempt: 2) == .finish)
    }

    @Test func numberedEventAfterAnUnnumberedOneRestoresTheCursor() {
        var machine = Self.background(upTo: 1)
        _ = machine.numbered(nil, fingerprint: 0, attempt: 1)
        _ = machine.deltaReceived("Hel", attempt: 1)
        #expect(machine.numbered(2, fingerprint: 9, attempt: 1) == .read)
        let next = Self.next(.resume(ResumeCursor(responseID: "resp_1", lastSequenceNumber: 2)))
        #expect(machine.failed(Self.reset, attempt: 1, jitter: 0.5) == .wait(.milliseconds(200), then: next))
    }

    @Test func aGapIsAskedForAgain() {
        var machine = Self.background(upTo: 4)
        let failure = AttemptFailure.sequenceGap(expected: 5, found: 7)
        let next = Self.next(.resume(ResumeCursor(responseID: "resp_1", lastSequenceNumber: 4)), after: failure)
        #expect(
            machine.numbered(7, fingerprint: 99, attempt: 1)
                == .end(failure, .wait(.milliseconds(200), then: next)))
        #expect(machine.numbered(5, fingerprint: 12, attempt: 1) == .skip)
    }

    @Test func anotherEventWithTheNumberOfOneBehindOutputIsADivergence() {
        var machine = Self.background(upTo: 4)
        #expect(machine.deltaReceived("Hel", attempt: 1) == .deliver(from: 0))
        #expect(machine.numbered(3, fingerprint: 1_234, attempt: 1) == .end(nil, .fail(.diverged)))
        #expect(machine.completed(attempt: 1) == .ignore)
    }

    /// On the first connection and before any output it shows that the server does not count.
    @Test func anotherEventWithTheSameNumberBeforeOutputIsRead() {
        var machine = Self.background(upTo: 4)
        #expect(machine.numbered(3, fingerprint: 1_234, attempt: 1) == .read)
        #expect(machine.numbered(3, fingerprint: 5_678, attempt: 1) == .read)
        #expect(machine.completed(attempt: 1) == .finish)
    }

    @Test func resumingHasTheBudgetOfHTTP() {
        var machine = Self.background(upTo: 4)
        for attempt in 1...5 {
            guard case .wait(_, let opening) = machine.failed(Self.reset, attempt: attempt, jitter: 0.5) else {
                Issue.record("no retry \(attempt)")
                return
            }
            #expect(opening.step == .resume(ResumeCursor(responseID: "resp_1", lastSequenceNumber: 4)))
            #expect(machine.timerFired(attempt: attempt + 1) == .open(opening))
        }
        #expect(machine.failed(Self.reset, attempt: 6, jitter: 0.5) == .fail(.failed(Self.reset)))
    }

    // MARK: Policies

    @Test(arguments: ChappieRecoveryPolicy.allCases)
    func requestWithoutOutputIsSentAgainUnlessRecoveryIsNever(recovery: ChappieRecoveryPolicy) {
        var turn = Self.turn(recovery)
        turn.open()
        turn.fail(Self.reset)
        let isAllowed = recovery != .never
        #expect(turn.openings.last?.step == (isAllowed ? .again() : .first))
        if !isAllowed { #expect(turn.last == .fail(.failed(Self.reset))) }
    }

    @Test(arguments: ChappieRecoveryPolicy.allCases)
    func deliveredOutputIsRecoveredOnlyByVerification(recovery: ChappieRecoveryPolicy) {
        var turn = Self.turn(recovery)
        turn.open()
        turn.receive("Hello")
        turn.fail(Self.reset)
        let isAllowed = recovery == .verify
        #expect(turn.openings.last?.step == (isAllowed ? .verify() : .first))
        if !isAllowed { #expect(turn.last == .fail(.failed(Self.reset))) }
        #expect(turn.machine.replaySafety() == .outputDelivered)
    }

    @Test(arguments: ChappieRecoveryPolicy.allCases)
    func unsentRequestIsRepeatedUnderEveryPolicy(recovery: ChappieRecoveryPolicy) {
        var turn = Self.turn(recovery)
        turn.fail(.transport(TransportFailure(phase: .connect, cause: .unreachable(code: 111))))
        #expect(turn.openings.map(\.step) == [.first, .first])
        turn.fail(.upgradeStatus(RefusalFacts(statusCode: 426)))
        #expect(turn.openings.map(\.transport) == [.webSocket, .webSocket, .httpSSE])
    }

    @Test(arguments: ChappieRecoveryPolicy.allCases)
    func aRefusedRequestMayBeSentAgain(recovery: ChappieRecoveryPolicy) {
        var streaming = ChappieStreamingTransportPolicy(prefersWebSocket: false)
        streaming.recovery = recovery
        var turn = ScriptedTurn(streaming)
        turn.fail(.httpStatus(RefusalFacts(statusCode: 503)))
        #expect(turn.openings.last?.step == .again())
        turn.fail(.httpStatus(RefusalFacts(statusCode: 429)))
        #expect(turn.openings.count == 3)
    }

    @Test(arguments: [(500, false), (502, false), (503, true), (504, false), (429, true), (401, true)])
    func withoutRecoveryOnlyARefusalIsFollowedByAnotherRequest(statusCode: Int, isSentAgain: Bool) {
        var streaming = ChappieStreamingTransportPolicy(prefersWebSocket: false)
        streaming.recovery = .never
        var turn = ScriptedTurn(streaming)
        let failure = AttemptFailure.httpStatus(RefusalFacts(statusCode: statusCode))
        turn.fail(failure)
        if statusCode == 401 { turn.refresh(changed: true) }
        #expect((turn.openings.count == 2) == isSentAgain)
        if !isSentAgain { #expect(turn.last == .fail(.failed(failure))) }
    }

    @Test func retriesThatTheServersFailuresHaveUsedUpCondemnNothing() {
        var turn = ScriptedTurn(ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 2))
        let failure = AttemptFailure.responseFailed(RefusalFacts(errorCode: "server_error"))
        for last in [failure, failure, Self.reset] {
            turn.open()
            turn.fail(last)
        }
        #expect(turn.openings.last?.transport == .httpSSE)
        turn.open()
        turn.complete()
        #expect(turn.last == .finish)
        #expect(turn.machine.condemnsWebSocket == false)
    }

    @Test(arguments: ChappieRecoveryPolicy.allCases)
    func keptResponseIsResumedUnlessRecoveryIsNever(recovery: ChappieRecoveryPolicy) {
        var machine = Self.background(upTo: 1, recovery: recovery)
        _ = machine.deltaReceived("Hello", attempt: 1)
        let cursor = ResumeCursor(responseID: "resp_1", lastSequenceNumber: 1)
        let expected: TurnStateMachine.Action =
            recovery == .never
            ? .fail(.failed(Self.reset))
            : .wait(.milliseconds(200), then: Self.next(.resume(cursor)))
        #expect(machine.failed(Self.reset, attempt: 1, jitter: 0.5) == expected)
    }

    // MARK: Connections that were lent

    private static let losses: [AttemptFailure] = [
        .closed(code: 1000, beforeFirstEvent: true), .closed(code: 1006, beforeFirstEvent: true), Self.reset,
        .transport(TransportFailure(phase: .stream, cause: .peerUnresponsive)),
    ]

    private static func lent(_ recovery: ChappieRecoveryPolicy = .verify) -> TurnStateMachine {
        var streaming = ChappieStreamingTransportPolicy()
        streaming.recovery = recovery
        var machine = TurnStateMachine(policy: RetryPolicy(streaming: streaming))
        _ = machine.started()
        #expect(machine.lent(attempt: 1) == .send)
        return machine
    }

    @Test(arguments: Self.losses)
    func aLostConnectionThatWasLentIsReplacedOnce(failure: AttemptFailure) {
        var machine = Self.lent()
        let replacement = TurnStateMachine.Opening(attempt: 1, transport: .webSocket, reason: .replacement)
        #expect(machine.failed(failure, attempt: 1, jitter: 0.5) == .open(replacement))
        #expect(machine.reconnectCount == 0)
        #expect(machine.opened(attempt: 1) == .send)
        let next = TurnStateMachine.Opening(
            attempt: 2, transport: .webSocket, reason: .reconnect(retry: 1, limit: 5, failure), step: .again())
        #expect(machine.failed(failure, attempt: 1, jitter: 0.5) == .wait(.milliseconds(200), then: next))
    }

    @Test func lentConnectionThatFailsAfterAnEventCostsARetry() {
        var machine = Self.lent()
        machine.eventReceived(attempt: 1)
        #expect(machine.failed(Self.reset, attempt: 1, jitter: 0.5) != .ignore)
        #expect(machine.timerFired(attempt: 2) != .ignore)
        #expect(machine.reconnectCount == 1)
    }

    @Test func answeredRequestIsNotALoss() {
        var machine = Self.lent()
        let failure = AttemptFailure.errorEvent(RefusalFacts(statusCode: 400))
        #expect(machine.failed(failure, attempt: 1, jitter: 0.5) == .fail(.failed(failure)))
    }

    @Test func possiblySentRequestIsNotRepeatedWithoutRecovery() {
        var machine = Self.lent(.never)
        #expect(machine.failed(Self.reset, attempt: 1, jitter: 0.5) == .fail(.failed(Self.reset)))
    }

    // MARK: Items that are carried

    @Test func finishedItemsAreCarriedWithoutAGap() {
        var streaming = ChappieStreamingTransportPolicy()
        streaming.carriesFinishedItems = true
        var turn = ScriptedTurn(streaming)
        turn.open()
        turn.receive("Hello")
        for index in [0, 2] { _ = turn.machine.delivery.order.itemDone(index) }
        let isCounted = [0, 2, 0].map { index in
            turn.machine.itemFinished(outputIndex: index, attempt: 1)
        }
        #expect(isCounted == [true, false, false])
        _ = turn.machine.deltaReceived("Sec", in: ReplaySlot(.text, outputIndex: 1), attempt: 1)
        turn.fail(Self.reset)
        #expect(turn.openings.last?.step == .verify(carrying: 1))
        turn.open()
        // The second item is the first of the next response.
        let action = turn.machine.deltaReceived(
            Array("Second".utf8).span, in: ReplaySlot(.text, outputIndex: 0), attempt: 2)
        #expect(action == .deliver(from: 3))
        turn.complete()
        #expect(turn.last == .finish)
        #expect(turn.machine.delivery.deliveredText == "HelloSecond")
    }

    @Test func noItemsAreCarriedWithoutTheOption() {
        var turn = ScriptedTurn()
        turn.open()
        turn.receive("Hello")
        _ = turn.machine.itemFinished(outputIndex: 0, attempt: 1)
        turn.fail(Self.reset)
        #expect(turn.openings.last?.step == .verify())
    }

    private static func turn(_ recovery: ChappieRecoveryPolicy) -> ScriptedTurn {
        var streaming = ChappieStreamingTransportPolicy()
        streaming.recovery = recovery
        return ScriptedTurn(streaming)
    }
}
