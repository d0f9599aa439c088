import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// One turn against a server of its own, as both ends saw it.
struct LoopbackTurn: Sendable {
    let outcome: StreamOutcome
    let log: [ChappieTestServer.RequestRecord]

    /// Text alone, in many small deltas: event 20 is in the middle of it.
    static let model: ChappieTestServer.ScriptedModel = {
        var model = ChappieTestServer.ScriptedModel(seed: 11, textByteCount: 700)
        model.includesReasoning = false
        return model
    }()

    /// Runs one turn against the faults.
    static func run(
        _ faults: [ChappieTestServer.Fault] = [],
        over wire: Wire = .webSocket,
        server change: (inout ChappieTestServer.Configuration) -> Void = { _ in },
        client: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async throws -> Self {
        var configuration = ChappieTestServer.Configuration(model: .scripted(Self.model), faults: faults)
        change(&configuration)
        return try await withServer(configuration) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { configuration in
                    configuration.policy = wire.policy
                    client(&configuration)
                })
            let outcome = await transport.outcome()
            return Self(outcome: outcome, log: server.log)
        }
    }

    /// Runs one turn in a dialect; the policy prefers a WebSocket, which only the Responses API has.
    static func run(
        _ faults: [ChappieTestServer.Fault] = [], in dialect: ChappieDialect,
        server: (inout ChappieTestServer.Configuration) -> Void = { _ in },
        client: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async throws -> Self {
        try await self.run(faults, over: .webSocket, server: server) { configuration in
            configuration.dialect = dialect
            client(&configuration)
        }
    }

    /// Returns a change after which a server answers each request with lines of an event stream's data.
    static func answering(_ lines: [String]) -> (inout ChappieTestServer.Configuration) -> Void {
        { $0.model = .custom { _ in lines } }
    }

    /// The transports of the attempts, as the server saw them.
    var transports: [ChappieTestServer.Transport] { self.log.map(\.transport) }
}

extension Wire {
    /// The transport alone: no fallback, as many retries as the default.
    var alone: ChappieStreamingTransportPolicy {
        self == .webSocket ? ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false) : .httpSSEOnly
    }

    /// The transport in reports.
    var kind: ChappieTransportKind { self == .webSocket ? .webSocket : .httpSSE }
}

/// The expected facts of a turn that failed below HTTP.
struct ExpectedFailure: Sendable {
    var code: ChappieTransportFailure.Code
    /// The stable tag; nil when no attempt came far enough to be in the report.
    var tag: String?
    var phase: ChappieTransportFailure.Phase
    var attempts: Int
    var safety: ChappieTransportFailure.ReplaySafety
}

extension StreamOutcome {
    /// The response is whole, came once, and ended in order.
    func expectWhole(
        _ text: String = LoopbackTurn.model.fullText,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(self.error == nil, sourceLocation: sourceLocation)
        #expect(self.text == text, sourceLocation: sourceLocation)
        #expect(self.completions == 1, sourceLocation: sourceLocation)
        #expect(self.emptyDeltas == 0, sourceLocation: sourceLocation)
        #expect(self.eventsAfterCompletion == 0, sourceLocation: sourceLocation)
        #expect(self.report.attempts.last?.outcome == "completed", sourceLocation: sourceLocation)
    }

    /// The stream threw this failure, after it had delivered a beginning of the text, once.
    func expectFailure(
        _ expected: ExpectedFailure,
        over wire: Wire,
        deliversText: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(self.completions == 0, sourceLocation: sourceLocation)
        self.expectBeginning(deliversText: deliversText, sourceLocation: sourceLocation)
        guard let failure = self.transportFailure else {
            Issue.record("not a transport failure: \(String(describing: self.error))", sourceLocation: sourceLocation)
            return
        }
        #expect(failure.code == expected.code, sourceLocation: sourceLocation)
        #expect(failure.phase == expected.phase, sourceLocation: sourceLocation)
        #expect(failure.attempts == expected.attempts, sourceLocation: sourceLocation)
        #expect(failure.replaySafety == expected.safety, sourceLocation: sourceLocation)
        #expect(failure.transport == wire.kind, sourceLocation: sourceLocation)
        #expect(self.report.attempts.last?.outcome == expected.tag, sourceLocation: sourceLocation)
    }

    /// Expects that the delivered text is a beginning of the whole text.
    func expectBeginning(deliversText: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(self.text.isEmpty != deliversText, sourceLocation: sourceLocation)
        #expect(
            LoopbackTurn.model.fullText.utf8.starts(with: self.text.utf8), "not a beginning of the response",
            sourceLocation: sourceLocation)
    }

    /// The kinds of the diagnostics, in order.
    var diagnosticKinds: [ChappieDiagnostic.Kind] { self.diagnostics.map(\.kind) }
}
