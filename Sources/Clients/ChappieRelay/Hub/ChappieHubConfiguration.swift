/// The settings of a hub.
///
/// A value.
public struct ChappieHubConfiguration: Sendable {
    /// The name of the process in the journal; no two processes may have the same.
    ///
    /// Default 128 random bits.
    public var owner = ChappieStreamID().description
    /// The time after which another process takes the streams of a silent one.
    ///
    /// Default 6 s; at least 300 ms. A process renews its leases three times in it.
    public var lease: Duration = .seconds(6)
    /// The time for which a stream is kept behind its last event.
    ///
    /// Default an hour.
    public var retention: Duration = .seconds(3600)
    /// The maximum number of streams that this process makes at a time, taken ones included.
    ///
    /// Default 1,000; at least 1.
    public var streamLimit = 1000
    /// The time for which events are gathered before they are appended together; the first event of a pause is appended
    /// at once.
    ///
    /// Default 20 ms.
    public var batchDuration: Duration = .milliseconds(20)
    /// The size of the gathered events, in bytes, at which they are appended without waiting.
    ///
    /// Default 4 KiB.
    public var batchByteCount = 4096
    /// The time for which a journal that cannot be used is tried again, before a stream's production or reading ends.
    ///
    /// Default 30 s.
    public var journalPatience: Duration = .seconds(30)
    /// Indicates whether this process takes streams whose producers are silent.
    ///
    /// Default true. A process without it, such as one without access to the upstream, serves readers all the same.
    public var takesOver = true
    /// The time without a reader after which a stream is cancelled, so that no more of it is paid for; nil for never.
    ///
    /// Default nil; not below a lease, as it is looked at with each renewal. Readers in all processes that have the
    /// setting count. What was delivered stays readable; behind it readers get `ChappieHubError.cancelled`.
    public var stopsWithoutReadersAfter: Duration?

    /// Creates the default settings.
    public init() {}

    /// The settings within their ranges.
    var bounded: Self {
        var bounded = self
        bounded.lease = max(.milliseconds(300), self.lease)
        bounded.streamLimit = max(1, self.streamLimit)
        bounded.batchDuration = max(.zero, self.batchDuration)
        bounded.stopsWithoutReadersAfter = self.stopsWithoutReadersAfter.map { max(bounded.lease, $0) }
        bounded.journalPatience = max(.zero, self.journalPatience)
        return bounded
    }
}
