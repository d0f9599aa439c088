import StreamSession
import StreamTransport
import TransportSurface

/// The shared state of an instance's turns: the configuration, the transport, and findings about the network.
///
/// It has no task: events in the background are handled when a turn begins.
final class Engine: Sendable {
    private struct State {
        var webSocket: WebSocketAvailabilityTracker
        var breaker: CircuitBreaker
        var kept = KeptConnections()
        var pending: PendingUpgrade?
    }

    let configuration: ChappieTransportConfiguration
    /// The fault of the configuration, with which every turn ends before anything is sent; nil without one.
    let fault: String?
    let transport: any StreamTransport
    let clock: ClientClock
    /// Removes the configuration's secrets from a server's text; a turn adds its credentials.
    let redaction: SecretRedaction
    /// Counts the running turns.
    let gate = TurnGate()
    /// Lets turns wait for their place; nil where every turn begins at once.
    let queue: TurnQueue?
    private let state: LockedValue<State>

    init(configuration: ChappieTransportConfiguration, transport: any StreamTransport, clock: ClientClock) {
        let configuration = configuration.bounded
        self.configuration = configuration
        self.fault = configuration.fault
        self.transport = transport
        self.clock = clock
        self.redaction = SecretRedaction(configuration)
        self.queue =
            configuration.concurrency == .unlimited ? nil : TurnQueue(configuration.concurrency, clock: clock)
        self.state = LockedValue(
            State(
                webSocket: WebSocketAvailabilityTracker(fallback: configuration.policy.fallback),
                breaker: CircuitBreaker(configuration.circuitBreaker)))
    }

    deinit { self.closeConnections() }

    /// Ends the engine: turns that begin from now on are refused, and those that run after `gracePeriod` end.
    ///
    /// When the task is cancelled, the grace period is over.
    func shutDown(within gracePeriod: Duration) async {
        self.gate.close()
        self.closeConnections()
        let (gate, sleep) = (self.gate, self.clock.sleep)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await gate.waitUntilEmpty() }
            // It ends early when the task is cancelled.
            group.addTask { _ = try? await sleep(max(.zero, gracePeriod)) }
            await group.next()
            group.cancelAll()
        }
        gate.endAll()
    }

    /// Closes the connections that no turn uses.
    private func closeConnections() {
        let (kept, pending) = self.state.withLock { ($0.kept.takeAll(), $0.pending.take()) }
        for connection in kept { connection.connection.close() }
        pending?.connection.cancel()
    }

    // MARK: Verdicts

    /// Returns whether a turn may begin with a WebSocket.
    func availability(
        for request: OutgoingRequest, _ credential: ChappieCredential?
    ) -> TurnStateMachine.WebSocketAvailability {
        if request.isBackground { return .background }
        if self.state.withLock({ $0.webSocket.isCondemned }) { return .condemned }
        // A kept connection may need only a part of a request that is too large as a whole.
        let isTooLarge = request.isTooLarge(after: self.keptConnection(of: request.keptLane, for: credential)?.exchange)
        return isTooLarge ? .requestTooLarge : .available
    }

    /// Stops using WebSockets, for as long as the policy says.
    func condemnWebSocket() {
        let now = self.clock.now()
        let kept = self.state.withLock { state in
            state.webSocket.condemned(now: now)
            return state.webSocket.isCondemned ? state.kept.takeAll() : []
        }
        for connection in kept { connection.connection.close() }
    }

    /// Records that a WebSocket was established.
    func webSocketEstablished() {
        self.state.withLock { $0.webSocket.established() }
    }

    /// Records the failure of an upgrade that a turn did not wait for.
    func raceFailed(_ failureClass: FailureClass) {
        let now = self.clock.now()
        self.state.withLock { $0.webSocket.raceFailed(failureClass, now: now) }
    }

    /// Records the outcome of the upgrade of a race, as the turn's state machine has judged it.
    func raceEnded(_ machine: borrowing TurnStateMachine) {
        if machine.condemnsWebSocket { return self.condemnWebSocket() }
        if let failureClass = machine.failedRace { self.raceFailed(failureClass) }
    }

    /// Returns whether a turn may be tried.
    ///
    /// A ticket is answered once: with `answered` or `abandoned`.
    func permission() -> CircuitBreaker.Permission {
        let now = self.clock.now()
        return self.state.withLock { $0.breaker.permission(now: now) }
    }

    private func succeeded(_ ticket: CircuitBreaker.Ticket) {
        self.state.withLock { $0.breaker.succeeded(ticket) }
    }

    private func failed(_ ticket: CircuitBreaker.Ticket, isCounted: Bool) {
        let now = self.clock.now()
        self.state.withLock { $0.breaker.failed(ticket, isCounted: isCounted, now: now) }
    }

    /// Records that a turn is over: complete, or failed with an error.
    func answered(_ ticket: CircuitBreaker.Ticket, _ error: (any Error)?) {
        switch error {
        case nil: self.succeeded(ticket)
        case let error as ChappieClientError: self.failed(ticket, isCounted: error.countsAgainstServer)
        default: self.abandoned(ticket)
        }
    }

    /// Records that a turn was given up.
    func abandoned(_ ticket: CircuitBreaker.Ticket) {
        self.state.withLock { $0.breaker.abandoned(ticket) }
    }

    // MARK: Connections

    /// Keeps a connection for the next turn of its lane.
    ///
    /// An older one that was not taken is closed.
    func keep(_ connection: KeptConnection) {
        let surplus: KeptConnection? = self.state.withLock { state in
            state.webSocket.isCondemned || self.gate.isClosed ? connection : state.kept.keep(connection)
        }
        surplus?.connection.close()
    }

    /// Lets an opening handshake continue in the background; an older one is given up.
    func park(_ upgrade: PendingUpgrade) {
        let surplus: PendingUpgrade? = self.state.withLock { state in
            // A verdict waits for the end of its probe, and until then needs no other connection.
            if state.pending?.purpose == .probe || self.gate.isClosed { return upgrade }
            defer { state.pending = upgrade }
            return state.pending
        }
        surplus?.connection.cancel()
    }

    /// Handles the events in the background since the last turn, and with `begins` begins a probe when one is due.
    ///
    /// The configuration is the engine's with the fields and time limits of the turn's request.
    func prepare(
        for credential: ChappieCredential?, _ configuration: ChappieTransportConfiguration, lane: Lane, begins: Bool
    ) {
        self.settlePendingUpgrade()
        let now = self.clock.now()
        guard begins, self.configuration.policy.prefersWebSocket,
            self.state.withLock({ $0.webSocket.beginsProbe(now: now) })
        else { return }
        let builder = TransportRequestBuilder(configuration: configuration, credential: credential)
        guard let request = builder.upgrade() else { return self.probeEnded(succeeded: false) }
        self.park(
            PendingUpgrade(
                connection: self.transport.connect(request), credential: credential, lane: lane, startedAt: now,
                purpose: .probe))
    }

    /// Takes the lane's kept connection, if it has the same `credential`, is young enough, and has no event.
    func takeKeptConnection(of lane: Lane, for credential: ChappieCredential?) -> KeptConnection? {
        guard let kept = self.state.withLock({ $0.kept.take(lane) }) else { return nil }
        // A connection that has an event between two turns is closing, or out of step.
        guard self.canLend(kept, to: credential), kept.connection.next() == nil else {
            kept.connection.close()
            return nil
        }
        return kept
    }

    /// Returns the lane's kept connection without taking it, if it has the same `credential` and is young enough.
    func keptConnection(of lane: Lane, for credential: ChappieCredential?) -> KeptConnection? {
        guard let kept = self.state.withLock({ $0.kept[lane] }), self.canLend(kept, to: credential) else { return nil }
        return kept
    }

    /// Returns whether a kept connection has been silent for so long that it is checked before its use.
    func needsLivenessCheck(_ kept: KeptConnection) -> Bool {
        guard let delay = self.configuration.policy.livenessCheckDelay else { return false }
        return self.clock.now() - kept.lastReceived >= delay
    }

    private func canLend(_ kept: KeptConnection, to credential: ChappieCredential?) -> Bool {
        let age = self.clock.now() - kept.startedAt
        let isYoung = self.configuration.policy.maximumConnectionAge.map { age < $0 } ?? true
        return isYoung && kept.credential == credential
    }

    private func settlePendingUpgrade() {
        guard let upgrade = self.state.withLock({ $0.pending.take() }) else { return }
        switch upgrade.connection.next() {
        case nil:
            // Its own time limit ends it at the latest.
            self.putBack(upgrade)
        case .opened(let head) where head.statusCode == 101:
            self.upgradeSucceeded(upgrade)
        case .opened(let head):
            upgrade.connection.cancel()
            self.upgradeFailed(upgrade, .upgradeStatus(RefusalFacts(statusCode: head.statusCode)))
        case .ended(let end):
            self.upgradeFailed(upgrade, AttemptFailure(end, beforeFirstEvent: true))
        case .ready, .pong, .payload:
            upgrade.connection.cancel()
        }
    }

    /// Continues an upgrade that has no event yet; another turn may have parked a newer one in the meantime.
    private func putBack(_ upgrade: PendingUpgrade) {
        let surplus: PendingUpgrade? = self.state.withLock { state in
            guard state.pending != nil, upgrade.purpose == .race else {
                defer { state.pending = upgrade }
                return state.pending
            }
            return upgrade
        }
        surplus?.connection.cancel()
    }

    private func upgradeSucceeded(_ upgrade: PendingUpgrade) {
        switch upgrade.purpose {
        case .race: self.webSocketEstablished()
        case .probe: self.probeEnded(succeeded: true)
        }
        self.keep(
            KeptConnection(
                connection: upgrade.connection, credential: upgrade.credential, lane: upgrade.lane,
                startedAt: upgrade.startedAt, keptAt: upgrade.startedAt))
    }

    private func upgradeFailed(_ upgrade: PendingUpgrade, _ failure: AttemptFailure) {
        switch upgrade.purpose {
        case .race: self.raceFailed(failure.failureClass)
        case .probe: self.probeEnded(succeeded: false)
        }
    }

    private func probeEnded(succeeded: Bool) {
        let now = self.clock.now()
        self.state.withLock { $0.webSocket.probeEnded(succeeded: succeeded, now: now) }
    }
}
