// One turn of the real client.
//
// Runs on its caller's task.
import ChappieTransport
import Foundation

/// The configuration of a client for a run.
struct ClientTurn: Sendable {
    /// The server's port.
    var port: Int
    /// The wire that it prefers.
    var wire: Wire
    /// The API that the server speaks.
    var dialect = ChappieDialect.responses
    /// The value of the field that names a run; nil for a server that needs none.
    var run: Int?
    /// Indicates whether a silent server is given up after a few hundred milliseconds.
    var isImpatient = false
    /// Indicates whether an answer that differs from what was delivered replaces it.
    var restarts = false
    /// Indicates whether every event is kept.
    var isRecorded = false

    /// The quiet after which a ping is sent, and the time for its answer: the service looks each 100 ms.
    private static let pingDuration = Duration.milliseconds(100)
    /// The budget of all other waits.
    private static let shortBudget = Duration.milliseconds(300)

    /// Reads a whole stream; `begun` is given the way to stop it.
    func transcript(_ begun: (ChappieStreamHandle) -> Void = { _ in }) async -> Transcript {
        var transcript = Transcript(keepsEvents: self.isRecorded)
        guard let configuration = self.configuration else { return transcript }
        let transport = ChappieStreamingTransport(configuration: configuration)
        let handle = transport.streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
        begun(handle)
        do {
            for try await event in handle.events { transcript.add(event) }
        } catch {
            transcript.error = error
        }
        transcript.report = handle.report
        transcript.response = handle.response
        return transcript
    }

    private var configuration: ChappieTransportConfiguration? {
        guard let url = URL(string: "http://127.0.0.1:\(self.port)/v1") else { return nil }
        var configuration = ChappieTransportConfiguration(baseURL: url)
        if let run { configuration.additionalFields = [(ReplayServer.runField, String(run))] }
        configuration.dialect = self.dialect
        configuration.policy = self.wire.isWebSocket ? .default : .httpSSEOnly
        if self.restarts { configuration.policy.divergence = .restarts }
        configuration.reconnectDelay = .milliseconds(1)
        configuration.rateLimitBackoff = ChappieRateLimitBackoffPolicy(initialDelay: .zero)
        configuration.reportsDiagnostics = true
        configuration.proxy = .none
        configuration.offersCompression = self.wire.isCompressed
        if self.isImpatient {
            configuration.timeouts.connect = Self.shortBudget
            configuration.timeouts.firstEvent = Self.shortBudget
            configuration.timeouts.idle = Self.shortBudget
            configuration.timeouts.pingInterval = Self.pingDuration
            configuration.timeouts.pongTimeout = Self.pingDuration
        }
        return configuration
    }
}
