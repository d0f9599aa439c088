import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// The events and the end of one stream, as its consumer received them.
struct StreamOutcome: Sendable {
    var text = ""
    var reasoning = ""
    var refusal = ""
    var raw: [(type: String, payload: String)] = []
    /// The texts that another answer has replaced.
    var restarts: [String] = []
    var usageLimits: [ChappieUsageLimitSnapshot] = []
    var diagnostics: [ChappieDiagnostic] = []
    var completions = 0
    var emptyDeltas = 0
    var eventsAfterCompletion = 0
    var error: (any Error)?
    var serverMessage: String?
    var report = ChappieStreamingTransport.emptyReport

    /// The error as the engine's own kind.
    var clientError: ChappieClientError? { self.error as? ChappieClientError }

    /// The failure below HTTP.
    var transportFailure: ChappieTransportFailure? {
        guard case .transport(let failure)? = self.clientError else { return nil }
        return failure
    }

    mutating func add(_ event: ChappieStreamEvent) {
        if self.completions > 0 { self.eventsAfterCompletion += 1 }
        switch event {
        case .textDelta(let text): self.append(text, to: \.text)
        case .reasoningDelta(let text): self.append(text, to: \.reasoning)
        case .refusalDelta(let text): self.append(text, to: \.refusal)
        case .restarted(let text):
            self.restarts.append(text)
            (self.text, self.reasoning, self.refusal) = ("", "", "")
        case .usageLimits(let snapshot): self.usageLimits.append(snapshot)
        case .raw(let type, let payload): self.raw.append((type, payload))
        case .diagnostic(let diagnostic): self.diagnostics.append(diagnostic)
        case .toolCallRequested, .approvalRequested, .toolCallCompleted:
            preconditionFailure("the engine runs no tools")
        case .completed: self.completions += 1
        }
    }

    private mutating func append(_ text: String, to kind: WritableKeyPath<Self, String>) {
        if text.isEmpty { self.emptyDeltas += 1 }
        self[keyPath: kind] += text
    }
}

extension ChappieStreamingTransport {
    /// An empty report.
    static var emptyReport: ChappieStreamReport {
        ChappieStreamingTransport(configuration: .loopback("http://127.0.0.1:1")).streamHandle(.init(prompt: "")).report
    }

    /// Reads one stream to its end.
    func outcome(of request: ChappieTransportRequest = ChappieTransportRequest(prompt: "hi", model: "m")) async
        -> StreamOutcome
    {
        let handle = self.streamHandle(request)
        var outcome = StreamOutcome()
        do {
            for try await event in handle.events { outcome.add(event) }
        } catch {
            outcome.error = error
        }
        outcome.report = handle.report
        outcome.serverMessage = handle.serverMessage
        return outcome
    }
}

extension ChappieTransportConfiguration {
    /// A configuration for a server on loopback: no delays between attempts, diagnostics on, and no proxy, whatever the
    /// environment says.
    static func loopback(_ baseURL: String, _ change: (inout Self) -> Void = { _ in }) -> Self {
        guard let url = URL(string: baseURL) else { preconditionFailure("not a URL") }
        var configuration = Self(baseURL: url)
        configuration.reconnectDelay = .zero
        configuration.rateLimitBackoff = ChappieRateLimitBackoffPolicy(initialDelay: .zero)
        configuration.reportsDiagnostics = true
        configuration.proxy = .none
        configuration.policy = Wire.webSocket.policy
        change(&configuration)
        return configuration
    }
}

/// A server that lives as long as `body` runs.
func withServer<Result>(
    _ configuration: ChappieTestServer.Configuration,
    _ body: (ChappieTestServer) async throws -> Result
) async throws -> Result {
    let server = try ChappieTestServer(configuration: configuration)
    defer { server.stop() }
    return try await body(server)
}

/// Both transports, as policies.
enum Wire: String, CaseIterable, Sendable {
    case webSocket
    case httpSSE

    /// The default policy, or HTTP alone; without a hedge, which a busy machine would add to an upgrade.
    var policy: ChappieStreamingTransportPolicy {
        guard self == .webSocket else { return .httpSSEOnly }
        var policy = ChappieStreamingTransportPolicy.default
        policy.hedgeDelay = nil
        return policy
    }
}
