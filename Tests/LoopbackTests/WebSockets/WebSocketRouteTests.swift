// Opening the client's connections over real sockets: refusals, proxies, TLS.

import ChappieTestServer
import Foundation
import StreamTransport
import Testing
import WebSocketClient

@Suite(.timeLimit(.minutes(10))) struct WebSocketRouteTests {
    /// Opens a connection that fails, and answers the opening handshake with these bytes.
    private static func error(
        answer: String, _ change: (inout WebSocketConfiguration) -> Void = { _ in }
    ) async throws -> WebSocketError? {
        let server = try RawServer()
        let configuration = try WebSocketConfiguration.loopback(server, change)
        let opening = Task { try await WebSocketConnection.open(configuration) }
        let peer = try await server.accept()
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(answer)
        do {
            _ = try await opening.value
            return nil
        } catch {
            return error as? WebSocketError
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

    private static let answers: [(String, String)] = [
        ("SSH-2.0-OpenSSH\r\n\r\n", "http.not-http"),
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n", "ws.opening-handshake"
        ),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "ws.opening-handshake"),
    ]

    @Test(arguments: Self.answers)
    func invalidHandshakeAnswerIsAServerError(answer: String, tag: String) async throws {
        let error = try await Self.error(answer: answer)
        #expect(error?.tag == tag && error?.category == .server)
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
        let port: UInt16
        do { port = try RawServer().port }
        var configuration = WebSocketConfiguration(url: try #require(URL(string: "ws://127.0.0.1:\(port)/")))
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
