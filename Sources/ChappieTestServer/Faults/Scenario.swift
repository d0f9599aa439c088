// A named way to misbehave, and what a good client makes of it, as tests, the command line and files share it.
//
// Immutable values.
import FoundationEssentials

extension ChappieTestServer {
    /// How a server answers, what is asked of it, and what both sides must see in the end.
    ///
    /// A scenario is data: `Scenarios/README.md` describes its JSON form, and every file beside it is one.
    public struct Scenario: Codable, Hashable, Sendable {
        /// A short name.
        public var name: String
        /// What happens, in a sentence.
        public var summary: String
        /// How the server answers.
        public var server: Server
        /// What the expectation presumes about the client; nil is nothing.
        public var client: Client?
        /// What is asked, in order, by one client; nil is one plain turn.
        public var turns: [Turn]?
        /// What a good client makes of it.
        public var expectation: Expectation?

        /// Makes a scenario of faults.
        public init(
            name: String, summary: String, faults: [Fault], model: ScriptedModel? = nil, eventsPerSecond: Double? = nil
        ) {
            self.name = name
            self.summary = summary
            self.server = Server(faults: faults, model: model, eventsPerSecond: eventsPerSecond)
        }

        /// Reads a scenario from its JSON text; throws `DecodingError`.
        public init(jsonText: String) throws {
            self = try JSONDecoder().decode(Self.self, from: Data(jsonText.utf8))
        }

        /// What goes wrong.
        public var faults: [Fault] { self.server.faults }

        /// The scenario as JSON text.
        public var jsonText: String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            // Encoding fails only for a rate that is not a number.
            return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
        }
    }
}

extension ChappieTestServer.Scenario {
    /// How the server answers.
    ///
    /// What is left out is as `ChappieTestServer.Configuration` has it. Times are in seconds.
    public struct Server: Codable, Hashable, Sendable {
        /// What goes wrong.
        public var faults: [ChappieTestServer.Fault]
        /// The scripted model.
        public var model: ChappieTestServer.ScriptedModel?
        /// The events of each response, in place of the scripted model's.
        public var responses: [[JSONText]]?
        /// Events a second.
        public var eventsPerSecond: Double?
        /// Serve over TLS, with this certificate.
        public var certificate: ChappieTestServer.TLSOptions.Certificate?
        /// How many connections are dropped before anything is read.
        public var droppedConnections: Int?
        /// Indicates whether an offer of permessage-deflate is accepted.
        public var acceptsDeflate: Bool?
        /// The content coding of event streams.
        public var contentCoding: ChappieTestServer.ContentCoding?
        /// The size of each write.
        public var bytesPerWrite: Int?
        /// How many events one write carries.
        public var eventsPerWrite: Int?
        /// The line ends of event streams.
        public var lineEnding: ChappieTestServer.LineEnding?
        /// Bearer tokens that are accepted; any other is answered 401.
        public var acceptedTokens: [String]?
        /// How often a `keepalive` event is sent while a response waits.
        public var keepaliveInterval: Double?
        /// How often a comment is sent while an event stream waits.
        public var commentInterval: Double?
        /// How often a WebSocket gets a ping.
        public var pingInterval: Double?
        /// The age after which a WebSocket's next request is refused.
        public var connectionLifetime: Double?
        /// The largest message that a WebSocket takes.
        public var maximumMessageByteCount: Int?
        /// Where usage limits and metadata precede a response.
        public var limitEvents: ChappieTestServer.LimitEvents?
        /// The age after which a background response cannot be streamed again.
        public var resumeLifetime: Double?
        /// The age after which a background response is forgotten.
        public var responseLifetime: Double?

        /// A server with faults.
        public init(
            faults: [ChappieTestServer.Fault] = [], model: ChappieTestServer.ScriptedModel? = nil,
            eventsPerSecond: Double? = nil
        ) {
            self.faults = faults
            self.model = model
            self.eventsPerSecond = eventsPerSecond
        }
    }

    /// What an expectation presumes about the client, in words that are nobody's API.
    ///
    /// What is left out is the client's default. Times are in seconds.
    public struct Client: Codable, Hashable, Sendable {
        /// How a client chooses its transport.
        public enum TransportChoice: String, Codable, Hashable, Sendable {
            /// A WebSocket first, HTTP when that fails.
            case webSocketFirst
            /// A WebSocket and nothing else.
            case webSocketOnly
            /// HTTP and nothing else.
            case httpOnly
        }

        /// What a client may do when output was delivered and the connection breaks.
        public enum Recovery: String, Codable, Hashable, Sendable {
            /// Resume where that is possible, otherwise send again and compare.
            case verify
            /// Resume, and never send again.
            case resumeOnly
            /// Nothing.
            case never
        }

        /// The transport.
        public var transport: TransportChoice?
        /// Retries on a WebSocket.
        public var webSocketRetries: Int?
        /// Retries over HTTP.
        public var httpRetries: Int?
        /// The delay before the first retry, which doubles.
        public var reconnectDelay: Double?
        /// Retries after 429.
        public var rateLimitRetries: Int?
        /// The delay before the first of those.
        public var rateLimitDelay: Double?
        /// The longest of those delays.
        public var maximumRateLimitDelay: Double?
        /// Name resolution, TCP, TLS and upgrade together.
        public var connectBudget: Double?
        /// From the request to the first event.
        public var firstEventBudget: Double?
        /// The longest silence: nothing of the server's own accord, pings included.
        public var idleBudget: Double?
        /// The longest time without an event that is more than a sign of life.
        public var progressBudget: Double?
        /// The time without progress after which a stall is reported.
        public var stallNotice: Double?
        /// The whole turn.
        public var totalBudget: Double?
        /// The quiet after which a ping is sent.
        public var pingInterval: Double?
        /// How long the answer may take.
        public var pongBudget: Double?
        /// How long an upgrade may take before HTTP is prepared beside it; 0 is no hedge.
        public var hedgeDelay: Double?
        /// The age at which a WebSocket is replaced between turns.
        public var maximumConnectionAge: Double?
        /// The recovery that is allowed.
        public var recovery: Recovery?
        /// Indicates whether compression is offered.
        public var offersCompression: Bool?
        /// The bearer tokens: the first at the beginning, the next after each rejection; the last one stays.
        public var tokens: [String]?
        /// Indicates whether the authority that signed the server's certificate is trusted.
        public var trustsServer: Bool?

        /// A client of which nothing is presumed.
        public init() {}
    }

    /// One request to a client.
    public struct Turn: Codable, Hashable, Sendable {
        /// The user's message.
        public var prompt: String?
        /// Replaces the message by one of so many bytes.
        public var promptByteCount: Int?
        /// Members of the request's body.
        ///
        /// The strings `$response` and `$call` stand for the id of the turn before's response and of its first tool
        /// call.
        public var body: JSONText?
        /// What the server must have seen before the turn begins: so many attempts that are over.
        public var afterFinishedAttempts: Int?

        /// A plain turn.
        public init(prompt: String? = nil, body: JSONText? = nil, afterFinishedAttempts: Int? = nil) {
            self.prompt = prompt
            self.body = body
            self.afterFinishedAttempts = afterFinishedAttempts
        }
    }
}
