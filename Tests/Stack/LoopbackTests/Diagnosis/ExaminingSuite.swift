// Functions that the suites of examinations on loopback share.
import ChappieTestServer
import ChappieTransport
import PathDiagnosis
import Testing

@testable import ChappieDiagnosis

extension ExaminationPace {
    /// Returns the pace of an extent, with time limits for a machine that has other work.
    ///
    /// An examination takes no longer for them, unless a step has no answer and waits for all of `step`.
    static func patient(_ extent: ChappieDiagnosis.Extent, step: Duration = .seconds(60)) -> Self {
        let pace = extent.pace
        return Self(
            total: .seconds(300), step: step, answer: .seconds(60), pingCount: pace.pingCount,
            eventCount: pace.eventCount, eventInterval: pace.eventInterval, paddingByteCount: pace.paddingByteCount)
    }
}

/// A suite of examinations of real paths on loopback, each with a fault that was put there.
protocol ExaminingSuite {}

extension ExaminingSuite {
    static func report(
        _ baseURL: String, key: String? = nil, pace: ExaminationPace = ChappieDiagnosis.Extent.whole.pace,
        _ change: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async throws -> ChappieDiagnosis.Report {
        let configuration = ChappieTransportConfiguration.loopback(baseURL) { configuration in
            if let key { configuration.credential = { _ in ChappieCredential(bearerToken: key) } }
            change(&configuration)
        }
        return try await ChappieDiagnosis.run(configuration, pace: pace)
    }

    static func report(
        of server: ChappieTestServer.Configuration, key: String? = nil,
        pace: ExaminationPace = ChappieDiagnosis.Extent.whole.pace,
        _ change: @escaping (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async throws -> ChappieDiagnosis.Report {
        try await withServer(server) { try await Self.report($0.baseURL, key: key, pace: pace, change) }
    }

    /// Examines a server with faults.
    static func report(with faults: [ChappieTestServer.Fault]) async throws -> ChappieDiagnosis.Report {
        try await Self.report(of: .init(model: .text("x"), faults: faults))
    }

    static func expect(
        _ name: String, _ verdict: ChappieDiagnosis.Verdict, in report: ChappieDiagnosis.Report,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(report.causes.first?.name == name, "\(report)", sourceLocation: sourceLocation)
        #expect(report.verdict == verdict, sourceLocation: sourceLocation)
    }

    /// Starts a server whose status line depends on whether a request has the key, and on whether it is the GET of the
    /// models; with nil it cuts the connection.
    static func server(
        _ status: @escaping @Sendable (_ hasKey: Bool, _ isList: Bool) -> String?
    ) throws -> AnsweringServer {
        try AnsweringServer { head in
            let hasKey = head.lowercased().contains("\r\nauthorization: bearer ")
            return status(hasKey, head.hasPrefix("GET /v1/models ")).map {
                AnsweringServer.response($0, ["Content-Type: application/json"], body: "{}")
            } ?? ""
        }
    }
}
