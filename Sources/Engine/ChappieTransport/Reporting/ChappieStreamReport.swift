public import StreamSession

/// The attempts, timings and outcome of one stream.
///
/// A snapshot: query the handle again for a newer one.
public struct ChappieStreamReport: Sendable, Equatable, Codable {
    /// One attempt.
    ///
    /// Times are seconds from the attempt's start. On a connection that had carried an earlier turn, bytes are those of
    /// the attempt, and there are no times of its opening.
    public struct Attempt: Sendable, Equatable, Codable {
        /// The attempt's number; counts from 1.
        public var number: Int
        /// The transport of the attempt.
        public var transport: ChappieTransportKind
        /// The time at which name resolution was over.
        public var resolved: Double?
        /// The time at which TCP and TLS were established.
        public var connected: Double?
        /// The time at which the answer's header section came.
        public var opened: Double?
        /// The time at which the first event came.
        public var firstEvent: Double?
        /// The total duration; nil while the attempt runs.
        public var duration: Double?
        /// Bytes of the answer's body or frames, as received over the wire.
        public var receivedByteCount = 0
        /// The same bytes after decompression; nil without compression.
        public var inflatedByteCount: Int?
        /// Bytes of the request's body or frames.
        public var sentByteCount = 0
        /// The answer's status code.
        public var statusCode: Int?
        /// The server's name for the request.
        public var requestID: String?
        /// The server's place for the request in its trace: its `traceresponse`, or else its `traceparent`.
        public var traceResponse: String?
        /// The stable tag of the attempt's failure, or `completed`; nil while it runs.
        public var outcome: String?
        /// Indicates whether the connection had carried an earlier turn.
        public var reusedConnection = false
        /// The recovery step of an attempt after a failed one; nil for the first, and where no request had been sent.
        public var rung: ChappieRecoveryRung?
        /// Indicates whether it is a connection over HTTP/SSE that was opened beside a slow upgrade.
        public var isHedge = false
        /// Indicates whether the server has probably begun to make a response, which it may charge; nil while the
        /// attempt runs.
        ///
        /// It is a guess: true when output came, and when the request was sent and the server did not refuse it.
        public internal(set) var isProbablyCharged: Bool?
    }

    /// The caller's name for the request, the same for every attempt: `x-client-request-id`.
    public internal(set) var requestID = ""
    /// The versions of the C libraries below the package, by name (`libwebsockets`, `zlib`, `simdjson`, `OpenSSL`).
    ///
    /// Nil in a report that was written without them.
    public internal(set) var libraries: [String: String]? = Self.linkedLibraries
    /// Every attempt, in order.
    ///
    /// An attempt whose kept connection had died is listed twice: with the outcome `replaced`, and with its
    /// replacement.
    public var attempts: [Attempt] = []
    /// The number of attempts that followed a failed one on the same transport.
    public var reconnects = 0
    /// The stable tag of the failure that made the stream fall back to HTTP/SSE.
    public var fallbackReason: String?
    /// The age in seconds at which two connections of the stream were cut, which suggests a time limit on the path.
    ///
    /// Nil without two such cuts.
    public var pathTimeLimit: Double?
    /// Indicates whether the server ended the last broken answer normally, but without its terminal event.
    ///
    /// A normal end means that no event was cut, and the body had the announced length or was chunked, perhaps without
    /// its last chunk, or that the WebSocket was closed with 1000. Only the terminal event is known to be missing then,
    /// and a diverging replay is no evidence about the network: see `ChappieRecoveryPolicy.never`. Nil otherwise.
    public var endedWithoutTerminalEvent: Bool?
    /// Bytes of replayed output that were compared and withheld.
    public var verifiedReplayByteCount = 0
    /// The safety of sending the request again: exact, for every end of the stream.
    public var replaySafety: ChappieReplaySafety = .notSent
    /// The time from one batch of output to the next; nil while there is none.
    ///
    /// Known when the stream is over.
    public internal(set) var gaps: OutputGaps?

    private static let linkedLibraries = Dictionary(
        uniqueKeysWithValues: ChappieLinkedLibraries.versions.map { ($0.name, $0.version) })

    /// The number of attempts that the server has probably charged.
    ///
    /// Each attempt but a resumption is a request of its own, for which a server may charge whether or not its response
    /// arrived. Attempts that the server refused before any output do not count.
    public var probablyChargedAttemptCount: Int { self.attempts.count { $0.isProbablyCharged == true } }

    /// Bytes after decompression for each byte that was received; nil without compression.
    public var compressionRatio: Double? {
        let received = self.attempts.reduce(0) { $0 + $1.receivedByteCount }
        guard received > 0, self.attempts.contains(where: { $0.inflatedByteCount != nil }) else { return nil }
        let inflated = self.attempts.reduce(0) { $0 + ($1.inflatedByteCount ?? $1.receivedByteCount) }
        return Double(inflated) / Double(received)
    }

    package init() {}
}
