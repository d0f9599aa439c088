import ChappieTestServer
import ChappieTransport
import Foundation
import StreamTransport
import Testing

/// The requirements of a program on a server, and the certificate that it presents.
@Suite(.timeLimit(.minutes(10))) struct TLSPolicyTests {
    private static let refused = ExpectedFailure(
        code: .keyNotPinned, tag: "tls.pin", phase: .tls, attempts: 1, safety: .notSent)

    /// The digest of a certificate's key, as the documentation says to get it.
    private static func pin(of certificatePath: String) async throws -> String {
        let key = try await run("/usr/bin/openssl", ["x509", "-in", certificatePath, "-noout", "-pubkey"]).output
        let coded = try await run(
            "/usr/bin/openssl", ["pkey", "-pubin", "-outform", "der"], input: String(decoding: key, as: UTF8.self)
        ).output
        let file = try TemporaryDirectory()
        try coded.write(to: file.url.appendingPathComponent("key"))
        let digest = try await run(
            "/usr/bin/openssl", ["dgst", "-sha256", "-binary", file.path(of: "key")]
        ).output
        return digest.base64EncodedString()
    }

    private static let unrelated = Data(repeating: 7, count: 32).base64EncodedString()

    // MARK: Pinned keys

    @Test(arguments: Wire.allCases)
    func anyKeyOfTheChainMayBePinned(over wire: Wire) async throws {
        let server = try TLSServer()
        let leaf = try server.write(try #require(server.server.certificatePEM), to: "leaf.pem")
        let pins = [try await Self.pin(of: leaf), try await Self.pin(of: server.trustPath)]
        #expect(Set(pins).count == 2)
        for pin in pins {
            for text in [pin, "sha256//" + pin, "sha256/" + pin] {
                let keys: Set = [try ChappiePinnedKey(text), try ChappiePinnedKey(Self.unrelated)]
                await server.turn(over: wire) { $0.tls.pinnedKeys = keys }.expectWhole()
            }
        }
    }

    @Test(arguments: Wire.allCases)
    func aKeyThatIsNotPinnedIsNotRetriedAndNotResumed(over wire: Wire) async throws {
        let server = try TLSServer()
        let keys: Set = [try ChappiePinnedKey(Self.unrelated)]
        for _ in 0..<2 {
            // The first turn leaves a session behind, which the second one must not use.
            await server.turn(over: wire).expectWhole()
            let outcome = await server.turn(over: wire) { $0.tls.pinnedKeys = keys }
            outcome.expectFailure(Self.refused, over: wire)
            #expect(outcome.transportFailure?.details.detail == "not-pinned")
        }
        #expect(server.server.log.count == 2)
    }

    @Test func aPinDoesNotReplaceTheVerification() async throws {
        let server = try TLSServer(.init(certificate: .expired))
        let leaf = try server.write(try #require(server.server.certificatePEM), to: "leaf.pem")
        let keys: Set = [try ChappiePinnedKey(try await Self.pin(of: leaf))]
        let outcome = await server.turn(over: .httpSSE) { $0.tls.pinnedKeys = keys }
        #expect(outcome.transportFailure?.details.detail == "expired")
    }

    // MARK: Trust anchors

    @Test func theServersOwnCertificateMayBeTheAnchor() async throws {
        let server = try TLSServer()
        let leaf = try server.write(try #require(server.server.certificatePEM), to: "leaf.pem")
        await server.turn(over: .webSocket) { $0.tls.trust = .file(path: leaf) }.expectWhole()
        let alone = try TLSServer(.init(certificate: .selfSigned))
        let own = try alone.write(try #require(alone.server.certificatePEM), to: "leaf.pem")
        await alone.turn(over: .webSocket) { $0.tls.trust = .file(path: own) }.expectWhole()
    }

    @Test func severalAnchorsAreOneFile() async throws {
        let (one, other) = (try TLSServer(), try TLSServer())
        let both = "words before\n" + (try #require(one.server.caPEM)) + (try #require(other.server.caPEM))
        let path = try one.write(both, to: "both.pem")
        for server in [one, other] {
            await server.turn(over: .httpSSE) { $0.tls.trust = .file(path: path) }.expectWhole()
        }
    }

    enum Unreadable: CaseIterable { case missing, empty, words, directory, cutOff, keyAlone, revocationsAlone }

    @Test(arguments: Wire.allCases, Unreadable.allCases)
    func aFileWithoutACertificateIsNotRetried(over wire: Wire, kind: Unreadable) async throws {
        var options = ChappieTestServer.TLSOptions()
        options.requiresClientCertificate = true
        let server = try TLSServer(options)
        let whole = try #require(server.server.caPEM)
        let path =
            switch kind {
            case .missing: server.trustPath + ".missing"
            case .empty: try server.write("", to: "anchors")
            case .words: try server.write("no certificate at all\n", to: "anchors")
            case .directory: NSTemporaryDirectory()
            case .cutOff: try server.write(whole + String(whole.prefix(200)), to: "anchors")
            case .revocationsAlone: try await Self.revocationList(in: server)
            case .keyAlone: try server.write(try #require(server.server.clientCertificate).keyPEM, to: "anchors")
            }
        let outcome = await server.turn(over: wire) { $0.tls.trust = .file(path: path) }
        outcome.expectFailure(
            ExpectedFailure(
                code: .trustAnchorsUnreadable, tag: "tls.trust-anchors", phase: .tls, attempts: 1, safety: .notSent),
            over: wire)
        #expect(server.server.connectionCount == 0)
    }

    /// Returns the path of a list that contains neither a revoked certificate nor a certificate of its own.
    private static func revocationList(in server: TLSServer) async throws -> String {
        let authority = try server.write("", to: "authority")
        let (key, list) = (try server.write("", to: "key"), try server.write("", to: "list"))
        let index = try server.write("", to: "index")
        let settings = try server.write(
            "[ca]\ndefault_ca=a\n[a]\ndatabase=\(index)\ndefault_md=sha256\ndefault_crl_days=2\n", to: "settings")
        let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        let made = try await run(
            "/usr/bin/openssl", ["req", "-x509", "-subj", "/CN=a", "-keyout", key, "-out", authority] + curve)
        let listed = try await run(
            "/usr/bin/openssl",
            ["ca", "-gencrl", "-config", settings, "-keyfile", key, "-cert", authority, "-out", list])
        try #require(made.status == 0 && listed.status == 0)
        return list
    }

    // MARK: Client certificates

    private struct Client {
        let server: TLSServer
        var certificate: ChappieTLSPolicy.ClientCertificate

        init(_ version: ChappieTestServer.TLSOptions.Version? = nil) throws {
            var options = ChappieTestServer.TLSOptions()
            options.requiresClientCertificate = true
            options.version = version
            self.server = try TLSServer(options)
            let client = try #require(self.server.server.clientCertificate)
            self.certificate = ChappieTLSPolicy.ClientCertificate(
                certificatePath: try self.server.write(client.certificatePEM, to: "client.pem"),
                privateKeyPath: try self.server.write(client.keyPEM, to: "client.key"))
        }
    }

    @Test(arguments: Wire.allCases, [ChappieTestServer.TLSOptions.Version.tls12, .tls13])
    func clientCertificateIsPresentedOnRequest(
        over wire: Wire, version: ChappieTestServer.TLSOptions.Version
    ) async throws {
        let client = try Client(version)
        for _ in 0..<2 {
            await client.server.turn(over: wire) { $0.tls.clientCertificate = client.certificate }.expectWhole()
        }
        #expect(client.server.server.log.map(\.isTLSResumed) == [false, true])
    }

    /// In TLS 1.3 the request is on its way before the server has said that it wants another client.
    @Test(arguments: Wire.allCases, [ChappieTestServer.TLSOptions.Version.tls12, .tls13])
    func missingClientCertificateIsNamed(over wire: Wire, version: ChappieTestServer.TLSOptions.Version) async throws {
        let client = try Client(version)
        let outcome = await client.server.turn(over: wire)
        let isLate = version == .tls13
        outcome.expectFailure(
            ExpectedFailure(
                code: .tlsHandshakeFailed, tag: "tls.handshake", phase: .tls, attempts: isLate ? 1 : 2,
                safety: .notSent),
            over: wire)
        #expect(outcome.transportFailure?.details.systemCode == (isLate ? 116 : 40))
        #expect(outcome.transportFailure?.details.detail == (isLate ? "certificate-required" : "handshake-failure"))
        #expect(client.server.server.log.isEmpty)
    }

    @Test(arguments: Wire.allCases, [ChappieTestServer.TLSOptions.Version.tls12, .tls13])
    func clientCertificateOfAnotherAuthorityIsReported(
        over wire: Wire, version: ChappieTestServer.TLSOptions.Version
    ) async throws {
        let (client, other) = (try Client(version), try Client())
        let outcome = await client.server.turn(over: wire) { $0.tls.clientCertificate = other.certificate }
        outcome.expectFailure(
            ExpectedFailure(
                code: .tlsHandshakeFailed, tag: "tls.handshake", phase: .tls, attempts: 1, safety: .notSent),
            over: wire)
        #expect(outcome.transportFailure?.details.systemCode == 48)
        #expect(outcome.transportFailure?.details.detail == "client-certificate")
    }

    enum Unusable: CaseIterable { case noCertificate, noKey, swapped, otherKey, passphrase, words }

    @Test(arguments: Wire.allCases, Unusable.allCases)
    func aCertificateThatCannotBeUsedIsNotRetried(over wire: Wire, kind: Unusable) async throws {
        let client = try Client()
        var certificate = client.certificate
        switch kind {
        case .noCertificate: certificate.certificatePath += ".missing"
        case .noKey: certificate.privateKeyPath += ".missing"
        case .swapped: swap(&certificate.certificatePath, &certificate.privateKeyPath)
        case .otherKey:
            let other = try #require(try Client().server.server.clientCertificate)
            certificate.privateKeyPath = try client.server.write(other.keyPEM, to: "other.key")
        case .passphrase:
            let locked = try client.server.write("", to: "locked.key")
            let arguments = [
                "pkey", "-in", certificate.privateKeyPath, "-aes256", "-passout", "pass:x", "-out", locked,
            ]
            try #require(try await run("/usr/bin/openssl", arguments).status == 0)
            certificate.privateKeyPath = locked
        case .words: certificate.privateKeyPath = try client.server.write("no key at all", to: "words.key")
        }
        let outcome = await client.server.turn(over: wire) { $0.tls.clientCertificate = certificate }
        outcome.expectFailure(
            ExpectedFailure(
                code: .clientCertificateUnreadable, tag: "tls.client-certificate", phase: .tls, attempts: 1,
                safety: .notSent),
            over: wire)
        #expect(client.server.server.connectionCount == 0)
    }

    // MARK: Sessions

    @Test(arguments: Wire.allCases, [ChappieTestServer.TLSOptions.Version.tls12, .tls13])
    func aSecondConnectionResumesTheSessionOfTheFirst(
        over wire: Wire, version: ChappieTestServer.TLSOptions.Version
    ) async throws {
        var options = ChappieTestServer.TLSOptions()
        options.version = version
        let server = try TLSServer(options)
        for _ in 0..<3 { await server.turn(over: wire).expectWhole() }
        #expect(server.server.log.map(\.isTLSResumed) == [false, true, true])
        // Another name of the same server was never verified.
        for _ in 0..<2 { await server.turn(over: wire, host: "LocalHost").expectWhole() }
        #expect(server.server.log.map(\.isTLSResumed).suffix(2) == [false, true])
        // The name is the session's own where TLS 1.2 resumes one (RFC 6066 section 3).
        #expect(server.server.log.filter { !$0.isTLSResumed }.map(\.serverName) == [nil, "localhost"])
    }

    @Test func aConnectionKnowsThatItsSessionWasResumed() async throws {
        let server = try TLSServer()
        for isResumed in [false, true] {
            let connection = try server.connect()
            #expect(await connection.eventsToEnd().last == .ended(.complete))
            #expect(connection.statistics.isTLSResumed == isResumed)
        }
    }

    @Test func noSessionGetsFromOnePolicyToAnother() async throws {
        let client = try Client()
        let leaf = try client.server.write(try #require(client.server.server.certificatePEM), to: "leaf.pem")
        let key = try ChappiePinnedKey(try await Self.pin(of: leaf))
        let changes: [@Sendable (inout ChappieTransportConfiguration) -> Void] = [
            { _ in }, { $0.tls.pinnedKeys = [key] }, { $0.tls.minimumVersion = .tls13 },
            { $0.tls.trust = .file(path: leaf) },
        ]
        for change in changes {
            await client.server.turn(over: .httpSSE) {
                $0.tls.clientCertificate = client.certificate
                change(&$0)
            }.expectWhole()
        }
        #expect(client.server.server.log.map(\.isTLSResumed) == [false, false, false, false])
        // Without the certificate there is no session that would identify the client.
        let outcome = await client.server.turn(over: .httpSSE)
        #expect(outcome.transportFailure?.details.detail == "certificate-required")
    }

    /// A server that has forgotten its keys makes a new session instead.
    @Test func aSessionThatIsNotKnownAnyMoreDoesNoHarm() async throws {
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        configuration.tls = .init()
        let first = try ChappieTestServer(configuration: configuration)
        configuration.port = try #require(UInt16(exactly: first.port))
        let directory = try TemporaryDirectory()
        let path = directory.path(of: "ca.pem")
        try (try #require(first.caPEM)).write(toFile: path, atomically: true, encoding: .utf8)
        let transport = ChappieStreamingTransport(
            configuration: .loopback(first.baseURL) {
                $0.policy = .httpSSEOnly
                $0.tls.trust = .file(path: path)
            })
        await transport.outcome().expectWhole()
        first.stop()
        // The same address, another authority: the session must not stand in for the certificate.
        let second = try ChappieTestServer(configuration: configuration)
        defer { second.stop() }
        let outcome = await transport.outcome()
        #expect(outcome.transportFailure?.details.detail == "unknown-issuer")
        #expect(second.log.isEmpty)
    }
}
