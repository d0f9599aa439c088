/// One request to the Responses API: a body as JSON, and fields that replace those of the body.
///
/// The engine adds what its transports need (`type`, `stream`) and leaves everything else of the body as it is.
public struct ChappieTransportRequest: Sendable {
    /// The whole body, a JSON object in UTF-8.
    ///
    /// Default `{}`.
    public var body: [UInt8]
    /// Replaces `input` with one user message.
    public var prompt: String?
    /// Replaces `model`.
    public var model: String?
    /// Replaces `instructions`.
    public var instructions: String?
    /// Replaces `reasoning.effort`.
    public var reasoningEffort: String?
    /// Replaces `service_tier`.
    public var serviceTier: String?
    /// Adds the web search tool.
    public var searchesWeb = false

    /// A request from a body.
    public init(body: [UInt8]) {
        self.body = body
    }

    /// A request with one user message.
    public init(prompt: String, model: String? = nil) {
        self.body = Array("{}".utf8)
        self.prompt = prompt
        self.model = model
    }
}
