// The log and the metrics of turns: the lines and their facts, without content or a secret.
import Foundation
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieTransport

@Suite struct WatchingTests {
    private let recorder = WatchRecorder()

    private func run(
        _ scripts: [[ScriptStep]], _ configure: @escaping (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async -> TurnOutcome {
        let fixture = TurnFixture(scripts) {
            configure(&$0)
            self.recorder.listen(to: &$0)
        }
        var request = ChappieTransportRequest(prompt: "hi", model: "m")
        request.requestID = "id"
        return await fixture.run(request)
    }

    @Test func successfulTurnIsLoggedAndMeasured() async {
        let outcome = await self.run([
            [
                .pause(.milliseconds(30)), .opened(101, fields: ["x-request-id": "srv"]), .request,
                .text(Event.text("a")),
                .text(Event.completed),
            ]
        ])
        #expect(outcome.error == nil)
        #expect(
            self.recorder.lines == [
                "info turn: A turn has begun.", "debug connection: A connection is open.",
                "info turn: A turn is complete.",
            ])
        #expect(self.recorder.entries.allSatisfy { $0.requestID == "id" && $0.tag == nil && $0.privateMessage == nil })
        let opened = self.recorder.entries[1]
        #expect(opened.attempt == 1 && opened.transport == .webSocket && opened.serverRequestID == "srv")
        #expect(opened.duration == .milliseconds(30))
        #expect(self.recorder.entries[2].serverRequestID == "srv")
        #expect(self.recorder.entries[2].duration == .milliseconds(30))
        #expect(
            self.recorder.metrics == [
                ChappieMetric(operation: "attempt", duration: .milliseconds(30), outcome: "completed"),
                ChappieMetric(operation: "turn", duration: .milliseconds(30), outcome: "completed"),
            ])
    }

    @Test func failedOperationHasTheCategoryOfItsError() async {
        _ = await self.run([
            .broken(Event.created, Event.text("abc")), .webSocket(Event.text("abcd"), Event.completed),
        ])
        let failed = self.recorder.entries.first { $0.category != nil }
        #expect(failed?.context == "attempt")
        #expect(self.recorder.metrics.map(\.operation) == ["attempt", "attempt", "turn"])
        #expect(self.recorder.metrics.map(\.category) == [failed?.category, nil, nil])
        #expect(self.recorder.metrics.first?.outcome == failed?.tag)
    }

    @Test func retryReplayAndEndAreLoggedAndMeasured() async {
        let outcome = await self.run([
            .broken(Event.created, Event.text("abc")), .webSocket(Event.text("abcd"), Event.completed),
        ])
        #expect(outcome.text == "abcd")
        #expect(
            self.recorder.lines == [
                "info turn: A turn has begun.", "debug connection: A connection is open.",
                "warning attempt: An attempt has failed.", "info attempt: The attempt is repeated after a delay.",
                "debug connection: A connection is open.",
                "info attempt: A replay has caught up with what was delivered.", "info turn: A turn is complete.",
            ])
        let failed = self.recorder.entries[2]
        #expect(failed.tag == "ws.close.1006" && failed.category == .network && failed.isRetryable == true)
        #expect(failed.attempt == 1)
        let retry = self.recorder.entries[3]
        #expect(retry.tag == "ws.close.1006" && retry.delay == .milliseconds(200) && retry.attempt == 2)
        #expect(self.recorder.outcomes == ["attempt ws.close.1006", "attempt completed", "turn completed"])
    }

    @Test func fallbackIsLoggedAsAWarning() async {
        _ = await self.run([.refusal(426), .eventStream(Event.completed)])
        let line = self.recorder.entry("The turn goes on over HTTP.")
        #expect(line?.level == .warning && line?.tag == "http.426" && line?.transport == .httpSSE)
    }

    @Test func aRateLimitIsWaitedFor() async {
        _ = await self.run([
            .refusal(429, body: "slow", fields: ["retry-after": "7", "x-request-id": "srv"]),
            .eventStream(Event.completed),
        ]) { $0.policy = .httpSSEOnly }
        let failed = self.recorder.entry("An attempt has failed.")
        #expect(failed?.tag == "http.429" && failed?.category == .rateLimit)
        #expect(failed?.privateMessage == "slow")
        #expect(failed?.serverRequestID == "srv")
        let wait = self.recorder.entry("The server asks for fewer requests; the turn waits.")
        #expect(wait?.delay == .seconds(7) && wait?.attempt == 2 && wait?.level == .info)
        #expect(wait?.tag == "http.429" && wait?.category == .rateLimit)
    }

    @Test func failedTurnIsLoggedAndMeasured() async {
        let outcome = await self.run([.refusal(400, body: "boom", fields: ["x-oai-request-id": "srv"])]) {
            $0.policy = .httpSSEOnly
        }
        #expect(outcome.clientError == .httpError(400, "boom"))
        let last = self.recorder.entries.last
        #expect(last?.message == "A turn has failed." && last?.level == .error && last?.tag == "http.400")
        #expect(last?.category == .validation && last?.isRetryable == false && last?.privateMessage == "boom")
        #expect(last?.serverRequestID == "srv" && last?.attempt == 1)
        #expect(self.recorder.outcomes == ["attempt http.400", "turn http.400"])
    }

    @Test func credentialRefreshIsLoggedAndMeasured() async {
        let outcome = await self.run([.refusal(401), .eventStream(Event.completed)]) {
            $0.policy = .httpSSEOnly
            $0.credential = { reason in ChappieCredential(bearerToken: reason == .connecting ? "old" : "new") }
        }
        #expect(outcome.error == nil)
        #expect(self.recorder.entry("The credential was refreshed.")?.context == "credential")
        #expect(
            self.recorder.outcomes == ["attempt http.401", "refresh completed", "attempt completed", "turn completed"])
    }

    @Test(arguments: [true, false]) func failedCredentialRefreshIsLoggedAndMeasured(isOurs: Bool) async {
        struct Other: Error {}
        let error: any Error = isOurs ? ChappieClientError.missingRefreshToken : Other()
        _ = await self.run([.refusal(401)]) {
            $0.policy = .httpSSEOnly
            $0.credential = { reason in
                if reason == .rejected(ChappieCredential(bearerToken: "old")) { throw error }
                return ChappieCredential(bearerToken: "old")
            }
        }
        let tag = isOurs ? "auth.missing-refresh-token" : nil
        let line = self.recorder.entry("The credential could not be refreshed.")
        #expect(line?.level == .warning && line?.tag == tag)
        #expect(
            self.recorder.outcomes
                == ["attempt http.401", "refresh \(tag ?? "failed")", "turn \(tag ?? "failed")"])
        #expect(self.recorder.entries.last?.level == .error && self.recorder.entries.last?.tag == tag)
    }

    /// Runs with and without diagnostics for the consumer.
    @Test(arguments: [true, false]) func aStallIsLogged(reportsDiagnostics: Bool) async {
        let outcome = await self.run([
            [.opened(101), .request, .text(Event.created), .pause(.seconds(45)), .text(Event.completed)]
        ]) { $0.reportsDiagnostics = reportsDiagnostics }
        #expect(outcome.error == nil)
        #expect(outcome.diagnostics.contains { $0.kind == .stalled } == reportsDiagnostics)
        let line = self.recorder.entry("Nothing has come for a while; the turn waits on.")
        #expect(line?.level == .warning && line?.attempt == 1 && line?.context == "attempt")
    }

    @Test func reuseOfAKeptConnectionIsLogged() async {
        let fixture = TurnFixture([.webSocket(Event.completed) + [.request, .text(Event.completed)]]) {
            self.recorder.listen(to: &$0)
        }
        _ = await fixture.run()
        _ = await fixture.run()
        #expect(self.recorder.lines.filter { $0 == "debug connection: A kept connection is used again." }.count == 1)
        #expect(
            self.recorder.outcomes == ["attempt completed", "turn completed", "attempt completed", "turn completed"])
    }

    @Test func cancelledTurnIsLoggedAndMeasured() async throws {
        let signal = Signal()
        let fixture = TurnFixture([[.opened(101), .request, .hang(signal)]]) { self.recorder.listen(to: &$0) }
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
        async let outcome = TurnFixture.read(handle)
        await signal.wait()
        handle.cancel()
        #expect(await outcome.error is CancellationError)
        #expect(self.recorder.lines.last == "info turn: A turn was cancelled.")
        #expect(self.recorder.outcomes == ["attempt cancelled", "turn cancelled"])
    }

    /// `next()` is not called again, and the end is logged nevertheless.
    @Test func droppedTurnIsLoggedAsCancelled() async throws {
        let fixture = TurnFixture([[.opened(101), .request, .text(Event.text("a")), .hang(Signal())]]) {
            self.recorder.listen(to: &$0)
        }
        do {
            let events = fixture.instance.stream(ChappieTransportRequest(prompt: "hi", model: "m"))
            var iterator = events.makeAsyncIterator()
            #expect(try await iterator.next() == .textDelta("a"))
        }
        #expect(self.recorder.lines.last == "info turn: A turn was cancelled.")
        #expect(self.recorder.outcomes == ["turn cancelled"])
    }

    @Test func unreadStreamIsNeitherLoggedNorMeasured() {
        let fixture = TurnFixture([]) { self.recorder.listen(to: &$0) }
        _ = fixture.instance.stream(ChappieTransportRequest(prompt: "hi", model: "m"))
        #expect(self.recorder.lines.isEmpty && self.recorder.outcomes.isEmpty)
    }

    @Test func invalidRequestIsLoggedWithItsRequestID() async {
        let fixture = TurnFixture([]) { self.recorder.listen(to: &$0) }
        let failed = await fixture.run(ChappieTransportRequest(body: Array("[]".utf8)))
        #expect(failed.transportFailure?.details.clientRequestID == failed.report.requestID)
        #expect(self.recorder.outcomes.last == "turn request.invalid")
        #expect(self.recorder.entries.last?.requestID == failed.report.requestID)
    }

    /// A slow upgrade that loses its race.
    @Test func bothAttemptsOfARaceAreRecorded() async {
        _ = await self.run([
            [.pause(.seconds(3)), .ended(.failed(TransportFailure(phase: .connect, cause: .unreachable(code: 0))))],
            [
                .ready, .request, .opened(200, fields: ["content-type": "text/event-stream"]),
                .body(Event.sse(Event.text("a"))), .pause(.seconds(9)), .body(Event.sse(Event.completed)),
            ],
        ])
        #expect(self.recorder.outcomes.last == "turn completed")
        #expect(self.recorder.outcomes.filter { $0.hasPrefix("attempt ") }.count == 2)
    }

    /// Sinks are called without a lock: they may read the handle, and stop it.
    @Test func aSinkMayUseTheHandle() async {
        let box = LockedValue<ChappieStreamHandle?>(nil)
        let seen = LockedValue<[Int]>([])
        let fixture = TurnFixture([.broken(Event.created), .webSocket(Event.completed)]) {
            $0.log = { entry in
                let handle = box.withLock { $0 }
                seen.withLock { $0.append(handle?.report.attempts.count ?? -1) }
                if entry.delay != nil { handle?.cancel() }
            }
        }
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
        box.withLock { $0 = handle }
        let outcome = await TurnFixture.read(handle)
        #expect(outcome.error is CancellationError)
        #expect(seen.withLock { $0 }.first == 0 && seen.withLock { $0 }.contains(1))
        box.withLock { $0 = nil }
    }

    // MARK: Secrets

    /// Some servers repeat the key.
    @Test(arguments: [true, false]) func aSecretThatTheServerRepeatsIsTakenOut(isHTTP: Bool) async {
        let body = #"{"error":{"code":"invalid","message":"Bad key SECRET-token or SECRET-extra, PUBLIC-field"}}"#
        let scripts: [[ScriptStep]] =
            isHTTP
            ? [.refusal(400, body: body)]
            : [.webSocket(#"{"type":"error","status":400,"# + body.dropFirst())]
        let outcome = await self.run(scripts) {
            if isHTTP { $0.policy = .httpSSEOnly }
            $0.credential = { _ in ChappieCredential(bearerToken: "SECRET-token") }
            $0.additionalFields = [
                (name: "X-API-Key", value: "Basic SECRET-extra"), (name: "X-Public", value: "PUBLIC-field"),
            ]
        }
        let words = outcome.clientError?.unsafeMessage ?? ""
        #expect(words.contains("Bad key [redacted] or [redacted], PUBLIC-field") && !words.contains("SECRET"))
        let lines = self.recorder.entries.compactMap(\.privateMessage)
        #expect(lines.count == 2 && lines.allSatisfy { $0.contains("[redacted]") && !$0.contains("SECRET") })
        #expect(outcome.clientError?.category == .validation)
    }

    @Test func clientLogHasTheRequestID() {
        var configuration = ChappieTransportConfiguration(baseURL: .init(filePath: "/"))
        self.recorder.listen(to: &configuration)
        let watch = RequestWatch(configuration, requestID: "turn 1")
        watch.log(.info, "tool", "A tool call is over.") { $0.tag = "tool.execution-failed" }
        watch.measure("tool", .seconds(2), outcome: RequestWatch.outcome(of: CancellationError()))
        #expect(self.recorder.entries.first?.requestID == "turn 1")
        #expect(
            self.recorder.metrics == [ChappieMetric(operation: "tool", duration: .seconds(2), outcome: "cancelled")])
        #expect(RequestWatch(configuration, requestID: "").requestID.utf8.count == 36)
    }
}
