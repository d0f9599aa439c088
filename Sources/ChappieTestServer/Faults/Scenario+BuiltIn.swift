// The scenarios that come with the server.
//
// Constants; nobody owns them.

extension ChappieTestServer {
    /// The built-in scenarios, by the names that the command line takes.
    public static let builtInScenarios: [Scenario] =
        ChappieTestServer.replayScenarios + ChappieTestServer.closeScenarios + ChappieTestServer.handshakeScenarios
        + ChappieTestServer.errorScenarios + ChappieTestServer.framingScenarios + ChappieTestServer.silenceScenarios
        + ChappieTestServer.httpScenarios

    /// The built-in scenario of that name; nil when there is none.
    public static func builtInScenario(named name: String) -> Scenario? {
        Self.builtInScenarios.first { $0.name == name }
    }

    private static let replayScenarios: [Scenario] = [
        Scenario(name: "ok", summary: "Nothing goes wrong.", expectation: .completes, faults: []),
        Scenario(
            name: "cut", summary: "The first attempt's connection ends after 6 events.",
            expectation: .completesAfterRetry, faults: [Fault(.cutAfterEvent(event: 6), attempts: 1...1)]),
        Scenario(
            name: "cut-5", summary: "Five attempts end after 6 events.", expectation: .completesAfterRetry,
            faults: [Fault(.cutAfterEvent(event: 6), attempts: 1...5)]),
        Scenario(
            name: "tool-cut", summary: "The connection is cut right before the first response's terminal event.",
            expectation: .completesAfterRetry, faults: [Fault(.endWithoutTerminal(), attempts: 1...1)]),
        Scenario(
            name: "replay-same", summary: "The connection is reset in mid-text; the retry says the same.",
            expectation: .completesAfterRetry,
            faults: [Fault(.cutAfterEvent(event: 60, with: .reset), attempts: 1...1)]),
        Scenario(
            name: "replay-diff", summary: "The retry says something else from the second character on.",
            expectation: .diverges,
            faults: [
                Fault(.cutAfterEvent(event: 60), attempts: 1...1), Fault(.divergeText(fromScalar: 1), from: 2),
            ]),
        Scenario(
            name: "replay-short", summary: "The retry completes with less text than was delivered.",
            expectation: .diverges,
            faults: [
                Fault(.cutAfterEvent(event: 60), attempts: 1...1), Fault(.shortenText(toScalar: 3), from: 2),
            ]),
        Scenario(
            name: "replay-http", summary: "Every WebSocket is cut in mid-text; HTTP says the same.",
            expectation: .completesAfterFallback,
            faults: [Fault(.cutAfterEvent(event: 60), transport: .webSocket)]),
    ]

    private static let closeScenarios: [Scenario] =
        [1000, 1001, 1008, 1011, 1012, 1013, 4000].map { (code: Int) in
            Scenario(
                name: "close-\(code)", summary: "The first attempt is closed with \(code) after 6 events.",
                expectation: .completesAfterRetry,
                faults: [Fault(.closeWebSocket(code: code, afterEvent: 6), attempts: 1...1)])
        } + [
            Scenario(
                name: "close-1009", summary: "The request is too big for the WebSocket.",
                expectation: .completesAfterFallback,
                faults: [Fault(.closeWebSocket(code: 1009, afterEvent: 0), transport: .webSocket)]),
            Scenario(
                name: "close-1008-early", summary: "The WebSocket is closed with 1008 right after the 101.",
                expectation: .completesAfterFallback,
                faults: [Fault(.closeWebSocket(code: 1008), transport: .webSocket)]),
            Scenario(
                name: "idle-close", summary: "The WebSocket is closed with 1000 after each response.",
                expectation: .completes, faults: [Fault(.closeAfterResponse(code: 1000))]),
        ]

    private static let handshakeScenarios: [Scenario] =
        [200, 403, 404, 405, 426, 500, 503].map { (status: Int) in
            Scenario(
                name: "hs-\(status)", summary: "Every upgrade is answered \(status).",
                expectation: .completesAfterFallback, faults: [Fault(.answer(status: status), transport: .webSocket)])
        } + [
            Scenario(
                name: "hs-401", summary: "The first upgrade is answered 401.", expectation: .completesAfterRetry,
                faults: [Fault(.answer(status: 401), attempts: 1...1, transport: .webSocket)]),
            Scenario(
                name: "hs-429", summary: "The first upgrade is answered 429 with Retry-After: 2.",
                expectation: .completesAfterRetry,
                faults: [
                    Fault(
                        .answer(status: 429, fields: [Field(name: "retry-after", value: "2")]), attempts: 1...1,
                        transport: .webSocket)
                ]),
            Scenario(
                name: "hs-redirect", summary: "Every upgrade is redirected to another origin.",
                expectation: .completesAfterFallback,
                faults: [
                    Fault(
                        .answer(status: 302, fields: [Field(name: "location", value: "https://elsewhere.invalid/")]),
                        transport: .webSocket)
                ]),
            Scenario(
                name: "hs-hang", summary: "An upgrade is never answered.", expectation: .completesAfterFallback,
                faults: [Fault(.stall(afterByte: 0), transport: .webSocket)]),
            Scenario(
                name: "hs-slow", summary: "An upgrade is answered at one byte a second.",
                expectation: .completesAfterFallback,
                faults: [Fault(.throttle(bytesPerSecond: 1), transport: .webSocket)]),
            Scenario(
                name: "hs-badaccept", summary: "The accept key is wrong.", expectation: .completesAfterFallback,
                faults: [Fault(.wrongAcceptKey, transport: .webSocket)]),
            Scenario(
                name: "hs-ext", summary: "The 101 claims an extension that was not offered.",
                expectation: .completesAfterFallback, faults: [Fault(.unofferedExtension(), transport: .webSocket)]),
            Scenario(
                name: "hs-subprotocol", summary: "The 101 claims a subprotocol that was not offered.",
                expectation: .completesAfterFallback, faults: [Fault(.unofferedSubprotocol(), transport: .webSocket)]),
            Scenario(
                name: "hs-not-http", summary: "The upgrade is answered with something that is not HTTP.",
                expectation: .completesAfterFallback, faults: [Fault(.answerWithoutHTTP(), transport: .webSocket)]),
            Scenario(
                name: "hs-large-header", summary: "The header section has more than 256 KiB.",
                expectation: .completesAfterFallback,
                faults: [Fault(.largeHeaderSection(byteCount: 256 * 1024), transport: .webSocket)]),
        ]

    private static let silenceScenarios: [Scenario] = [
        Scenario(
            name: "hang", summary: "The first attempt falls silent after 6 events; pings are answered.",
            expectation: .timesOut, faults: [Fault(.hang(afterEvent: 6), attempts: 1...1)]),
        Scenario(
            name: "blackhole", summary: "After the 101 the first attempt neither reads nor writes.",
            expectation: .timesOut, faults: [Fault(.stall(afterByte: 0, origin: .body), attempts: 1...1)]),
        Scenario(
            name: "keepalive", summary: "A keepalive event precedes every event.", expectation: .completes,
            faults: [Fault(.keepaliveBeforeEvents)]),
    ]

    private static let framingScenarios: [Scenario] = [
        Scenario(
            name: "binary", summary: "The first event is a binary message.", expectation: .completesAfterRetry,
            faults: [Fault(.binaryEvent(event: 1), attempts: 1...1, transport: .webSocket)]),
        Scenario(
            name: "ping", summary: "A ping precedes every event.", expectation: .completes,
            faults: [Fault(.pingBeforeEvents)]),
        Scenario(
            name: "frag", summary: "Messages come in frames of 7 bytes with pings between them.",
            expectation: .completes, faults: [Fault(.fragment(byteCount: 7, pingsBetween: true))]),
        Scenario(
            name: "not-json", summary: "A message that is not JSON stands between events.", expectation: .fails,
            faults: [Fault(.insert(payload: "this is not JSON", beforeEvent: 4))]),
        Scenario(
            name: "large-event", summary: "One text delta has 2 MiB.", expectation: .completes,
            faults: [Fault(.largeDelta(byteCount: 2 * 1024 * 1024))]),
    ]
}
