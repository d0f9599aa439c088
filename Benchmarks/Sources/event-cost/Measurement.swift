// Runs one workload over one path, and checks the events that come out.
import ChappieTransport
import Foundation
import ResponseEvents
import StreamTransport
import TransportSurface

/// The ways from bytes to events.
enum Path: String, CaseIterable {
    /// The decoder alone: one event's JSON to its facts and its text.
    case decode
    /// The messages of a WebSocket, through the engine, to a loop over `events(_:)`.
    case webSocket = "websocket"
    /// The same with a time limit for the turn, which makes the engine read each message in a step of its own.
    case steps
    /// The body of a response, through the event-stream parser and the engine, to a loop over `events(_:)`.
    case eventStream = "event-stream"
    /// As `event-stream`, from a server of Chat Completions.
    case chat
    /// As `event-stream`, from a server of Anthropic's Messages.
    case messages
    /// As `websocket`, cut at the end: all messages come again, and are compared with the delivered ones.
    case replay
    /// As `websocket`, with the standard library's `AsyncThrowingStream` around it.
    case asyncStream = "async-stream"

    /// The API that the server speaks.
    var dialect: ChappieDialect {
        switch self {
        case .chat: .chatCompletions
        case .messages: .messages
        case .decode, .webSocket, .steps, .eventStream, .replay, .asyncStream: .responses
        }
    }

    /// Indicates whether the events are messages of a WebSocket.
    var isWebSocket: Bool { self != .eventStream && self.dialect.hasWebSocket }
}

/// One path with one workload.
struct Measurement {
    /// The events that came out.
    struct Tally: Equatable {
        var eventCount = 0
        var deltaByteCount = 0

        @inline(__always)
        mutating func take(_ event: consuming ChappieStreamEvent) {
            guard case .textDelta(let text) = event else { return }
            self.eventCount += 1
            self.deltaByteCount += text.utf8.count
        }
    }

    let path: Path
    let workload: Workload

    /// Runs `passCount` passes, and prints their number and the events of a pass as one line of JSON.
    func run(passes passCount: Int) async throws {
        try await self.run(passCount: passCount)
        print(
            #"{"path":"\#(self.path.rawValue)","workload":"\#(self.workload.name)","passes":\#(passCount),"#
                + #""eventsPerPass":\#(self.workload.eventCount)}"#)
    }

    /// Runs `passCount` passes in one response, and checks the events that come out.
    private func run(passCount: Int) async throws {
        let expected = Tally(
            eventCount: passCount * self.workload.eventCount,
            deltaByteCount: passCount * self.workload.deltaByteCount)
        let tally =
            switch self.path {
            case .decode: try self.decode(passCount: passCount)
            case .webSocket, .steps, .eventStream, .chat, .messages, .replay, .asyncStream:
                try await self.stream(passCount: passCount)
            }
        guard tally == expected else {
            throw WrongTallyError(path: self.path, workload: self.workload.name, expected: expected, got: tally)
        }
    }

    private func decode(passCount: Int) throws -> Tally {
        var decoder = ResponseEventDecoder()
        var tally = Tally()
        for _ in 0..<passCount {
            for message in self.workload.messages.pieces {
                guard case .delta(.text, _, _, let text) = try decoder.decode(message).kind else { continue }
                tally.eventCount += 1
                tally.deltaByteCount += text.byteCount
            }
        }
        return tally
    }

    private func stream(passCount: Int) async throws -> Tally {
        let isWebSocket = self.path.isWebSocket
        let completion = self.path.dialect.completion
        let script = ArenaConnection.Script(
            head: ResponseHead(
                statusCode: isWebSocket ? 101 : 200,
                fields: isWebSocket ? [] : [HTTPField("content-type", "text/event-stream")]),
            kind: isWebSocket ? .text : .body,
            pieces: isWebSocket ? self.workload.messages : self.workload.stream, passCount: passCount,
            completion: Lendable([
                [UInt8]((isWebSocket ? completion[0] : completion.map { "data: \($0)\n\n" }.joined()).utf8)
            ]))
        guard let url = URL(string: "http://127.0.0.1/v1") else { throw UsageError() }
        var configuration = ChappieTransportConfiguration(baseURL: url)
        configuration.policy = ChappieStreamingTransportPolicy(prefersWebSocket: isWebSocket)
        configuration.dialect = self.path.dialect
        if self.path == .steps { configuration.timeouts.total = .seconds(3_600) }
        configuration.reconnectDelay = .zero
        let transport = ArenaTransport(script: script, cutCount: self.path == .replay ? 1 : 0)
        let instance = ChappieStreamingTransport(
            configuration: configuration, transport: transport, clock: .measured)
        let request = ChappieTransportRequest(prompt: "hi", model: "m")
        var tally = Tally()
        if self.path == .asyncStream {
            for try await event in instance.stream(request) { tally.take(event) }
        } else {
            for try await event in instance.events(request) { tally.take(event) }
        }
        return tally
    }
}

extension ChappieDialect {
    /// The events with which a server ends an answer.
    fileprivate var completion: [String] {
        switch self {
        case .responses: [#"{"type":"response.completed","response":{"id":"resp_1","status":"completed"}}"#]
        case .chatCompletions: [#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#, "[DONE]"]
        case .messages:
            [#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#, #"{"type":"message_stop"}"#]
        }
    }
}

extension ClientClock {
    /// A clock without waits, because there is one thread alone, whose time stands still: the time that valgrind takes
    /// would end slices of reading, and a new slice allocates.
    fileprivate static let measured: ClientClock = {
        let start = Moment.now
        return ClientClock(
            moment: { min(.now, start) }, fraction: { 0.5 }, sleep: { _ in })
    }()
}

/// The events that came out are not those of the workload.
struct WrongTallyError: Error, CustomStringConvertible {
    let path: Path
    let workload: String
    let expected: Measurement.Tally
    let got: Measurement.Tally

    var description: String {
        "\(self.path.rawValue) \(self.workload): expected \(self.expected), got \(self.got)"
    }
}
