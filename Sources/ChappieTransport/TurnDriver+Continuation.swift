import ResponseEvents
import StreamSession
import StreamTransport

/// A request that sends only what is new since the response before, on the connection that carried it.
extension TurnDriver {
    /// The lane whose kept connection the turn uses.
    var keptLane: Lane { self.outgoing?.keptLane ?? Lane(name: self.request.lane) }

    /// Whether the turn may begin with a WebSocket.
    func webSocketAvailability(for outgoing: OutgoingRequest) -> TurnStateMachine.WebSocketAvailability {
        let availability = self.engine.availability(isBackground: outgoing.isBackground)
        guard availability == .available else { return availability }
        // A kept connection may need only a part of a request that is too large as a whole.
        let isTooLarge = outgoing.isTooLarge(
            after: self.engine.keptConnection(of: outgoing.keptLane, for: self.credential)?.exchange)
        return isTooLarge ? .requestTooLarge : .available
    }

    /// The message that asks for the response on the attempt's connection.
    ///
    /// Only the first attempt continues anything: after a failure it is not certain what the server still has.
    func webSocketMessage() -> [UInt8]? {
        let exchange = self.hasFailed ? nil : self.attempts.current.flatMap { self.exchange(before: $0) }
        let message = self.outgoing?.message(after: exchange)
        if message?.isContinued == true, let attempt = self.attempts.current {
            self.reader.machine.continued(attempt: attempt.number)
        }
        return message?.text
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

    /// The exchange of the connection that has carried the response.
    var keptExchange: KeptExchange? {
        self.outgoing?.exchange(
            self.reader.record, responseID: self.reader.responseID, earlier: self.reader.machine.earlierResponses,
            hasOutput: self.reader.machine.hasDelivered, isWarmUp: self.request.isWarmUp)
    }
}
