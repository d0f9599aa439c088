import ChappieTestServer
import ChappieTransport
import Foundation
import LibwebsocketsTransport
import StreamTransport
import Testing

/// The reasons for failures of TLS, as a program receives them.
@Suite(.timeLimit(.minutes(10))) struct TLSFailureTests {
    /// A server, and what a client that trusts its authority says about it.
    struct Case: Sendable, CustomTestStringConvertible {
        let certificate: ChappieTestServer.TLSOptions.Certificate
        let word: String
        let codes: Set<Int>
        let words: String
        let issuer: String

        var testDescription: String { self.word }
    }

    private static let authority = "CN=ChappieTestServer CA"

    private static let cases = [
        Case(certificate: .expired, word: "expired", codes: [10], words: "it has expired", issuer: Self.authority),
        Case(
            certificate: .notYetValid, word: "not-yet-valid", codes: [9], words: "it is not valid yet",
            issuer: Self.authority),
        Case(
            certificate: .selfSigned, word: "self-signed", codes: [18], words: "it is signed by itself",
            issuer: "CN=localhost"),
        Case(
            certificate: .wrongName, word: "wrong-host", codes: [62, 64], words: "it is for another host",
            issuer: Self.authority),
    ]

    @Test(arguments: Wire.allCases, Self.cases)
    func theReasonAndTheIssuerAreNamed(over wire: Wire, example: Case) async throws {
        for host in ["127.0.0.1", "localhost"] {
            let outcome = await (try TLSServer(.init(certificate: example.certificate))).turn(over: wire, host: host)
            outcome.expectFailure(Self.rejected, over: wire)
            let failure = try #require(outcome.transportFailure)
            #expect(failure.details.detail == example.word)
            #expect(example.codes.contains(try #require(failure.details.systemCode)))
            #expect(failure.details.issuer == example.issuer)
            #expect(failure.safeDescription.contains("is not trusted: \(example.words) ("))
            #expect(!failure.safeDescription.contains(example.issuer))
            #expect(outcome.clientError?.unsafeMessage == example.issuer)
        }
    }

    @Test(arguments: Wire.allCases)
    func anUnknownIssuerIsNamed(over wire: Wire) async throws {
        let other = try TLSServer()
        let outcome = await (try TLSServer()).turn(over: wire) { $0.tls.trust = .file(path: other.trustPath) }
        outcome.expectFailure(Self.rejected, over: wire)
        #expect(outcome.transportFailure?.details.detail == "unknown-issuer")
        #expect(outcome.transportFailure?.details.issuer == Self.authority)
    }

    private static let rejected = ExpectedFailure(
        code: .certificateRejected, tag: "tls.certificate", phase: .tls, attempts: 1, safety: .notSent)

    @Test(arguments: [
        (#"Evil, Inc. "x" +\;<y>"#, #"CN=Evil\, Inc. \"x\" \+\\\;\<y\>"#),
        ("Größe 認証局", "CN=Größe 認証局"),
        ("a\u{1B}[31m\u{7}\nb", #"CN=a\1B[31m\07\0Ab"#),
        ("a\u{9B}31m\u{202E}b\u{2028}c", "CN=a\u{FFFD}31m\u{FFFD}b\u{FFFD}c"),
    ])
    func anIssuerIsFitToPrint(name: String, printed: String) async throws {
        var options = ChappieTestServer.TLSOptions(certificate: .expired)
        options.issuerName = name
        let outcome = await (try TLSServer(options)).turn(over: .httpSSE)
        #expect(outcome.transportFailure?.details.detail == "expired")
        #expect(outcome.transportFailure?.details.issuer == printed)
    }

    // MARK: Versions

    @Test(arguments: Wire.allCases)
    func serverLimitedToTLS11IsRefused(over wire: Wire) async throws {
        try await self.expectNoCommonVersion(.tls11, over: wire) { _ in }
    }

    @Test(arguments: Wire.allCases)
    func aServerWithTLS12IsRefusedWhereTLS13IsDemanded(over wire: Wire) async throws {
        try await self.expectNoCommonVersion(.tls12, over: wire) { $0.tls.minimumVersion = .tls13 }
    }

    private func expectNoCommonVersion(
        _ version: ChappieTestServer.TLSOptions.Version, over wire: Wire,
        _ change: (inout ChappieTransportConfiguration) -> Void
    ) async throws {
        var options = ChappieTestServer.TLSOptions()
        options.version = version
        let outcome = await (try TLSServer(options)).turn(over: wire, change)
        outcome.expectFailure(Self.refused, over: wire)
        #expect(outcome.transportFailure?.details.systemCode == 70)
        #expect(outcome.transportFailure?.details.detail == "protocol-version")
        #expect(outcome.transportFailure?.safeDescription.contains("no version of TLS that both sides accept") == true)
    }

    private static let refused = ExpectedFailure(
        code: .tlsHandshakeFailed, tag: "tls.handshake", phase: .tls, attempts: 1, safety: .notSent)

    @Test(arguments: Wire.allCases, [ChappieTestServer.TLSOptions.Version.tls12, .tls13])
    func bothVersionsAreSpoken(over wire: Wire, version: ChappieTestServer.TLSOptions.Version) async throws {
        var options = ChappieTestServer.TLSOptions()
        options.version = version
        await (try TLSServer(options)).turn(over: wire).expectWhole()
    }

    // MARK: Handshakes that break

    @Test(arguments: Wire.allCases)
    func aServerThatClosesInTheHandshakeIsTriedTwice(over wire: Wire) async throws {
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        configuration.tls = .init()
        configuration.droppedConnections = 9
        try await withServer(configuration) { server in
            let outcome = await ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { $0.policy = wire.alone }
            ).outcome()
            outcome.expectFailure(
                ExpectedFailure(
                    code: .tlsHandshakeFailed, tag: "tls.handshake", phase: .tls, attempts: 2, safety: .notSent),
                over: wire)
            // The server sends no alert, and this side's report names none either.
            #expect(outcome.transportFailure?.details.systemCode == nil)
        }
    }

    // MARK: In the middle

    @Test(arguments: Wire.allCases, [ChappieTestServer.Fault.ConnectionCut.end, .alert, .reset])
    func aBrokenConnectionIsRecoveredFrom(over wire: Wire, cut: ChappieTestServer.Fault.ConnectionCut) async throws {
        let server = try TLSServer(faults: [.init(action: .cutAfterEvent(event: 20, with: cut), attempts: 1...1)])
        let outcome = await server.turn(over: wire)
        outcome.expectWhole()
        let lost = wire == .webSocket ? "ws.close.1006" : "connection.lost"
        #expect(outcome.report.attempts.map(\.outcome) == [lost, "completed"])
    }

    /// More than the arena takes at once, so that most of it is still in the kernel when the connection breaks.
    @Test(arguments: [ChappieTestServer.Fault.ConnectionCut.end, .alert])
    func bytesBeforeTheBreakAreDelivered(cut: ChappieTestServer.Fault.ConnectionCut) async throws {
        let size = 1_200_000
        let server = try TLSServer(faults: [
            .init(action: .largeDelta(byteCount: size)), .init(action: .cutBeforeTerminal(with: cut)),
        ])
        let connection = try server.connect()
        #expect(await connection.event() == .opened(200))
        #expect(await server.server.reached(.finishedAttempts(1)))
        let rest = await connection.eventsToEnd()
        #expect(rest.last == .failed(.stream, .connectionLost))
        guard rest.count == 2, case .body(let text) = rest[0] else {
            Issue.record("not one body")
            return
        }
        #expect(text.utf8.count > size)
        #expect(text.hasSuffix("\n\n") && !text.contains("response.completed"))
    }

    @Test func bodyWithAContentLengthNeedsNoCloseNotify() async throws {
        let server = try TLSServer(faults: [.init(.answer(status: 500, body: "no"))])
        let connection = try server.connect()
        #expect(await connection.eventsToEnd() == [.opened(500), .body("no"), .ended(.complete)])
    }
}
