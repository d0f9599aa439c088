import StreamTransport
import WebSocketProtocol

/// The time limits of an exchange: connecting, pings, closing, and the consumer's wait.
extension ServiceConnection {
    /// Returns the next deadline of the exchange itself; nil when no limit applies.
    ///
    /// While reading is paused no ping is sent, because its pong would not be read and quiet would prove nothing.
    func nextDeadline(isPaused: Bool) -> Moment? {
        switch self.phase {
        case .resolving:
            return self.connectDeadline
        case .connecting:
            guard let turn = self.setup.deadline else { return self.connectDeadline }
            return min(turn, self.connectDeadline ?? turn)
        case .requesting:
            // The answer to anything but an upgrade may take as long as the consumer allows.
            return self.isUpgrade ? self.connectDeadline : self.closeDeadline
        case .upgraded:
            return self.closeDeadline ?? (isPaused ? nil : self.channel?.pingTimerDeadline)
        case .receivingBody, .ended:
            return self.closeDeadline
        }
    }

    private var connectDeadline: Moment? {
        self.plan.request.timeouts.connect.map { self.plan.started + $0 }
    }

    /// Performs the actions that are due; returns the next deadline.
    func look(at now: Moment) -> Moment? {
        let waiter = self.plan.arena.expireWaiter(at: now)
        if let deadline = self.nextDeadline(isPaused: waiter.isPaused), deadline <= now {
            self.deadlinePassed(now)
        }
        let next = self.nextDeadline(isPaused: waiter.isPaused)
        guard let next, let deadline = waiter.deadline else { return next ?? waiter.deadline }
        return min(next, deadline)
    }

    private func deadlinePassed(_ now: Moment) {
        switch self.phase {
        case .resolving:
            self.connectTimedOut(in: self.phaseOfConnecting(.resolve))
        case .connecting where self.connectDeadline.map { now < $0 } ?? true:
            self.attemptDelayPassed()
        case .connecting:
            if self.link?.tlsFailure == .notTLS { self.plan.observer?(.notTLS) }
            self.connectTimedOut(in: self.phaseOfConnecting(self.link == nil ? .connect : .tls))
        case .requesting where self.isUpgrade:
            self.connectTimedOut(in: .upgrade)
        case .requesting, .receivingBody:
            self.peerStoppedReading()
        case .upgraded where self.closeDeadline != nil:
            self.finish(.closed(code: CloseCode.abnormalClosure.rawValue, reason: ""))
        case .upgraded:
            self.checkPingTimer(now)
        case .ended:
            if !self.failPending() { self.closeSocket() }
        }
    }

    private func connectTimedOut(in phase: TransportFailure.Phase) {
        self.finish(.failed(TransportFailure(phase: phase, cause: .timedOut)))
    }

    /// Handles a peer that has stopped reading the request and has not answered before `closeDeadline`.
    private func peerStoppedReading() {
        let phase: TransportFailure.Phase = self.phase == .receivingBody ? .stream : .upgrade
        self.finish(.failed(TransportFailure(phase: phase, cause: .connectionLost)))
    }

    private func checkPingTimer(_ now: Moment) {
        switch self.channel?.checkPingTimer(at: now) {
        case .sendPing:
            self.requestWrite()
        case .giveUp:
            self.finish(.failed(TransportFailure(phase: .stream, cause: .peerUnresponsive)))
        case .wait, nil:
            break
        }
    }
}
