// Whole turns, from the first attempt to the end.
import StreamSession
import StreamTransport
import Testing

@Suite struct TurnStateMachineScriptTests {
    static let offline = AttemptFailure.transport(
        TransportFailure(phase: .resolve, cause: .unresolvable(code: -3)))
    static let reset = AttemptFailure.transport(TransportFailure(phase: .stream, cause: .connectionLost))
    static let refused = AttemptFailure.transport(
        TransportFailure(phase: .connect, cause: .unreachable(code: 111)))

    // MARK: Replays

    @Test func aCutInTheTextIsRepairedByAReplayInOtherChunks() {
        var turn = ScriptedTurn()
        turn.open()
        turn.receive("The ", "quick ", "br")
        turn.fail(Self.reset)
        #expect(turn.waits == [.milliseconds(200)])
        turn.open()
        turn.receive("The quick b", "rown fox")
        turn.complete()
        #expect(turn.consumed == ["The ", "quick ", "br", "own fox"])
        #expect(turn.last == .finish)
        #expect(turn.machine.delivery.deliveredText == "The quick brown fox")
        #expect(turn.machine.delivery.verifiedByteCount == 12)
        #expect(turn.machine.replaySafety() == .completed)
        #expect(turn.machine.attemptCount == 2)
        #expect(turn.machine.reconnectCount == 1)
        #expect(turn.machine.condemnsWebSocket == false)
    }

    @Test func anotherAnswerDivergesAtOnceAndForGood() {
        var turn = ScriptedTurn()
        turn.open()
        turn.receive("The quick ")
        turn.fail(Self.reset)
        turn.open()
        turn.receive("The slow ")
        #expect(turn.last == .fail(.diverged))
        turn.receive("The quick brown")
        #expect(turn.last == .ignore)
        #expect(turn.machine.completed(attempt: 2) == .ignore)
        #expect(turn.consumed == ["The quick "])
        #expect(turn.machine.replaySafety() == .outputDelivered)
        #expect(turn.machine.delivery.deliveredText == "The quick ")
    }

    @Test func aReplayThatCompletesShortDiverges() {
        var turn = ScriptedTurn()
        turn.open()
        turn.receive("The quick ")
        turn.fail(Self.reset)
        turn.open()
        turn.receive("The ")
        turn.complete()
        #expect(turn.last == .fail(.diverged))
    }

    @Test func aReplayThatIsIncompleteShortDiverges() {
        let incomplete = AttemptFailure.responseIncomplete(reason: "max_output_tokens")
        var turn = ScriptedTurn()
        turn.open()
        turn.receive("The quick ")
        turn.fail(Self.reset)
        turn.open()
        turn.receive("The ")
        turn.fail(incomplete)
        #expect(turn.last == .fail(.diverged))

        var other = ScriptedTurn()
        other.open()
        other.receive("The quick ")
        other.fail(incomplete)
        #expect(other.last == .fail(.failed(incomplete)))
    }

    @Test func aToolCallThatDiffersDiverges() {
        var turn = ScriptedTurn()
        turn.open()
        #expect(turn.machine.toolCallReceived(.weather(0), attempt: 1) == .deliver(from: 0))
        turn.fail(Self.reset)
        turn.open()
        #expect(
            turn.machine.toolCallReceived(.weather(0, arguments: "{}"), attempt: 2) == .fail(.diverged))
    }

    @Test func theLedgerSurvivesTheChangeOfTransport() {
        var turn = ScriptedTurn(ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 1))
        turn.open()
        turn.receive("Hello, ")
        turn.fail(Self.reset)
        turn.open()
        turn.receive("Hel")
        turn.fail(Self.reset)
        #expect(
            turn.last
                == .open(.init(attempt: 3, transport: .httpSSE, reason: .fallBack(Self.reset), step: .verify())))
        #expect(turn.machine.condemnsWebSocket == false)
        turn.open()
        #expect(turn.last == .receive)
        #expect(turn.machine.condemnsWebSocket == true)
        turn.receive("Hello, world")
        turn.complete()
        #expect(turn.consumed == ["Hello, ", "world"])
        #expect(turn.machine.fallbackReason == Self.reset)
        #expect(turn.machine.reconnectCount == 1)
    }

    // MARK: Fallback

    @Test func webSocketRetriesAreExhaustedBeforeHTTPIsTried() {
        var turn = ScriptedTurn()
        for _ in 1...12 {
            turn.open()
            turn.fail(.timeout(.firstEvent))
        }
        let delays = [200, 400, 800, 1_600, 3_200].map { Duration.milliseconds($0) }
        #expect(turn.waits == delays + delays)
        #expect(turn.last == .fail(.failed(.timeout(.firstEvent))))
        #expect(
            turn.openings.map(\.transport) == Array(repeating: .webSocket, count: 6)
                + Array(repeating: .httpSSE, count: 6)
        )
        #expect(turn.openings.map(\.attempt) == Array(1...12))
        #expect(turn.machine.attemptCount == 12)
        #expect(turn.machine.reconnectCount == 10)
        #expect(turn.machine.condemnsWebSocket == true)
    }

    @Test func aStatusThatRefusesTheUpgradeFallsBackAtOnceAndForGood() {
        let refusal = AttemptFailure.upgradeStatus(RefusalFacts(statusCode: 426))
        var turn = ScriptedTurn()
        turn.fail(refusal)
        #expect(turn.last == .open(.init(attempt: 2, transport: .httpSSE, reason: .fallBack(refusal))))
        #expect(turn.machine.condemnsWebSocket == true)
        #expect(turn.machine.replaySafety() == .notSent)
        #expect(turn.waits.isEmpty)
    }

    @Test func aProbableFailureHasOneRetry() {
        var turn = ScriptedTurn()
        turn.fail(.transport(TransportFailure(phase: .upgrade, cause: .timedOut)))
        #expect(turn.waits.count == 1)
        turn.fail(.transport(TransportFailure(phase: .tls, cause: .tlsHandshakeFailed)))
        #expect(turn.waits.count == 1)
        #expect(turn.openings.map(\.transport) == [.webSocket, .webSocket, .httpSSE])
    }

    @Test func networkFailureCondemnsNoTransport() {
        var turn = ScriptedTurn()
        for _ in 1...4 { turn.fail(Self.offline) }
        #expect(turn.openings.map(\.transport) == [.webSocket, .webSocket, .httpSSE, .httpSSE])
        #expect(turn.last == .fail(.failed(Self.offline)))
        #expect(turn.machine.condemnsWebSocket == false)
        #expect(turn.machine.replaySafety() == .notSent)
        #expect(turn.machine.fallbackReason == Self.offline)
    }

    @Test func aRefusalOverHTTPIsAnAnswerToo() {
        var turn = ScriptedTurn()
        turn.fail(Self.refused)
        turn.fail(Self.refused)
        #expect(turn.machine.condemnsWebSocket == false)
        turn.fail(.httpStatus(RefusalFacts(statusCode: 500)))
        #expect(turn.machine.condemnsWebSocket == true)
        #expect(turn.machine.replaySafety() == .sentNoOutput)
    }

    @Test func aTransportThatHasCarriedContentIsNotDoubtedWhenTheNetworkGoes() {
        var turn = ScriptedTurn()
        turn.open()
        turn.machine.contentReceived(attempt: 1)
        for _ in 1...6 { turn.fail(Self.offline) }
        #expect(turn.waits.count == 5)
        #expect(turn.openings.map(\.transport) == Array(repeating: .webSocket, count: 6) + [.httpSSE])
        // No content was carried over HTTP.
        turn.fail(Self.offline)
        turn.fail(Self.offline)
        #expect(turn.last == .fail(.failed(Self.offline)))
    }

    @Test func transportThatManglesContentIsCondemned() {
        var turn = ScriptedTurn()
        for _ in 1...2 {
            turn.open()
            turn.machine.contentReceived(attempt: turn.machine.attemptCount)
            turn.fail(.undecodableEvent)
        }
        #expect(turn.openings.map(\.transport) == [.webSocket, .webSocket, .httpSSE])
    }

    @Test func tooLargeRequestGoesOverHTTPWithoutCondemningTheWebSocket() {
        for failure in [AttemptFailure.closed(code: 1009, beforeFirstEvent: true), .requestTooLarge] {
            var turn = ScriptedTurn()
            turn.fail(failure)
            #expect(turn.last == .open(.init(attempt: 2, transport: .httpSSE, reason: .fallBack(failure))))
            turn.open()
            turn.complete()
            #expect(turn.last == .finish)
            #expect(turn.machine.condemnsWebSocket == false)
        }
    }

    @Test func aServerThatFailsIsNotLeftForHTTP() {
        let failure = AttemptFailure.responseFailed(RefusalFacts(errorCode: "server_error"))
        var turn = ScriptedTurn()
        for _ in 1...6 {
            turn.open()
            turn.fail(failure)
        }
        #expect(turn.last == .fail(.failed(failure)))
        #expect(turn.openings.map(\.transport) == Array(repeating: .webSocket, count: 6))
    }

    @Test func withoutFallbackTheTurnFailsWhenTheWebSocketDoes() {
        let policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 1, fallsBackToHTTPSSE: false)
        var spent = ScriptedTurn(policy)
        spent.fail(Self.reset)
        spent.fail(Self.reset)
        #expect(spent.last == .fail(.failed(Self.reset)))

        let refusal = AttemptFailure.upgradeStatus(RefusalFacts(statusCode: 404))
        for failure in [refusal, .requestTooLarge] {
            var turn = ScriptedTurn(policy)
            turn.fail(failure)
            #expect(turn.last == .fail(.failed(failure)))
            #expect(turn.machine.condemnsWebSocket == false)
            #expect(turn.machine.fallbackReason == nil)
        }
    }

    @Test func overHTTPADefiniteFailureIsFatalAndAProbableOneHasOneRetry() {
        let certificate = AttemptFailure.transport(
            TransportFailure(phase: .tls, cause: .certificateRejected(code: 10)))
        var definite = ScriptedTurn(ChappieStreamingTransportPolicy(prefersWebSocket: false))
        definite.fail(certificate)
        #expect(definite.last == .fail(.failed(certificate)))

        var probable = ScriptedTurn(ChappieStreamingTransportPolicy(prefersWebSocket: false))
        probable.fail(Self.refused)
        #expect(
            probable.last
                == .open(.init(attempt: 2, transport: .httpSSE, reason: .reconnect(retry: 1, limit: 5, Self.refused))))
        probable.fail(Self.refused)
        #expect(probable.last == .fail(.failed(Self.refused)))
        #expect(probable.machine.condemnsWebSocket == false)
    }

    @Test func aFailureThatWouldRepeatEndsTheTurn() {
        for failure in [
            AttemptFailure.httpStatus(RefusalFacts(statusCode: 400)), .eventTooLarge(limit: 1),
            .unexpectedContentType, .responseFailed(RefusalFacts(errorCode: "context_length_exceeded")),
        ] {
            var turn = ScriptedTurn(ChappieStreamingTransportPolicy(prefersWebSocket: false))
            turn.fail(failure)
            #expect(turn.last == .fail(.failed(failure)))
            #expect(turn.machine.replaySafety() == .sentNoOutput)
        }
    }

    @Test func aConnectionThatWasCancelledCancelsTheTurn() {
        let failure = AttemptFailure.transport(TransportFailure(phase: .stream, cause: .cancelled))
        var turn = ScriptedTurn()
        turn.fail(failure)
        #expect(turn.last == .fail(.failed(failure)))
    }
}

/// A driver that performs waits at once, and records the actions.
struct ScriptedTurn: ~Copyable {
    var machine: TurnStateMachine
    /// The newest action.
    var last: TurnStateMachine.Action
    private(set) var openings: [TurnStateMachine.Opening] = []
    private(set) var waits: [Duration] = []
    private(set) var consumed: [String] = []

    init(
        _ policy: ChappieStreamingTransportPolicy = ChappieStreamingTransportPolicy(),
        rateLimit: ChappieRateLimitBackoffPolicy = .init()
    ) {
        self.machine = TurnStateMachine(policy: RetryPolicy(streaming: policy, rateLimit: rateLimit))
        self.last = self.machine.started()
        self.note()
    }

    mutating func open() { self.last = self.machine.opened(attempt: self.machine.attemptCount) }

    mutating func receive(_ deltas: String...) {
        for delta in deltas {
            self.last = self.machine.deltaReceived(delta, attempt: self.machine.attemptCount)
            guard case .deliver(let offset) = self.last else { continue }
            self.consumed.append(String(decoding: Array(delta.utf8)[offset...], as: UTF8.self))
        }
    }

    mutating func complete() { self.last = self.machine.completed(attempt: self.machine.attemptCount) }

    /// Reports a failure, and the end of the wait that follows it.
    mutating func fail(_ failure: AttemptFailure) {
        self.last = self.machine.failed(failure, attempt: self.machine.attemptCount, jitter: 0.5)
        if case .wait(let delay, let opening) = self.last {
            self.waits.append(delay)
            self.last = self.machine.timerFired(attempt: opening.attempt)
        }
        self.note()
    }

    mutating func refresh(changed: Bool) {
        guard case .refreshCredential(let opening) = self.last else { return }
        self.last = self.machine.credentialRefreshed(attempt: opening.attempt, changed: changed)
        self.note()
    }

    private mutating func note() {
        if case .open(let opening) = self.last { self.openings.append(opening) }
    }
}
