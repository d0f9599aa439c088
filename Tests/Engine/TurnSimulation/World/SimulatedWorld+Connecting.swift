// Opens the connections that the engine asks for.

import StreamTransport

extension SimulatedConnection {
    /// Decides what happens until there is an answer, or no answer.
    func begin() {
        let world = self.world
        world.step()
        world.log("\(self.id) connect \(self.request.summary)")
        world.checker.opened(self.id, isWebSocket: self.isWebSocket)
        if !world.checker.isAnswering { world.checker.limits.delays.hints = [] }
        let outcome = world.drawOutcome(for: self)
        if !self.isWebSocket, !self.request.isHeld { self.requestSent(reachesServer: outcome.reachesServer) }
        let latency = world.random.pick([.milliseconds(1), .milliseconds(40), .milliseconds(900)] as [Duration])
        let moment = world.now + world.random.duration(upTo: latency)
        switch outcome {
        case .established: self.established(at: moment)
        case .refused(let status, let body): self.refused(status: status, body, at: moment)
        case .failed(let failure): self.schedule(.ended(.failed(failure)), at: self.moment(of: failure, or: moment))
        case .silent: self.silent()
        }
    }

    private func established(at moment: Duration) {
        if self.request.isHeld {
            self.schedule(.ready, at: moment)
            // A connection that waits may be lost before it is needed.
            if self.world.random.chance(10) {
                let end = moment + .milliseconds(1) + self.world.random.duration(upTo: .seconds(20))
                self.schedule(.ended(.failed(TransportFailure(phase: .send, cause: .connectionLost))), at: end)
                self.world.note(.heldFailed)
            }
        } else if self.isWebSocket {
            self.schedule(.opened(ResponseHead(statusCode: 101)), at: moment)
        } else {
            self.world.answerRequest(of: self, at: moment)
        }
    }

    /// An answer that is a refusal, with its body in two pieces.
    func refused(status: Int, _ body: RefusalBody, at moment: Duration) {
        // What a held request is refused with is not known before it is sent.
        guard !self.request.isHeld || self.isReleased else {
            self.refusalOfHeld = (status, body)
            return self.schedule(.ready, at: moment)
        }
        let head = ResponseHead(statusCode: status, fields: body.fields)
        self.schedule(.opened(head), at: moment, hints: body.hints)
        let middle = self.world.random.below(body.bytes.count + 1)
        for piece in [body.bytes[..<middle], body.bytes[middle...]] where !piece.isEmpty {
            self.schedule(.payload(TimelineItem.Payload(kind: .body, bytes: piece)), at: moment)
        }
        if let end = body.end { self.schedule(.ended(end), at: moment + .milliseconds(1)) }
    }

    private func silent() {
        guard let connect = self.request.timeouts.connect else { return }
        // The answer to a POST is not waited for by the transport.
        let phase: TransportFailure.Phase = self.isWebSocket ? .upgrade : .connect
        self.schedule(
            .ended(.failed(TransportFailure(phase: phase, cause: .timedOut))), at: self.startedAt + connect)
    }

    /// A time-out comes when its time is over.
    private func moment(of failure: TransportFailure, or moment: Duration) -> Duration {
        guard failure.cause == .timedOut, let connect = self.request.timeouts.connect else { return moment }
        return self.startedAt + connect
    }
}

extension ConnectOutcome {
    /// Indicates whether the server has a request that is sent at once.
    fileprivate var reachesServer: Bool {
        switch self {
        case .established, .refused: true
        case .silent: false
        case .failed(let failure):
            switch failure.phase {
            case .resolve, .connect, .proxy, .tls, .send: false
            case .upgrade, .firstEvent, .stream, .close: true
            }
        }
    }
}

extension TransportRequest {
    /// For traces.
    var summary: String {
        switch self.exchange {
        case .webSocket: "WebSocket \(self.endpoint.target)"
        case .post(let body):
            "\(self.isHeld ? "held " : "")POST \(self.endpoint.target) \(String(decoding: body, as: UTF8.self))"
        case .get: "GET \(self.endpoint.target)"
        }
    }
}

extension SimulatedWorld {
    /// Draws what happens to a connection before its answer.
    func drawOutcome(for connection: SimulatedConnection) -> ConnectOutcome {
        if connection.request.isHeld { self.note(.held) }
        var drawing = ConnectDrawing(
            isWebSocket: connection.isWebSocket, allowsSilence: self.settings.allowsSilentConnect,
            allowsHangingBody: self.settings.allowsSilentStart, random: SimulatedRandom(seed: self.random.next()))
        let outcome = drawing.draw(faultPercent: self.settings.faultPercent / 2)
        for fact in drawing.facts { self.note(fact) }
        if connection.request.isHeld, case .failed = outcome { self.note(.heldFailed) }
        return outcome
    }
}
