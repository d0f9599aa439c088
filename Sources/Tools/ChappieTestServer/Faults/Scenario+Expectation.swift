// The expected behaviour of a client in a scenario.
//
// Immutable values.

extension ChappieTestServer.Scenario {
    /// The expected observations of both sides when the last turn is over.
    ///
    /// Members that are left out are not checked.
    package struct Expectation: Codable, Equatable, Sendable {
        /// The expected result of each turn, in order; a scenario without turns has one.
        package var turns: [TurnExpectation]
        /// The attempts as the server saw them, in order.
        package var attempts: [AttemptKind]?
        /// The status code of each attempt's answer.
        package var statuses: [Int]?
        /// The requests that the server read, in order, over all attempts.
        package var requests: [RequestExpectation]?
        /// The number of TCP connections that the client has opened.
        package var connections: Int?
        /// The classification of the failure.
        package var failureClass: FailureClass?
        /// Indicates whether every ping of the server was answered with its own payload, in order.
        package var answersPings: Bool?
        /// Indicates whether the client pings.
        package var sendsPings: Bool?
        /// Indicates whether the client offers an extension.
        package var agreesOnExtension: Bool?
        /// The number of times that the client has asked for a token.
        package var tokensAskedFor: Int?

        /// Creates an expectation of turns.
        package init(turns: [TurnExpectation]) { self.turns = turns }
    }

    /// The kind of an attempt, as the server sees it.
    package enum AttemptKind: String, Codable, Hashable, Sendable {
        /// A WebSocket's opening handshake.
        case webSocket
        /// A POST.
        case http
        /// A GET that resumes a background response.
        case resume
    }

    /// The classification of a failure, which determines the client's next step.
    package enum FailureClass: String, Codable, Hashable, Sendable, CaseIterable {
        /// A WebSocket cannot work here: HTTP at once, and for good.
        case definite
        /// A WebSocket probably cannot work here: one more attempt, then HTTP for good.
        case probable
        /// The connection is lost: another one on the same transport.
        case transient
        /// The response failed and the transport is fine: another attempt on the same transport.
        case server
        /// Too large for a WebSocket: HTTP for this request alone.
        case size
        /// Neither transport reaches the server: the turn fails and no transport is given up.
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

    /// The expected result of one turn.
    package struct TurnExpectation: Codable, Equatable, Sendable {
        /// The delivered part of the text.
        package enum Delivery: String, Codable, Hashable, Sendable {
            /// All of it, once.
            case whole
            /// A non-empty beginning of it.
            case prefix
            /// None of it.
            case none
        }

        /// The delivered part of the text.
        package var delivers: Delivery
        /// The whole text; nil is the scripted model's.
        package var text: String?
        /// The size of the whole text in bytes, in place of the text.
        package var textByteCount: Int?
        /// The exact delivered text, when `delivers` is `prefix`.
        package var deliveredText: String?
        /// `completed`, or the stable tag of the error.
        package var ends: String
        /// The error's category.
        package var category: String?
        /// The outcomes that the client reports for each attempt: `completed`, or the stable tag of the error.
        package var outcomes: [String]?
        /// The kinds of the diagnostics, in order, except those of new connections.
        package var diagnostics: [String]?
        /// Kinds of diagnostics that must occur.
        package var reports: [String]?
        /// The number of tool calls that are delivered.
        package var toolCalls: Int?
        /// Types of events beside the text that must be delivered.
        package var passesOn: [String]?
        /// The percentages of the usage windows, in the order of their delivery.
        package var usageLimits: [UsageWindows]?
        /// The transport that carries the turn in the end.
        package var transport: AttemptKind?
        /// The shortest duration of the turn, in seconds.
        package var atLeast: Double?
        /// The longest duration of the turn, in seconds.
        package var atMost: Double?

        /// Creates an expectation of a turn.
        package init(delivers: Delivery, ends: String) {
            self.delivers = delivers
            self.ends = ends
        }
    }

    /// The two usage windows of one snapshot, in per cent.
    package struct UsageWindows: Codable, Equatable, Sendable {
        /// The short window.
        package var primary: Double?
        /// The long window.
        package var secondary: Double?

        /// Creates windows.
        package init(primary: Double?, secondary: Double?) {
            self.primary = primary
            self.secondary = secondary
        }
    }

    /// The expected properties of one request.
    package struct RequestExpectation: Codable, Equatable, Sendable {
        /// The attempt that carries it.
        package var attempt: Int
        /// Indicates whether it continues a response, that is, whether it has a `previous_response_id`.
        package var continues: Bool?
        /// The number of items of its input.
        package var inputItems: Int?
        /// The number after which a GET resumes; nil when it requests the response from its beginning.
        package var startingAfter: Int?

        /// Creates an expectation of a request of an attempt.
        package init(attempt: Int, continues: Bool? = nil, inputItems: Int? = nil, startingAfter: Int? = nil) {
            self.attempt = attempt
            self.continues = continues
            self.inputItems = inputItems
            self.startingAfter = startingAfter
        }
    }
}
