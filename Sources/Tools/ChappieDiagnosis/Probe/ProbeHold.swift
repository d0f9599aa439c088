import ChappieTransport
import LibwebsocketsTransport
import PathDiagnosis
import StreamTransport

/// One silence that is tried on connections to a probe server.
///
/// It belongs to one task.
struct ProbeHold {
    private let duration: Duration
    private let requests: ProbeRequests
    private let transport: LibwebsocketsTransport

    /// Creates a silence.
    init(_ duration: Duration, _ requests: ProbeRequests, _ transport: LibwebsocketsTransport) {
        self.duration = duration
        self.requests = requests
        self.transport = transport
    }

    /// Keeps a WebSocket silent, and then pings; nil when none could be opened.
    ///
    /// A path that drops the connection without a word is noticed by the ping alone: the cut is then at the end.
    func webSocket() async throws -> IdleFacts.Hold? {
        let socket = try await ProbeSocket.open(
            self.requests, nil, isCompressed: false, by: self.transport, within: .seconds(10))
        defer { socket.exchange.end() }
        guard socket.isOpen else { return nil }
        let start = ContinuousClock.now
        var hold = IdleFacts.Hold(asked: self.duration, isWebSocket: true)
        while let event = try await socket.exchange.next(by: start + self.duration) {
            guard case .ended = event else { continue }
            hold.cut = .now - start
            return hold
        }
        if case .answered = try await socket.ping(by: .now + ExaminationPace.holdAnswer) { return hold }
        hold.cut = self.duration
        return hold
    }

    /// Waits for an answer after a silence; nil when the request could not be sent.
    func http() async throws -> IdleFacts.Hold? {
        let path = "/probe/hold?seconds=\(self.duration.components.seconds)"
        guard let request = self.requests.probe(at: path, accepting: "application/json") else { return nil }
        let start = ContinuousClock.now
        var hold = IdleFacts.Hold(asked: self.duration, isWebSocket: false)
        let answer = try await ProbeExchange.answer(
            to: request, by: self.transport, within: self.duration + ExaminationPace.holdAnswer)
        switch answer {
        case .answered(let head, _): hold.noteAnswer(statusCode: head.statusCode, after: .now - start)
        case .failed(let failure) where failure.phase == .upgrade || failure.phase == .stream:
            hold.cut = min(self.duration, .now - start)
        case .failed: return nil
        }
        return hold
    }
}
