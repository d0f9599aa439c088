// The rules for reconnecting. Immutable values without an owner.

/// The rules by which an event source reconnects: WHATWG HTML section 9.2.3, "reestablish the connection".
///
/// An event source reconnects when its stream ends, however it ends, and when its connection fails. It does not when a
/// repetition would be futile: after a status code other than 200, a content type other than `text/event-stream`, a
/// certificate that is not trusted. A number outside of its range becomes the nearest one inside.
public struct EventSourceReconnectionPolicy: Sendable, Hashable {
    /// The way in which a request that may have had an effect is repeated.
    ///
    /// It concerns methods that are not idempotent (RFC 9110 section 9.2.2), such as POST. A request that was never
    /// sent, because no connection was established, is not repeated but sent.
    public enum Resending: Sendable, Hashable, CaseIterable {
        /// Never: the event source ends with its first stream.
        case never
        /// As a GET without content, once the stream had an event with an ID: the form in which servers of the Model
        /// Context Protocol resume the stream that answers a POST.
        case asGet
        /// As it is: for servers on which the request has no effect but the stream.
        case always
    }

    /// The reconnection time until the stream sets one by a `retry` field.
    ///
    /// Default 3 s.
    public var reconnectionTime: Duration = .seconds(3)
    /// The longest reconnection time that a stream can set.
    ///
    /// Default 1 day.
    public var maximumReconnectionTime: Duration = .seconds(86_400)
    /// The part of the reconnection time that is waited in addition, at random from zero to this part.
    ///
    /// Default 0.2; from 0 to 1. Clients that a server has lost at once do not come back at once.
    public var jitter = 0.2
    /// The time that is waited in addition after a first attempt without anything from the stream; it doubles with each
    /// one.
    ///
    /// Default 1 s.
    public var backoff: Duration = .seconds(1)
    /// The longest of these additional times.
    ///
    /// Default 60 s.
    public var maximumBackoff: Duration = .seconds(60)
    /// The maximum number of reconnections in a row without anything from the stream in between; nil for no limit, and
    /// 0 for no reconnection at all.
    ///
    /// Default nil.
    public var maximumAttempts: Int?
    /// The maximum time without a stream, from the loss of the last one: a wait beyond it is not begun.
    ///
    /// Default nil, for no limit.
    public var maximumOutage: Duration?
    /// The status codes after which the event source reconnects, such as 429, 502, 503 and 504.
    ///
    /// Default none: by the specification each status code but 200 ends the event source.
    public var retriedStatusCodes: Set<Int> = []
    /// The longest delay of `Retry-After` (RFC 9110 section 10.2.3) that is waited for; nil ignores the field.
    ///
    /// Default 5 min. The field counts in answers with one of `retriedStatusCodes`, and never shortens a delay. A
    /// longer one ends the event source.
    public var maximumRetryAfter: Duration? = .seconds(300)
    /// The way in which a request that may have had an effect is repeated.
    ///
    /// Default `.never`.
    public var resending = Resending.never

    /// Creates a policy with the defaults above.
    public init() {}

    /// No reconnection: the events are those of one answer.
    public static let never: Self = {
        var policy = Self()
        policy.maximumAttempts = 0
        return policy
    }()
}

extension EventSourceReconnectionPolicy {
    /// Indicates whether there may be a second attempt.
    var allowsReconnections: Bool { self.maximumAttempts.map { $0 > 0 } ?? true }
}
