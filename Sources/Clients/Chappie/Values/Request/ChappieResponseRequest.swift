public import ChappieTransport
import ResponseEvents

/// The request of one turn; properties that are nil have the value of the client's configuration, or are not sent.
///
/// A property that cannot be sent, such as a URL of a picture with a line break, fails the turn before any request is
/// sent: as `ChappieClientError.transport` with the tag `request.invalid` and the property in its description. Members
/// that have no property here are given in a body (`bodyJSON`).
///
/// ```swift
/// var request = ChappieResponseRequest("Summarise the report.")
/// request.model = "gpt-5.5"
/// request.reasoningEffort = .high
/// let response = try await client.response(request)
/// ```
public struct ChappieResponseRequest: Sendable, Equatable {
    /// The messages, in order; they follow the conversation's context.
    public var messages: [ChappieInputMessage]
    /// A whole request body, a JSON object in UTF-8, that the other properties override.
    ///
    /// Its `input` is inserted between the conversation and `messages`, its `tools` before those of the client. A body
    /// that is not a JSON object fails the turn before any request is sent.
    public var bodyJSON: [UInt8]?
    /// The model.
    public var model: String?
    /// The effort of the model's reasoning.
    public var reasoningEffort: ChappieReasoningEffort?
    /// The service tier.
    public var serviceTier: ChappieServiceTier?
    /// Indicates whether the model may search the web.
    public var searchAccess: ChappieSearchAccess?
    /// Replaces the harness's instructions.
    public var instructions: String?
    /// The longest answer, in tokens, reasoning included.
    ///
    /// It is left out for endpoints that refuse it (`ChappieEndpoint.takesMaxOutputTokens`).
    public var maxOutputTokens: Int?
    /// The format of the model's text; `generate(_:as:schema:)` of a client sets it.
    public var textFormat: ChappieTextFormat?
    /// The model's choice among the tools.
    public var toolChoice: ChappieToolChoice?
    /// The randomness of sampling, from 0; servers take at most 2.
    ///
    /// Models that reason may refuse it, as they may `topP`.
    public var temperature: Double?
    /// The probability, 0 to 1, of the most likely tokens among which one is sampled.
    public var topP: Double?
    /// Names and values that the server stores with the response: at most 16, of at most 64 and 512 characters.
    public var metadata: [String: String]?
    /// The stored response that the input follows (`previous_response_id`), with everything that led to it.
    ///
    /// Every request of the turn has it, and holds the conversation's items as well. Later turns do not have it. Such
    /// requests are sent whole.
    public var previousResponseID: String?
    /// The key of the prompt cache.
    ///
    /// Default: the conversation's identifier where the endpoint takes one (`ChappieEndpoint.takesPromptCacheKey`).
    public var promptCacheKey: String?
    /// The treatment of an input that is too long.
    public var truncation: ChappieTruncation?
    /// Additional data of the response, beside the encrypted reasoning that the endpoint asks for
    /// (`ChappieEndpoint.returnsEncryptedReasoning`).
    public var include: [ChappieInclude]?
    /// Replaces the conversation's lane.
    public var lane: String?
    /// The caller's identifier of the turn, which every request of it carries.
    ///
    /// Default a random UUID.
    public var requestID: String?
    /// The trace that the turn belongs to.
    public var traceContext: ChappieTraceContext?
    /// The time limits of each request of the turn in place of `ChappieConfiguration.timeouts`, all of them.
    ///
    /// Default nil, which is the configuration's. `total` is then the limit of each response, as in the configuration;
    /// `ChappieRunLimits.duration` is that of the turn with its tools. A value outside its range becomes the nearest
    /// one inside.
    public var timeouts: ChappieTimeouts?
    /// The turn's own header fields (`fields`).
    var fieldList: [Field] = []

    /// Creates a request of one message of the person.
    public init(_ prompt: String) { self.init([.user(prompt)]) }

    /// Creates a request of one message.
    public init(_ message: ChappieInputMessage) { self.init([message]) }

    /// Creates a request of messages in order.
    public init(_ messages: [ChappieInputMessage]) { self.messages = messages }

    /// The effort that the request asks for, by itself or with a message in fast mode.
    var effort: ChappieReasoningEffort? {
        self.reasoningEffort ?? (self.messages.contains { $0.options.fastMode } ? .low : nil)
    }
}

/// The effort of a model's reasoning before it answers.
///
/// Models support different efforts; any name may be given: `"xhigh"`.
public struct ChappieReasoningEffort: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name on the wire.
    public let rawValue: String

    /// An effort by its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An effort by its name.
    public init(stringLiteral value: String) { self.rawValue = value }

    /// No reasoning.
    public static let none = Self(rawValue: "none")
    /// The least reasoning.
    public static let minimal = Self(rawValue: "minimal")
    /// Little reasoning, the effort of fast mode.
    public static let low = Self(rawValue: "low")
    /// Medium reasoning.
    public static let medium = Self(rawValue: "medium")
    /// Much reasoning.
    public static let high = Self(rawValue: "high")
}

/// The service tier, which determines speed and price.
///
/// Any name may be given: `"priority"`.
public struct ChappieServiceTier: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name on the wire.
    public let rawValue: String

    /// A tier by its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A tier by its name.
    public init(stringLiteral value: String) { self.rawValue = value }

    /// The account's setting.
    public static let auto = Self(rawValue: "auto")
    /// The usual speed, whatever the account's setting.
    public static let `default` = Self(rawValue: "default")
    /// Slower and cheaper.
    public static let flex = Self(rawValue: "flex")
    /// Faster and more expensive.
    public static let priority = Self(rawValue: "priority")
}

/// The model's permission to search the web, with the server's own tool.
public enum ChappieSearchAccess: String, Sendable, Codable, CaseIterable {
    /// No search: the tool is not among the request's tools.
    case disabled
    /// Search in the server's stored pages only (`external_web_access` false).
    case cached
    /// Search of the web.
    case live

    /// The tool as JSON text; nil when there is none.
    var toolJSON: String? {
        switch self {
        case .disabled: nil
        case .cached: #"{"type":"web_search","external_web_access":false}"#
        case .live: #"{"type":"web_search"}"#
        }
    }
}
