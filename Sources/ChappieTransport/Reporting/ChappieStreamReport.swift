/// What a stream went through.
///
/// A snapshot: ask the handle again for a newer one.
public struct ChappieStreamReport: Sendable, Equatable, Codable {
    /// One attempt.
    ///
    /// Times are seconds from the attempt's start. On a connection that had carried an earlier turn, bytes are those of
    /// the attempt, and there are no times of its opening.
    public struct Attempt: Sendable, Equatable, Codable {
        /// Counts from 1.
        public var number: Int
        /// What it used.
        public var transport: ChappieTransportKind
        /// When name resolution was over.
        public var resolved: Double?
        /// When TCP and TLS were established.
        public var connected: Double?
        /// When the answer's header section was there.
        public var opened: Double?
        /// When the first event was there.
        public var firstEvent: Double?
        /// How long it took in all; nil while it runs.
        public var duration: Double?
        /// Bytes of the answer's body or frames, as they came over the wire.
        public var receivedByteCount = 0
        /// The same bytes after decompression; nil when nothing of it was compressed.
        public var inflatedByteCount: Int?
        /// Bytes of the request's body or frames.
        public var sentByteCount = 0
        /// The answer's status code.
        public var statusCode: Int?
        /// The server's name for the request.
        public var requestID: String?
        /// Where the server has put the request in its trace: its `traceresponse`, or else its `traceparent`.
        public var traceResponse: String?
        /// The stable tag of what ended it, or `completed`; nil while it runs.
        public var outcome: String?
        /// Indicates whether the connection had carried an earlier turn.
        public var reusedConnection = false
        /// How the attempt goes on after a failed one; nil for the first, and where no request had been sent.
        public var rung: ChappieRecoveryRung?
        /// True for a connection over HTTP/SSE that was opened beside a slow upgrade.
        public var isHedge = false
    }

    /// The caller's name for the request, the same for every attempt: `x-client-request-id`.
    public internal(set) var requestID = ""
    /// The versions of the C libraries below the package, by name (`libwebsockets`, `zlib`, `simdjson`, `OpenSSL`).
    ///
    /// Nil in a report that was written without them.
    public internal(set) var libraries: [String: String]? = Self.linkedLibraries
    /// Every attempt, in order.
    ///
    /// An attempt whose kept connection had died stands twice: with the outcome `replaced`, and as it went on.
    public var attempts: [Attempt] = []
    /// How many attempts followed a failed one on the same transport.
    public var reconnects = 0
    /// The stable tag of the failure that made the stream fall back to HTTP/SSE.
    public var fallbackReason: String?
    /// The age in seconds at which two connections of the stream were cut, which looks like a time limit on the path.
    ///
    /// Nil when there were no two such cuts.
    public var pathTimeLimit: Double?
    /// Indicates whether the server ended the answer that broke last in order, and did not say that it was complete.
    ///
    /// In order means that no event was cut, and that the body was as long as was announced or in chunks, of which the
    /// last one may be missing, or that the WebSocket was closed with 1000. Nothing is known to be missing then but the
    /// terminal event, and a replay that diverges says nothing about the network: see `ChappieRecoveryPolicy.never`.
    /// Nil otherwise.
    public var endedWithoutTerminalEvent: Bool?
    /// Bytes of replayed output that were compared and withheld.
    public var verifiedReplayByteCount = 0
    /// Indicates whether sending the request again is safe: exact, for any way the stream has ended.
    public var replaySafety: ChappieReplaySafety = .notSent
    /// The time from one batch of output to the next; nil while there is none.
    ///
    /// Known when the stream is over.
    public internal(set) var gaps: OutputGaps?

    private static let linkedLibraries = Dictionary(
        uniqueKeysWithValues: ChappieLinkedLibraries.versions.map { ($0.name, $0.version) })

    /// Bytes after decompression for each byte that was received; nil when nothing was compressed.
    public var compressionRatio: Double? {
        let received = self.attempts.reduce(0) { $0 + $1.receivedByteCount }
        guard received > 0, self.attempts.contains(where: { $0.inflatedByteCount != nil }) else { return nil }
        let inflated = self.attempts.reduce(0) { $0 + ($1.inflatedByteCount ?? $1.receivedByteCount) }
        return Double(inflated) / Double(received)
    }

    package init() {}
}
