// Examinations of ports that speak another protocol than the base URL says.
import ChappieTransport
import PathDiagnosis
import Testing

@testable import ChappieDiagnosis

@Suite(.timeLimit(.minutes(10))) struct PortProtocolTests {
    /// The answer to the first bytes of a connection.
    enum Answer: Sendable {
        case text(String)
        /// A fatal alert of TLS (RFC 8446 section 6).
        case alert(UInt8)
        /// The end of the data (close_notify, RFC 8446 section 6.1).
        case closeNotify
        case close
        case reset

        fileprivate func give(to peer: RawPeer) async {
            switch self {
            case .text(let text): peer.write(text)
            case .alert(let code): peer.write([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, code])
            case .closeNotify: peer.write([0x15, 0x03, 0x03, 0x00, 0x02, 0x01, 0x00])
            case .close: return peer.endWriting()
            case .reset: return peer.reset()
            }
            // The connection stays open.
            _ = await peer.readToEnd()
        }
    }

    /// A server on loopback whose answer depends on whether TLS is tried.
    private final class Port: Sendable {
        private let server: RawServer
        private let task: Task<Void, Never>

        /// `plain` has the answer to the head of a request without TLS.
        convenience init(hello: Answer, plain: @escaping @Sendable (_ head: String) -> String) throws {
            try self.init(hello) { .text(plain($0)) }
        }

        convenience init(hello: Answer, plain: Answer) throws {
            try self.init(hello) { _ in plain }
        }

        private init(_ hello: Answer, _ plain: @escaping @Sendable (String) -> Answer) throws {
            let server = try RawServer()
            self.server = server
            self.task = Task {
                while let peer = try? await server.accept(within: nil), !Task.isCancelled {
                    Task {
                        guard case .bytes(let bytes) = await peer.receive() else { return }
                        // A head without content is one read on loopback.
                        let isHello = bytes.first == 0x16
                        await (isHello ? hello : plain(String(decoding: bytes, as: UTF8.self))).give(to: peer)
                    }
                }
            }
        }

        deinit {
            self.task.cancel()
            _ = RawServer.connectAndClose(to: self.server.port)
        }

        func report(_ scheme: String) async throws -> ChappieDiagnosis.Report {
            // An answer that is too short for a record of TLS lets the step wait for all of its time.
            try await ChappieDiagnosis.run(
                .loopback("\(scheme)://127.0.0.1:\(self.server.port)/v1"), pace: .patient(.fast, step: .seconds(3)))
        }
    }

    @Test(
        arguments: [
            (.text("SSH-2.0-OpenSSH_9.2\r\n"), "tls.not-tls", "the answer is not TLS"),
            (.text("<html>no</html>"), "tls.not-tls", "the answer is not TLS"),
            (.text("no"), "tls.not-tls", "the answer is not TLS"),
            (.close, "tls.cut", "closed by the peer, without an alert"), (.reset, "tls.cut", "reset"),
            (.closeNotify, "tls.cut", "cut"),
            (.alert(112), "tls.refused", "alert 112: the server does not know the name in the base URL"),
        ] as [(Answer, String, String)])
    func tlsHandshakeAnswerDeterminesTheCause(answer: Answer, name: String, words: String) async throws {
        let report = try await Port(hello: answer, plain: .close).report("https")
        #expect(report.causes.map(\.name) == [name], "\(report)")
        #expect(report.result(of: .tls)?.words == words)
    }

    private static let empty = AnsweringServer.response("400 Bad Request")
    private static let sentence = AnsweringServer.response(
        "400 Bad Request", ["Content-Type: text/plain"], body: "Client sent an HTTP request to an HTTPS server.\n")

    /// A server with TLS refuses plain HTTP by an alert, by closing, or in words, and may refuse the handshake too.
    @Test(
        arguments: [
            (.alert(112), .alert(70), "http.needs-tls"), (.alert(112), .close, "http.needs-tls"),
            (.alert(112), .text(empty), "http.needs-tls"), (.close, .text(sentence), "http.needs-tls"),
            (.text(sentence), .text(sentence), "http.needs-tls"),
            (.close, .text("SSH-2.0-OpenSSH_9.2\r\n"), "http.not-http"),
        ] as [(Answer, Answer, String)])
    func aPortWithTLSIsNamedWhereTheURLHasNone(hello: Answer, plain: Answer, name: String) async throws {
        let report = try await Port(hello: hello, plain: plain).report("http")
        #expect(report.causes.map(\.name) == [name], "\(report)")
        #expect(report.result(of: .credential)?.outcome == .skipped)
    }

    /// Its list of models is broken, and no demand for TLS.
    @Test func anAPIOnAPortOfBothProtocolsIsFound() async throws {
        let port = try Port(hello: .alert(40)) { head in
            head.hasPrefix("POST ")
                ? AnsweringServer.response("401 Unauthorized", ["Content-Type: application/json"], body: "{}")
                : Self.empty
        }
        let report = try await port.report("http")
        #expect(report.result(of: .http)?.words == "status code 400")
        #expect(report.result(of: .http)?.outcome == .ok)
    }
}
