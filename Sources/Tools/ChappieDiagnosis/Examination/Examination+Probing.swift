import ChappieTransport
import LibwebsocketsTransport
import PathDiagnosis
import PlatformFoundation
import StreamTransport

/// The steps that a probe server answers.
extension Examination {
    /// The field by which an answer is known to be a probe server's.
    static let probeFieldName = "x-chappie-probe"

    /// The part of a probe server's answer that is read.
    private struct ProbeAnswer: Decodable {
        struct Security: Decodable {
            let version: String
            let cipherSuite: String?
            let hello: String?
        }

        struct Probe: Decodable {
            let fields: [String]
            let http: String?
            let family: String?
            let security: HTTPFacts.Seen.Security

            enum CodingKeys: CodingKey {
                case fields, http, family, tls
            }

            init(from decoder: any Decoder) throws {
                let members = try decoder.container(keyedBy: CodingKeys.self)
                self.fields = try members.decode([String].self, forKey: .fields)
                self.http = try members.decodeIfPresent(String.self, forKey: .http)
                self.family = try members.decodeIfPresent(String.self, forKey: .family)
                let tls = try members.decodeIfPresent(Security.self, forKey: .tls)
                // Without the member the server does not tell; with null there is no TLS.
                self.security =
                    tls.map { .tls(version: $0.version, cipherSuite: $0.cipherSuite, hello: $0.hello) }
                    ?? (members.contains(.tls) ? .none : .unknown)
            }
        }

        let probe: Probe
    }

    /// Returns what a probe server has seen of a request; nil when it does not tell.
    static func seen(of request: TransportRequest, _ body: [UInt8]) -> HTTPFacts.Seen? {
        guard let answer = try? JSONDecoder().decode(ProbeAnswer.self, from: Data(body)) else { return nil }
        // The fields that the transport writes itself.
        let sent = request.fields.map(\.name) + ["Host", "Connection"]
        let probe = answer.probe
        var seen = HTTPFacts.Seen(sent: sent, received: probe.fields)
        seen.add(family: probe.family, httpVersion: probe.http, security: probe.security)
        return seen
    }

    // MARK: Messages

    /// Sends messages of several sizes, and waits for their return; the WebSocket's other steps are over.
    mutating func examineMessages(_ socket: ProbeSocket) async throws {
        guard self.budget != nil else {
            self.facts.messages = .skipped(.noTime)
            return
        }
        let start = ContinuousClock.now
        var facts = try await self.messages(on: socket)
        if facts.isLate { facts = facts.confirmed(by: try await self.messagesAgain()) }
        self.facts.messages = .found(facts, self.time(since: start))
        if self.requests.offersCompression, facts.mayFailByCompression {
            try await self.repeatMessages(facts, since: start)
        }
    }

    /// Sends the messages until one does not come back, each for the time of a step, or all of them by a deadline.
    private func messages(
        on socket: ProbeSocket, by deadline: ContinuousClock.Instant? = nil
    ) async throws -> MessageFacts {
        var facts = MessageFacts([], isCompressed: socket.isCompressed)
        for byteCount in ExaminationPace.messageByteCounts {
            guard let budget = deadline.map({ $0 - .now }) ?? self.budget, budget > .zero else { break }
            var echo = try await socket.echo(byteCount: byteCount, by: .now + budget)
            if echo == .timedOut, facts.isSlow(forMessageOf: byteCount, within: budget) { echo = .slow }
            facts.messages.append(.init(byteCount: byteCount, echo: echo))
            guard case .returned = echo else { break }
        }
        return facts
    }

    /// Returns the facts of a second attempt at messages that were late, on another WebSocket; nil when none could be
    /// opened in time.
    private func messagesAgain() async throws -> MessageFacts? {
        guard let limit = self.pace.repetition(withLeft: self.left) else { return nil }
        let deadline = ContinuousClock.now + limit
        let socket = try await ProbeSocket.open(
            self.requests, nil, isCompressed: self.requests.offersCompression, by: self.transport,
            within: self.pace.step)
        defer { socket.exchange.end() }
        return socket.isOpen ? try await self.messages(on: socket, by: deadline) : nil
    }

    /// Returns the facts of messages on another WebSocket; nil when none could be opened in time.
    private func messages(offeringCompression isOffered: Bool) async throws -> MessageFacts? {
        guard let budget = self.budget else { return nil }
        let socket = try await ProbeSocket.open(
            self.requests, nil, isCompressed: isOffered, by: self.transport, within: budget)
        defer { socket.exchange.end() }
        return socket.isOpen ? try await self.messages(on: socket) : nil
    }

    /// Tries messages that have failed without an offer of compression, and once more with it, lest a single failure is
    /// taken for a rule.
    private mutating func repeatMessages(
        _ first: MessageFacts, since start: ContinuousClock.Instant
    ) async throws {
        guard let plain = try await self.messages(offeringCompression: false), plain.areReturned,
            plain.messages.count >= first.messages.count,
            let second = try await self.messages(offeringCompression: true)
        else { return }
        if second.areReturned {
            self.facts.messages = .found(second, self.time(since: start))
        } else if case .found(var upgrade, let time) = self.facts.upgrade {
            upgrade.worksUncompressed = true
            self.facts.upgrade = .found(upgrade, time)
            self.facts.messages = .found(plain, self.time(since: start))
        }
    }

    // MARK: Event streams

    /// Reads a stream of paced events.
    mutating func examineEventStream() async throws {
        let interval = Int(self.pace.eventInterval / .milliseconds(1))
        let path =
            "/probe/events?count=\(self.pace.eventCount)&interval=\(interval)&padding=\(self.pace.paddingByteCount)"
        guard self.left >= self.pace.streamDuration,
            var request = self.requests.probe(at: path, accepting: "text/event-stream")
        else {
            self.facts.eventStream = .skipped(.noTime)
            return
        }
        request.timeouts.connect = self.pace.step
        let start = ContinuousClock.now
        let exchange = ProbeExchange(connection: self.transport.connect(request))
        defer { exchange.end() }
        var stream = ProbeStream(askedCount: self.pace.eventCount)
        let deadline = start + self.pace.streamDuration
        while let event = try await exchange.next(by: deadline) {
            if stream.receive(event, after: .now - start) { break }
        }
        stream.stop(after: .now - start)
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
        guard PathJudge(self.facts).mayAsk else {
            self.facts.idle = .skipped(.notReached)
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

extension MessageFacts {
    /// Indicates whether all messages came back.
    fileprivate var areReturned: Bool {
        !self.messages.isEmpty
            && self.messages.allSatisfy { if case .returned = $0.echo { true } else { false } }
    }

    /// Indicates whether an intermediary that breaks compression may be the cause of a failure: bytes that cannot be
    /// read at either end, or a cut.
    fileprivate var mayFailByCompression: Bool {
        self.messages.contains { message in
            switch message.echo {
            case .damaged: true
            case .closed(let code): [1002, 1006, 1007].contains(code)
            case .returned, .timedOut, .slow, .undecided: false
            }
        }
    }
}
