import ChappieTestServer
import ChappieTransport
import Foundation
import Synchronization
import Testing

/// One scenario, run: what the client's consumer got, and what the server saw.
struct ScenarioRun: Sendable {
    /// One turn.
    struct Turn: Sendable {
        var outcome: StreamOutcome
        var time: Stopwatch.Time
    }

    let scenario: ChappieTestServer.Scenario
    private(set) var turns: [Turn] = []
    private(set) var log: [ChappieTestServer.RequestRecord] = []
    private(set) var connectionCount = 0
    private(set) var tokensAskedFor = 0
    /// The lines and metrics that the client's sinks received.
    let watched = WatchedTurns()

    /// The credential, which only the server may see.
    private static let credential = ChappieCredential(
        bearerToken: "canary-token-7f3a", accountID: "canary-account-91bc")
    private static let field = "canary-field-5eed"
    private static let prompt = "canary-prompt-c0de"

    /// The limit of a client that hangs: a request of 17 MB may take 20 s beside ten busy programs.
    private static let longestTurn = Duration.seconds(120)

    /// Runs every turn of a scenario with one client and one server.
    ///
    /// `proxyCertificate` is trusted beside the server's authority.
    init(
        _ scenario: ChappieTestServer.Scenario, proxy: ChappieProxyPolicy = .none, proxyCertificate: String = ""
    ) async throws {
        self.scenario = scenario
        let server = try ChappieTestServer(configuration: .init(scenario: scenario))
        defer { server.stop() }
        let tokens = TokenSource(scenario.client?.tokens ?? [])
        let authorities = (scenario.client?.trustsServer == false ? "" : server.caPEM ?? "") + proxyCertificate
        let authority = try AuthorityFile(authorities.isEmpty ? nil : authorities)
        defer { authority.remove() }
        let transport = ChappieStreamingTransport(
            configuration: .loopback(server.baseURL) { configuration in
                configuration.timeouts.total = Self.longestTurn
                configuration.tls.trust = authority.trust
                configuration.proxy = proxy
                self.watched.listen(to: &configuration)
                configuration.additionalFields = [(name: "X-Canary-Key", value: Self.field)]
                configuration.credential = { _ in Self.credential }
                if scenario.client?.tokens != nil { configuration.credential = { tokens.credential(for: $0) } }
                configuration.apply(scenario.client ?? .init())
            })
        for turn in scenario.turns ?? [.init()] {
            if let count = turn.afterFinishedAttempts { await server.reached(.finishedAttempts(count)) }
            let request = try self.request(for: turn)
            let stopwatch = Stopwatch()
            let outcome = await transport.outcome(of: request)
            self.turns.append(Turn(outcome: outcome, time: await stopwatch.stop()))
        }
        if scenario.expectation?.answersPings == true {
            await server.reached(.pongs(server.log.reduce(0) { $0 + $1.sentPingCount }))
        }
        self.log = server.log
        self.connectionCount = server.connectionCount
        self.tokensAskedFor = tokens.askedCount
    }

    /// The request of a turn, with the ids of the turn before.
    private func request(for turn: ChappieTestServer.Scenario.Turn) throws -> ChappieTransportRequest {
        let text = (turn.body?.text ?? "{}")
            .replacingOccurrences(of: "$response", with: self.lastResponseID ?? "none")
            .replacingOccurrences(of: "$call", with: self.lastCallID ?? "none")
        var request = ChappieTransportRequest(body: Array(text.utf8))
        request.model = "m"
        let hasInput = turn.body.map { $0.text.contains("\"input\":") } ?? false
        let prompt = turn.promptByteCount.map { String(repeating: "x", count: $0) } ?? turn.prompt
        if !hasInput || prompt != nil { request.prompt = prompt ?? Self.prompt }
        return request
    }

    /// Expects that the client's log and metrics contain no secret, prompt or answer.
    func expectNoCanaries() {
        let tokens = (self.scenario.client?.tokens ?? []).filter { $0.utf8.count >= 8 }
        let secrets = [Self.credential.bearerToken, Self.credential.accountID ?? "", Self.field] + tokens
        let answers = self.turns.map(\.outcome.text).filter { $0.count >= 24 }
        let canaries = Canaries(
            secrets: secrets,
            content: [Self.prompt] + answers.map { String($0.prefix(24)) } + answers.map { String($0.suffix(24)) })
        for turn in self.turns { canaries.expectNone(in: turn.outcome) }
        canaries.expectNone(in: self.watched)
    }

    private var lastResponseID: String? {
        let payload = self.turns.last?.outcome.raw.last { $0.type == "response.created" }?.payload
        return payload.flatMap(Self.object)?["response"].flatMap { $0 as? [String: Any] }?["id"] as? String
    }

    private var lastCallID: String? { self.turns.last?.outcome.toolCalls.first?["call_id"] as? String }

    fileprivate static func object(_ text: String) -> [String: Any]? {
        try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    }
}

extension StreamOutcome {
    /// The finished tool calls, as the consumer gets them.
    var toolCalls: [[String: Any]] {
        self.raw.filter { $0.type == "response.output_item.done" }.compactMap { event in
            let item = ScenarioRun.object(event.payload)?["item"] as? [String: Any]
            let isCall = (item?["type"] as? String).map { ["function_call", "custom_tool_call"].contains($0) }
            return isCall == true ? item : nil
        }
    }
}

extension ChappieTestServer.RequestRecord {
    /// The kind of the attempt.
    var kind: ChappieTestServer.Scenario.AttemptKind {
        switch self.transport {
        case .webSocket: .webSocket
        case .http: self.method == "GET" ? .resume : .http
        }
    }
}

/// Gives the tokens of a scenario in turn.
private final class TokenSource: Sendable {
    private let tokens: [String]
    private let given = Mutex((next: 0, asked: 0))

    var askedCount: Int { self.given.withLock { $0.asked } }

    init(_ tokens: [String]) { self.tokens = tokens }

    func credential(for reason: ChappieTransportConfiguration.CredentialRequest) -> ChappieCredential? {
        let index = self.given.withLock { given in
            given.asked += 1
            if case .rejected = reason { given.next = min(given.next + 1, self.tokens.count - 1) }
            return given.next
        }
        return self.tokens.isEmpty ? nil : ChappieCredential(bearerToken: self.tokens[index], accountID: nil)
    }
}

/// The authority of a server's certificate, as a file.
struct AuthorityFile {
    private let url: URL?

    init(_ text: String?) throws {
        self.url = text == nil ? nil : FileManager.default.temporaryDirectory.appending(path: "\(UUID()).pem")
        if let url = self.url, let text { try Data(text.utf8).write(to: url) }
    }

    var trust: ChappieTLSPolicy.Trust { self.url.map { .file(path: $0.path) } ?? .system }

    func remove() { if let url = self.url { try? FileManager.default.removeItem(at: url) } }
}

extension ChappieTransportConfiguration {
    /// Applies the client settings that a scenario presumes to this engine's configuration.
    fileprivate mutating func apply(_ client: ChappieTestServer.Scenario.Client) {
        self.policy = ChappieStreamingTransportPolicy(
            prefersWebSocket: client.transport != .httpOnly,
            maxWebSocketReconnectionAttempts: client.webSocketRetries ?? 5,
            fallsBackToHTTPSSE: client.transport != .webSocketOnly)
        // Without a delay that the scenario names there is no hedge, which a busy machine would add to an upgrade.
        self.policy.hedgeDelay = client.hedgeDelay.flatMap { $0 == 0 ? nil : .seconds($0) }
        if let age = client.maximumConnectionAge { self.policy.maximumConnectionAge = .seconds(age) }
        if let recovery = client.recovery.flatMap({ ChappieRecoveryPolicy(rawValue: $0.rawValue) }) {
            self.policy.recovery = recovery
        }
        self.maxHTTPRetries = client.httpRetries ?? self.maxHTTPRetries
        self.reconnectDelay = client.reconnectDelay.map { .seconds($0) } ?? .milliseconds(2)
        self.rateLimitBackoff = ChappieRateLimitBackoffPolicy(
            maxRetries: client.rateLimitRetries ?? 2,
            initialDelay: .seconds(client.rateLimitDelay ?? 0.002),
            maximumDelay: .seconds(client.maximumRateLimitDelay ?? 30))
        self.offersCompression = client.offersCompression ?? self.offersCompression
        self.timeouts.apply(client)
    }
}

extension ChappieTimeouts {
    fileprivate mutating func apply(_ client: ChappieTestServer.Scenario.Client) {
        if let connect = client.connectBudget { self.connect = .seconds(connect) }
        if let firstEvent = client.firstEventBudget { self.firstEvent = .seconds(firstEvent) }
        if let idle = client.idleBudget { self.idle = .seconds(idle) }
        if let progress = client.progressBudget { self.progress = .seconds(progress) }
        if let stall = client.stallNotice { self.stall = .seconds(stall) }
        if let total = client.totalBudget { self.total = .seconds(total) }
        if let interval = client.pingInterval { self.pingInterval = .seconds(interval) }
        if let pong = client.pongBudget { self.pongTimeout = .seconds(pong) }
    }
}
