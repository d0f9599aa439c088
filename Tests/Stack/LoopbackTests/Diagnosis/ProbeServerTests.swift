// The probe server, and examinations of a path to it.
import ChappieTransport
import Foundation
import LibwebsocketsTransport
import PathDiagnosis
import StreamTransport
import Testing

@testable import ChappieDiagnosis
@testable import ChappieTestServer

@Suite(.timeLimit(.minutes(10))) struct ProbeServerTests {
    private static func withProbe<Result>(_ body: (ProbeServer) async throws -> Result) async throws -> Result {
        let server = try ProbeServer()
        defer { server.stop() }
        return try await body(server)
    }

    private static func request(
        _ target: String, at server: ProbeServer, _ exchange: TransportRequest.Exchange = .get
    ) throws -> TransportRequest {
        let port = try #require(UInt16(exactly: server.port))
        return TransportRequest(
            endpoint: TransportEndpoint(isSecure: false, host: "127.0.0.1", port: port, target: target),
            exchange: exchange)
    }

    private static func webSocket(_ server: ProbeServer) async throws -> any TransportConnection {
        let connection = LibwebsocketsTransport().connect(
            try Self.request("/v1/responses", at: server, .webSocket(offersCompression: false)))
        #expect(await connection.event() == .opened(101))
        return connection
    }

    // MARK: Examinations

    /// The extents of the public function are too short for the large message beside many busy programs.
    @Test func everyStepIsExaminedWithAProbeServer() async throws {
        let report = try await Self.withProbe { server in
            try await ChappieDiagnosis.run(.loopback(server.baseURL), pace: .patient(.whole))
        }
        #expect(report.verdict == .works, "\(report)")
        #expect(report.result(of: .http)?.words == "status code 200, a probe server that saw IPv4, HTTP/1.1")
        for step in [.webSocket, .compression, .earlyClose, .messages, .pings, .eventStream] as [ChappieDiagnosis.Step]
        {
            #expect(report.result(of: step)?.outcome == .ok, "\(report)")
        }
        #expect(report.result(of: .messages)?.words == "63 KiB and 1 MiB return unchanged")
        #expect(report.result(of: .eventStream)?.words.hasSuffix("then at their pace") == true)
        #expect(report.result(of: .idle)?.words == "was not asked for")
    }

    @Test func connectionsAreHeldForTheAskedTime() async throws {
        let report = try await Self.withProbe { server in
            try await ChappieDiagnosis.run(.loopback(server.baseURL), extent: .whole, holds: [.seconds(1)])
        }
        #expect(report.result(of: .idle)?.words == "connections live through 1.0 s of silence")
    }

    @Test func aCredentialIsNotSentToAProbeServer() async throws {
        let report = try await Self.withProbe { server in
            try await ChappieDiagnosis.run(
                .loopback(server.baseURL) {
                    $0.credential = { _ in
                        Issue.record("the credential was asked for")
                        return nil
                    }
                }, extent: .whole)
        }
        #expect(report.result(of: .credential)?.words == "a probe server needs no credential")
    }

    /// A path that holds a stream back delivers at once what was sent over almost three seconds.
    @Test func aStreamThatIsHeldBackIsNoticed() async throws {
        let events = (0..<40).map { "data: \($0) \($0 * 75_000) \(String(repeating: "x", count: 200))\n\n" }.joined()
        let server = try AnsweringServer(
            AnsweringServer.response(
                "200 OK", ["Content-Type: text/event-stream", "X-Chappie-Probe: 1"], body: events))
        let report = try await ChappieDiagnosis.run(.loopback(server.baseURL), extent: .whole)
        let cause = try #require(report.causes.first { $0.name == "event-stream.whole" })
        #expect(cause.evidence.contains("events came up to 2.9 s late"))
    }

    /// Events that arrive without a pause do not keep an examination from its end.
    @Test func aFloodOfEventsEndsTheStep() async throws {
        let events = String(repeating: "data: x\n\n", count: 1_000_000)
        let server = try AnsweringServer { head in
            head.hasPrefix("GET /v1/probe/events")
                ? AnsweringServer.response("200 OK", ["Content-Type: text/event-stream"], body: events)
                : AnsweringServer.response("200 OK", ["Content-Type: application/json", "X-Chappie-Probe: 1"])
        }
        let report = try await ChappieDiagnosis.run(.loopback(server.baseURL), pace: .patient(.fast))
        #expect(report.causes.map(\.name).contains("event-stream.altered"), "\(report)")
    }

    @Test func fieldsAddedByAnIntermediaryAreReported() async throws {
        let seen =
            #"{"probe":{"http":"1.1","fields":["host","connection","user-agent","accept","accept-encoding","#
            + #""x-client-request-id","via"]}}"#
        let server = try AnsweringServer(
            AnsweringServer.response("200 OK", ["Content-Type: application/json", "X-Chappie-Probe: 1"], body: seen))
        let report = try await ChappieDiagnosis.run(.loopback(server.baseURL), extent: .whole)
        #expect(
            report.result(of: .http)?.words
                == "status code 200, a probe server that saw HTTP/1.1, added on the way: via")
    }

    /// A probe server with TLS, and the file of the authority that it trusts.
    private final class SecureProbe: Sendable {
        private let server: ProbeServer
        private let directory: TemporaryDirectory
        private let path: String

        init() throws {
            var configuration = ProbeServer.Configuration()
            configuration.tls = .init()
            self.server = try ProbeServer(configuration: configuration)
            self.directory = try TemporaryDirectory()
            self.path = try self.directory.write(try #require(self.server.caPEM), to: "ca.pem")
        }

        deinit { self.server.stop() }

        func examination(at host: String) async throws -> ChappieDiagnosis.Report {
            let path = self.path
            return try await ChappieDiagnosis.run(
                .loopback("https://\(host):\(self.server.port)/v1") { $0.tls.trust = .file(path: path) },
                pace: .patient(.fast))
        }
    }

    @Test func theClientsTLSIsReportedAsTheProbeServerSawIt() async throws {
        let probe = try SecureProbe()
        let report = try await probe.examination(at: "127.0.0.1")
        let version = try #require(report.result(of: .tls)?.words.prefix { $0 != "," })
        let result = try #require(report.result(of: .http))
        #expect(result.words == "status code 200, a probe server that saw IPv4, HTTP/1.1, \(version)")
        let full = try #require(result.fullWords.first)
        #expect(full.hasPrefix("the probe server saw \(version), with TLS_"))
        #expect(full.contains(", client hello "))
    }

    /// The hello of a program is the same each time, whatever the name and however the session began.
    @Test func theSameProgramHasTheSameHello() async throws {
        let probe = try SecureProbe()
        var texts: Set<[String]> = []
        for host in ["127.0.0.1", "localhost", "127.0.0.1"] {
            let report = try await probe.examination(at: host)
            texts.insert(try #require(report.result(of: .http)?.fullWords))
        }
        #expect(texts.count == 1, "\(texts)")
    }

    @Test(
        arguments: [
            ("127.0.0.1", .version4), ("::1", .version6), ("::ffff:127.0.0.1", .version4), ("", nil),
        ] as [(String, IPFamily?)])
    func theFamilyIsThatOfTheClient(address: String, family: IPFamily?) {
        #expect(IPFamily(peerAddress: address) == family)
    }

    @Test func observationsContainFieldNamesWithoutValuesOrAddresses() async throws {
        try await Self.withProbe { server in
            let peer = try Self.connect(to: server)
            peer.write("GET /v1/models HTTP/1.0\r\nHost: a.invalid\r\nX-Forwarded-For: 192.0.2.9\r\n\r\n")
            let (bytes, _) = await peer.readToEnd()
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(
                text.hasSuffix(
                    #"{"object":"list","data":[],"probe":{"http":"1.0","family":"IPv4","tls":null,"#
                        + #""fields":["host","x-forwarded-for"]}}"#))
            #expect(!text.contains("192.0.2.9") && !text.contains("127.0.0.1") && !text.contains("a.invalid"))
        }
    }

    /// The end of the connection is that of the stream as well, so that the number of events tells a cut.
    @Test func aStreamThatEndsBeforeItsLastEventIsCut() async throws {
        let server = try AnsweringServer(
            AnsweringServer.response(
                "200 OK", ["Content-Type: text/event-stream", "X-Chappie-Probe: 1"], body: "data: 0 0 x\n\n"))
        let report = try await ChappieDiagnosis.run(.loopback(server.baseURL), extent: .whole)
        #expect(report.causes.contains { $0.name == "event-stream.cut" })
    }

    /// Times of RFC 9110 section 5.6.7, and of a day that most centuries do not have.
    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
    ])
    func probeServerDateIsAnHTTPDate(seconds: Int, text: String) {
        #expect(ProbeFacts.date(secondsSince1970: seconds) == text)
    }

    // MARK: Limits

    @Test func eventsAreSentAtTheAskedPace() async throws {
        try await Self.withProbe { server in
            let connection = LibwebsocketsTransport().connect(
                try Self.request("/v1/probe/events?count=3&interval=10&padding=4", at: server))
            let events = await connection.eventsToEnd()
            guard events.count == 3, case .body(let text) = events[1] else {
                Issue.record("\(events)")
                return
            }
            #expect(events[0] == .opened(200) && events[2] == .ended(.complete))
            let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
            #expect(lines.map { $0[1] } == ["0", "1", "2"])
            #expect(lines.allSatisfy { $0[3] == "xxxx" })
            #expect(Int(lines[2][2]) ?? 0 >= 20_000)
        }
    }

    @Test(arguments: [
        ("GET /v1/probe/hold?seconds=0 HTTP/1.1", ProbeRoute.hold(1)),
        ("GET /v1/probe/hold?seconds=99999 HTTP/1.1", .hold(600)),
        ("GET /v1/probe/hold?seconds=x HTTP/1.1", .hold(1)),
        (
            "GET /v1/probe/events?count=99999&interval=1&padding=99999 HTTP/1.1",
            .events(.init(count: 200, interval: .milliseconds(10), paddingByteCount: 4_096))
        ),
        (
            "GET /v1/probe/events?count=200&interval=1000 HTTP/1.1",
            .events(.init(count: 30, interval: .seconds(1), paddingByteCount: 200))
        ),
        ("POST /v1/models HTTP/1.1", .unknown), ("GET /v1/responses HTTP/1.1", .unknown),
        ("GET http://example.com/v1/models HTTP/1.1", .unknown), ("CONNECT example.com:443 HTTP/1.1", .unknown),
    ])
    func aRequestIsBounded(line: String, route: ProbeRoute) async throws {
        let server = try RawServer()
        let descriptor = try RawClient.connect(to: server.port)
        let peer = try await server.accept()
        peer.write("\(line)\r\nHost: a\r\n\r\n")
        let stream = ByteStream(handle: SocketHandle(descriptor), descriptor: descriptor)
        let request = try HTTPRequest.read(from: stream, limits: ProbeLimits.request)
        #expect(ProbeRoute(request) == route)
        close(descriptor)
    }

    @Test(arguments: [
        ("POST /v1/models HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 413 "),
        ("GET /v1/models HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n", "HTTP/1.1 431 "),
        ("GET /v1/other HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 404 "),
        ("GET / HTTP/2\r\n\r\n", "HTTP/1.1 400 "),
    ])
    func aRequestBeyondTheLimitsIsRefused(text: String, status: String) async throws {
        try await Self.withProbe { server in
            let peer = try Self.connect(to: server)
            peer.write(text)
            let (bytes, _) = await peer.readToEnd()
            #expect(String(decoding: bytes, as: UTF8.self).hasPrefix(status))
        }
    }

    @Test func aMessageThatIsTooLargeEndsTheWebSocket() async throws {
        try await Self.withProbe { server in
            let connection = try await Self.webSocket(server)
            connection.send(Array(repeating: 0x78, count: ProbeLimits.messageByteCount + 1), as: .text)
            #expect(await connection.event() == .ended(.closed(code: 1009, reason: "")))
        }
    }

    @Test func webSocketIsClosedAtTheMessageLimit() async throws {
        try await Self.withProbe { server in
            let connection = try await Self.webSocket(server)
            for _ in 0..<ProbeLimits.messageCount {
                connection.send(Array("x".utf8), as: .text)
                #expect(await connection.event() == .text("x"))
            }
            #expect(await connection.event() == .ended(.closed(code: 1008, reason: "limit")))
        }
    }

    @Test func oneAddressHasALimitedNumberOfConnections() async throws {
        try await Self.withProbe { server in
            var peers: [RawPeer] = []
            for _ in 0..<ProbeLimits.connections.connectionsPerAddress {
                let peer = try Self.connect(to: server)
                // The connection is accepted when it is answered, and stays open until the peer closes it.
                peer.write("GET /v1/probe/hold?seconds=600 HTTP/1.1\r\nHost: a\r\n\r\n")
                peers.append(peer)
            }
            let refused = try Self.connect(to: server)
            refused.write("GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n")
            let (bytes, _) = await refused.readToEnd()
            #expect(bytes.isEmpty)
            for peer in peers { peer.reset() }
        }
    }

    private static func connect(to server: ProbeServer) throws -> RawPeer {
        RawPeer(descriptor: try RawClient.connect(to: try #require(UInt16(exactly: server.port))))
    }
}

/// The client's end of a connection to loopback, without a protocol.
private enum RawClient {
    /// Returns the descriptor of an established connection.
    static func connect(to port: UInt16) throws -> CInt {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        let isConnected = LoopbackAddress.first.withSocketAddress(port: port) {
            Glibc.connect(descriptor, $0, $1) == 0
        }
        guard isConnected else { throw RawServer.Failure(call: "connect", code: errno) }
        return descriptor
    }
}
