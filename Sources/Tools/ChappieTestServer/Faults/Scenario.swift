// A named behaviour of a server, and the expected behaviour of a client, shared by tests, the command line and files.
//
// Immutable values.
import PlatformFoundation

extension ChappieTestServer {
    /// The answers of a server, the requests to it, and the expected observations of both sides.
    ///
    /// A scenario is data: `Scenarios/README.md` describes its JSON form, which `Schemas/scenario.schema.json` states as
    /// a JSON schema, and the files of the folder `Scenarios` have the built-in ones.
    public struct Scenario: Codable, Equatable, Sendable {
        /// A short name.
        public var name: String
        /// A description in a sentence.
        public var summary: String
        /// The configuration of the server.
        package var server: Server
        /// The settings of the client that the expectation presumes; nil is none.
        package var client: Client?
        /// The requests, in order, by one client; nil is one plain turn.
        package var turns: [Turn]?
        /// The expected behaviour of a client.
        package var expectation: Expectation?

        /// Creates a scenario of faults.
        package init(
            name: String, summary: String, faults: [Fault], model: ScriptedModel? = nil, eventsPerSecond: Double? = nil
        ) {
            self.name = name
            self.summary = summary
            self.server = Server(faults: faults, model: model, eventsPerSecond: eventsPerSecond)
        }

        /// Reads a scenario from its JSON text.
        ///
        /// Throws an error that describes all faults of the text where it is JSON, such as unknown members, and
        /// otherwise `DecodingError`.
        public init(jsonText: String) throws {
            try Self.checkForm(of: jsonText)
            self = try JSONDecoder().decode(Self.self, from: Data(jsonText.utf8))
        }

        /// The faults of the server.
        package var faults: [Fault] { self.server.faults }

        /// The scenario as JSON text.
        package var jsonText: String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            // Encoding fails only for a rate that is not a number.
            return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
        }
    }
}

extension ChappieTestServer.Scenario {
    /// The configuration of the server.
    ///
    /// Members that are left out have the defaults of `ChappieTestServer.Configuration`. Times are in seconds.
    package struct Server: Codable, Equatable, Sendable {
        /// The faults.
        package var faults: [ChappieTestServer.Fault]
        /// The scripted model.
        package var model: ChappieTestServer.ScriptedModel?
        /// The events of each response, in place of the scripted model's.
        package var responses: [[JSONText]]?
        /// The number of events per second.
        package var eventsPerSecond: Double?
        /// The certificate for TLS; nil without TLS.
        package var certificate: ChappieTestServer.TLSOptions.Certificate?
        /// The number of connections that are dropped before any byte is read.
        package var droppedConnections: Int?
        /// Indicates whether an offer of permessage-deflate is accepted.
        package var acceptsDeflate: Bool?
        /// The content coding of event streams.
        package var contentCoding: ChappieTestServer.ContentCoding?
        /// The size of each write.
        package var bytesPerWrite: Int?
        /// The number of events of one write.
        package var eventsPerWrite: Int?
        /// The line ends of event streams.
        package var lineEnding: ChappieTestServer.LineEnding?
        /// The accepted bearer tokens; any other is answered 401.
        package var acceptedTokens: [String]?
        /// The interval of `keepalive` events while a response waits.
        package var keepaliveInterval: Double?
        /// The interval of comments while an event stream waits.
        package var commentInterval: Double?
        /// The interval of pings on a WebSocket.
        package var pingInterval: Double?
        /// The age after which a WebSocket's next request is refused.
        package var connectionLifetime: Double?
        /// The largest message that a WebSocket takes.
        package var maximumMessageByteCount: Int?
        /// The connections on which usage limits and metadata precede a response.
        package var limitEvents: ChappieTestServer.LimitEvents?
        /// The age after which a background response cannot be streamed again.
        package var resumeLifetime: Double?
        /// The age after which a background response is removed.
        package var responseLifetime: Double?

        /// Creates a server with faults.
        package init(
            faults: [ChappieTestServer.Fault] = [], model: ChappieTestServer.ScriptedModel? = nil,
            eventsPerSecond: Double? = nil
        ) {
            self.faults = faults
            self.model = model
            self.eventsPerSecond = eventsPerSecond
        }
    }

    /// The client settings that an expectation presumes, independent of any client's API.
    ///
    /// Members that are left out have the client's defaults. Times are in seconds.
    package struct Client: Codable, Equatable, Sendable {
        /// The transport choice of a client.
        package enum TransportChoice: String, Codable, Hashable, Sendable {
            /// A WebSocket first, HTTP when that fails.
            case webSocketFirst
            /// A WebSocket only.
            case webSocketOnly
            /// HTTP only.
            case httpOnly
        }

        /// The recovery that a client may attempt when output was delivered and the connection breaks.
        package enum Recovery: String, Codable, Hashable, Sendable {
            /// Resume where that is possible, otherwise send again and compare.
            case verify
            /// Resume, and never send again.
            case resumeOnly
            /// No recovery.
            case never
        }

        /// The transport.
        package var transport: TransportChoice?
        /// Retries on a WebSocket.
        package var webSocketRetries: Int?
        /// Retries over HTTP.
        package var httpRetries: Int?
        /// The delay before the first retry, which doubles.
        package var reconnectDelay: Double?
        /// Retries after 429.
        package var rateLimitRetries: Int?
        /// The delay before the first retry after 429.
        package var rateLimitDelay: Double?
        /// The longest delay after 429.
        package var maximumRateLimitDelay: Double?
        /// The budget for name resolution, TCP, TLS and upgrade together.
        package var connectBudget: Double?
        /// The budget from the request to the first event.
        package var firstEventBudget: Double?
        /// The longest silence of the server, in which it sends no byte unprompted, pings included.
        package var idleBudget: Double?
        /// The longest time without an event other than a sign of life.
        package var progressBudget: Double?
        /// The time without progress after which a stall is reported.
        package var stallNotice: Double?
        /// The budget of the whole turn.
        package var totalBudget: Double?
        /// The quiet time after which a ping is sent.
        package var pingInterval: Double?
        /// The time limit for the answer to a ping.
        package var pongBudget: Double?
        /// The time after which HTTP is prepared beside an unanswered upgrade; 0 is no hedge.
        package var hedgeDelay: Double?
        /// The age at which a WebSocket is replaced between turns.
        package var maximumConnectionAge: Double?
        /// The permitted recovery.
        package var recovery: Recovery?
        /// Indicates whether compression is offered.
        package var offersCompression: Bool?
        /// The bearer tokens: the first one initially, the next after each rejection; the last one is kept.
        package var tokens: [String]?
        /// Indicates whether the authority that signed the server's certificate is trusted.
        package var trustsServer: Bool?

        /// Creates a client with default settings.
        package init() {}
    }

    /// One request to a client.
    package struct Turn: Codable, Equatable, Sendable {
        /// The user's message.
        package var prompt: String?
        /// Replaces the message by one of this length in bytes.
        package var promptByteCount: Int?
        /// Members of the request's body.
        ///
        /// The strings `$response` and `$call` are replaced by the id of the previous turn's response and of its first
        /// tool call.
        package var body: JSONText?
        /// The number of finished attempts that the server must have seen before the turn begins.
        package var afterFinishedAttempts: Int?

        /// Creates a plain turn.
        package init(prompt: String? = nil, body: JSONText? = nil, afterFinishedAttempts: Int? = nil) {
            self.prompt = prompt
            self.body = body
            self.afterFinishedAttempts = afterFinishedAttempts
        }
    }
}
