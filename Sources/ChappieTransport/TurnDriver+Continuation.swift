import ResponseEvents
import StreamSession
import StreamTransport

/// A request that sends only what is new since the response before, on the connection that carried it.
extension TurnDriver {
    /// Whose kept connection the turn uses: that of the lane that the request, or its body, names.
    var keptLane: Lane {
        if let name = self.request.lane { return Lane(name: name) }
        guard self.engine.configuration.usesLanes else { return Lane(name: nil) }
        return Lane(name: self.bodies?.streamID.map { String(decoding: $0, as: UTF8.self) })
    }

    /// Whether the turn may begin with a WebSocket.
    func webSocketAvailability(for bodies: RequestBodies) -> TurnStateMachine.WebSocketAvailability {
        let availability = self.engine.availability(for: bodies)
        guard availability == .available, bodies.isTooLargeForWebSocket(turnState: self.turnState) else {
            return availability
        }
        return self.keptConnectionFits(bodies) ? .available : .requestTooLarge
    }

    /// Whether the connection that waits for the turn needs only a part of a request that is too large as a whole.
    private func keptConnectionFits(_ bodies: RequestBodies) -> Bool {
        guard let kept = self.engine.keptConnection(of: self.keptLane, for: self.credential) else { return false }
        return self.fits(kept, bodies)
    }

    private func fits(_ kept: KeptConnection, _ bodies: RequestBodies) -> Bool {
        guard let continuation = kept.exchange?.continuation(of: bodies.body) else { return false }
        return bodies.webSocketMessage(continuation, turnState: self.turnState).count
            < RequestBodies.messageByteCountLimit
    }

    /// Whether what has to be sent on a connection is too large for a message.
    ///
    /// On one that nothing has been sent on, that is the whole request.
    func isTooLarge(on kept: KeptConnection?) -> Bool {
        guard let bodies = self.bodies, bodies.isTooLargeForWebSocket(turnState: self.turnState) else { return false }
        return kept.map { !self.fits($0, bodies) } ?? true
    }

    /// The message that asks for the response on the attempt's connection.
    ///
    /// Only the first attempt continues anything: after a failure it is not certain what the server still has.
    func webSocketMessage(for bodies: RequestBodies) -> [UInt8] {
        guard let attempt = self.attempt, !self.hasFailed, let exchange = self.exchange(before: attempt),
            let continuation = exchange.continuation(of: bodies.body)
        else { return bodies.webSocketMessage(turnState: self.turnState) }
        self.machine.continued(attempt: attempt.number)
        return bodies.webSocketMessage(continuation, turnState: self.turnState)
    }

    /// What the connection carried last; on a lane that has carried nothing, what the lane that it comes from did.
    private func exchange(before attempt: Attempt) -> KeptExchange? {
        if let exchange = attempt.kept?.exchange { return exchange }
        guard let source = self.request.forkedFrom,
            let kept = self.engine.keptConnection(of: Lane(name: source), for: self.credential),
            kept.connection.socketIdentity == attempt.connection.socketIdentity
        else { return nil }
        return kept.exchange
    }

    /// What the connection that has carried the response has carried.
    var keptExchange: KeptExchange? {
        self.bodies.map { bodies in
            KeptExchange(
                body: bodies.body, record: self.record, responseID: self.responseID,
                earlier: self.machine.earlierResponses,
                hasOutput: self.machine.hasDelivered, isWarmUp: self.request.isWarmUp)
        }
    }
}
