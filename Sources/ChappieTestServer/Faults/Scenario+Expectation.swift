// What a good client makes of a scenario.
//
// Immutable values.

extension ChappieTestServer.Scenario {
    /// What both sides must have seen when the last turn is over.
    ///
    /// What is left out is not looked at.
    public struct Expectation: Codable, Hashable, Sendable {
        /// What each turn comes to, in order; a scenario without turns has one.
        public var turns: [TurnExpectation]
        /// The attempts as the server saw them, in order.
        public var attempts: [AttemptKind]?
        /// The status code of each attempt's answer.
        public var statuses: [Int]?
        /// The requests that the server read, in order, over all attempts.
        public var requests: [RequestExpectation]?
        /// How many TCP connections the client has opened.
        public var connections: Int?
        /// How the failure is classified.
        public var failureClass: FailureClass?
        /// Indicates whether every ping of the server was answered with its own payload, in order.
        public var answersPings: Bool?
        /// Indicates whether the client pings.
        public var sendsPings: Bool?
        /// Indicates whether the client offers an extension.
        public var agreesOnExtension: Bool?
        /// How often the client has asked for a token.
        public var tokensAskedFor: Int?

        /// An expectation of turns.
        public init(turns: [TurnExpectation]) { self.turns = turns }
    }

    /// One attempt as the server sees it.
    public enum AttemptKind: String, Codable, Hashable, Sendable {
        /// A WebSocket's opening handshake.
        case webSocket
        /// A POST.
        case http
        /// A GET that goes on with a background response.
        case resume
    }

    /// What a failure says, and with it what the client does next.
    public enum FailureClass: String, Codable, Hashable, Sendable, CaseIterable {
        /// A WebSocket cannot work here: HTTP at once, and for good.
        case definite
        /// A WebSocket probably cannot work here: one more attempt, then HTTP for good.
        case probable
        /// The connection is gone: another one on the same transport.
        case transient
        /// The response failed and the transport is fine: another attempt on the same transport.
        case server
        /// Too large for a WebSocket: HTTP for this request alone.
        case size
        /// Neither transport reaches the server: the turn fails and nothing is given up.
        case offline
        /// The credential was rejected: once more with a fresh one.
        case credential
        /// Too many requests: once more on the same transport, later.
        case throttle
        /// The plan is used up: the turn fails at once.
        case usageLimit
        /// The request would fail in the same way again: the turn fails at once.
        case fatal
    }

    /// What one turn comes to.
    public struct TurnExpectation: Codable, Hashable, Sendable {
        /// How much of the text is delivered.
        public enum Delivery: String, Codable, Hashable, Sendable {
            /// All of it, once.
            case whole
            /// A beginning of it, and not nothing.
            case prefix
            /// Nothing of it.
            case none
        }

        /// How much of the text is delivered.
        public var delivers: Delivery
        /// The whole text; nil is the scripted model's.
        public var text: String?
        /// The size of the whole text in bytes, in place of the text.
        public var textByteCount: Int?
        /// Exactly what is delivered, when `delivers` is `prefix`.
        public var deliveredText: String?
        /// `completed`, or the stable tag of the error.
        public var ends: String
        /// The error's category.
        public var category: String?
        /// What the client says of each attempt: `completed`, or the stable tag of what ended it.
        public var outcomes: [String]?
        /// The kinds of the diagnostics, in order, those of new connections left out.
        public var diagnostics: [String]?
        /// Kinds of diagnostics, at least.
        public var reports: [String]?
        /// How many tool calls are handed out.
        public var toolCalls: Int?
        /// Types of events that are handed out beside the text, at least.
        public var passesOn: [String]?
        /// The percentages of the usage windows, in the order in which they are handed out.
        public var usageLimits: [UsageWindows]?
        /// The transport that carries the turn in the end.
        public var transport: AttemptKind?
        /// How long the turn takes at least, in seconds.
        public var atLeast: Double?
        /// How long the turn takes at most, in seconds.
        public var atMost: Double?

        /// What a turn comes to.
        public init(delivers: Delivery, ends: String) {
            self.delivers = delivers
            self.ends = ends
        }
    }

    /// The two usage windows of one snapshot, in per cent.
    public struct UsageWindows: Codable, Hashable, Sendable {
        /// The short window.
        public var primary: Double?
        /// The long window.
        public var secondary: Double?

        /// Windows.
        public init(primary: Double?, secondary: Double?) {
            self.primary = primary
            self.secondary = secondary
        }
    }

    /// What one request must look like.
    public struct RequestExpectation: Codable, Hashable, Sendable {
        /// The attempt that carries it.
        public var attempt: Int
        /// Indicates whether it continues a response: whether it has a `previous_response_id`.
        public var continues: Bool?
        /// How many items its input has.
        public var inputItems: Int?
        /// The number after which a GET goes on.
        public var startingAfter: Int?

        /// A request of an attempt.
        public init(attempt: Int, continues: Bool? = nil, inputItems: Int? = nil, startingAfter: Int? = nil) {
            self.attempt = attempt
            self.continues = continues
            self.inputItems = inputItems
            self.startingAfter = startingAfter
        }
    }
}
