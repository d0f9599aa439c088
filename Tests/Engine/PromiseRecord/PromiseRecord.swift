// One run as the oracle in Tests/Engine/Promise reads it: what the server sent for each request, and what the consumer
// received.
//
// Values; the program that runs the turns owns them. Tests/Engine/Promise/README.md has the format.
package import ChappieTransport
import Foundation

/// The turns of one run, as a line of JSON.
package struct PromiseRecord: Sendable {
    /// One answer of the server.
    package struct Exchange: Sendable {
        /// The request that was answered.
        package enum Request: Sendable {
            /// A new response, with the content of the request where the oracle has to read it.
            case create(content: [UInt8]?)
            /// The rest of a kept response: `…/{id}?starting_after=N`.
            case resume(id: String, after: Int?)
        }

        /// The bytes that were sent, at the level at which the program knows them.
        package enum Sent: Sendable {
            /// All bytes of the connection: HTTP, and the frames behind a 101.
            case connection([UInt8])
            /// The decoded content of an event stream.
            case eventStream([UInt8])
            /// The contents of whole text messages.
            case messages([[UInt8]])
        }

        /// Equal for exchanges on the same connection.
        package var connection: Int
        /// Indicates whether the answer travels on a WebSocket.
        package var isWebSocket: Bool
        /// The request.
        package var request: Request
        /// The sent part of the answer.
        package var sent: Sent
        /// Indicates whether the server knows that the request has come.
        package var isRequestSeen = true
        /// The API of the answer.
        package var dialect = ChappieDialect.responses

        /// An answer.
        package init(connection: Int, isWebSocket: Bool, request: Request, sent: Sent) {
            self.connection = connection
            self.isWebSocket = isWebSocket
            self.request = request
            self.sent = sent
        }
    }

    /// One turn of the consumer.
    package struct Turn: Sendable {
        /// The answers, in the order of their requests.
        package var exchanges: [Exchange] = []
        /// Everything that the stream delivered, in order.
        package var received: [ChappieStreamEvent] = []
        /// The error that the stream threw.
        package var error: (any Error)?
        /// Indicates whether the consumer went away, so that the turn needs no end.
        package var isAbandoned = false
        /// The number of times that another answer may replace the delivered one.
        package var maximumRestartCount = 0

        /// Creates a turn without sent or received data.
        package init() {}
    }

    /// The run's name, by which its program can repeat it.
    package var name: String
    /// The turns, in order.
    package var turns: [Turn]
    /// Indicates whether the consumer received the finished calls of its responses, as `.raw` events.
    package var handsOverCalls: Bool

    /// A run.
    package init(name: String, turns: [Turn], handsOverCalls: Bool) {
        self.name = name
        self.turns = turns
        self.handsOverCalls = handsOverCalls
    }

    /// The record as JSON text without a line end.
    package var line: String {
        var text = "{\"name\":\(Self.quoted(self.name)),\"calls\":\(self.handsOverCalls),\"turns\":["
        text += self.turns.map(Self.object).joined(separator: ",")
        return text + "]}"
    }

    private static func object(_ turn: Turn) -> String {
        var received = turn.received.compactMap(self.object)
        if let error = turn.error { received.append(self.object(error)) }
        let exchanges = turn.exchanges.map(self.object)
        return "{\"exchanges\":[\(exchanges.joined(separator: ","))],\"received\":[\(received.joined(separator: ","))]"
            + ",\"abandoned\":\(turn.isAbandoned),\"restarts\":\(turn.maximumRestartCount)}"
    }

    private static func object(_ exchange: Exchange) -> String {
        var request = "{\"kind\":\"create\"}"
        switch exchange.request {
        case .create(content: nil): break
        case .create(let content?): request = "{\"kind\":\"create\",\"content\":\"\(self.base64(content))\"}"
        case .resume(let id, let after):
            let number = after.map { ",\"starting_after\":\($0)" } ?? ""
            request = "{\"kind\":\"resume\",\"id\":\(self.quoted(id))\(number)}"
        }
        let sent =
            switch exchange.sent {
            case .connection(let bytes): "\"bytes\":\"\(self.base64(bytes))\""
            case .eventStream(let bytes): "\"stream\":\"\(self.base64(bytes))\""
            case .messages(let messages):
                "\"messages\":[" + messages.map { "\"\(self.base64($0))\"" }.joined(separator: ",") + "]"
            }
        let transport = exchange.isWebSocket ? "websocket" : "http"
        return "{\"connection\":\(exchange.connection),\"transport\":\"\(transport)\","
            + "\"dialect\":\(self.quoted(exchange.dialect.rawValue)),"
            + "\"request\":\(request),\"seen\":\(exchange.isRequestSeen),\(sent)}"
    }

    /// An event with the members of `chappie stream --json` that the oracle reads; nil for one that it does not read.
    private static func object(_ event: ChappieStreamEvent) -> String? {
        switch event {
        case .textDelta(let text): "{\"type\":\"textDelta\",\"text\":\(self.quoted(text))}"
        case .reasoningDelta(let text): "{\"type\":\"reasoningDelta\",\"text\":\(self.quoted(text))}"
        case .refusalDelta(let text): "{\"type\":\"refusalDelta\",\"text\":\(self.quoted(text))}"
        case .raw(let type, let payload):
            "{\"type\":\"raw\",\"eventType\":\(self.quoted(type)),\"payload\":\(self.quoted(payload))}"
        case .restarted(let text): "{\"type\":\"restarted\",\"deliveredText\":\(self.quoted(text))}"
        case .completed: "{\"type\":\"completed\"}"
        case .usageLimits, .diagnostic: nil
        case .toolCallRequested, .approvalRequested, .toolCallCompleted: "{\"type\":\"of a client\"}"
        }
    }

    private static func object(_ error: any Error) -> String {
        var members = ["\"type\":\"error\""]
        if error is CancellationError { members.append("\"tag\":\"cancelled\"") }
        if let error = error as? ChappieClientError {
            members.append("\"tag\":\(self.quoted(error.tag))")
            if case .transport(let failure) = error {
                members.append("\"replaySafety\":\(self.quoted(failure.replaySafety.rawValue))")
            }
            if case .streamingTransportReplayDiverged(let text) = error {
                members.append("\"deliveredText\":\(self.quoted(text))")
            }
        }
        return "{\(members.joined(separator: ","))}"
    }

    private static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// A JSON string (RFC 8259 section 7).
    private static func quoted(_ text: String) -> String {
        var bytes = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                bytes += Array("\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }
}
