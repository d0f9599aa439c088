public import PlatformFoundation
public import ResponseEvents
public import StreamSession
import TransportSurface

/// The complete configuration of an instance of `ChappieStreamingTransport`.
///
/// Immutable once the instance is made. A number outside of its range becomes the nearest one inside: no time is below
/// zero or above 100 years, no count of bytes below zero or above 1 TiB, and no other count below zero.
public struct ChappieTransportConfiguration: Sendable {
    /// A closure that returns the credential: once at the beginning of a turn, and once more when the server rejects
    /// it.
    public typealias CredentialSource = @Sendable (CredentialRequest) async throws -> ChappieCredential?

    /// A closure that returns the output item of a finished call, whose item is passed as JSON.
    public typealias ToolOutputSource = @Sendable (_ call: String) async throws -> [UInt8]

    /// The reason why a credential is requested.
    ///
    /// A minor version may add cases.
    public enum CredentialRequest: Sendable, Equatable {
        /// A turn begins.
        case connecting
        /// The server answered 401 to this credential, which was returned before: another one is requested, once in a
        /// turn.
        ///
        /// A caller with several concurrent turns can tell by it whether the credential was replaced already.
        case rejected(ChappieCredential?)
    }

    /// The base URL of the requests, such as `https://api.openai.com/v1`; `/responses`, or the path of another dialect, is
    /// appended.
    public var baseURL: URL
    /// The language of the server.
    ///
    /// Default `.responses`. With any other no WebSocket is tried, whatever the policy.
    public var dialect = ChappieDialect.responses
    /// The source of the credential.
    ///
    /// Default: no credential is sent. A turn that is cancelled, or whose time is over, cancels the task that runs this
    /// closure and does not wait for it: its later result is dropped. The same applies to `toolOutput` and `willSend`.
    public var credential: CredentialSource
    /// The fields that are sent with every request and every upgrade, beside `Authorization`.
    public var additionalFields: [(name: String, value: String)] = []
    /// The policy for a turn's transport and recovery.
    public var policy: ChappieStreamingTransportPolicy = .default
    /// The policy for status code 429.
    public var rateLimitBackoff: ChappieRateLimitBackoffPolicy = .default
    /// The policy by which turns fail without being tried.
    public var circuitBreaker: ChappieCircuitBreakerPolicy = .default
    /// The policy for the number of turns at a time, and for a pause of all of them behind status code 429.
    ///
    /// Default `.unlimited`. For a program with many turns, such as a batch.
    public var concurrency: ChappieConcurrencyPolicy = .unlimited
    /// The source of a finished tool call's output, as an input item, a JSON object in UTF-8.
    ///
    /// Default: none, and then calls are not carried. It is called with the item of each call of a broken response that
    /// is given back to the server (`ChappieStreamingTransportPolicy.carriesFinishedItems`); it must wait for a tool
    /// that runs already, and not start it again.
    public var toolOutput: ToolOutputSource?
    /// Indicates whether several responses share one WebSocket, each on its lane (`ChappieTransportRequest.lane`).
    ///
    /// Default false: only some endpoints support it. At most 16 responses run at once on one socket, others wait.
    public var usesLanes = false
    /// Indicates whether the values of per-request fields go into `client_metadata` of a WebSocket's messages.
    ///
    /// Default false: only some endpoints support that member. It holds the request ID and the trace context.
    public var sendsClientMetadata = false
    /// Indicates whether an upgrade requests the beta of WebSockets by the name that OpenAI's own programs use
    /// (`OpenAI-Beta`).
    ///
    /// Default true: servers that do not know the field ignore it.
    public var sendsBetaField = true
    /// The path of the WebSocket below the base URL, for a server that does not have it at `/responses`.
    ///
    /// Default nil. It begins with a slash, such as `/responses/ws`, or with `/../` for a sibling of the base URL, and may
    /// have a query.
    public var webSocketPath: String?
    /// The subprotocol that an upgrade offers (RFC 6455 section 1.9), such as `openai-beta.responses.v1`.
    ///
    /// Default nil: none. Some gateways demand one. A server that chooses none is accepted.
    public var webSocketSubprotocol: String?
    /// The field that carries the credential; nil for `Authorization: Bearer …` (RFC 6750 section 2.1), and with the
    /// dialect `.messages` for `x-api-key`.
    ///
    /// Default nil. Azure OpenAI takes its keys in `api-key`. `Authorization` has the scheme `Bearer` in every dialect.
    public var credentialFieldName: String?
    /// A closure that is called with a log line for each event of a turn.
    ///
    /// Default none. It is called on the task that reads the stream, or drops it, with no lock held. It has to return
    /// soon, and to treat `ChappieLogEntry.privateMessage` as private.
    public var log: (@Sendable (ChappieLogEntry) -> Void)?
    /// A closure that is called with the duration and the outcome of each turn and attempt, including successful ones.
    ///
    /// Default none. It is called like `log`.
    public var metrics: (@Sendable (ChappieMetric) -> Void)?
    /// A closure that is called before each request is sent, and may refuse it by throwing.
    ///
    /// Default none. Its error ends the turn as `ChappieClientError.requestRefused`, with no request sent; a
    /// `ChappieClientError` is passed on unchanged.
    public var willSend: (@Sendable (ChappieOutgoingRequest) async throws -> Void)?
    /// The maximum number of retries of a failed HTTP/SSE attempt in one turn.
    ///
    /// Default 5.
    public var maxHTTPRetries = 5
    /// The delay before the first reconnection; doubles each time, with a jitter of ±10 %.
    ///
    /// Default 200 ms. A retry of HTTP after status code 408 or 5xx has full jitter: from zero to that bound, which
    /// doubles as well. A delay that the server requests in `Retry-After` replaces either.
    public var reconnectDelay: Duration = .milliseconds(200)
    /// The time limits of the engine.
    public var timeouts = ChappieTimeouts()
    /// The limits on a server's data.
    public var limits = ChappieLimits()
    /// The policy for the security of connections.
    public var tls = ChappieTLSPolicy()
    /// The proxy for connections.
    ///
    /// Default `.environment`.
    public var proxy = ChappieProxyPolicy.environment
    /// The events of the wire that are passed on unparsed.
    ///
    /// Default `.unsurfaced`.
    public var rawEvents: ChappieRawEvents = .unsurfaced
    /// Indicates whether `.diagnostic` events are delivered.
    ///
    /// Default false.
    public var reportsDiagnostics = false
    /// Indicates whether permessage-deflate (RFC 7692) and gzip are offered.
    ///
    /// Default true.
    public var offersCompression = true
    /// The extent to which permessage-deflate is offered, as long as `offersCompression` is true.
    ///
    /// Default `.enabled`.
    public var webSocketCompression: ChappieWebSocketCompression = .enabled
    /// The number of threads of the process that read and write for the connections of this instance, 1 to 64.
    ///
    /// Default 1, which suffices for some thousands of streams: a thread for each core is for programs with more.
    /// Threads are shared by the instances of a process, start when they are needed, and never end; a connection stays
    /// on its thread.
    public var serviceThreadCount = 1

    /// Creates a configuration with the defaults above.
    public init(baseURL: URL, credential: @escaping CredentialSource = { _ in nil }) {
        self.baseURL = baseURL
        self.credential = credential
    }
}

/// The credential that is sent as proof of identity.
///
/// Its description is redacted.
public struct ChappieCredential: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The token, sent as `Authorization: Bearer …` (RFC 6750 section 2.1).
    public let bearerToken: String
    /// The account, sent as `ChatGPT-Account-ID`, when there is one.
    public let accountID: String?
    /// Indicates whether it is sent with `X-OpenAI-Fedramp: true`, which some accounts of authorities need.
    public let isFedRAMP: Bool

    /// Creates a credential.
    public init(bearerToken: String, accountID: String? = nil, isFedRAMP: Bool = false) {
        self.bearerToken = bearerToken
        self.accountID = accountID
        self.isFedRAMP = isFedRAMP
    }

    /// A description without the token.
    public var description: String { "ChappieCredential(redacted)" }
    /// A description without the token.
    public var debugDescription: String { self.description }
    /// A mirror without the token.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The time limits of the engine.
///
/// Nil turns a limit off.
public struct ChappieTimeouts: Sendable, Equatable {
    /// The limit for name resolution, TCP, TLS and the upgrade together.
    ///
    /// Default 10 s.
    public var connect: Duration? = .seconds(10)
    /// The limit from the request to the first event.
    ///
    /// Default 60 s.
    public var firstEvent: Duration? = .seconds(60)
    /// The limit between two unsolicited signs of life from the server: any byte of an event, a comment or a frame,
    /// finished or not, and pings.
    ///
    /// Default 300 s. Its answers to our pings count when `pongsProlongIdle` is true.
    public var idle: Duration? = .seconds(300)
    /// Indicates whether the answers to our pings prolong `idle`, as they prove that the path and the server's socket
    /// work.
    ///
    /// Default false. For a model that thinks for longer than `idle` behind a server that is silent meanwhile; they
    /// never prolong `progress`.
    public var pongsProlongIdle = false
    /// The limit between two events that are progress: the response's beginning, items, parts, text, and steps of
    /// tools.
    ///
    /// Default 30 min, as a model may reason for long. Signs of life do not count: keepalives, comments, pings, empty
    /// deltas, limits, metadata, and the statuses queued and in progress.
    public var progress: Duration? = .seconds(1_800)
    /// The time without such an event after which a `stalled` diagnostic is delivered.
    ///
    /// Default 30 s.
    public var stall: Duration? = .seconds(30)
    /// The limit of the whole turn, including retries and the time in which the program is asked for a credential, a
    /// permission or a tool's output.
    ///
    /// Default none. A wait before a retry that would exceed it is not begun: the turn ends at once with the failure
    /// before the wait.
    public var total: Duration?
    /// The silence after which TCP probes the peer (keepalive), and on a WebSocket a ping is sent; nil turns both off.
    ///
    /// Default 20 s.
    public var pingInterval: Duration? = .seconds(20)
    /// The limit for the answer to a ping, and for the rest of an error's body after its head.
    ///
    /// Default 10 s.
    public var pongTimeout: Duration = .seconds(10)
    /// The limit for a kept WebSocket's answer to a ping before the next turn uses it.
    ///
    /// Default 2 s; after that the turn opens another one.
    public var livenessCheck: Duration = .seconds(2)

    /// Creates the time limits with their defaults.
    public init() {}
}

/// The limits on a server's data.
public struct ChappieLimits: Sendable, Equatable {
    /// The maximum size of one WebSocket message or one event of an event stream, inflated, in bytes; for a client,
    /// also of the items of one response together.
    ///
    /// Default 64 MiB.
    public var eventByteCount = 64 << 20
    /// The maximum number of bytes of text in a turn, and the same of reasoning, of refusals and of calls;
    /// 256 MiB unless set, and at least 1.
    ///
    /// They are kept until the turn ends, because a repeated answer is compared with them. Beyond the limit the turn
    /// ends with `output.too-large`; delivered output stays delivered.
    public var outputByteCount = 256 << 20
    /// The maximum number of bytes that are kept of an error's body.
    ///
    /// Default 64 KiB.
    public var errorBodyByteCount = 64 << 10
    /// The number of unread bytes of one stream at which reading stops.
    ///
    /// Default 1 MiB; at least 1.
    public var highWatermark = 1 << 20
    /// The number of unread bytes at which reading resumes.
    ///
    /// Default 256 KiB; below `highWatermark`.
    public var lowWatermark = 256 << 10

    /// Creates the limits with their defaults.
    public init() {}
}
