// Examinations of servers on loopback whose WebSocket fails, while HTTP works.
import ChappieDiagnosis
import ChappieTestServer
import ChappieTransport
import PathDiagnosis
import Testing

@Suite(.timeLimit(.minutes(10))) struct WebSocketDiagnosisTests: ExaminingSuite {
    @Test(
        arguments: [
            (.answer(status: 426), "web-socket.not-offered"), (.answer(status: 403), "web-socket.refused"),
            (.wrongAcceptKey, "web-socket.altered"), (.cut(afterByte: 0), "web-socket.cut"),
            (.stall(afterByte: 0), "web-socket.no-answer"), (.closeWebSocket(code: 1011), "early-close.closed"),
        ] as [(ChappieTestServer.Fault.Action, String)])
    func aWebSocketThatFailsLeavesHTTP(action: ChappieTestServer.Fault.Action, name: String) async throws {
        let report = try await Self.report(with: [.init(action: action, transport: .webSocket)])
        Self.expect(name, .degraded, in: report)
        #expect(report.sentence.hasPrefix("HTTP works, but WebSockets do not: "))
        #expect(ChappieStreamingTransportPolicy(suggestedBy: report) == .httpSSEOnly)
    }

    /// A page may be the server's own answer to every GET at the path, or that of something that refuses the upgrade.
    @Test(
        arguments: [
            ("404 Not Found", true, "web-socket.not-offered"), ("403 Forbidden", true, "web-socket.not-offered"),
            ("404 Not Found", false, "web-socket.refused"), ("403 Forbidden", false, "web-socket.refused"),
        ])
    func aPageInPlaceOfAWebSocketIsComparedWithThatOfAGET(
        status: String, isSame: Bool, name: String
    ) async throws {
        let server = try AnsweringServer { head in
            let isUpgrade = head.lowercased().contains("\r\nupgrade: websocket\r\n")
            if head.hasPrefix("GET /v1/responses "), isUpgrade || isSame {
                return AnsweringServer.response(status, ["Content-Type: text/html"], body: "<html>no</html>")
            }
            return AnsweringServer.response("200 OK", ["Content-Type: application/json"], body: "{}")
        }
        let report = try await Self.report(server.baseURL)
        Self.expect(name, .degraded, in: report)
        #expect(
            report.causes.first?.evidence.last == "the answer without the upgrade is \(isSame ? "the same" : "another")"
        )
    }

    /// Such a server refuses every upgrade before it looks for the path.
    @Test func everyUpgradeRefusedWith403LeavesHTTP() async throws {
        let server = try AnsweringServer { head in
            if head.lowercased().contains("\r\nupgrade: websocket\r\n") {
                return AnsweringServer.response("403 Forbidden")
            }
            let status =
                switch head.prefix(while: { $0 != " " }) {
                case "POST": "400 Bad Request"
                case _ where head.hasPrefix("GET /v1/models "): "200 OK"
                default: "405 Method Not Allowed"
                }
            return AnsweringServer.response(status, ["Content-Type: application/json"], body: "{}")
        }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect("web-socket.refused", .degraded, in: report)
        #expect(
            report.sentence
                == "HTTP works, but WebSockets do not: the upgrade alone is refused, with status code 403."
        )
    }

    /// The words of a page, and the name of a proxy in the refusal alone.
    @Test(arguments: [([], "Access denied"), (["Via: 1.1 proxy"], "no")])
    func refusalWithViaOrBlockPageIsBlamedOnThePath(fields: [String], words: String) async throws {
        let server = try AnsweringServer { head in
            guard head.lowercased().contains("\r\nupgrade: websocket\r\n") else {
                return AnsweringServer.response("405 No", ["Content-Type: application/json"], body: "{}")
            }
            return AnsweringServer.response(
                "403 Forbidden", ["Content-Type: text/html"] + fields, body: "<html>\(words)</html>")
        }
        Self.expect("web-socket.blocked", .degraded, in: try await Self.report(server.baseURL))
    }

    @Test func aWebSocketThatFailsWithCompressionAloneIsTriedWithoutIt() async throws {
        // The first and third handshakes are cut, as by a device that cannot inflate; the second offers no compression.
        let faults = [1, 3].map {
            ChappieTestServer.Fault(.cut(afterByte: 0), attempts: $0...$0, transport: .webSocket)
        }
        let report = try await Self.report(with: faults)
        Self.expect("compression.broken", .degraded, in: report)
        #expect(report.advice.disablesCompression && !report.advice.usesHTTPOnly)
        #expect(report.result(of: .pings)?.outcome == .ok)
    }

    @Test func oneCutConnectionIsNotADefect() async throws {
        let report = try await Self.report(with: [.init(.cut(afterByte: 0), attempts: 1...1, transport: .webSocket)])
        #expect(report.verdict == .works)
    }
}
