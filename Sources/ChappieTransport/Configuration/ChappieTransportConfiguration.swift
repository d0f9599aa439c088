#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Everything an instance of `ChappieStreamingTransport` is told.
///
/// Immutable once the instance is made. Of a number outside of its range the nearest one inside counts: no time is
/// below zero or above 100 years, no count of bytes below zero or above 1 TiB, and no other count below zero.
public struct ChappieTransportConfiguration: Sendable {
    /// Gives the credential: once at the beginning of a turn, and once more when the server rejects it.
    public typealias CredentialSource = @Sendable (CredentialRequest) async throws -> ChappieCredential?

    /// Gives the output item of a finished call, whose item is given as JSON.
    public typealias ToolOutputSource = @Sendable (_ call: String) async throws -> [UInt8]

    /// Why a credential is asked for.
    public enum CredentialRequest: Sendable, Equatable {
        /// A turn begins.
        case connecting
        /// The server answered 401 to this credential, which was given before: another one is wanted, once a turn.
        ///
        /// Whoever has several turns at once sees by it whether the credential was replaced already.
        case rejected(ChappieCredential?)
    }

    /// What the requests go to, such as `https://api.openai.com/v1`; `/responses` is appended.
    public var baseURL: URL
    /// Gives the credential.
    ///
    /// Default: none is sent. A turn that is cancelled, or whose time is over, cancels the task that this runs in and
    /// does not wait for it: what it still gives is dropped. The same goes for `toolOutput` and `willSend`.
    public var credential: CredentialSource
    /// Fields that go with every request and every upgrade, beside `Authorization`.
    public var additionalFields: [(name: String, value: String)] = []
    /// How turns choose and change their transport.
    public var policy: ChappieStreamingTransportPolicy = .default
    /// How status code 429 is treated.
    public var rateLimitBackoff: ChappieRateLimitBackoffPolicy = .default
    /// When turns fail without being tried.
    public var circuitBreaker: ChappieCircuitBreakerPolicy = .default
    /// Gives the output of a finished tool call as an input item, a JSON object in UTF-8.
    ///
    /// Default: none, and then calls are not carried. It is asked for calls of a broken response that are given back to
    /// the server (`ChappieStreamingTransportPolicy.carriesFinishedItems`), with the call's item; a tool that runs is
    /// to be waited for, and not started again.
    public var toolOutput: ToolOutputSource?
    /// Indicates whether several responses share one WebSocket, each on its lane (`ChappieTransportRequest.lane`).
    ///
    /// Default false: only some endpoints can do that. At most 16 responses run at once on one socket, others wait.
    public var usesLanes = false
    /// Indicates whether what would be a field of each request goes into `client_metadata` of a WebSocket's messages.
    ///
    /// Default false: only some endpoints know that member. It holds the request ID and the trace context.
    public var sendsClientMetadata = false
    /// Indicates whether an upgrade asks for the beta of WebSockets by the name that OpenAI's own programs use
    /// (`OpenAI-Beta`).
    ///
    /// Default true: servers that do not know the field ignore it.
    public var sendsBetaField = true
    /// The field that carries the credential; nil for `Authorization: Bearer …` (RFC 6750 section 2.1).
    ///
    /// Default nil. Azure OpenAI takes its keys in `api-key`.
    public var credentialFieldName: String?
    /// Is given a line for whatever happens to a turn.
    ///
    /// Default none. It is called on the task that reads the stream, or drops it, with no lock held. It has to return
    /// soon, and to treat `ChappieLogEntry.privateMessage` as what its name says.
    public var log: (@Sendable (ChappieLogEntry) -> Void)?
    /// Is given the duration and the outcome of each turn and attempt, of those that succeed too.
    ///
    /// Default none. Called as `log` is.
    public var metrics: (@Sendable (ChappieMetric) -> Void)?
    /// Looks at each request before it goes out, and may refuse it by throwing.
    ///
    /// Default none. What it throws ends the turn as `ChappieClientError.requestRefused`, with nothing sent; a
    /// `ChappieClientError` of its own is passed on as it is.
    public var willSend: (@Sendable (ChappieOutgoingRequest) async throws -> Void)?
    /// How often a failed HTTP/SSE attempt is tried again in one turn.
    ///
    /// Default 5.
    public var maxHTTPRetries = 5
    /// The delay before the first reconnection; doubles each time, with a jitter of ±10 %.
    ///
    /// Default 200 ms. A retry of HTTP after status code 408 or 5xx has full jitter: anything from nothing to that
    /// bound, which doubles as well. What the server asks for in `Retry-After` replaces either.
    public var reconnectDelay: Duration = .milliseconds(200)
    /// How long the engine waits, and for what.
    public var timeouts = ChappieTimeouts()
    /// What a server may send at most.
    public var limits = ChappieLimits()
    /// How connections are secured, and whom they trust.
    public var tls = ChappieTLSPolicy()
    /// Which proxy connections go through.
    ///
    /// Default `.environment`.
    public var proxy = ChappieProxyPolicy.environment
    /// Which events of the wire are passed on unparsed.
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
    /// What of permessage-deflate is offered, as long as `offersCompression` is true.
    ///
    /// Default `.enabled`.
    public var webSocketCompression: ChappieWebSocketCompression = .enabled
    /// How many threads of the process read and write for the connections of this instance, 1 to 64.
    ///
    /// Default 1, which does for some thousands of streams: a thread for each core is for programs with more. Threads
    /// are shared by the instances of a process, start when they are needed, and never end; a connection stays on its
    /// thread.
    public var serviceThreadCount = 1

    /// A configuration with the defaults above.
    public init(baseURL: URL, credential: @escaping CredentialSource = { _ in nil }) {
        self.baseURL = baseURL
        self.credential = credential
    }
}

/// What is sent as proof of identity.
///
/// Its description is redacted.
public struct ChappieCredential: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Goes out as `Authorization: Bearer …` (RFC 6750 section 2.1).
    public let bearerToken: String
    /// Goes out as `ChatGPT-Account-ID`, when there is one.
    public let accountID: String?
    /// Indicates whether it goes out with `X-OpenAI-Fedramp: true`, which some accounts of authorities need.
    public let isFedRAMP: Bool

    /// A credential.
    public init(bearerToken: String, accountID: String? = nil, isFedRAMP: Bool = false) {
        self.bearerToken = bearerToken
        self.accountID = accountID
        self.isFedRAMP = isFedRAMP
    }

    /// Never the token.
    public var description: String { "ChappieCredential(redacted)" }
    /// Never the token.
    public var debugDescription: String { self.description }
    /// Never the token.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// How long the engine waits, and for what.
///
/// Nil turns a limit off.
public struct ChappieTimeouts: Sendable, Equatable {
    /// Name resolution, TCP, TLS and the upgrade together.
    ///
    /// Default 10 s.
    public var connect: Duration? = .seconds(10)
    /// From the request to the first event.
    ///
    /// Default 60 s.
    public var firstEvent: Duration? = .seconds(60)
    /// Between two signs of life that the server gives of its own accord: any byte of an event, a comment or a frame,
    /// finished or not, and pings.
    ///
    /// Default 300 s. Its answers to our pings count when `pongsProlongIdle` is true.
    public var idle: Duration? = .seconds(300)
    /// Indicates whether the answers to our pings prolong `idle`, as they prove that the path and the server's socket
    /// live.
    ///
    /// Default false. For a model that thinks for longer than `idle` behind a server that says nothing meanwhile; they
    /// never prolong `progress`.
    public var pongsProlongIdle = false
    /// Between two events that are progress: the response's beginning, items, parts, text, and steps of tools.
    ///
    /// Default 30 min: a model may reason for long. Signs of life do not count: keepalives, comments, pings, empty
    /// deltas, limits, metadata, and that the response is queued or in progress.
    public var progress: Duration? = .seconds(1_800)
    /// The time without such an event after which a `stalled` diagnostic is delivered.
    ///
    /// Default 30 s.
    public var stall: Duration? = .seconds(30)
    /// The whole turn, retries included, and the time in which the program is asked for a credential, a permission or a
    /// tool's output.
    ///
    /// Default none. A wait before a retry that would outlast it is not begun: the turn ends at once with the failure
    /// that it would have waited for.
    public var total: Duration?
    /// Quiet after which TCP asks the peer (keepalive), and on a WebSocket a ping is sent; nil turns both off.
    ///
    /// Default 20 s.
    public var pingInterval: Duration? = .seconds(20)
    /// How long its answer may take, and the rest of an error's body behind its head.
    ///
    /// Default 10 s.
    public var pongTimeout: Duration = .seconds(10)
    /// How long a kept WebSocket may take to answer a ping before the next turn uses it.
    ///
    /// Default 2 s; after that the turn opens another one.
    public var livenessCheck: Duration = .seconds(2)

    /// The defaults.
    public init() {}
}

/// What a server may send at most.
public struct ChappieLimits: Sendable, Equatable {
    /// One WebSocket message or one event of an event stream, inflated, in bytes; for a client, also the items of one
    /// response together.
    ///
    /// Default 64 MiB.
    public var eventByteCount = 64 << 20
    /// The most bytes of text that a turn may have, and as many of reasoning, of refusals and of calls that are not
    /// finished; 256 MiB unless set, and none below 1.
    ///
    /// They are kept until the turn ends, because a repeated answer is compared with them. Past it the turn ends with
    /// `output.too-large`; what was delivered stays delivered.
    public var outputByteCount = 256 << 20
    /// How much of an error's body is kept, in bytes.
    ///
    /// Default 64 KiB.
    public var errorBodyByteCount = 64 << 10
    /// Unread bytes of one stream at which reading stops.
    ///
    /// Default 1 MiB; at least 1.
    public var highWatermark = 1 << 20
    /// Unread bytes at which it goes on.
    ///
    /// Default 256 KiB; below `highWatermark`.
    public var lowWatermark = 256 << 10

    /// The defaults.
    public init() {}
}
