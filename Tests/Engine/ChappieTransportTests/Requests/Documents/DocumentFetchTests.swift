// A document beside the responses: its address, its answer, and the failures.

import Foundation
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct DocumentFetchTests {
    private static let answer: [ScriptStep] = [
        .opened(200, fields: ["x-request-id": "req_1"]), .body(#"{"models""#), .body(":[]}"), .ended(.complete),
    ]

    private static func error(_ fixture: TurnFixture, _ path: String = "/models") async -> (any Error)? {
        do {
            _ = try await fixture.instance.fetch(path: path)
            return nil
        } catch {
            return error
        }
    }

    private static func failure(_ fixture: TurnFixture) async -> ChappieTransportFailure? {
        guard case .transport(let failure)? = await Self.error(fixture) as? ChappieClientError else { return nil }
        return failure
    }

    @Test func aDocumentComesWhole() async throws {
        let fixture = TurnFixture([Self.answer]) {
            $0.credential = { _ in ChappieCredential(bearerToken: "t", accountID: "acc") }
        }
        let document = try await fixture.instance.fetch(path: "/models?client_version=1")
        #expect(document.statusCode == 200)
        #expect(String(decoding: document.body, as: UTF8.self) == #"{"models":[]}"#)
        #expect(document.fields == [HTTPField("x-request-id", "req_1")])
        let request = fixture.transport.requests[0]
        #expect(request.isResumption)
        #expect(request.endpoint.target == "/v1/models?client_version=1")
        #expect(request.value(of: "Authorization") == "Bearer t")
        #expect(request.value(of: "ChatGPT-Account-ID") == "acc")
        #expect(request.fields.filter { $0.name == "Accept" }.map(\.value) == ["application/json"])
        #expect(request.timeouts.connect == .seconds(10))
        #expect(fixture.calls(0) == [.cancel])
    }

    @Test func theQueryOfTheBaseURLGoesAlong() async throws {
        let url = try #require(URL(string: "https://h/openai/?api-version=2"))
        for (path, target) in [("/models", "/openai/models?api-version=2"), ("/m?a=1", "/openai/m?a=1&api-version=2")] {
            let fixture = TurnFixture([Self.answer]) { $0.baseURL = url }
            _ = try await fixture.instance.fetch(path: path)
            #expect(fixture.transport.requests[0].endpoint.target == target)
        }
    }

    @Test(arguments: [
        ("/backend-api/codex", "/../wham/usage", "/backend-api/wham/usage"),
        ("/backend-api/codex/", "/../wham/usage?a=/../b", "/backend-api/wham/usage?a=/../b"),
        ("/a/b/c", "/../../d", "/a/d"), ("/a", "/../b", "/b"), ("", "/../../b", "/b"), ("/a", "/..", "/a/.."),
        ("/a/b%2Fc", "/../d", "/a/d"),
    ])
    func leadingDotSegmentsAreResolvedAgainstTheBaseURL(base: String, path: String, target: String) async throws {
        let url = try #require(URL(string: "https://h\(base)"))
        let fixture = TurnFixture([Self.answer]) { $0.baseURL = url }
        _ = try await fixture.instance.fetch(path: path)
        #expect(fixture.transport.requests[0].endpoint.target == target)
    }

    @Test(arguments: ["", "models", "/a b", "/ä", "/a\r\nX: 1", "/a#b", "/a\u{7f}"])
    func invalidPathSendsNoRequest(path: String) async {
        let fixture = TurnFixture([Self.answer])
        let error = await Self.error(fixture, path) as? ChappieClientError
        #expect(error?.tag == "request.invalid")
        #expect(error?.replaySafety == .notSent)
        #expect(fixture.transport.requests.isEmpty)
    }

    // MARK: Credentials

    @Test func aRejectedCredentialIsReplacedOnce() async throws {
        let fixture = TurnFixture([.refusal(401), Self.answer]) {
            $0.credential = { ChappieCredential(bearerToken: $0 == .connecting ? "old" : "new") }
        }
        #expect(try await fixture.instance.fetch(path: "/models").statusCode == 200)
        #expect(fixture.transport.requests.map { $0.value(of: "Authorization") } == ["Bearer old", "Bearer new"])
    }

    @Test(arguments: [ChappieCredential(bearerToken: "old"), nil])
    func unchangedOrMissingCredentialIsNotRetriedAfter401(fresh: ChappieCredential?) async {
        let fixture = TurnFixture([.refusal(401, body: #"{"error":{"code":"token_expired"}}"#), Self.answer]) {
            $0.credential = { $0 == .connecting ? ChappieCredential(bearerToken: "old") : fresh }
        }
        #expect(
            await Self.error(fixture) as? ChappieClientError == .reauthenticationRequired("token_expired"))
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func secondRejectionRequiresReauthentication() async {
        let fixture = TurnFixture([.refusal(401), .refusal(401), Self.answer]) {
            $0.credential = { ChappieCredential(bearerToken: $0 == .connecting ? "old" : "new") }
        }
        #expect(
            await Self.error(fixture) as? ChappieClientError == .reauthenticationRequired("the server answered 401"))
        #expect(fixture.transport.requests.count == 2)
    }

    /// A refused credential is one by its code as well, as in a turn, and has the server's words where it has no code.
    @Test(arguments: [
        (403, #"{"error":{"code":"invalid_api_key","message":"m"}}"#, "invalid_api_key"),
        (401, #"{"detail":"Not authenticated"}"#, "Not authenticated"), (401, "Unauthorized\n", "Unauthorized"),
    ])
    func refusedCredentialIsThatOfATurn(status: Int, body: String, reason: String) async {
        let fixture = TurnFixture(Array(repeating: .refusal(status, body: body), count: 2)) {
            $0.credential = { ChappieCredential(bearerToken: $0 == .connecting ? "old" : "new") }
        }
        #expect(await Self.error(fixture) as? ChappieClientError == .reauthenticationRequired(reason))
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func redirectNamesItsTargetAsInATurn() async {
        let fixture = TurnFixture([.refusal(302, body: "no", fields: ["location": "https://b.example/v1?key=k"])])
        #expect(
            await Self.error(fixture) as? ChappieClientError
                == .httpError(302, "redirect to https://b.example/v1\nno"))
    }

    /// Some servers repeat the credential.
    @Test(arguments: [400, 401])
    func noErrorRepeatsTheCredential(status: Int) async {
        let words = #"{"error":{"code":"no-secret-token-2","message":"secret-token-1 secret-token-2 key-in-a-field"}}"#
        let fixture = TurnFixture([.refusal(401), .refusal(status, body: words)]) {
            $0.credential = { ChappieCredential(bearerToken: $0 == .connecting ? "secret-token-1" : "secret-token-2") }
            $0.additionalFields = [(name: "X-Key", value: "key-in-a-field")]
        }
        let redacted = #"{"error":{"code":"no-[redacted]","message":"[redacted] [redacted] [redacted]"}}"#
        let expected =
            status == 401
            ? ChappieClientError.reauthenticationRequired("no-[redacted]")
            : .httpError(status, redacted)
        #expect(await Self.error(fixture) as? ChappieClientError == expected)
    }

    @Test func errorOfTheCredentialSourceIsThrown() async {
        struct NoCredential: Error {}
        let fixture = TurnFixture([Self.answer]) { $0.credential = { _ in throw NoCredential() } }
        #expect(await Self.error(fixture) is NoCredential)
    }

    // MARK: Failures

    @Test(arguments: [300, 302, 400, 403, 404, 429, 500, 503])
    func anyOtherStatusCodeIsAnError(status: Int) async {
        let fixture = TurnFixture([.refusal(status, body: "no")])
        #expect(await Self.error(fixture) as? ChappieClientError == .httpError(status, "no"))
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func usageLimitIsReported() async {
        let body = #"{"error":{"type":"usage_limit_reached","message":"m","plan_type":"plus","resets_at":7}}"#
        let error = await Self.error(TurnFixture([.refusal(429, body: body)]))
        guard case .usageLimitReached(let limit)? = error as? ChappieClientError else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(limit.resetsAt == Date(timeIntervalSince1970: 7))
    }

    @Test func theBodyOfAnErrorIsCut() async {
        let fixture = TurnFixture([.refusal(400, body: "0123456789")]) { $0.limits.errorBodyByteCount = 4 }
        #expect(await Self.error(fixture) as? ChappieClientError == .httpError(400, "0123"))
    }

    @Test func anErrorWhoseBodyBreaksIsStillThatError() async {
        let fixture = TurnFixture([
            [
                .opened(404), .body("no"),
                .ended(.failed(TransportFailure(phase: .stream, cause: .connectionLost))),
            ]
        ])
        #expect(await Self.error(fixture) as? ChappieClientError == .httpError(404, "no"))
    }

    @Test(arguments: [(12, true), (13, false), (14, false)])
    func aDocumentHasALimit(limit: Int, isTooLarge: Bool) async {
        let fixture = TurnFixture([Self.answer]) { $0.limits.eventByteCount = limit }
        let failure = await Self.failure(fixture)
        #expect(failure?.code == (isTooLarge ? .eventTooLarge : nil))
        if isTooLarge { #expect(failure?.details.limit == limit) }
        #expect(fixture.calls(0) == [.cancel])
    }

    @Test func connectionFailureNamesItsPhase() async {
        let refused = await Self.failure(TurnFixture([.failure(.connect, .unreachable(code: 111))]))
        #expect(refused?.code == .unreachable)
        #expect(refused?.phase == .connect)
        #expect(refused?.transport == .httpSSE)
        let lost = await Self.failure(
            TurnFixture([
                [.opened(200), .body("a"), .ended(.failed(TransportFailure(phase: .stream, cause: .connectionLost)))]
            ]))
        #expect(lost?.code == .connectionLost)
        #expect(lost?.phase == .stream)
    }

    @Test func timeIsLimited() async {
        let first = TurnFixture([[]])
        #expect(await Self.failure(first)?.tag == "timeout.firstEvent")
        #expect(first.clock.now - first.transport.connections[0].start == .seconds(60))
        let idle = TurnFixture([[.opened(200), .body("a")]])
        #expect(await Self.failure(idle)?.tag == "timeout.stream")
        #expect(idle.clock.now - idle.transport.connections[0].start == .seconds(300))
        let total = TurnFixture([[]]) { $0.timeouts.total = .seconds(5) }
        #expect(await Self.failure(total)?.code == .timedOut)
        #expect(total.clock.now - total.transport.connections[0].start == .seconds(5))
    }

    /// A server that sends a byte each second is never idle.
    @Test func answerThatDripsEndsWithTheLimitInAll() async {
        let steps: [ScriptStep] =
            [.opened(200)] + (0..<100).flatMap { _ in [ScriptStep.pause(.seconds(1)), .body(" ")] }
        for (limit, total, end) in [(30, nil, 30), (30, 5, 5), (5, 30, 5)] as [(Int, Int?, Int)] {
            let fixture = TurnFixture([steps]) { $0.timeouts.total = total.map { .seconds($0) } }
            let error = await #expect(throws: ChappieClientError.self) {
                try await fixture.instance.fetch(path: "/usage", limit: .seconds(limit))
            }
            #expect(error?.tag == "timeout.stream")
            #expect(fixture.clock.now - fixture.transport.connections[0].start == .seconds(end))
        }
    }

    @Test func aCancelledFetchIsCancelled() async {
        let signal = Signal()
        let fixture = TurnFixture([[.opened(200), .hang(signal)]])
        let fetch = Task { await Self.error(fixture) }
        await signal.wait()
        fetch.cancel()
        #expect(await fetch.value is CancellationError)
        #expect(fixture.calls(0) == [.cancel])
    }

    @Test func theProgramIsAskedFirst() async {
        struct No: Error {}
        let urls = LockedValue<[String]>([])
        let fixture = TurnFixture([Self.answer]) {
            $0.willSend = { request in
                urls.withLock { $0.append(request.url.absoluteString) }
                #expect(request.body.isEmpty)
                throw No()
            }
        }
        #expect(await Self.error(fixture) as? ChappieClientError == .requestRefused("No()"))
        #expect(urls.withLock { $0 } == ["https://api.example/v1/models"])
        #expect(fixture.transport.requests.isEmpty)
    }
}
