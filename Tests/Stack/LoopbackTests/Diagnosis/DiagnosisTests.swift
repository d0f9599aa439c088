// Examinations of healthy paths on loopback, and the end of an examination.
import ChappieTestServer
import ChappieTransport
import Foundation
import PathDiagnosis
import Testing

@testable import ChappieDiagnosis

@Suite(.timeLimit(.minutes(10))) struct DiagnosisTests: ExaminingSuite {
    private static func outcomes(_ report: ChappieDiagnosis.Report) -> [ChappieDiagnosis.Step: ChappieDiagnosis.Outcome]
    {
        Dictionary(uniqueKeysWithValues: report.steps.map { ($0.step, $0.outcome) })
    }

    @Test func aServerOnLoopbackWorks() async throws {
        let report = try await Self.report(of: .init(), pace: .patient(.whole))
        #expect(report.sentence == "WebSockets and HTTP work.")
        #expect(report.verdict == .works && report.causes.isEmpty)
        let expected: [ChappieDiagnosis.Step: ChappieDiagnosis.Outcome] = [
            .environment: .ok, .resolve: .skipped, .connect: .ok, .proxy: .skipped, .tls: .skipped, .http: .ok,
            .credential: .skipped, .webSocket: .ok, .compression: .ok, .earlyClose: .ok, .messages: .skipped,
            .pings: .ok, .eventStream: .skipped, .idle: .skipped,
        ]
        #expect(Self.outcomes(report) == expected)
        #expect(report.result(of: .pings)?.words.hasSuffix("10 of 10 answered") == true)
    }

    @Test func noRequestAsksTheModel() async throws {
        try await withServer(.init()) { server in
            _ = try await Self.report(server.baseURL, key: "key")
            // The upgrade is an attempt, on which no message follows, and so is the POST, which has no content.
            #expect(server.log.map(\.transport) == [.webSocket, .http])
            #expect(server.log.flatMap(\.bodies).allSatisfy { $0.isEmpty })
        }
    }

    @Test func aNameOfBothFamiliesWorksWhereOneRefuses() async throws {
        try await withServer(.init()) { server in
            let report = try await Self.report("http://localhost:\(server.port)/v1")
            #expect(report.verdict == .works)
            #expect(report.result(of: .resolve)?.outcome == .ok)
        }
    }

    @Test func tlsIsDescribed() async throws {
        let server = try TLSServer()
        let report = try await Self.report("https://127.0.0.1:\(server.server.port)/v1") {
            $0.tls.trust = .file(path: server.trustPath)
        }
        #expect(report.verdict == .works)
        let tls = try #require(report.result(of: .tls))
        #expect(tls.outcome == .ok && tls.words.hasPrefix("TLSv1."))
        #expect(tls.fullWords.first?.hasPrefix("issuer: ") == true)
    }

    @Test func aClockThatIsWrongIsNoticed() async throws {
        let server = try AnsweringServer(
            AnsweringServer.response(
                "404 Not Found", ["Content-Type: application/json", "Date: Sun, 06 Nov 1994 08:49:37 GMT"], body: "{}"))
        let report = try await Self.report(server.baseURL)
        #expect(report.causes.contains { $0.name == "environment.clock" })
    }

    @Test func theAgeOfACachedAnswerIsNoWrongClock() async throws {
        let date = Int(Date().timeIntervalSince1970) - 784_111_777
        let server = try AnsweringServer(
            AnsweringServer.response(
                "404 Not Found",
                [
                    "Content-Type: application/json", "Date: Sun, 06 Nov 1994 08:49:37 GMT", "Age: \(date)",
                ], body: "{}"))
        let report = try await Self.report(server.baseURL)
        #expect(report.causes.allSatisfy { $0.name != "environment.clock" })
    }

    @Test func aCancelledExaminationEndsAtOnce() async throws {
        let hole = try BlackHole(.first)
        let task = Task {
            try await ChappieDiagnosis.run(.loopback("http://127.0.0.1:\(hole.port)/v1"), extent: .whole)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func aConfigurationThatCannotBeSentIsRefused() async throws {
        await #expect(throws: ChappieArgumentError.self) {
            try await ChappieDiagnosis.run(.loopback("ftp://127.0.0.1/v1"))
        }
    }
}
