/// The attempts, timings and outcome of one event source.
///
/// A snapshot: query the event source again for a newer one.
public struct EventSourceReport: Sendable, Equatable, Codable {
    /// One attempt: a request with its redirects.
    ///
    /// Times are seconds from the start of the attempt's last connection.
    public struct Attempt: Sendable, Equatable, Codable {
        /// The attempt's number; counts from 1.
        public var number: Int
        /// The number of redirects that were followed.
        public var redirectCount = 0
        /// The time at which name resolution was over.
        public var resolved: Double?
        /// The time at which TCP was established, to the proxy where there is one.
        public var tcpConnected: Double?
        /// The time at which TLS and the proxy's tunnel were established, and the request could be written.
        public var connected: Double?
        /// The time at which the answer's header section came.
        public var opened: Double?
        /// The time at which the first event came.
        public var firstEvent: Double?
        /// The total duration of the attempt, with its redirects; nil while it runs.
        public var duration: Double?
        /// The status code of the last answer.
        public var statusCode: Int?
        /// Bytes of the last answer's content, as received over the wire.
        public var receivedByteCount = 0
        /// The same bytes after decompression; nil without compression.
        public var inflatedByteCount: Int?
        /// The number of events.
        public var eventCount = 0
        /// The stable tag of the attempt's failure, or `ended`, or `cancelled`; nil while it runs.
        public var outcome: String?
    }

    /// The number of attempts of which the details are kept: the newest ones.
    public static let attemptLimit = 100

    /// The caller's name for the request, as in log lines.
    public internal(set) var requestID = ""
    /// The newest attempts, at most ``attemptLimit``, in order.
    public internal(set) var attempts: [Attempt] = []
    /// The number of all attempts.
    public internal(set) var attemptCount = 0
    /// The number of all events.
    public internal(set) var eventCount = 0
    /// Indicates whether the stream had a last event ID that could not be sent: one with a control character of ASCII
    /// other than the tab (RFC 9110 section 5.5), or of more than 4 KiB.
    public internal(set) var hadUnsendableLastEventID = false
    /// Indicates whether the event source has ended without an error, behind a complete answer, because the policy
    /// allowed no other reconnection: `maximumAttempts` of them brought nothing of a stream, or the next one would have
    /// come later than `maximumOutage` allows.
    ///
    /// False with a policy that allows no reconnection at all, such as ``EventSourceReconnectionPolicy/never``: the end of
    /// the one answer is expected.
    public internal(set) var hasGivenUp = false

    init() {}
}
