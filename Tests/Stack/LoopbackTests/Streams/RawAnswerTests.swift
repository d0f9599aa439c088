import ChappieTransport
import Foundation
import StreamTransport
import Testing

/// Whole turns over HTTP against answers that are written byte by byte, as servers and proxies of the field write them.
@Suite(.timeLimit(.minutes(10))) struct RawAnswerTests {
    private static let created = "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n"
    private static let text = "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"ab\"}\n\n"
    private static let completed =
        "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\"}}"
    private static let type = "Content-Type: text/event-stream\r\n"

    /// Returns the outcome of a turn whose every request gets this answer, and the number of requests.
    private static func turn(_ answer: String) async throws -> (outcome: StreamOutcome, requestCount: Int) {
        let server = try RawServer()
        let transport = ChappieStreamingTransport(
            configuration: .loopback("http://127.0.0.1:\(server.port)/v1") {
                $0.policy = .httpSSEOnly
                $0.reconnectDelay = .zero
            })
        let count = LockedValue(0)
        let serving = Task {
            while true {
                let peer = try await server.accept()
                _ = await peer.read(until: "\r\n\r\n")
                if Task.isCancelled { return }
                count.withLock { $0 += 1 }
                peer.write(answer)
                peer.endWriting()
            }
        }
        let outcome = await transport.outcome()
        serving.cancel()
        #expect(RawServer.connectAndClose(to: server.port))
        _ = await serving.result
        return (outcome, count.withLock { $0 })
    }

    private static func sized(_ body: String, _ fields: String = Self.type, status: String = "200 OK") -> String {
        "HTTP/1.1 \(status)\r\n\(fields)Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
    }

    private static func chunked(_ body: String, lastChunk: String = "0\r\n\r\n") -> String {
        "HTTP/1.1 200 OK\r\n\(Self.type)Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            + "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n\(lastChunk)"
    }

    // MARK: Fields

    @Test(arguments: [
        type + type, type + "content-type: text/event-stream; charset=utf-8\r\n", type + "Content-Encoding: none\r\n",
        type + "Content-Encoding: identity, identity\r\n",
        type + "Content-Encoding: identity\r\nContent-Encoding: identity\r\n",
        type + "X-Request-ID: 7\r\nX-Request-ID: 7\r\n", "Content-Type: text/plain\r\n",
        "Content-Type: application/octet-stream\r\nContent-Type: application/octet-stream\r\n",
    ])
    func fieldsThatRepeatOrSayNothingAreRead(fields: String) async throws {
        let (outcome, requestCount) = try await Self.turn(
            Self.sized(Self.created + Self.text + Self.completed + "\n\n", fields))
        #expect(outcome.error == nil && outcome.text == "ab")
        #expect(requestCount == 1)
        #expect(outcome.report.attempts.last?.requestID == (fields.contains("X-Request-ID") ? "7" : nil))
        #expect(outcome.report.attempts.last?.inflatedByteCount == nil)
    }

    @Test(arguments: ["201 Created", "203 Non-Authoritative Information"])
    func eventStreamBehindAnotherCodeOfSuccessIsRead(status: String) async throws {
        let (outcome, _) = try await Self.turn(
            Self.sized(Self.created + Self.text + Self.completed + "\n\n", status: status))
        #expect(outcome.error == nil && outcome.text == "ab")
    }

    @Test(arguments: [202, 204, 205, 206]) func otherCodeOfSuccessIsAskedForOnce(statusCode: Int) async throws {
        let (outcome, requestCount) = try await Self.turn("HTTP/1.1 \(statusCode) OK\r\nContent-Length: 0\r\n\r\n")
        #expect(outcome.clientError == .httpError(statusCode, ""))
        #expect(requestCount == 1)
    }

    // MARK: The last event

    @Test(arguments: ["", "\n"]) func lastEventWithoutAnEmptyLineEndsTheResponse(lineEnd: String) async throws {
        let body = Self.created + Self.text + Self.completed + lineEnd
        for answer in [Self.sized(body), Self.chunked(body)] {
            let (outcome, requestCount) = try await Self.turn(answer)
            #expect(outcome.error == nil && outcome.text == "ab")
            #expect(requestCount == 1)
        }
    }

    @Test func lastEventOfABodyThatWasCutDoesNotEndTheResponse() async throws {
        let (outcome, requestCount) = try await Self.turn(
            Self.chunked(Self.created + Self.text + Self.completed, lastChunk: ""))
        #expect(outcome.transportFailure?.code == .connectionLost)
        #expect(outcome.text == "ab")
        #expect(requestCount > 1)
    }

    // MARK: Answers that were not asked for

    @Test func unaskedSwitchOfProtocolsIsNamedAndAskedForOnce() async throws {
        let (outcome, requestCount) = try await Self.turn(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        #expect(requestCount == 1)
        #expect(outcome.report.attempts.count == 1)
        #expect(outcome.transportFailure?.code == .notHTTP)
        #expect(outcome.transportFailure?.details.statusCode == 101)
        #expect(
            outcome.transportFailure?.safeDescription
                == "The server switched to another protocol with status code 101, which was not asked for (while waiting "
                + "for the server's answer, HTTP, 1 attempt). Check the address; what answers there may be for "
                + "WebSockets alone, or a proxy that breaks the rules of HTTP.")
        #expect(outcome.clientError?.isRetryable == false)
    }

    @Test(arguments: [
        ("Content-Encoding: br\r\n", "http.content-coding"), ("Transfer-Encoding: gzip\r\n", "http.transfer-coding"),
    ])
    func unaskedCodingNamesItsRemedy(field: String, tag: String) async throws {
        let (outcome, requestCount) = try await Self.turn("HTTP/1.1 200 OK\r\n\(Self.type)\(field)\r\nxyz")
        #expect(outcome.clientError?.tag == tag)
        #expect(outcome.clientError?.isRetryable == false)
        #expect(outcome.clientError?.recoverySuggestion?.contains("--no-compression") == true)
        #expect(requestCount == 1)
    }
}
