// The relay with a browser in memory: a whole turn, a browser that leaves, a request that is repeated, and an error.
//
//     swift run Relay                  a server inside the program; exits with 1 when a claim does not hold
//
// CHAPPIE_BASE_URL names another server: then one turn is relayed, and printed as the browser would get it.
import Chappie
import ChappieTestServer
import Foundation
import ServerSentEvents

/// A browser's connection that is an array, and breaks at a write when it is asked to.
struct MemoryResponse: BrowserResponse {
    struct BrowserHasLeft: Error {}

    var statusCode: Int?
    var body: [UInt8] = []
    var writesBeforeLeaving = Int.max
    /// Is told of each write.
    var writes: AsyncStream<Void>.Continuation?

    mutating func sendHead(statusCode: Int, fields: [String: String]) { self.statusCode = statusCode }

    mutating func sendBody(_ bytes: [UInt8]) throws {
        guard self.writesBeforeLeaving > 0 else { throw BrowserHasLeft() }
        self.writesBeforeLeaving -= 1
        self.body += bytes
        self.writes?.yield()
    }

    /// The events that a browser reads in the body.
    func events() throws -> [ServerSentEvent] {
        var parser = EventStreamParser()
        return try parser.events(in: self.body)
    }
}

func check(_ claim: String, _ isTrue: Bool) {
    print(isTrue ? "relay:" : "relay: NOT", claim)
    if !isTrue { exit(1) }
}

/// Relays one turn to a browser.
func relayed(
    by client: ChappieClient, lastEventID: String? = nil, to browser: MemoryResponse = MemoryResponse()
) async throws -> MemoryResponse {
    var browser = browser
    // A lane is a conversation of its own, over the same connections: one for each browser.
    let turn = client.lane(UUID().uuidString).streamHandle("Why is the sky blue?")
    try await relay(turn, lastEventID: lastEventID, to: &browser)
    return browser
}

func demonstrate() async throws {
    let text = "Air scatters blue light\nmore than red."
    // The pause, in the middle of the text, is for a turn that is still running when its browser leaves.
    let pause = ChappieTestServer.Fault(.hang(afterEvent: 6), attempts: 2...2)
    let refusal = ChappieTestServer.Fault(.answer(status: 400), attempts: 3...3)
    let stop = ChappieTestServer.Fault(.hang(afterEvent: 6), from: 4)
    var settings = ChappieTestServer.Configuration(model: .text(text), faults: [pause, refusal, stop])
    settings.writeMode = .perEvent
    let server = try ChappieTestServer(configuration: settings)
    defer { server.stop() }
    var configuration = ChappieConfiguration(endpoint: .other(server.url))
    // A POST is an attempt for the server, so that its faults meet one request each.
    configuration.streamingTransportPolicy = .httpSSEOnly
    // A browser that is told so drops the text before.
    configuration.streamingTransportPolicy.divergence = .restarts
    let client = Chappie.client(configuration: configuration)

    let events = try await relayed(by: client).events()
    let pieces = events.filter { $0.type == "text" }.compactMap { ChappieJSONValue(jsonText: $0.data)?.string }
    check("the browser has the whole text, and then done", pieces.joined() == text && events.last?.type == "done")

    do {
        _ = try await relayed(by: client, to: MemoryResponse(writesBeforeLeaving: 0))
        check("a browser that leaves ends the relay", false)
    } catch is MemoryResponse.BrowserHasLeft {
        check("a browser that leaves ends the turn", await server.reached(.finishedAttempts(2)))
    }

    let repeated = try await relayed(by: client, lastEventID: events.last?.lastEventID)
    check("a repeated request begins no turn", repeated.statusCode == 204 && server.log.count == 2)

    let refused = try await relayed(by: client)
    check("an error before the text is a status code", refused.statusCode == 502)

    let (writes, continuation) = AsyncStream.makeStream(of: Void.self)
    let running = Task { try await relayed(by: client, to: MemoryResponse(writes: continuation)) }
    for await _ in writes { break }
    await client.shutdown(gracePeriod: .zero)
    let stopped = try await running.value
    let end = try stopped.events().last.map { "\($0.type) \($0.data)" } ?? "\(stopped.statusCode ?? 0)"
    check("a shutdown in the text is told", end == #"failed {"error":"engine.shut-down","retry":true}"#)
}

if ProcessInfo.processInfo.environment["CHAPPIE_BASE_URL"] == nil {
    try await demonstrate()
} else {
    try FileHandle.standardOutput.write(contentsOf: Data(try await relayed(by: Chappie.client()).body))
}
