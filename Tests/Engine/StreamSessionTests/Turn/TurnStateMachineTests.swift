// Every state against every input, comparing whole actions.
import StreamSession
import StreamTransport
import Testing

@Suite struct TurnStateMachineTests {
    /// A state of the machine, and the inputs that lead to it.
    enum Place: CaseIterable {
        case connectingWebSocket, connectingHTTP, exchangingWebSocket, exchangingHTTP
        case backingOff, refreshing, completed, failed

        /// The attempt number of an input: during a wait, the next one's.
        var attempt: Int { self == .backingOff || self == .refreshing ? 2 : 1 }

        var transport: ChappieTransportKind {
            self == .connectingHTTP || self == .exchangingHTTP ? .httpSSE : .webSocket
        }

        var isExchanging: Bool { self == .exchangingWebSocket || self == .exchangingHTTP }

        var isFinished: Bool { self == .completed || self == .failed }

        var machine: TurnStateMachine {
            var machine = TurnStateMachine(
                policy: RetryPolicy(), webSocket: self.transport == .httpSSE ? .condemned : .available)
            _ = machine.started()
            switch self {
            case .connectingWebSocket, .connectingHTTP: break
            case .exchangingWebSocket, .exchangingHTTP: _ = machine.opened(attempt: 1)
            case .backingOff: _ = machine.failed(.endedEarly, attempt: 1, jitter: 0.5)
            case .refreshing: _ = machine.failed(.unauthorized, attempt: 1, jitter: 0.5)
            case .completed:
                _ = machine.opened(attempt: 1)
                _ = machine.completed(attempt: 1)
            case .failed: _ = machine.cancelled()
            }
            return machine
        }
    }

    /// The opening after a wait in `Place.backingOff`.
    static let reconnection = TurnStateMachine.Opening(
        attempt: 2, transport: .webSocket, reason: .reconnect(retry: 1, limit: 5, .endedEarly))

    @Test func aTurnBeginsWithTheTransportThatItsPolicyAndItsInstanceSay() {
        let http = ChappieStreamingTransportPolicy(prefersWebSocket: false)
        let webSocketOnly = ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
        #expect(Self.start(ChappieStreamingTransportPolicy(), .available) == .open(.first(.webSocket)))
        #expect(Self.start(ChappieStreamingTransportPolicy(), .condemned) == .open(.first(.httpSSE)))
        #expect(
            Self.start(ChappieStreamingTransportPolicy(), .requestTooLarge)
                == .open(.init(attempt: 1, transport: .httpSSE, reason: .fallBack(.requestTooLarge))))
        for availability in TurnStateMachine.WebSocketAvailability.allCases {
            #expect(Self.start(http, availability) == .open(.first(.httpSSE)))
        }
        #expect(Self.start(webSocketOnly, .available) == .open(.first(.webSocket)))
        #expect(Self.start(webSocketOnly, .condemned) == .open(.first(.httpSSE)))
        #expect(Self.start(webSocketOnly, .requestTooLarge) == .fail(.failed(.requestTooLarge)))
    }

    @Test func aTurnThatWasCancelledDoesNotBegin() {
        var machine = TurnStateMachine(policy: RetryPolicy())
        #expect(machine.cancelled() == .fail(.cancelled))
        #expect(machine.started() == .ignore)
        #expect(machine.attemptCount == 0)
    }

    @Test(arguments: Place.allCases)
    func opened(place: Place) {
        var machine = place.machine
        let expected: TurnStateMachine.Action =
            switch place {
            case .connectingWebSocket: .send
            case .connectingHTTP: .receive
            case .exchangingWebSocket, .exchangingHTTP, .backingOff, .refreshing, .completed, .failed: .ignore
            }
        #expect(machine.opened(attempt: place.attempt) == expected)
        #expect(machine.opened(attempt: place.attempt) == .ignore)
    }

    @Test(arguments: Place.allCases.filter { $0 != .connectingWebSocket && $0 != .connectingHTTP })
    func output(place: Place) {
        let attempt = place.attempt
        let expected: TurnStateMachine.Action = place.isExchanging ? .deliver(from: 0) : .ignore
        var machine = place.machine
        #expect(machine.deltaReceived("a", attempt: attempt) == expected)
        #expect(machine.deltaReceived("", attempt: attempt) == .ignore)
        #expect(machine.toolCallReceived(.weather(1), attempt: attempt) == expected)
        #expect(machine.toolCallReceived(.weather(1), attempt: attempt) == expected)
        #expect(machine.rawReceived(type: "keepalive", attempt: attempt) == expected)
        for _ in 1...2 { machine.contentReceived(attempt: attempt) }
        #expect(machine.delivery.deliveredText == (place.isExchanging ? "a" : ""))
    }

    @Test(arguments: Place.allCases.filter { $0 != .connectingWebSocket && $0 != .connectingHTTP })
    func completed(place: Place) {
        var machine = place.machine
        #expect(machine.completed(attempt: place.attempt) == (place.isExchanging ? .finish : .ignore))
        #expect(machine.completed(attempt: place.attempt) == .ignore)
    }

    @Test(arguments: Place.allCases)
    func failed(place: Place) {
        var machine = place.machine
        let opening = TurnStateMachine.Opening(
            attempt: 2, transport: place.transport, reason: .reconnect(retry: 1, limit: 5, .endedEarly),
            step: place == .connectingWebSocket ? .first : .again())
        let expected: TurnStateMachine.Action =
            switch place {
            case .connectingWebSocket, .connectingHTTP, .exchangingWebSocket, .exchangingHTTP:
                .wait(.milliseconds(200), then: opening)
            case .backingOff, .refreshing, .completed, .failed: .ignore
            }
        #expect(machine.failed(.endedEarly, attempt: place.attempt, jitter: 0.5) == expected)
        #expect(machine.failed(.endedEarly, attempt: place.attempt, jitter: 0.5) == .ignore)
    }

    @Test(arguments: Place.allCases)
    func theTotalTimeIsOver(place: Place) {
        var machine = place.machine
        let expected: TurnStateMachine.Action =
            place.isFinished ? .ignore : .fail(.failed(.timeout(.total)))
        #expect(machine.failed(.timeout(.total), attempt: place.attempt, jitter: 0) == expected)
        #expect(machine.failed(.timeout(.total), attempt: place.attempt, jitter: 0) == .ignore)
        #expect(machine.timerFired(attempt: place.attempt) == .ignore)
        #expect(machine.credentialRefreshed(attempt: place.attempt, changed: true) == .ignore)
    }

    @Test(arguments: Place.allCases)
    func delayOutlastsTurn(place: Place) {
        var machine = place.machine
        let expected: TurnStateMachine.Action =
            place == .backingOff ? .fail(.failed(.endedEarly)) : .ignore
        #expect(machine.delayOutlastsTurn(attempt: place.attempt) == expected)
        #expect(machine.delayOutlastsTurn(attempt: place.attempt) == .ignore)
        #expect(machine.timerFired(attempt: place.attempt) == .ignore)
    }

    @Test(arguments: Place.allCases)
    func timerFired(place: Place) {
        var machine = place.machine
        let expected: TurnStateMachine.Action = place == .backingOff ? .open(Self.reconnection) : .ignore
        #expect(machine.timerFired(attempt: place.attempt) == expected)
        #expect(machine.timerFired(attempt: place.attempt) == .ignore)
    }

    @Test(arguments: Place.allCases, [true, false])
    func credentialRefreshed(place: Place, changed: Bool) {
        var machine = place.machine
        let opening = TurnStateMachine.Opening(attempt: 2, transport: .webSocket, reason: .credential)
        let expected: TurnStateMachine.Action =
            changed ? .open(opening) : .fail(.failed(.unauthorized))
        #expect(
            machine.credentialRefreshed(attempt: place.attempt, changed: changed)
                == (place == .refreshing ? expected : .ignore))
        #expect(machine.credentialRefreshed(attempt: place.attempt, changed: changed) == .ignore)
    }

    @Test(arguments: Place.allCases)
    func cancelled(place: Place) {
        var machine = place.machine
        #expect(machine.cancelled() == (place.isFinished ? .ignore : .fail(.cancelled)))
        #expect(machine.cancelled() == .ignore)
        #expect(machine.started() == .ignore)
    }

    @Test(arguments: Place.allCases, [Int.min, -1, 0])
    func olderNumbersAreStale(place: Place, attempt: Int) {
        var machine = place.machine
        #expect(machine.opened(attempt: attempt) == .ignore)
        #expect(machine.deltaReceived("a", attempt: attempt) == .ignore)
        #expect(machine.toolCallReceived(.weather(0), attempt: attempt) == .ignore)
        #expect(machine.rawReceived(type: "a", attempt: attempt) == .ignore)
        machine.contentReceived(attempt: attempt)
        #expect(machine.completed(attempt: attempt) == .ignore)
        #expect(machine.failed(.timeout(.total), attempt: attempt, jitter: 0) == .ignore)
        #expect(machine.timerFired(attempt: attempt) == .ignore)
        #expect(machine.credentialRefreshed(attempt: attempt, changed: true) == .ignore)
        #expect(machine.delivery.deliveredText == "")
    }

    /// A transport that has carried content is not doubted when it cannot be reached later; a stale event proves
    /// nothing.
    @Test(arguments: [(1, true), (0, false), (2, false)])
    func contentProvesATransportUnlessItIsStale(attempt: Int, isProven: Bool) {
        let unreachable = AttemptFailure.transport(TransportFailure(phase: .connect, cause: .unreachable(code: 111)))
        var machine = Place.exchangingWebSocket.machine
        machine.contentReceived(attempt: attempt)
        _ = machine.failed(.endedEarly, attempt: 1, jitter: 0.5)
        for attempt in 2...3 {
            _ = machine.timerFired(attempt: attempt)
            let action = machine.failed(unreachable, attempt: attempt, jitter: 0.5)
            guard attempt == 3 else { continue }
            if case .wait(_, let opening) = action {
                #expect(isProven && opening.transport == .webSocket)
            } else if case .open(let opening) = action {
                #expect(!isProven && opening.transport == .httpSSE)
            } else {
                Issue.record("\(action)")
            }
        }
    }

    @Test(arguments: [Place.backingOff, .refreshing])
    func theAttemptThatAWaitFollowsIsStale(place: Place) {
        var machine = place.machine
        #expect(machine.opened(attempt: 1) == .ignore)
        #expect(machine.deltaReceived("a", attempt: 1) == .ignore)
        #expect(machine.completed(attempt: 1) == .ignore)
        #expect(machine.failed(.endedEarly, attempt: 1, jitter: 0) == .ignore)
    }

    @Test func inputsBeforeTheStartEndTheProcess() async {
        await #expect(processExitsWith: .failure) {
            var machine = TurnStateMachine(policy: RetryPolicy())
            _ = machine.opened(attempt: 1)
        }
        await #expect(processExitsWith: .failure) {
            var machine = TurnStateMachine(policy: RetryPolicy())
            _ = machine.failed(.endedEarly, attempt: 1, jitter: 0)
        }
        await #expect(processExitsWith: .failure) {
            var machine = TurnStateMachine(policy: RetryPolicy())
            _ = machine.started()
            _ = machine.started()
        }
        await #expect(processExitsWith: .failure) {
            var machine = TurnStateMachine(policy: RetryPolicy())
            _ = machine.started()
            _ = machine.completed(attempt: 1)
        }
    }

    private static func start(
        _ policy: ChappieStreamingTransportPolicy, _ webSocket: TurnStateMachine.WebSocketAvailability
    ) -> TurnStateMachine.Action {
        var machine = TurnStateMachine(policy: RetryPolicy(streaming: policy), webSocket: webSocket)
        return machine.started()
    }
}

extension TurnStateMachine.Opening {
    static func first(_ transport: ChappieTransportKind) -> Self {
        Self(attempt: 1, transport: transport, reason: .first)
    }
}

extension TurnStateMachine {
    mutating func deltaReceived(_ text: String, in slot: ReplaySlot = .message, attempt: Int) -> Action {
        self.deltaReceived(Array(text.utf8).span, in: slot, attempt: attempt)
    }
}

extension AttemptFailure {
    /// An upgrade or a request without a good credential.
    static let unauthorized = Self.errorEvent(RefusalFacts(statusCode: 401))
}
