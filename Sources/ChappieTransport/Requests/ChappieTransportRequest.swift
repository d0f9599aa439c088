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
    /// The lane of a WebSocket that carries several responses at once: 1 to 256 of `A–Z a–z 0–9 _ . -`.
    ///
    /// Default none, which is a lane of its own. Only with `ChappieTransportConfiguration.usesLanes`; over HTTP a lane
    /// means nothing.
    public var lane: String?
    /// The caller's name for the request: it goes out as `x-client-request-id`, and is in every line and every report.
    ///
    /// Default a random UUID. Printable ASCII, at most 128 bytes; anything else is replaced by a random one.
    public var requestID: String?
    /// The trace that the request belongs to (W3C Trace Context).
    ///
    /// Default none.
    public var traceContext: ChappieTraceContext?

    /// What the server wants to have echoed in the later requests of a turn.
    package var turnState: String?
    /// Indicates whether the request only prepares the server: nothing is generated.
    package var isWarmUp = false
    /// The lane whose newest response this one may continue, if its own lane has none.
    package var forkedFrom: String?
    /// Indicates whether the caller runs the calls of the complete response.
    ///
    /// They are then handed over one by one, and compared with those of a broken attempt, only with `rawEvents` `.all`.
    /// A response ends in `ChappieClientError.invalidResponse` when a call has no `call_id`, or two different ones have
    /// the same.
    package var runsCalls = false
    /// The calls of earlier responses whose outputs the request has, in canonical form, of a caller that runs calls.
    package var answeredCalls: [CompletedResponse.Call] = []
    /// Gives the output of a call that is carried, in place of the configuration's.
    package var toolOutput: ChappieTransportConfiguration.ToolOutputSource?

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
