import Foundation
import StreamTransport
import Testing

@testable import WebSocketClient

/// A connection over a script, with what the program's sinks were given.
struct WebSocketFixture {
    let exchange: ScriptedWebSocket
    let lines = LockedValue<[ChappieLogEntry]>([])
    let measurements = LockedValue<[ChappieMetric]>([])
    let requests = LockedValue<[TransportRequest]>([])
    var configuration: WebSocketConfiguration

    init(
        _ events: [ScriptedEvent], peerBeganClosing: Bool? = nil, sendOutcome: SendOutcome = .queued,
        roundTrip: RoundTrip = .measured(.milliseconds(5)), lendsArrived: Bool = true, sendsAtOnce: Bool = true,
        url: String = "ws://127.0.0.1:9/path?q=1"
    ) throws {
        self.exchange = ScriptedWebSocket(
            events, peerBeganClosing: peerBeganClosing, sendOutcome: sendOutcome, roundTrip: roundTrip,
            lendsArrived: lendsArrived, sendsAtOnce: sendsAtOnce)
        self.configuration = WebSocketConfiguration(url: try #require(URL(string: url)))
        self.configuration.proxy = .none
        self.configuration.connectionID = "name"
        let (lines, measurements) = (self.lines, self.measurements)
        self.configuration.log = { line in lines.withLock { $0.append(line) } }
        self.configuration.metrics = { metric in measurements.withLock { $0.append(metric) } }
    }

    func open() async throws -> WebSocketConnection {
        try await WebSocketConnection.open(self.configuration) { request in
            self.requests.withLock { $0.append(request) }
            return self.exchange
        }
    }

    /// The error of opening; nil when it succeeds.
    func errorOfOpening() async -> WebSocketError? {
        do {
            _ = try await self.open()
            return nil
        } catch {
            return error as? WebSocketError
        }
    }

    /// The tags of the log's lines, and the outcomes of the measurements.
    var outcomes: [String] { self.measurements.withLock { $0.map { "\($0.operation) \($0.outcome)" } } }

    /// The categories of the measurements.
    var categories: [ChappieErrorCategory?] { self.measurements.withLock { $0.map(\.category) } }
}

extension WebSocketConnection {
    /// Reads to the end: the messages, and the error that it ends with.
    func readToEnd() async -> (messages: [WebSocketMessage], error: (any Error)?) {
        var read: [WebSocketMessage] = []
        do {
            for try await message in self.messages { read.append(message) }
            return (read, nil)
        } catch {
            return (read, error)
        }
    }
}
