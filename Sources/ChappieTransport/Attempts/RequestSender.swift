import ResponseEvents
import StreamSession
import StreamTransport

/// Opens the connections of a turn's attempts and sends its request on them.
///
/// It owns the request in the form in which it is sent, and the credential. It belongs to the turn's driver, and asks
/// the program before the request is sent: for a credential, for tools' outputs, for its permission.
final class RequestSender {
    /// The reason why the request is not sent, which ends the turn.
    enum Failure: Error {
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
        /// A connection of the attempt's own, which may still be opening.
        case connection(Attempt)
        /// A WebSocket of an earlier turn.
        case kept(Attempt, KeptConnection)
        /// No connection can be opened.
        case failed(AttemptFailure)
    }

    private let engine: Engine
    /// The engine's configuration with the request's own fields and time limits.
    let configuration: ChappieTransportConfiguration
    private let request: ChappieTransportRequest
    private let identity: RequestIdentity
    private let control: TurnControl
    /// The request in the form in which it is sent.
    var outgoing: OutgoingRequest
    /// The credential of the newest attempt; nil when there is none.
    private(set) var credential: ChappieCredential?

    /// Creates a sender for one turn.
    ///
    /// - Parameters:
    ///   - engine: the instance's engine.
    ///   - request: the caller's request.
    ///   - identity: the names that are sent with the request.
    ///   - control: the turn's cancellation, and its questions to the program.
    /// - Throws: an error when the body is not a JSON object.
    init(
        _ engine: Engine, _ request: ChappieTransportRequest, identity: RequestIdentity, _ control: TurnControl
    ) throws(ResponseRequestBodyError) {
        self.engine = engine
        self.configuration = request.applied(to: engine.configuration)
        self.request = request
        self.identity = identity
        self.control = control
        self.outgoing = try OutgoingRequest(
            request, usesLanes: engine.configuration.usesLanes,
            metadata: engine.configuration.sendsClientMetadata ? identity.metadata : [:])
    }

    // MARK: Facts

    /// The availability of a WebSocket for this request.
    var webSocketAvailability: TurnStateMachine.WebSocketAvailability {
        self.engine.availability(for: self.outgoing, self.credential)
    }

    /// The fault of the configuration, the credential or a response's identifier; nil when a request can be sent.
    var fault: String? {
        self.engine.fault ?? self.credential?.fault
            ?? self.request.resumption.flatMap { self.builder.fault(ofResponseID: $0.responseID) }
    }

    /// A builder of requests for the transport, with the turn's current state.
    private var builder: TransportRequestBuilder {
        TransportRequestBuilder(
            configuration: self.configuration, credential: self.credential, turnState: self.outgoing.turnState,
            identity: self.identity)
    }

    /// Returns whether the rest of a response with this identifier can be requested.
    func canResume(_ responseID: String) -> Bool { self.builder.canResume(responseID) }

    /// The source of tools' outputs: the request's own has precedence over the configuration's.
    private var toolOutput: ChappieTransportConfiguration.ToolOutputSource? {
        self.request.toolOutput ?? self.engine.configuration.toolOutput
    }

    /// Indicates whether finished items go back as input if the response breaks.
    var carriesItems: Bool { self.engine.configuration.policy.carriesFinishedItems }

    /// Returns whether a finished item can go back.
    func canCarry(_ json: [UInt8], isCall: Bool) -> Bool {
        self.outgoing.canCarry(json, isCall: isCall, hasOutputs: self.toolOutput != nil)
    }

    // MARK: Credentials

    /// Asks the program for a credential, which may take as long as a refresh does; `end` is the end of the turn's
    /// time.
    ///
    /// - Returns: whether it is a new one.
    func refreshCredential(
        _ request: ChappieTransportConfiguration.CredentialRequest, by end: Duration?
    ) async throws -> Bool {
        let source = self.engine.configuration.credential
        let before = self.credential
        self.credential = try await self.control.questions.answer(by: end) { try await source(request) }
        return self.credential != nil && self.credential != before
    }

    // MARK: Opening

    /// Returns whether a tool, the program, or a kept connection has to be asked before a connection is opened.
    func mustWait(before opening: TurnStateMachine.Opening) -> Bool {
        if opening.rung.carriedItemCount > 0 || self.control.permission.isAsked && opening.transport == .httpSSE {
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
        try await self.carryItems(opening.rung, by: end, callCarried: callCarried)
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
        guard self.outgoing.isTooLarge(after: kept.exchange) else { return kept }
        self.engine.keep(kept)
        return nil
    }

    private func lend(_ kept: KeptConnection, to opening: TurnStateMachine.Opening) -> Opened {
        .kept(Attempt(of: opening, on: kept, at: self.engine.clock.now()), kept)
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
        if case .resume(let cursor) = opening.rung { return self.builder.resumption(at: cursor) }
        switch opening.transport {
        case .webSocket: return self.builder.upgrade(lane: self.outgoing.laneName)
        case .httpSSE: return self.builder.post(self.outgoing.http)
        }
    }

    /// Adds finished items to the request, with the outputs of calls.
    private func carryItems(
        _ rung: TurnStateMachine.Opening.Rung, by end: Duration?, callCarried: () -> Void
    ) async throws(Failure) {
        var count = rung.carriedItemCount
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
            if self.request.toolOutput != nil { return try await source(call) }
            return try await self.control.questions.answer(by: end) { try await source(call) }
        } catch {
            throw self.request.toolOutput == nil ? .unanswered(error) : .toolFailed(error)
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
    /// - Parameters:
    ///   - attempt: the attempt.
    ///   - continues: whether the request may continue an earlier exchange.
    /// - Returns: the message, and whether it has only the rest since that exchange.
    func message(on attempt: Attempt, continues: Bool) -> (text: [UInt8], isContinued: Bool) {
        self.outgoing.message(after: continues ? self.exchange(before: attempt) : nil)
    }

    /// Returns the last exchange of the connection; on a lane without one, that of the lane that it comes from.
    private func exchange(before attempt: Attempt) -> KeptExchange? {
        if let exchange = attempt.kept?.exchange { return exchange }
        guard let source = self.request.forkedFrom,
            let kept = self.engine.keptConnection(of: self.outgoing.lane(source), for: self.credential),
            kept.connection.socketIdentity == attempt.connection.socketIdentity
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
