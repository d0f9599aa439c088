public import PlatformFoundation
public import StreamSession
public import StreamTransport

/// The reason why a stream ended early, below HTTP.
///
/// It carries no secret. Of its properties only `details.serverMessage` and `details.deliveredText` hold content, and
/// no description has them.
public struct ChappieTransportFailure: Error, Sendable, Equatable, LocalizedError, CustomStringConvertible,
    CustomDebugStringConvertible
{
    /// The phase that the last attempt had reached.
    public typealias Phase = ChappieTransportPhase

    /// The kind of problem, in terms that a caller can act on.
    public struct Code: Hashable, Sendable {
        /// The row's name in the table of failures.
        package let kind: FailureCode

        /// Creates the code of a row.
        package init(_ kind: FailureCode) { self.kind = kind }

        /// The stable name, such as `connect.failed`.
        package var name: String { self.kind.rawValue }

        /// The request cannot be sent as it is.
        public static let invalidRequest = Self(.invalidRequest)
        /// The host has no address.
        public static let unresolvable = Self(.unresolvable)
        /// No address of the host could be connected to.
        public static let unreachable = Self(.unreachable)
        /// A time budget ran out, in the phase that `phase` names.
        public static let timedOut = Self(.timedOut)
        /// The server's certificate, or in phase `proxy` that of the proxy, is not trusted; the reason is in
        /// `details.detail`, and the issuer in `details.issuer`.
        public static let certificateRejected = Self(.certificateRejected)
        /// No key of the server's certificates is one that is pinned.
        public static let keyNotPinned = Self(.keyNotPinned)
        /// The TLS handshake failed for another reason; `details.systemCode` is the alert, if there was one, and
        /// `details.detail` its meaning.
        public static let tlsHandshakeFailed = Self(.tlsHandshakeFailed)
        /// The file of trust anchors cannot be read.
        public static let trustAnchorsUnreadable = Self(.trustAnchorsUnreadable)
        /// The client's certificate or its key cannot be read, or they do not belong together.
        public static let clientCertificateUnreadable = Self(.clientCertificateUnreadable)
        /// The proxy's URL cannot be used; the reason is in `details.detail`.
        public static let proxyInvalid = Self(.proxyInvalid)
        /// The proxy refused the tunnel.
        ///
        /// `details.statusCode` is its answer to CONNECT. A SOCKS proxy's reply (RFC 1928 section 6) is in
        /// `details.systemCode`, and its meaning in `details.detail`; that is `credential-missing`,
        /// `credential-refused` or `methods-refused` when the proxy requires a different login, or any.
        public static let proxyRefused = Self(.proxyRefused)
        /// The data from a SOCKS proxy is not SOCKS 5.
        public static let notSOCKS = Self(.notSOCKS)
        /// The answer is not an HTTP/1.1 response.
        public static let notHTTP = Self(.notHTTP)
        /// A response's header section is over the limit.
        public static let headerSectionTooLarge = Self(.headerSectionTooLarge)
        /// The answer to the upgrade is wrong (RFC 6455 section 4.1).
        public static let openingHandshakeInvalid = Self(.openingHandshakeInvalid)
        /// The server broke RFC 6455 or RFC 7692.
        public static let protocolViolation = Self(.protocolViolation)
        /// A binary message, where only text is allowed.
        public static let binaryMessage = Self(.binaryMessage)
        /// The WebSocket was closed before the response was complete; see `closeCode` and `closeReason`.
        public static let webSocketClosed = Self(.webSocketClosed)
        /// The server sends no data and does not answer pings.
        public static let peerUnresponsive = Self(.peerUnresponsive)
        /// A response with status code 200 is not an event stream.
        public static let unexpectedContentType = Self(.unexpectedContentType)
        /// The content coding was not requested.
        public static let unsupportedContentCoding = Self(.unsupportedContentCoding)
        /// A compressed body is damaged or cut off.
        public static let corruptContentCoding = Self(.corruptContentCoding)
        /// A chunk of the answer's body cannot be read (RFC 9112 section 7.1).
        public static let malformedBody = Self(.malformedBody)
        /// An event is not JSON, or lacks what its type needs.
        public static let undecodableEvent = Self(.undecodableEvent)
        /// An event is over its limit.
        public static let eventTooLarge = Self(.eventTooLarge)
        /// `output.too-large`: a turn has more output of one kind than `limits.outputByteCount`, or the end of a
        /// response lists more than 16,384 items; `details.limit` is the limit, and `details.detail` is `items` for the
        /// latter.
        public static let outputTooLarge = Self(.outputTooLarge)
        /// The stream ended without a terminal event.
        public static let endedEarly = Self(.endedEarly)
        /// The connection broke.
        public static let connectionLost = Self(.connectionLost)
        /// The request is larger than a WebSocket message may be, and HTTP is not allowed.
        public static let requestTooLarge = Self(.requestTooLarge)
        /// The body has a transfer coding other than `chunked`.
        public static let unsupportedTransferCoding = Self(.unsupportedTransferCoding)
        /// Events cannot belong to one response; `detail` names the rule that they break.
        public static let contradictoryEvents = Self(.contradictoryEvents)
        /// Events of a resumable response are missing.
        public static let sequenceGap = Self(.sequenceGap)
        /// The endpoint speaks another API than the Responses API: `details.detail` is `chat-completions` or
        /// `anthropic-messages`.
        public static let otherAPI = Self(.otherAPI)
        /// The server waits for the output of tools within a response of several agents (`response.inject`), but
        /// outputs are sent only after a response is complete.
        public static let toolOutputAwaited = Self(.toolOutputAwaited)
        /// The response cannot be resumed any more: servers keep a background response's stream for five minutes, and
        /// the response for about ten; it may be complete: `ChappieStreamingTransport.retrieve(_:)` returns it.
        public static let responseExpired = Self(.responseExpired)
        /// The turn was not tried, because earlier turns failed; `details.retryAfter` is the time until one will be.
        public static let circuitOpen = Self(.circuitOpen)
        /// The engine was shut down before the turn began, or its grace period was over before the turn was complete:
        /// then `details.deliveredText` is the text that was delivered.
        public static let shutDown = Self(.shutDown)
        /// The process has no file descriptor left; `details.limit` is the maximum number.
        public static let descriptorsExhausted = Self(.descriptorsExhausted)
        /// The system has no threads or memory left, or no connection can be opened in this environment.
        ///
        /// `details.detail` is `thread`, `service` or `socket` when the service thread, its event loop or any socket
        /// could not be made.
        public static let unavailable = Self(.unavailable)
    }

    /// The safety of sending the request again.
    public typealias ReplaySafety = ChappieReplaySafety

    /// The kind of problem.
    public let code: Code
    /// The phase that the last attempt had reached.
    public let phase: Phase
    /// The transport of the last attempt.
    public let transport: ChappieTransportKind
    /// The number of attempts, over both transports, including the first.
    public let attempts: Int
    /// The safety of sending the request again.
    public let replaySafety: ChappieReplaySafety
    /// The facts that only some failures have.
    public let details: Details

    /// Facts that only some failures have.
    public struct Details: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
    {
        /// The close code (RFC 6455 section 7.4), with 1005 and 1006 as defined there.
        public var closeCode: Int?
        /// The peer's close reason.
        public var closeReason: String?
        /// The server's message in place of an answer, in its own words, 64 KiB at most.
        ///
        /// May hold content: see `ChappieClientError.serverMessage`.
        public var serverMessage: String?
        /// The text that was delivered to the consumer before the engine's shutdown ended the turn; nil for any other
        /// failure.
        public var deliveredText: String?
        /// The response's status code.
        public var statusCode: Int?
        /// The server's name for the request (`x-request-id`).
        public var requestID: String?
        /// The caller's name for the request (`x-client-request-id`).
        public var clientRequestID: String?
        /// `errno`, a `getaddrinfo` code, OpenSSL's verification code, a TLS alert or the code of a SOCKS reply,
        /// depending on the code.
        public var systemCode: Int?
        /// The issuer of the rejected certificate, as stated in it (RFC 4514), at most 256 bytes.
        public var issuer: String?
        /// The exceeded limit, in bytes; for file descriptors, their number.
        public var limit: Int?
        /// The precise problem, when there are several possibilities: fixed words, never the server's.
        public var detail: String?
        /// Bytes of the last attempt's response that were read.
        public var receivedByteCount = 0
        /// The time since the last byte of the last attempt.
        public var sinceLastByte: Duration?
        /// The age at which two connections of the turn were cut, which suggests a time limit on the path; nil
        /// otherwise.
        public var pathTimeLimit: Duration?
        /// The time until a retry makes sense, where that is known.
        public var retryAfter: Duration?

        /// Advice about the server's message; nil where it gives no hint.
        package var advice: String?
        /// The scheme of the request's address, where the program chose it; nil behind a redirect.
        package var scheme: RequestScheme?

        /// Creates details without facts.
        package init() {}

        private var facts: [(name: String, value: String)] {
            let facts: [(name: String, value: String?)] = [
                ("closeCode", self.closeCode.map(String.init)),
                ("statusCode", self.statusCode.map(String.init)),
                ("requestID", self.requestID),
                ("clientRequestID", self.clientRequestID),
                ("systemCode", self.systemCode.map(String.init)),
                ("limit", self.limit.map(String.init)),
                ("detail", self.detail),
                ("receivedByteCount", String(self.receivedByteCount)),
                ("sinceLastByte", self.sinceLastByte.map { "\($0)" }),
                ("retryAfter", self.retryAfter.map { "\($0)" }),
            ]
            return facts.compactMap { fact in fact.value.map { (name: fact.name, value: $0) } }
        }

        /// The facts without words and content: `closeReason`, `serverMessage`, `issuer` and `deliveredText` are omitted.
        public var description: String { self.facts.map { "\($0.name): \($0.value)" }.joined(separator: ", ") }

        /// The same as `description`.
        public var debugDescription: String { "Details(\(self.description))" }

        /// The same facts.
        public var customMirror: Mirror {
            Mirror(self, children: self.facts.map { (label: $0.name, value: $0.value as Any) })
        }
    }

    /// Creates a failure.
    package init(
        code: Code,
        phase: Phase,
        transport: ChappieTransportKind,
        progress: (attempts: Int, replaySafety: ChappieReplaySafety),
        details: Details
    ) {
        self.code = code
        self.phase = phase
        self.transport = transport
        self.attempts = progress.attempts
        self.replaySafety = progress.replaySafety
        self.details = details
    }

    /// The stable name of the problem, such as `connect.failed`, `timeout.firstEvent` or `ws.close.1008`.
    public var tag: String {
        switch self.code {
        case .timedOut: "\(self.code.name).\(self.phase.rawValue)"
        case .webSocketClosed: self.details.closeCode.map { "\(self.code.name).\($0)" } ?? self.code.name
        default: self.code.name
        }
    }

    /// The problem, its place, and advice, in sentences that are fit to show.
    public var safeDescription: String { "\(self.problem) \(self.advice)" }

    /// The same as `safeDescription`.
    public var errorDescription: String? { self.safeDescription }

    /// The problem, without the advice.
    public var failureReason: String? { self.problem }

    /// The advice about the problem.
    public var recoverySuggestion: String? { self.advice }

    /// The stable tag and the safe description.
    public var description: String { "\(self.tag): \(self.safeDescription)" }

    /// The same as `description`.
    public var debugDescription: String { "ChappieTransportFailure(\(self.description))" }
}
