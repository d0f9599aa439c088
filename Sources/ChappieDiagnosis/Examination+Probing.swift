import ChappieTransport
import LibwebsocketsTransport
import PathDiagnosis
import StreamTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The steps that a probe server answers.
extension Examination {
    /// The field by which an answer is known to be a probe server's.
    static let probeFieldName = "x-chappie-probe"

    /// The part of a probe server's answer that is read.
    private struct ProbeAnswer: Decodable {
        struct Probe: Decodable {
            let fields: [String]
        }

        let probe: Probe
    }

    /// Returns what a probe server has seen of a request; nil when it does not tell.
    static func seen(of request: TransportRequest, _ body: [UInt8]) -> HTTPFacts.Seen? {
        guard let answer = try? JSONDecoder().decode(ProbeAnswer.self, from: Data(body)) else { return nil }
        // The fields that the transport writes itself.
        let sent = request.fields.map(\.name) + ["Host", "Connection"]
        return HTTPFacts.Seen(sent: sent, received: answer.probe.fields)
    }

    // MARK: Messages

    /// Sends messages of several sizes, and waits for their return; the WebSocket's other steps are over.
    mutating func examineMessages(_ socket: ProbeSocket) async throws {
        guard self.budget != nil else {
            self.facts.messages = .skipped(.noTime)
            return
        }
        let start = ContinuousClock.now
        var facts = MessageFacts([], isCompressed: socket.isCompressed)
        for byteCount in ExaminationPace.messageByteCounts {
            guard let budget = self.budget else { break }
            let echo = try await socket.echo(byteCount: byteCount, by: .now + budget)
            facts.messages.append(.init(byteCount: byteCount, echo: echo))
            guard case .returned = echo else { break }
        }
        self.facts.messages = .found(facts, self.time(since: start))
    }

    // MARK: Event streams

    /// Reads a stream of paced events.
    mutating func examineEventStream() async throws {
        let length = self.pace.eventInterval * self.pace.eventCount
        let interval = Int(self.pace.eventInterval / .milliseconds(1))
        let path =
            "/probe/events?count=\(self.pace.eventCount)&interval=\(interval)&padding=\(self.pace.paddingByteCount)"
        let left = self.started + self.pace.total - .now
        guard left >= length + self.pace.step,
            var request = self.requests.probe(at: path, accepting: "text/event-stream")
        else {
            self.facts.eventStream = .skipped(.noTime)
            return
        }
        request.timeouts.connect = self.pace.step
        let start = ContinuousClock.now
        let exchange = ProbeExchange(connection: self.transport.connect(request))
        defer { exchange.end() }
        var stream = ProbeStream()
        let deadline = start + length + self.pace.step
        while let event = try await exchange.next(by: deadline) {
            if stream.receive(event, after: .now - start) { break }
        }
        self.facts.eventStream = .found(stream.facts, self.time(since: start))
    }

    // MARK: Silence

    /// Holds connections idle, a WebSocket and an HTTP exchange for each silence, all at once.
    mutating func examineIdle() async throws {
        guard !self.holds.isEmpty else { return }
        guard self.isProbe else {
            self.facts.idle = .skipped(.needsProbe)
            return
        }
        let start = ContinuousClock.now
        let (silences, requests, transport) = (self.holds, self.requests, self.transport)
        let hasWebSocket = self.facts.upgrade.facts?.handshake == .established
        let holds = try await withThrowingTaskGroup(of: IdleFacts.Hold?.self) { group in
            for hold in silences {
                if hasWebSocket { group.addTask { try await ProbeHold(hold, requests, transport).webSocket() } }
                group.addTask { try await ProbeHold(hold, requests, transport).http() }
            }
            var holds: [IdleFacts.Hold] = []
            for try await hold in group { if let hold { holds.append(hold) } }
            return holds
        }
        let sorted = holds.sorted { ($0.asked, $0.isWebSocket ? 0 : 1) < ($1.asked, $1.isWebSocket ? 0 : 1) }
        self.facts.idle = .found(.init(sorted), self.time(since: start))
    }
}
