import ResponseEvents
import StreamSession
import StreamTransport
import TransportSurface

/// Opens the connections of a turn's attempts and sends its request on them.
///
/// It owns the request in the form in which it is sent, and the credential. It belongs to the turn's driver, and asks
/// the program before the request is sent: for a credential, for tools' outputs, for its permission.
final class RequestSender {
    /// The reason why the request is not sent, which ends the turn.
    enum Failure: Error {
        /// The turn is not tried: it ends with this error.
        case untried(any Error)
        /// The turn is given up.
        case stopped
        /// The program has not answered: with its error, or late.
        case unanswered(any Error)
        /// The program does not permit the request.
        case refused(any Error)
        /// The request's own source of tool outputs has thrown: the turn ends with its error, unchanged.
        case toolFailed(any Error)
    }

    /// The connection of an attempt.
    enum Opened {
        /// A connection of the attempt's own, which may still be opening, or a WebSocket of an earlier turn.
        case connection(Attempt)
        /// No connection can be opened.
        case failed(AttemptFailure)
    }

    private let engine: Engine
    private let turn: TurnRequest
    private let control: TurnControl
    /// The request in the form in which it is sent.
    var outgoing: OutgoingRequest
    /// The credential of the newest attempt; nil when there is none.
    private(set) var credential: ChappieCredential?
    /// Indicates whether an attempt has failed.
    private var hasFailed = false

    /// Creates a sender for one turn.
    ///
    /// - Parameters:
    ///   - engine: the instance's engine.
    ///   - turn: the caller's request.
    ///   - control: the turn's cancellation, and its questions to the program.
    /// - Throws: an error when the body is not a JSON object.
    private init(
        _ engine: Engine, _ turn: TurnRequest, _ control: TurnControl
    ) throws(ResponseRequestBodyError) {
        self.engine = engine
        self.turn = turn
        self.control = control
        self.outgoing = try OutgoingRequest(
            turn.request, usesLanes: engine.configuration.usesLanes,
            metadata: engine.configuration.sendsClientMetadata ? turn.identity.metadata : [:],
            form: RequestForm(engine.configuration))
    }

    /// Creates the sender of a turn that may run.
    ///
    /// The parameters are those of the initializer, and the turn's ticket, for which the circuit breaker is asked last.
    /// - Throws: `untried` when the engine is shut down, when the request cannot be sent, and when the breaker refuses.
    @inline(never)
    static func permitted(
        _ engine: Engine, _ turn: TurnRequest, _ control: TurnControl, _ ticket: inout TurnTicket
    ) throws(Failure) -> RequestSender {
        let (request, identity) = (turn.request, turn.identity)
        let transport = request.preferredTransport(of: engine.configuration.policy)
        guard request.isAdmitted || control.admit() else {
            throw .untried(ChappieClientError(shutDown: transport, of: identity))
        }
        if let fault = request.faultOfProperty {
            throw .untried(ChappieClientError(invalidRequest: fault, transport: transport, of: identity))
        }
        let sender: RequestSender
        do throws(ResponseRequestBodyError) {
            sender = try RequestSender(engine, turn, control)
        } catch {
            throw .untried(
                ChappieClientError(
                    invalidBody: error, in: engine.configuration.dialect, transport: transport, of: identity))
        }
        // A request that only prepares the server is no evidence about it.
        if !request.isWarmUp, let retryAfter = ticket.ask() {
            throw .untried(ChappieClientError(circuitOpenFor: retryAfter, transport: transport, of: identity))
        }
        return sender
    }

    /// Prepares the engine for the turn's first attempt.
    ///
    /// - Returns: the turn's state machine.
    /// - Throws: `untried` for a request that cannot be sent.
    func begin() throws(Failure) -> TurnStateMachine {
        let (configuration, isWarmUp) = (self.engine.configuration, self.turn.request.isWarmUp)
        if let fault = self.fault { throw self.failure(fault) }
        self.engine.prepare(for: self.credential, self.configuration, lane: self.outgoing.keptLane, begins: !isWarmUp)
        let availability = self.engine.availability(for: self.outgoing, self.credential)
        guard !isWarmUp || configuration.policy.prefersWebSocket && availability == .available else {
            throw self.failure("a warm-up needs a WebSocket")
        }
        return TurnStateMachine(
            policy: isWarmUp ? .once : RetryPolicy(configuration), webSocket: availability,
            isResumable: self.outgoing.isResumable, asksBeforeSending: self.control.permission.isAsked,
            outputByteCountLimit: configuration.limits.outputByteCount, resuming: self.turn.request.resumption)
    }

    private func failure(_ fault: String) -> Failure {
        let transport = self.turn.request.preferredTransport(of: self.engine.configuration.policy)
        return .untried(ChappieClientError(invalidRequest: fault, transport: transport, of: self.turn.identity))
    }

    // MARK: Facts

    /// The engine's configuration with the request's own fields and time limits; it is needed a few times in a turn.
    var configuration: ChappieTransportConfiguration { self.turn.request.applied(to: self.engine.configuration) }

    /// Indicates whether the server keeps the response, so that another turn can continue it.
    var isKept: Bool {
        self.turn.request.resumption != nil
            || self.outgoing.isResumable && self.engine.configuration.policy.recovery != .never
    }

    /// The fault of the configuration, the credential or a response's identifier; nil when a request can be sent.
    private var fault: String? {
        self.engine.fault ?? self.credential?.fault
            ?? self.turn.request.resumption.flatMap { self.builder.fault(ofResponseID: $0.responseID) }
    }

    /// A builder of requests for the transport, with the turn's current state.
    private var builder: TransportRequestBuilder {
        TransportRequestBuilder(
            configuration: self.configuration, credential: self.credential, turnState: self.outgoing.turnState,
            identity: self.turn.identity)
    }

    /// Returns whether the rest of a response with this identifier can be requested.
    func canResume(_ responseID: String) -> Bool { self.builder.canResume(responseID) }

    /// The source of tools' outputs: the request's own has precedence over the configuration's.
    private var toolOutput: ChappieTransportConfiguration.ToolOutputSource? {
        self.turn.request.toolOutput ?? self.engine.configuration.toolOutput
    }

    // MARK: The response

    /// Records that an attempt has failed: it is not certain any more what the server still has of earlier exchanges.
    func attemptFailed() { self.hasFailed = true }

    /// Takes from an event that was read what later requests of the turn need.
    func learn(
        from event: ResponseEvent, _ outcome: EventReader.Outcome, _ reader: inout EventReader, attempt: Int
    ) {
        switch (outcome, event.kind) {
        case (.steered, _):
            self.outgoing.dropFinishedItems()
        case (_, .metadata(let turnState, _)) where reader.transport == .webSocket:
            // Over HTTP it is a field of the answer.
            self.outgoing.learn(turnState: turnState)
        case (.goesOn, .outputItemDone(let outputIndex, let item)):
            self.finished(item, at: outputIndex, isRepeated: false, &reader, attempt: attempt)
        case (.dropped, .outputItemDone(let outputIndex, let item)):
            self.finished(item, at: outputIndex, isRepeated: true, &reader, attempt: attempt)
        default:
            return
        }
    }

    /// Stores a finished item, to give it back if the response breaks; a repeated call occupies its position, and is
    /// not carried.
    private func finished(
        _ item: ItemSummary, at outputIndex: Int, isRepeated: Bool, _ reader: inout EventReader, attempt: Int
    ) {
        guard self.engine.configuration.policy.carriesFinishedItems else { return }
        let json = item.typedJSON
        guard self.outgoing.canCarry(json, isCall: item.isCall, hasOutputs: self.toolOutput != nil) else { return }
        let place = reader.machine.delivery.place(of: item.fingerprint, at: outputIndex)
        guard reader.machine.itemFinished(outputIndex: place, attempt: attempt), !isRepeated else { return }
        self.outgoing.finished(json, isCall: item.isCall)
    }

    // MARK: Credentials

    /// Asks the program for a credential, which may take as long as a refresh does; `end` is the end of the turn's
    /// time.
    ///
    /// - Returns: whether it is a new one.
    func refreshCredential(
        _ request: ChappieTransportConfiguration.CredentialRequest, by end: Duration?
    ) async throws(Failure) -> Bool {
        let source = self.engine.configuration.credential
        let before = self.credential
        let reason = LateReason()
        do {
            self.credential = try await self.control.questions.answer(by: end) {
                try await LateReason.$current.withValue(reason) { try await source(request) }
            }
        } catch {
            let isLate = error is ProgramQuestions.TotalPassedError
            throw .unanswered(isLate ? reason.noted ?? error : error)
        }
        return self.credential != nil && self.credential != before
    }

    /// Asks for a credential in place of a rejected one, and records the time that this takes.
    ///
    /// - Returns: whether it is a new one.
    func replaceCredential(
        by end: Duration?, _ recorder: TurnRecorder, _ redaction: SecretRedaction
    ) async throws(Failure) -> Bool {
        let start = self.engine.clock.now()
        do throws(Failure) {
            let isNew = try await self.refreshCredential(.rejected(self.credential), by: end)
            recorder.refreshed(in: self.engine.clock.now() - start)
            return isNew
        } catch {
            if case .unanswered(let reason) = error, !self.control.shared.isGivenUp {
                recorder.refreshed(in: self.engine.clock.now() - start, error: redaction.error(reason))
            }
            throw error
        }
    }

    // MARK: Opening

    /// Returns whether an action takes time: it is a wait, or a tool, the program or a kept connection is asked first.
    func takesTime(_ action: TurnStateMachine.Action) -> Bool {
        switch action {
        case .wait, .refreshCredential: true
        case .open(let opening): self.mustWait(before: opening)
        case .openHedge, .send: self.control.permission.isAsked
        case .release, .park, .receive, .deliver, .deliverWithheld, .restart, .finish, .fail, .ignore: false
        }
    }

    private func mustWait(before opening: TurnStateMachine.Opening) -> Bool {
        if opening.step.carriedItemCount > 0 || self.control.permission.isAsked && opening.transport == .httpSSE {
            return true
        }
        guard opening.takesKeptConnection,
            let kept = self.engine.keptConnection(of: self.outgoing.keptLane, for: self.credential)
        else { return false }
        return self.engine.needsLivenessCheck(kept)
    }

    /// Lends a kept connection, or opens one; returns nil when a wait is necessary after all.
    @inline(never)
    func openNow(_ opening: TurnStateMachine.Opening) -> Opened? {
        guard let kept = self.takeKeptConnection(for: opening) else { return self.connect(opening) }
        guard self.engine.needsLivenessCheck(kept) else { return self.lend(kept, to: opening) }
        // Another turn has put it back since it was decided that no check is necessary.
        self.engine.keep(kept)
        return nil
    }

    /// Lends a kept connection, or opens one, after all necessary waits.
    ///
    /// - Parameters:
    ///   - opening: the opening that the state machine asks for.
    ///   - end: the end of the turn's time; nil for a turn without a limit.
    ///   - callCarried: is called for each call that goes back with its output: from then on it is settled.
    /// - Returns: the connection.
    /// - Throws: the reason why the turn ends.
    func open(
        _ opening: TurnStateMachine.Opening, by end: Duration?, callCarried: () -> Void
    ) async throws(Failure) -> Opened {
        try await self.carryItems(opening.step, by: end, callCarried: callCarried)
        if let kept = self.takeKeptConnection(for: opening) {
            let isAlive = await self.isAlive(kept, by: end)
            if isAlive == true { return self.lend(kept, to: opening) }
            kept.connection.cancel()
            if isAlive == nil { throw .stopped }
        }
        var request: TransportRequest?
        if self.control.permission.isAsked, opening.transport == .httpSSE,
            let known = self.transportRequest(for: opening)
        {
            try await self.ask(self.control.permission.question(about: known, attempt: opening.attempt), by: end)
            request = known
        }
        // The turn may be cancelled while a kept connection is asked, or a tool's output is waited for.
        if self.control.shared.withLock({ $0.isCancelled }) { throw .stopped }
        return self.connect(opening, request)
    }

    /// Returns the connection of an earlier turn, if it can carry the request.
    @inline(never)
    private func takeKeptConnection(for opening: TurnStateMachine.Opening) -> KeptConnection? {
        guard opening.takesKeptConnection,
            let kept = self.engine.takeKeptConnection(of: self.outgoing.keptLane, for: self.credential)
        else { return nil }
        if kept.exchange?.hasPendingInput == true, !self.outgoing.continues(kept.exchange) {
            kept.connection.close()
            return nil
        }
        guard self.outgoing.isTooLarge(after: kept.exchange) else { return kept }
        self.engine.keep(kept)
        return nil
    }

    private func lend(_ kept: KeptConnection, to opening: TurnStateMachine.Opening) -> Opened {
        .connection(Attempt(of: opening, on: kept, at: self.engine.clock.now()))
    }

    /// Returns whether a kept connection answers, when it has been silent for so long that it is checked; nil when the
    /// turn is given up meanwhile.
    private func isAlive(_ kept: KeptConnection, by end: Duration?) async -> Bool? {
        guard self.engine.needsLivenessCheck(kept) else { return true }
        let isCancelled = self.control.shared.withLock { shared in
            shared.connections = [kept.connection]
            return shared.isCancelled
        }
        if isCancelled { return nil }
        let limit = self.configuration.timeouts.livenessCheck
        let remaining = end.map { max(.zero, $0 - self.engine.clock.now()) }
        return await kept.isAlive(within: min(limit, remaining ?? limit), self.engine.clock)
    }

    /// Opens a connection of its own for an attempt, with its request if that was made before.
    @inline(never)
    private func connect(_ opening: TurnStateMachine.Opening, _ known: TransportRequest? = nil) -> Opened {
        if opening.transport == .webSocket, self.outgoing.isTooLarge(after: nil) { return .failed(.requestTooLarge) }
        guard let request = known ?? self.transportRequest(for: opening) else {
            let fault = self.fault ?? "baseURL cannot be used"
            return .failed(.transport(TransportFailure(phase: .send, cause: .invalidRequest(fault))))
        }
        let connection = self.engine.transport.connect(request)
        var attempt = Attempt(of: opening, on: connection, at: self.engine.clock.now())
        if attempt.transport == .httpSSE { attempt.requestedAt = attempt.startedAt }
        return .connection(attempt)
    }

    /// Returns the transport's request for an attempt; nil when the configuration or the credential has a fault.
    @inline(never)
    private func transportRequest(for opening: TurnStateMachine.Opening) -> TransportRequest? {
        guard self.fault == nil else { return nil }
        if case .resume(let cursor) = opening.step { return self.builder.resumption(at: cursor) }
        switch opening.transport {
        case .webSocket: return self.builder.upgrade(lane: self.outgoing.laneName)
        case .httpSSE: return self.builder.post(self.outgoing.http)
        }
    }

    /// Adds finished items to the request, with the outputs of calls.
    private func carryItems(
        _ step: TurnStateMachine.Opening.RecoveryStep, by end: Duration?, callCarried: () -> Void
    ) async throws(Failure) {
        var count = step.carriedItemCount
        guard count > 0 else { return }
        while let call = self.outgoing.carryItems(&count) {
            guard let source = self.toolOutput else { continue }
            // Every later attempt has the call and its output in the request.
            callCarried()
            self.outgoing.carry(
                output: try await self.output(of: String(decoding: call, as: UTF8.self), source, by: end))
        }
    }

    /// Returns the output of a call: the request's own source ends its waits by itself, while the configuration's may
    /// not, and is asked like the program's other closures.
    private func output(
        of call: String, _ source: @escaping ChappieTransportConfiguration.ToolOutputSource, by end: Duration?
    ) async throws(Failure) -> [UInt8] {
        do {
            if self.turn.request.toolOutput != nil { return try await source(call) }
            return try await self.control.questions.answer(by: end) { try await source(call) }
        } catch {
            throw self.turn.request.toolOutput == nil ? .unanswered(error) : .toolFailed(error)
        }
    }

    // MARK: The hedge

    /// Opens an HTTP connection beside the upgrade, with a held request; returns nil when it cannot be made.
    func openHedge(_ opening: TurnStateMachine.Opening) -> Attempt? {
        self.transportRequest(for: opening).map { self.hedge($0, opening) }
    }

    /// Opens an HTTP connection beside the upgrade after the program has permitted its request.
    func openHedge(_ opening: TurnStateMachine.Opening, by end: Duration?) async throws(Failure) -> Attempt? {
        guard let request = self.transportRequest(for: opening) else { return nil }
        try await self.ask(self.control.permission.question(about: request, attempt: opening.attempt), by: end)
        return self.hedge(request, opening)
    }

    private func hedge(_ request: TransportRequest, _ opening: TurnStateMachine.Opening) -> Attempt {
        var request = request
        request.isHeld = true
        return Attempt(of: opening, on: self.engine.transport.connect(request), at: self.engine.clock.now())
    }

    // MARK: Sending

    /// Returns the message that requests the response on an attempt's WebSocket.
    ///
    /// Only the first attempt continues an earlier exchange, which the turn's state machine is told.
    func message(on attempt: Attempt, _ machine: inout TurnStateMachine) -> [UInt8] {
        let message = self.outgoing.message(after: self.hasFailed ? nil : self.exchange(before: attempt))
        if message.isContinued { machine.continued(attempt: attempt.number) }
        return message.text
    }

    /// Returns the last exchange of the connection; on a lane without one, that of the lane that it comes from.
    private func exchange(before attempt: Attempt) -> KeptExchange? {
        if let exchange = attempt.kept?.exchange { return exchange }
        guard let source = self.turn.request.forkedFrom,
            let kept = self.engine.keptConnection(of: self.outgoing.lane(source), for: self.credential),
            kept.connection.socketIdentity == attempt.connection.socketIdentity,
            // Input that the server keeps goes with a request of the same lane.
            kept.exchange?.hasPendingInput != true
        else { return nil }
        return kept.exchange
    }

    /// Asks the program whether a message may be sent on a WebSocket.
    func ask(about message: [UInt8], attempt: Int, by end: Duration?) async throws(Failure) {
        try await self.ask(self.control.permission.question(about: message, attempt: attempt), by: end)
    }

    private func ask(_ question: SendingPermission.Question?, by end: Duration?) async throws(Failure) {
        guard let question else { return }
        do {
            try await self.control.questions.answer(by: end, question)
        } catch {
            if error is ProgramQuestions.TotalPassedError || self.control.shared.isGivenUp { throw .unanswered(error) }
            throw .refused(error)
        }
        // A caller that cancels in the meantime does not want the message to be sent.
        if self.control.shared.isGivenUp { throw .stopped }
    }

    // MARK: Connections for later turns

    /// Keeps the WebSocket of a complete response for the next turn of its lane.
    func keep(_ attempt: Attempt, behind reader: borrowing EventReader) {
        self.keep(
            attempt,
            self.outgoing.exchange(
                reader.record, responseID: reader.responseID, earlier: reader.machine.delivery.earlierResponses,
                hasOutput: reader.machine.delivery.hasDelivered, isWarmUp: reader.options.isWarmUp))
    }

    /// Keeps an attempt's WebSocket for the next turn of its lane; `exchange` is what it has carried.
    func keep(_ attempt: Attempt, _ exchange: KeptExchange? = nil) {
        self.engine.keep(
            KeptConnection(
                connection: attempt.connection, credential: self.credential, lane: self.outgoing.keptLane,
                startedAt: attempt.connectionStart, keptAt: self.engine.clock.now(), exchange: exchange))
    }

    /// Lets the upgrade of an attempt continue in the background.
    func park(_ attempt: Attempt) {
        self.engine.park(
            PendingUpgrade(
                connection: attempt.connection, credential: self.credential, lane: self.outgoing.keptLane,
                startedAt: attempt.startedAt, purpose: .race))
    }
}

extension TurnStateMachine.Opening {
    /// Indicates whether a connection of an earlier turn is suitable.
    fileprivate var takesKeptConnection: Bool { self.reason == .first && self.transport == .webSocket }
}

extension ChappieTransportRequest {
    /// Returns the transport of the first attempt, where nothing is known against it.
    func preferredTransport(of policy: ChappieStreamingTransportPolicy) -> ChappieTransportKind {
        policy.prefersWebSocket && self.resumption == nil ? .webSocket : .httpSSE
    }
}
