public import StreamTransport
public import TransportSurface

/// The complete configuration of an event source.
///
/// A number outside of its range becomes the nearest one inside: no time is below zero or above 100 years, no count of
/// bytes below zero or above 1 TiB, and no other count below zero.
public struct EventSourceConfiguration: Sendable {
    /// The rules for reconnecting.
    public var reconnection = EventSourceReconnectionPolicy()
    /// The maximum number of redirects in a row.
    ///
    /// Default 20, as in WHATWG Fetch; 0 makes each redirect an error. A redirect from https to http is never followed.
    public var maximumRedirects = 20
    /// The names of further fields that are credentials, without regard to case.
    ///
    /// Default none. These fields, and always every field whose name contains `auth`, `key`, `token`, `secret`,
    /// `password`, `cookie` or `credential`, are dropped when a redirect leads to another origin, and do not come back
    /// with a redirect to the first one.
    public var credentialFieldNames: Set<String> = []
    /// The time limits.
    public var timeouts = EventSourceTimeouts()
    /// The limits on a server's data.
    public var limits = EventSourceLimits()
    /// The policy for the security of connections.
    public var tls = ChappieTLSPolicy()
    /// The proxy for connections.
    ///
    /// Default `.environment`.
    public var proxy = ChappieProxyPolicy.environment
    /// Indicates whether gzip and deflate are accepted (RFC 9110 section 12.5.3).
    ///
    /// Default true.
    public var offersCompression = true
    /// The number of threads of the process that read and write for connections, 1 to 64.
    ///
    /// Default 1, which suffices for some thousands of streams. Threads are shared by all connections of a process.
    public var serviceThreadCount = 1
    /// A closure that is called with a log line for each attempt, and for the end.
    ///
    /// Default none. It is called on the task that reads the events, or closes the event source, with no lock held. It
    /// has to return soon, and to treat `ChappieLogEntry.privateMessage` as private.
    public var log: (@Sendable (ChappieLogEntry) -> Void)?
    /// A closure that is called with the duration and the outcome of each attempt (`attempt`), and of the whole
    /// (`event-source`).
    ///
    /// Default none. It is called like `log`.
    public var metrics: (@Sendable (ChappieMetric) -> Void)?

    /// Creates a configuration with the defaults above.
    public init() {}
}

/// The time limits of an event source.
///
/// Nil turns a limit off.
public struct EventSourceTimeouts: Sendable, Hashable {
    /// The limit for name resolution, TCP and TLS together.
    ///
    /// Default 10 s. After it, as after `response` and `idle`, the event source reconnects.
    public var connect: Duration? = .seconds(10)
    /// The limit from a request to the head of its answer.
    ///
    /// Default 60 s.
    public var response: Duration? = .seconds(60)
    /// The limit between two pieces of a stream, comments included.
    ///
    /// Default none: a stream may be silent for hours, and `probeInterval` finds a peer that has gone. For a server
    /// that sends comments at intervals, a multiple of that interval.
    public var idle: Duration?
    /// The limit of the whole event source, with all attempts and delays; after it, it ends with the code
    /// `ChappieTransportFailure.Code.timedOut`, as it does in place of a delay that would exceed the limit.
    ///
    /// Default none.
    public var total: Duration?
    /// The silence after which TCP probes the peer.
    ///
    /// Default 20 s.
    public var probeInterval: Duration? = .seconds(20)
    /// The limit for the content of an answer that is no event stream, after its head.
    ///
    /// Default 10 s. The error then has the beginning that has come.
    public var errorBody: Duration = .seconds(10)

    /// Creates the time limits with their defaults.
    public init() {}
}

/// The limits on a server's data.
public struct EventSourceLimits: Sendable, Hashable {
    /// The maximum size of one event, in bytes: its data, its type and its ID.
    ///
    /// Default 64 MiB. Beyond it the event source ends with `event.too-large`.
    public var eventByteCount = 64 << 20
    /// The maximum number of bytes that are kept of the content of an answer that is no event stream.
    ///
    /// Default 64 KiB.
    public var errorBodyByteCount = 64 << 10
    /// The number of unread bytes at which reading stops, until the program reads events.
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

extension EventSourceConfiguration {
    /// The fault of a property; nil when connections can be opened, as far as the texts tell.
    var fault: ChappieArgumentError? {
        self.tls.fault.map { ChappieArgumentError("tls", "cannot be used: \($0)") }
    }

    /// The same configuration with every number in its range.
    var bounded: Self {
        var copy = self
        copy.maximumRedirects = max(0, self.maximumRedirects)
        copy.timeouts = self.timeouts.bounded
        copy.limits = self.limits.bounded
        copy.serviceThreadCount = min(max(1, self.serviceThreadCount), 64)
        return copy
    }
}

extension EventSourceTimeouts {
    fileprivate var bounded: Self {
        var copy = self
        copy.connect = self.connect?.bounded
        copy.response = self.response?.bounded
        copy.idle = self.idle?.bounded
        copy.total = self.total?.bounded
        copy.probeInterval = self.probeInterval?.bounded
        copy.errorBody = self.errorBody.bounded
        return copy
    }
}

extension EventSourceLimits {
    fileprivate var bounded: Self {
        var copy = self
        copy.eventByteCount = self.eventByteCount.boundedByteCount
        copy.errorBodyByteCount = self.errorBodyByteCount.boundedByteCount
        // Reading stops at one unread byte at least, and resumes below the mark at which it has stopped.
        copy.highWatermark = max(1, self.highWatermark.boundedByteCount)
        copy.lowWatermark = min(self.lowWatermark.boundedByteCount, copy.highWatermark - 1)
        return copy
    }
}
