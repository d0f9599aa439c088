// Functions that the suites of examinations on loopback share.
import ChappieDiagnosis
import ChappieTestServer
import ChappieTransport
import PathDiagnosis
import Testing

/// A suite of examinations of real paths on loopback, each with a fault that was put there.
protocol ExaminingSuite {}

extension ExaminingSuite {
    static func report(
        _ baseURL: String, key: String? = nil, extent: ChappieDiagnosis.Extent = .whole,
        _ change: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async throws -> ChappieDiagnosis.Report {
        let configuration = ChappieTransportConfiguration.loopback(baseURL) { configuration in
            if let key { configuration.credential = { _ in ChappieCredential(bearerToken: key) } }
            change(&configuration)
        }
        return try await ChappieDiagnosis.run(configuration, extent: extent)
    }

    static func report(
        of server: ChappieTestServer.Configuration, key: String? = nil,
        _ change: @escaping (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async throws -> ChappieDiagnosis.Report {
        try await withServer(server) { try await Self.report($0.baseURL, key: key, change) }
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
