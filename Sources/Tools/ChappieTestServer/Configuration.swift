// The configuration of a test server.
//
// Immutable values without an owner.

extension ChappieTestServer {
    /// The answers of a server, and its faults.
    public struct Configuration: Sendable {
        /// The TCP port on 127.0.0.1; 0 takes any free one.
        public var port: UInt16 = 0
        /// The source of a response's events.
        public var model: Model = .scripted(ScriptedModel())
        /// The model names that `GET …/models` lists.
        package var modelNames = ["scripted"]
        /// The faults, each for some attempts.
        ///
        /// All that match an attempt apply together.
        public var faults: [Fault] = []
        /// The TLS options, with a generated certificate; nil without TLS.
        public var tls: TLSOptions?
        /// The number of connections that are dropped before any byte is read, from the first on; during the TLS
        /// handshake if there is one.
        package var droppedConnections = 0
        /// The number of events per second; nil sends them as fast as the client reads.
        public var eventsPerSecond: Double?
        /// The answer to a WebSocket client's offer of permessage-deflate (RFC 7692).
        package var messageCompression: MessageCompression = .off
        /// The content coding of an event stream, used when the client accepts it.
        package var contentCoding: ContentCoding = .identity
        /// The division of events into writes.
        public var writeMode: WriteMode = .batched
        /// The line ends of an event stream.
        package var lineEnding: LineEnding = .lineFeed
        /// Indicates whether a request without a bearer token is answered 401.
        package var requiresAuthorization = false
        /// The accepted bearer tokens, any other being answered 401; nil is all.
        public var acceptedTokens: [String]?
        /// The interval of `keepalive` events while a response waits; nil is never.
        public var keepaliveInterval: Duration?
        /// The interval of comments while an event stream waits; nil is never.
        package var commentInterval: Duration?
        /// The interval of pings on a WebSocket, between responses too; nil is never.
        package var pingInterval: Duration?
        /// The time limit for the answer to such a ping, after which the WebSocket is closed with 1011; nil is no
        /// limit.
        package var pongTimeout: Duration?
        /// The age after which a background response cannot be streamed again.
        package var resumeLifetime: Duration = .seconds(300)
        /// The age after which a background response is removed.
        package var responseLifetime: Duration = .seconds(600)
        /// The age after which a WebSocket's next request is refused, as services do after an hour; nil is never.
        package var connectionLifetime: Duration?
        /// The largest message that a WebSocket client may send, in bytes; a larger one is closed with 1009.
        package var maximumMessageByteCount = 16 * 1024 * 1024
        /// The connections on which `codex.rate_limits` and `response.metadata` precede a response.
        package var limitEvents: LimitEvents = .onChatGPTPath
        /// Indicates whether `response.steer` adds input to a response on a WebSocket.
        package var supportsSteering = true
        /// The outcome of input that `response.steer` adds to a response without calls.
        ///
        /// Input for a response with calls waits for the request that brings their outputs.
        package var steeringOutcome: SteeringOutcome = .endsResponse
        /// The part of a chat completion that has to come back with its calls; nil for none.
        package var chatDemand: ChatDemand?
        /// The configuration of sign-ins.
        public var signIn = SignIn()
        /// Fields added to every answer of the two endpoints, the 101 included.
        public var additionalFields: [Field] = []
        /// The number of records that `log` keeps; older ones are dropped.
        package var maximumRecordCount = 10_000
        /// Receives one JSON object for each event, on the thread where it occurs.
        public var logLine: (@Sendable (String) -> Void)?

        /// Creates the defaults: plain HTTP, the scripted model, no fault.
        public init() {}

        /// Creates the defaults with a model and faults.
        public init(model: Model, faults: [Fault] = []) {
            self.model = model
            self.faults = faults
        }

        /// Creates the defaults with the settings of a scenario.
        public init(scenario: Scenario) {
            let server = scenario.server
            self.faults = server.faults
            if let model = server.model { self.model = .scripted(model) }
            if let responses = server.responses { self.model = .recordings(responses.map { $0.map(\.text) }) }
            self.eventsPerSecond = server.eventsPerSecond
            self.tls = server.certificate.map { TLSOptions(certificate: $0) }
            if server.acceptsDeflate == true { self.messageCompression = .deflate(DeflateParameters()) }
            self.contentCoding = server.contentCoding ?? self.contentCoding
            if let count = server.eventsPerWrite { self.writeMode = .events(count) }
            if let count = server.bytesPerWrite { self.writeMode = .bytes(count) }
            self.lineEnding = server.lineEnding ?? self.lineEnding
            self.acceptedTokens = server.acceptedTokens
            self.droppedConnections = server.droppedConnections ?? 0
            self.maximumMessageByteCount = server.maximumMessageByteCount ?? self.maximumMessageByteCount
            self.limitEvents = server.limitEvents ?? self.limitEvents
            self.applyTimes(of: server)
        }

        private mutating func applyTimes(of server: Scenario.Server) {
            self.keepaliveInterval = server.keepaliveInterval.map { .seconds($0) }
            self.commentInterval = server.commentInterval.map { .seconds($0) }
            self.pingInterval = server.pingInterval.map { .seconds($0) }
            self.connectionLifetime = server.connectionLifetime.map { .seconds($0) }
            self.resumeLifetime = server.resumeLifetime.map { .seconds($0) } ?? self.resumeLifetime
            self.responseLifetime = server.responseLifetime.map { .seconds($0) } ?? self.responseLifetime
        }
    }

    /// The part of a chat completion without which a server refuses the next request.
    package enum ChatDemand: Sendable {
        /// The scripted model's reasoning, as `reasoning_content` of each message of the model in a request with tools:
        /// DeepSeek's rule.
        case reasoning
        /// The signature that a call came with, in its `extra_content`: Gemini's rule.
        case signatures
    }

    /// The source of a response's events.
    public enum Model: Sendable {
        /// A model that generates them, the same for the same seed.
        case scripted(ScriptedModel)
        /// Recorded events, one JSON object an element. Several recordings are served in turn and then repeat; the next
        /// one begins when the last event of the current one was written.
        case recordings([[String]])
        /// A closure that returns events, called on a connection thread with the request.
        case custom(@Sendable (ResponseRequest) -> [String])

        /// Returns the source of responses that consist of one text, without reasoning and calls.
        public static func text(_ text: String) -> Self {
            var model = ScriptedModel()
            model.text = text
            model.includesReasoning = false
            model.callsTools = false
            return .scripted(model)
        }
    }

    /// A request for a response, as `Model.custom` receives it.
    public struct ResponseRequest: Sendable {
        /// The attempt that carries the request.
        public var attempt: Int
        /// The response's number over all attempts, from 1, warm-ups not counted.
        package var response: Int
        /// The transport that it arrived on.
        package var transport: Transport
        /// The JSON text of the request.
        public var bodyText: String
    }

    /// The two transports of a response.
    public enum Transport: String, Codable, Sendable {
        /// A WebSocket (RFC 6455).
        case webSocket
        /// An HTTP POST that is answered with an event stream.
        case http
    }

    /// A field of an HTTP message.
    public struct Field: Codable, Equatable, Sendable {
        /// The field name.
        public var name: String
        /// The field value.
        public var value: String

        /// Creates a field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The server's parameters for permessage-deflate (RFC 7692 section 7.1).
    package struct DeflateParameters: Hashable, Sendable {
        /// Indicates whether every message is compressed on its own.
        package var serverNoContextTakeover = false
        /// Indicates whether the client is asked to compress every message on its own.
        package var clientNoContextTakeover = false
        /// The server's window, 9 to 15.
        package var serverMaxWindowBits: Int?
        /// The client's window, 8 to 15; answered only to a client that offers the parameter.
        package var clientMaxWindowBits: Int?
        /// The size below which messages are sent uncompressed.
        package var minimumByteCount = 0

        /// Creates parameters with context takeover in both directions and the largest windows.
        package init() {}
    }

    /// The answer to an offer of permessage-deflate.
    package enum MessageCompression: Hashable, Sendable {
        /// Ignore it.
        case off
        /// Accept it with these parameters.
        case deflate(DeflateParameters)
    }

    /// A content coding (RFC 9110 section 8.4.1).
    package enum ContentCoding: String, Codable, Hashable, Sendable, CaseIterable {
        /// None.
        case identity
        /// gzip.
        case gzip
        /// zlib, which HTTP calls deflate.
        case deflate
    }

    /// The division of events into writes and, over HTTP, into chunks.
    public enum WriteMode: Sendable {
        /// A chunk an event, many in one write.
        case batched
        /// A chunk and a write an event.
        case perEvent
        /// Several events in one chunk and one write.
        case events(Int)
        /// Chunks (HTTP) or writes (WebSocket) of this number of bytes, wherever they fall.
        case bytes(Int)
    }

    /// The line ends of an event stream; a reader has to accept all three.
    package enum LineEnding: String, Codable, Hashable, Sendable, CaseIterable {
        /// LF.
        case lineFeed = "lf"
        /// CR LF.
        case carriageReturnLineFeed = "crlf"
        /// CR.
        case carriageReturn = "cr"

        /// The characters.
        var text: String {
            switch self {
            case .lineFeed: "\n"
            case .carriageReturnLineFeed: "\r\n"
            case .carriageReturn: "\r"
            }
        }
    }

    /// The outcome of input that is added to a running response.
    package enum SteeringOutcome: String, Codable, Hashable, Sendable, CaseIterable {
        /// The response ends at its next event, as `incomplete` for the reason `steered`, and a successor follows.
        case endsResponse
        /// The response is completed, and a successor follows.
        case followsCompletion
        /// The response is completed, and the accepted input is returned (`response.steer.failed`).
        case isReturned
        /// The response is completed, and nothing follows.
        case isForgotten
    }

    /// The connections on which usage-limit events are sent.
    package enum LimitEvents: String, Codable, Hashable, Sendable {
        /// None.
        case never
        /// On `/backend-api/codex/responses` only, as the services do.
        case onChatGPTPath
        /// On both paths.
        case always
    }
}
