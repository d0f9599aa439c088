import ChappieTransport
import Foundation
import Testing

/// A server at an IPv6 address, played by OpenSSL's own.
@Suite(.timeLimit(.minutes(10))) struct TLSAddressTests {
    /// `openssl s_server` on a free port of ::1, with a certificate of its own.
    private final class Server {
        private let process: ChildProcess
        private let directory: TemporaryDirectory
        let port: Int
        let trustPath: String

        init(names: String) async throws {
            self.directory = try TemporaryDirectory()
            let (certificate, key) = (self.directory.path(of: "cert.pem"), self.directory.path(of: "key.pem"))
            self.trustPath = certificate
            try #require(
                try await run(
                    "/usr/bin/openssl",
                    [
                        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", "/CN=address", "-addext", "subjectAltName=\(names)", "-keyout", key, "-out",
                        certificate,
                    ]
                ).status == 0)
            self.process = try ChildProcess(
                "/usr/bin/openssl", ["s_server", "-accept", "[::1]:0", "-cert", certificate, "-key", key, "-www"])
            // The port stands behind the last colon.
            let line = await self.process.line(containing: "ACCEPT [::1]:")
            self.port = try #require(line?.split(separator: ":").last.flatMap { Int($0) })
        }
    }

    private func outcome(names: String, over wire: Wire) async throws -> StreamOutcome {
        let server = try await Server(names: names)
        defer { withExtendedLifetime(server) {} }
        return await ChappieStreamingTransport(
            configuration: .loopback("https://[::1]:\(server.port)/v1") {
                $0.policy = wire.alone
                $0.tls.trust = .file(path: server.trustPath)
            }
        ).outcome()
    }

    /// The server answers with a page, which says that TLS stood.
    @Test func anAddressInBracketsIsVerified() async throws {
        let outcome = try await self.outcome(names: "IP:::1", over: .webSocket)
        #expect(outcome.report.attempts.first?.statusCode == 200)
    }

    @Test(arguments: Wire.allCases)
    func anotherAddressIsRefused(over wire: Wire) async throws {
        let outcome = try await self.outcome(names: "IP:::2,DNS:localhost", over: wire)
        #expect(outcome.transportFailure?.code == .certificateRejected)
        #expect(outcome.transportFailure?.details.detail == "wrong-host")
        #expect(outcome.transportFailure?.details.issuer == "CN=address")
    }
}
