package import ResponseEvents
package import StreamSession
import TransportSurface

/// One request to the Responses API: a body as JSON, and fields that replace those of the body.
///
/// The engine adds the members that its transports need (`type`, `stream`) and leaves the rest of the body unchanged.
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
    /// Default none, which is a lane of its own. Used only with `ChappieTransportConfiguration.usesLanes`, and not over
    /// HTTP.
    public var lane: String?
    /// The caller's name for the request: it is sent as `x-client-request-id`, and is in every log line and every
    /// report.
    ///
    /// Default a random UUID. Printable ASCII, at most 128 bytes; any other value is replaced by a random one.
    public var requestID: String?
    /// The trace that the request belongs to (W3C Trace Context).
    ///
    /// Default none.
    public var traceContext: ChappieTraceContext?

    /// The header fields of this request, such as an idempotency key or an organisation.
    ///
    /// Default none. They go with every attempt, and replace fields of the same name in
    /// `ChappieTransportConfiguration.additionalFields`, which has the rules for names and values. They do not replace
    /// the credential's field, nor those of `requestID` and `traceContext`. Values of fields whose names suggest a
    /// credential are redacted like those of the instance. Over a WebSocket they are fields of its opening handshake: a
    /// WebSocket is used again only for a request with the same fields, and of those that were opened with a request's
    /// own fields a lane keeps the newest. A value that differs for each request therefore costs an opening handshake
    /// each time.
    public var fields: [(name: String, value: String)] = []
    /// The time limits of this request in place of `ChappieTransportConfiguration.timeouts`, all of them.
    ///
    /// Default nil, which is the instance's. A value outside its range becomes the nearest one inside. On a WebSocket
    /// of an earlier turn, pings go on at the times with which it was opened.
    public var timeouts: ChappieTimeouts?

    /// The turn state that the server requires in the later requests of a turn.
    package var turnState: String?
    /// Indicates whether the request only prepares the server: no output is generated.
    package var isWarmUp = false
    /// The position at which a kept response is continued: then the turn requests that one, and the body is not used.
    package var resumption: ResumeCursor?
    /// The lane whose newest response this one may continue, if its own lane has none.
    package var forkedFrom: String?
    /// Indicates whether the request belongs to a turn that was admitted as a whole.
    package var isAdmitted = false
    /// Indicates whether the caller runs the calls of the complete response.
    ///
    /// They are then delivered one by one, and compared with those of a broken attempt, only with `rawEvents` `.all`. A
    /// response ends in `ChappieClientError.invalidResponse` when a call has no `call_id`, or two different ones have
    /// the same.
    package var runsCalls = false
    /// The calls of earlier responses whose outputs the request has, in canonical form; for a caller that runs calls.
    package var answeredCalls: [FinishedCall] = []
    /// The fault that the caller has found in its own request, with which the turn ends before anything is sent.
    package var fault: ChappieArgumentError?
    /// The source of the output of a carried call, in place of the configuration's.
    package var toolOutput: ChappieTransportConfiguration.ToolOutputSource?

    /// Creates a request from a body, which is read when the turn begins.
    public init(body: [UInt8]) {
        self.body = body
    }

    /// Creates a request with one user message.
    public init(prompt: String, model: String? = nil) {
        self.body = Array("{}".utf8)
        self.prompt = prompt
        self.model = model
    }
}
