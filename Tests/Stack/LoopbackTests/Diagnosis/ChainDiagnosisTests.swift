// Examinations of servers with an intermediate authority: its certificate is sent, missing, or expired.
import ChappieTestServer
import ChappieTransport
import Foundation
import PathDiagnosis
import Testing

@testable import ChappieDiagnosis

@Suite(.timeLimit(.minutes(10))) struct ChainDiagnosisTests {
    private static let issuer = "CN=ChappieTestServer Intermediate"

    private static func server(_ intermediate: ChappieTestServer.TLSOptions.Intermediate) throws -> TLSServer {
        var options = ChappieTestServer.TLSOptions()
        options.intermediate = intermediate
        return try TLSServer(options)
    }

    private static func report(of server: TLSServer) async throws -> ChappieDiagnosis.Report {
        try await ChappieDiagnosis.run(
            .loopback("https://127.0.0.1:\(server.server.port)/v1") { $0.tls.trust = .file(path: server.trustPath) },
            pace: .patient(.fast))
    }

    /// The certificates are valid for thirty days from the second in which they were made.
    private static func dated(_ words: String) -> String { words.replacing("30 days", with: "29 days") }

    /// Everything that is shown to anyone.
    private static func words(of report: ChappieDiagnosis.Report) -> String {
        let causes = report.causes.flatMap { [$0.sentence] + $0.evidence + $0.remedies }
        return ([report.sentence] + causes + report.steps.map(\.words)).joined(separator: "\n")
    }

    /// The second examination may resume a session, whose certificates are those of the first handshake.
    @Test func certificateChainIsReportedForFirstAndLaterExaminations() async throws {
        let server = try Self.server(.sent)
        for _ in 1...2 {
            let report = try await Self.report(of: server)
            #expect(report.verdict == .works, "\(report)")
            let tls = try #require(report.result(of: .tls))
            #expect(Self.dated(tls.words).hasSuffix(", 2 certificates, the server's valid for 29 days"), "\(tls.words)")
            #expect(
                tls.fullWords.map(Self.dated) == [
                    "issuer: \(Self.issuer)",
                    "certificate 1: CN=localhost, issued by \(Self.issuer), valid for 29 days",
                    "certificate 2: \(Self.issuer), issued by CN=ChappieTestServer CA, valid for 29 days",
                ])
            #expect(!Self.words(of: report).contains("CN=localhost"))
        }
    }

    @Test func aMissingIntermediateIsNamed() async throws {
        let server = try Self.server(.missing)
        let report = try await Self.report(of: server)
        #expect(report.verdict == .fails)
        #expect(report.causes.map(\.name) == ["tls.incomplete-chain"], "\(report)")
        #expect(
            report.causes.first?.evidence == [
                "its issuer is not known (issuer: \(Self.issuer))",
                "the server sent 1 certificate, and none of that issuer",
            ])
        #expect(
            report.result(of: .tls)?.fullWords.map(Self.dated)
                == ["certificate 1: CN=localhost, issued by \(Self.issuer), valid for 29 days"])
        #expect(!Self.words(of: report).contains("CN=localhost"))
    }

    @Test func anExpiredIntermediateIsNoExpiredCertificateOfTheServer() async throws {
        let server = try Self.server(.expired)
        let report = try await Self.report(of: server)
        #expect(report.verdict == .fails)
        #expect(report.causes.map(\.name) == ["tls.authority-expired"], "\(report)")
        #expect(report.causes.first?.evidence.last == "it is number 2 of the 2 certificates that the server sent")
        #expect(report.result(of: .tls)?.fullWords.last?.hasSuffix(", expired 24 h ago") == true)
    }

    /// An authority that signs the certificates of servers itself is unknown, and nothing is missing.
    @Test func anUnknownAuthorityIsNoMissingIntermediate() async throws {
        let (server, other) = (try TLSServer(), try TLSServer())
        let report = try await ChappieDiagnosis.run(
            .loopback("https://127.0.0.1:\(server.server.port)/v1") { $0.tls.trust = .file(path: other.trustPath) },
            pace: .patient(.fast))
        #expect(report.causes.map(\.name) == ["tls.unknown-issuer"], "\(report)")
        #expect(report.result(of: .tls)?.fullWords.count == 1)
    }
}
