// Opening the client's connections over real sockets: refusals, proxies, TLS.

import ChappieTestServer
import Foundation
import StreamTransport
import Testing
import WebSocketClient

@Suite(.timeLimit(.minutes(10))) struct WebSocketRouteTests {
    /// Opens a connection, answers the opening handshake with these bytes, and returns the error; nil if it opens.
    private static func error(
        answer: String, _ change: (inout WebSocketConfiguration) -> Void = { _ in }
    ) async throws -> WebSocketError? {
        try await Self.error(answering: { _ in answer }, change)
    }

    /// The same for an answer that is made from the head of the request.
    private static func error(
        answering answer: (String) -> String, _ change: (inout WebSocketConfiguration) -> Void = { _ in }
    ) async throws -> WebSocketError? {
        let server = try RawServer()
        let configuration = try WebSocketConfiguration.loopback(server, change)
        let opening = Task { try await WebSocketConnection.open(configuration) }
        let peer = try await server.accept()
        peer.write(answer(await peer.read(until: "\r\n\r\n")))
        do {
            try await opening.value.cancel()
            return nil
        } catch let error as WebSocketError {
            return error
        }
    }

    @Test func aRefusalHasItsStatusFieldsAndBody() async throws {
        let error = try await Self.error(
            answer:
                "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nX-Node: n1\r\nContent-Length: 9\r\n\r\nslow down"
        ) { $0.capturedFieldNames = ["x-node"] }
        guard case .refused(let refusal) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal.statusCode == 429 && refusal.body == "slow down")
        #expect(refusal.value(of: "retry-after") == "7" && refusal.value(of: "X-Node") == "n1")
        #expect(error?.tag == "http.429" && error?.category == .rateLimit && error?.isRetryable == true)
    }

    @Test func aRedirectIsNotFollowed() async throws {
        let error = try await Self.error(
            answer: "HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:1/other\r\nContent-Length: 0\r\n\r\n")
        guard case .refused(let refusal) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal.value(of: "location") == "ws://127.0.0.1:1/other")
    }

    /// An answer to the opening handshake, and the tag of its error.
    struct Answer: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let tag: String
        let text: @Sendable (_ request: String) -> String

        init(_ description: String, _ tag: String, _ text: @escaping @Sendable (_ request: String) -> String) {
            self.testDescription = description
            self.tag = tag
            self.text = text
        }

        /// The answer that accepts the handshake, with a line that HTTP does not allow.
        init(line: String, _ description: String) {
            self.init(description, "http.not-http") { RawPeer.acceptance(of: $0, [line]) }
        }

        /// An answer of status code 101 whose header section has no end.
        init(endless part: String, _ description: String) {
            self.init("endless \(description)", "http.header-section-too-large") { request in
                // A CRLF is one character.
                let head = RawPeer.acceptance(of: request).dropLast()
                return head + String(repeating: part, count: 1_000_000 / part.utf8.count)
            }
        }
    }

    private static let answers = [
        Answer("another protocol", "http.not-http") { _ in "SSH-2.0-OpenSSH\r\n\r\n" },
        Answer("a status code of four digits", "http.not-http") {
            RawPeer.acceptance(of: $0).replacingOccurrences(of: " 101 ", with: " 1010 ")
        },
        Answer("the key of another request", "ws.opening-handshake") { _ in
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n"
        },
        Answer("no fields", "ws.opening-handshake") { _ in "HTTP/1.1 101 Switching Protocols\r\n\r\n" },
        Answer(line: "no colon", "a line without a colon"),
        Answer(line: "X-Space : a", "white space before a colon"),
        Answer(line: ": a", "a line without a name"),
        Answer(line: "X(Y): a", "a name that is no token"),
        Answer(line: "X: a\u{0}b", "NUL in a value"),
        Answer(line: "X: a\u{1B}b", "a control character in a value"),
        Answer(line: "X: a\rb", "a CR without LF"),
        Answer("white space before the first line", "http.not-http") {
            RawPeer.acceptance(of: $0).replacingOccurrences(of: "\r\nUpgrade:", with: "\r\n X: a\r\nUpgrade:")
        },
        Answer("a control character in the reason phrase", "http.not-http") {
            RawPeer.acceptance(of: $0).replacingOccurrences(of: "Switching", with: "Switching\u{7}")
        },
        Answer("a refusal with a line without a colon", "http.not-http") { _ in
            "HTTP/1.1 403 Forbidden\r\nno colon\r\nContent-Length: 0\r\n\r\n"
        },
        Answer(endless: "a", "name"),
        Answer(endless: "X: a\r\n", "lines"),
        Answer(endless: " a\r\n", "continuations of a line"),
        Answer("an endless value", "http.header-section-too-large") {
            RawPeer.acceptance(of: $0, ["X: " + String(repeating: "a", count: 1_000_000)])
        },
        Answer("an endless reason phrase", "http.header-section-too-large") { _ in
            "HTTP/1.1 101 " + String(repeating: "a", count: 1_000_000)
        },
        Answer("endless interim responses", "http.header-section-too-large") { _ in
            String(repeating: "HTTP/1.1 103 Early Hints\r\nX: a\r\n\r\n", count: 30_000)
        },
    ]

    @Test(arguments: Self.answers)
    func invalidHandshakeAnswerIsAServerError(answer: Answer) async throws {
        let error = try await Self.error(answering: answer.text)
        guard case .transport(let failure) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure.tag == answer.tag && error?.category == .server)
        #expect(failure.phase == .upgrade && failure.replaySafety == .notSent)
        if failure.code == .headerSectionTooLarge { #expect(failure.details.limit == 64 << 10) }
    }

    @Test(arguments: [(-1, nil), (0, nil), (1, "http.header-section-too-large")] as [(Int, String?)])
    func headerSectionOfAnAnswerIsLimitedTo64KiB(excess: Int, tag: String?) async throws {
        let error = try await Self.error(answering: { request in
            let byteCount = RawPeer.acceptance(of: request, ["X: "]).utf8.count
            let padding = String(repeating: "a", count: (64 << 10) + excess - byteCount)
            return RawPeer.acceptance(of: request, ["X: \(padding)"])
        })
        #expect(error?.tag == tag)
    }

    /// A subprotocol that was not offered is none to speak (RFC 6455 section 4.1).
    @Test func aSubprotocolThatWasNotOfferedIsAnError() async throws {
        let server = try RawServer()
        let configuration = try WebSocketConfiguration.loopback(server) { $0.subprotocols = ["v1.chat"] }
        let opening = Task { try await WebSocketConnection.open(configuration) }
        let peer = try await server.accept()
        await peer.acceptWebSocket("Sec-WebSocket-Protocol: v2.chat")
        do {
            _ = try await opening.value
            Issue.record("it was accepted")
        } catch {
            guard case .transport(let failure) = error as? WebSocketError else {
                Issue.record("\(error)")
                return
            }
            #expect(failure.code == .openingHandshakeInvalid && failure.details.detail == "subprotocol")
        }
    }

    @Test func aServerThatDoesNotListenIsUnreachable() async throws {
        let closed = try UnreachableServerTests.ClosedPort()
        defer { withExtendedLifetime(closed) {} }
        var configuration = WebSocketConfiguration(url: try #require(URL(string: "ws://127.0.0.1:\(closed.port)/")))
        configuration.proxy = .none
        do {
            _ = try await WebSocketConnection.open(configuration)
            Issue.record("it was opened")
        } catch let error as WebSocketError {
            #expect(error.tag == "connect.failed" && error.category == .network && error.isRetryable)
        }
    }

    // MARK: Routes

    @Test func aProxyIsAskedForATunnel() async throws {
        let proxy = try RawServer()
        var configuration = WebSocketConfiguration(url: try #require(URL(string: "ws://origin.invalid:4433/chat")))
        configuration.proxy = .url("http://u:p@127.0.0.1:\(proxy.port)")
        configuration.compression = .disabled
        let opening = Task { [configuration] in try await WebSocketConnection.open(configuration) }
        let peer = try await proxy.accept()
        let question = await peer.read(until: "\r\n\r\n")
        #expect(question.hasPrefix("CONNECT origin.invalid:4433 HTTP/1.1\r\n"))
        #expect(question.contains("\r\nProxy-Authorization: Basic dTpw\r\n"))
        peer.write("HTTP/1.1 200 Connection established\r\n\r\n")
        let head = await peer.acceptWebSocket()
        #expect(head.hasPrefix("GET /chat HTTP/1.1\r\n") && !head.contains("Proxy-Authorization"))
        let connection = try await opening.value
        peer.writeText("through")
        #expect(try await connection.receive() == .text("through"))
        connection.cancel()
    }

    @Test func aProxyThatRefusesIsAnErrorWithoutItsPassword() async throws {
        let proxy = try RawServer()
        var configuration = WebSocketConfiguration(url: try #require(URL(string: "ws://origin.invalid/")))
        configuration.proxy = .url("http://u:password-1@127.0.0.1:\(proxy.port)")
        let opening = Task { [configuration] in try await WebSocketConnection.open(configuration) }
        let peer = try await proxy.accept()
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        do {
            _ = try await opening.value
            Issue.record("it was opened")
        } catch let error as WebSocketError {
            #expect(error.tag == "proxy.refused" && error.category == .auth)
            #expect(!"\(error) \(error.unsafeMessage ?? "")".contains("password-1"))
        }
    }

    @Test func aCertificateOfATrustedAuthorityIsAccepted() async throws {
        let server = try TLSServer()
        var configuration = WebSocketConfiguration(
            url: try #require(URL(string: "wss://127.0.0.1:\(server.server.port)/v1/responses")))
        configuration.proxy = .none
        configuration.tls.trust = .file(path: server.trustPath)
        let connection = try await WebSocketConnection.open(configuration)
        #expect(try await connection.ping() > .zero)
        let close = try await connection.close()
        #expect(close.initiator == .client && close.isClean)
    }

    @Test func aCertificateOfAnUnknownAuthorityIsRefused() async throws {
        let server = try TLSServer()
        var configuration = WebSocketConfiguration(
            url: try #require(URL(string: "wss://127.0.0.1:\(server.server.port)/v1/responses")))
        configuration.proxy = .none
        do {
            _ = try await WebSocketConnection.open(configuration)
            Issue.record("it was opened")
        } catch let error as WebSocketError {
            #expect(error.tag == "tls.certificate" && error.requiresUserAction)
        }
    }
}
