import ResponseEvents

/// What one turn asks, and how: everything that is nil is as the client's configuration has it.
///
/// ```swift
/// var request = ChappieResponseRequest("Summarise the report.")
/// request.model = "gpt-5.5"
/// request.reasoningEffort = .high
/// let response = try await client.response(request)
/// ```
public struct ChappieResponseRequest: Sendable, Equatable {
    /// What is said, in order; it follows what the conversation holds.
    public var messages: [ChappieInputMessage]
    /// A whole request body, a JSON object in UTF-8, that the other properties override.
    ///
    /// Its `input` stands between the conversation and `messages`, its `tools` before those of the client. A body that
    /// is no JSON object fails the turn before anything is sent.
    public var bodyJSON: [UInt8]?
    /// The model that answers.
    public var model: String?
    /// How much the model reasons.
    public var reasoningEffort: ChappieReasoningEffort?
    /// The speed that is paid for.
    public var serviceTier: ChappieServiceTier?
    /// Indicates whether the model may search the web.
    public var searchAccess: ChappieSearchAccess?
    /// Replaces the harness's instructions.
    public var instructions: String?
    /// How long the answer may be, in tokens, reasoning included.
    ///
    /// It is left out for endpoints that refuse it (`ChappieEndpoint.takesMaxOutputTokens`).
    public var maxOutputTokens: Int?
    /// Replaces the conversation's lane.
    public var lane: String?
    /// The caller's name for the turn; every request of it carries it.
    ///
    /// Default a random UUID.
    public var requestID: String?
    /// The trace that the turn belongs to.
    public var traceContext: ChappieTraceContext?

    /// One message of the person.
    public init(_ prompt: String) { self.init([.user(prompt)]) }

    /// One message.
    public init(_ message: ChappieInputMessage) { self.init([message]) }

    /// Messages in order.
    public init(_ messages: [ChappieInputMessage]) { self.messages = messages }

    /// A whole request body, a JSON object in UTF-8.
    public init(bodyJSON: [UInt8]) {
        self.messages = []
        self.bodyJSON = bodyJSON
    }

    /// The effort that the request asks for, by itself or with a message in fast mode.
    var effort: ChappieReasoningEffort? {
        self.reasoningEffort ?? (self.messages.contains { $0.options.fastMode } ? .low : nil)
    }
}

/// How much a model reasons before it answers.
///
/// Models differ in what they know; any name may be given: `"xhigh"`.
public struct ChappieReasoningEffort: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name on the wire.
    public let rawValue: String

    /// An effort by its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An effort by its name.
    public init(stringLiteral value: String) { self.rawValue = value }

    /// None at all.
    public static let none = Self(rawValue: "none")
    /// As little as can be.
    public static let minimal = Self(rawValue: "minimal")
    /// A little: what fast mode asks for.
    public static let low = Self(rawValue: "low")
    /// The usual.
    public static let medium = Self(rawValue: "medium")
    /// Much.
    public static let high = Self(rawValue: "high")
}

/// The speed that is paid for.
///
/// Any name may be given: `"priority"`.
public struct ChappieServiceTier: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name on the wire.
    public let rawValue: String

    /// A tier by its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A tier by its name.
    public init(stringLiteral value: String) { self.rawValue = value }

    /// What the account is set to.
    public static let auto = Self(rawValue: "auto")
    /// The usual speed, whatever the account is set to.
    public static let `default` = Self(rawValue: "default")
    /// Slower and cheaper.
    public static let flex = Self(rawValue: "flex")
    /// Faster and dearer.
    public static let priority = Self(rawValue: "priority")
}

/// Indicates whether the model may search the web, with the server's own tool.
public enum ChappieSearchAccess: String, Sendable, Codable, CaseIterable {
    /// It may not: the tool is not among the request's tools.
    case disabled
    /// It may, in what the server has stored (`external_web_access` false).
    case cached
    /// It may.
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
