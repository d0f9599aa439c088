import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Requests that cannot be sent, and servers that cannot be reached or trusted.
@Suite(.timeLimit(.minutes(10))) struct UnreachableServerTests {
    private func outcome(
        _ baseURL: String, over wire: Wire, request: ChappieTransportRequest = .init(prompt: "hi", model: "m"),
        _ change: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async -> StreamOutcome {
        await ChappieStreamingTransport(
            configuration: .loopback(baseURL) { configuration in
                configuration.policy = wire.alone
                change(&configuration)
            }
        ).outcome(of: request)
    }

    // MARK: Names and ports

    @Test(arguments: Wire.allCases)
    func closedPortIsTriedTwice(over wire: Wire) async throws {
        let port = try ClosedPort()
        let outcome = await self.outcome(port.baseURL, over: wire)
        withExtendedLifetime(port) {}
        outcome.expectFailure(
            ExpectedFailure(
                code: .unreachable, tag: "connect.failed", phase: .connect, attempts: 2, safety: .notSent),
            over: wire)
        #expect(outcome.transportFailure?.details.systemCode == Int(ECONNREFUSED))
    }

    @Test func unreachableServerCondemnsNoTransport() async throws {
        let port = try ClosedPort()
        let outcome = await self.outcome(port.baseURL, over: .webSocket) { $0.policy = Wire.webSocket.policy }
        withExtendedLifetime(port) {}
        outcome.expectFailure(
            ExpectedFailure(
                code: .unreachable, tag: "connect.failed", phase: .connect, attempts: 4, safety: .notSent),
            over: .httpSSE)
        #expect(outcome.report.attempts.map(\.transport) == [.webSocket, .webSocket, .httpSSE, .httpSSE])
    }

    /// A port that is taken without a listener, so that no other test can get it meanwhile.
    final class ClosedPort {
        private let descriptor: CInt
        let port: UInt16

        var baseURL: String { "http://127.0.0.1:\(self.port)/v1" }

        init() throws {
            let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutableBytes(of: &address) { bytes in
                let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
                return bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
            }
            try #require(isBound)
            self.descriptor = descriptor
            self.port = UInt16(bigEndian: address.sin_port)
        }

        deinit {
            close(self.descriptor)
        }
    }

    @Test(arguments: Wire.allCases)
    func aHostWithoutAnAddressIsTriedTwice(over wire: Wire) async throws {
        let outcome = await self.outcome("http://nonexistent.invalid/v1", over: wire)
        outcome.expectFailure(
            ExpectedFailure(
                code: .unresolvable, tag: "resolve.failed", phase: .resolve, attempts: 2, safety: .notSent),
            over: wire)
        #expect(outcome.transportFailure?.details.systemCode != nil)
    }

    // MARK: Certificates

    enum Trust: CaseIterable { case system, missingFile, notPEM, issuer }

    private func outcome(
        certificate: ChappieTestServer.TLSOptions.Certificate, trust: Trust, over wire: Wire
    ) async throws -> StreamOutcome {
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        configuration.tls = .init(certificate: certificate)
        return try await withServer(configuration) { server in
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("ca-\(UUID().uuidString).pem")
            defer { try? FileManager.default.removeItem(at: file) }
            switch trust {
            case .system, .missingFile: break
            case .notPEM: try "this is not PEM".write(to: file, atomically: true, encoding: .utf8)
            case .issuer: try #require(server.caPEM).write(to: file, atomically: true, encoding: .utf8)
            }
            return await self.outcome(server.baseURL, over: wire) {
                $0.tls.trust = trust == .system ? .system : .file(path: file.path)
            }
        }
    }

    @Test(arguments: Wire.allCases)
    func aCertificateOfATrustedIssuerIsAccepted(over wire: Wire) async throws {
        try await self.outcome(certificate: .valid, trust: .issuer, over: wire).expectWhole()
    }

    @Test(arguments: Wire.allCases, [ChappieTestServer.TLSOptions.Certificate.expired, .wrongName])
    func aBadCertificateIsNotRetried(over wire: Wire, certificate: ChappieTestServer.TLSOptions.Certificate)
        async throws
    {
        let outcome = try await self.outcome(certificate: certificate, trust: .issuer, over: wire)
        outcome.expectFailure(Self.rejected, over: wire)
        // OpenSSL: X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH.
        let code = outcome.transportFailure?.details.systemCode ?? 0
        #expect(certificate == .expired ? code == 10 : [62, 64].contains(code))
    }

    @Test(arguments: Wire.allCases)
    func aCertificateOfAnUnknownIssuerIsNotRetried(over wire: Wire) async throws {
        let outcome = try await self.outcome(certificate: .valid, trust: .system, over: wire)
        outcome.expectFailure(Self.rejected, over: wire)
        // OpenSSL: X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN and X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY.
        #expect([19, 20].contains(outcome.transportFailure?.details.systemCode))
    }

    private static let rejected = ExpectedFailure(
        code: .certificateRejected, tag: "tls.certificate", phase: .tls, attempts: 1, safety: .notSent)

    @Test(arguments: Wire.allCases, [Trust.missingFile, .notPEM])
    func aFileWithoutTrustAnchorsIsNotRetried(over wire: Wire, trust: Trust) async throws {
        let outcome = try await self.outcome(certificate: .valid, trust: trust, over: wire)
        outcome.expectFailure(
            ExpectedFailure(
                code: .trustAnchorsUnreadable, tag: "tls.trust-anchors", phase: .tls, attempts: 1, safety: .notSent),
            over: wire)
    }

    // MARK: Requests

    @Test(arguments: ["ftp://127.0.0.1/v1", "file:///v1", "http:///v1", "127.0.0.1/v1"])
    func aBaseURLThatNamesNoServerIsNotRetried(_ baseURL: String) async {
        let outcome = await self.outcome(baseURL, over: .webSocket)
        outcome.expectFailure(
            ExpectedFailure(code: .invalidRequest, tag: nil, phase: .send, attempts: 0, safety: .notSent),
            over: .webSocket)
        #expect(outcome.transportFailure?.details.detail?.isEmpty == false)
    }

    @Test(arguments: ["this is not JSON", "[]", "{", ""])
    func aBodyThatIsNotAJSONObjectIsNotSent(_ body: String) async throws {
        let server = try ChappieTestServer()
        defer { server.stop() }
        let outcome = await self.outcome(
            server.baseURL, over: .webSocket, request: ChappieTransportRequest(body: Array(body.utf8)))
        outcome.expectFailure(
            ExpectedFailure(code: .invalidRequest, tag: nil, phase: .send, attempts: 0, safety: .notSent),
            over: .webSocket)
        #expect(server.log.isEmpty)
    }

    @Test(arguments: Wire.allCases, ["a\r\nX-Second: b", "a\nb", "a\u{0}b"])
    func aFieldThatWouldBecomeTwoIsNotSent(over wire: Wire, value: String) async throws {
        let server = try ChappieTestServer()
        defer { server.stop() }
        let outcome = await self.outcome(server.baseURL, over: wire) {
            $0.additionalFields = [(name: "X-First", value: value)]
        }
        outcome.expectFailure(
            ExpectedFailure(code: .invalidRequest, tag: nil, phase: .send, attempts: 0, safety: .notSent),
            over: wire)
        #expect(server.log.isEmpty)
    }
}
