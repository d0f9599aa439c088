import HTTPProtocol
import ResponseEvents
import StreamTransport

/// The rate limits of an account's key as the server reported them with a response, in fields that begin with
/// `x-ratelimit-`.
///
/// A minor version may add properties.
public struct ChappieRateLimits: Sendable, Equatable {
    /// The state of one limit.
    public struct Limit: Sendable, Equatable {
        /// The number that is allowed in a period.
        public let maximum: Int?
        /// The number that is left in the present period.
        public let remaining: Int?
        /// The time from the answer until the limit is reset.
        public let resetsAfter: Duration?
    }

    /// The limits of requests and tokens, elsewhere: a turn has room for several values, and most servers report none.
    private let limits: [Limit?]

    /// The limit of requests.
    public var requests: Limit? { self.limits[0] }
    /// The limit of tokens.
    public var tokens: Limit? { self.limits[1] }

    /// The fields that are read.
    static let fieldNames = ["limit", "remaining", "reset"].flatMap { value in
        ["requests", "tokens"].map { "x-ratelimit-\(value)-\($0)" }
    }

    /// Reads the fields of an answer; nil without any.
    init?(_ head: ResponseHead) {
        self.limits = [Limit(of: "requests", in: head), Limit(of: "tokens", in: head)]
        if self.limits == [nil, nil] { return nil }
    }
}

extension ChappieRateLimits.Limit {
    fileprivate init?(of name: String, in head: ResponseHead) {
        self.maximum = head.value(of: "x-ratelimit-limit-\(name)").flatMap { Int(lenient: $0) }
        self.remaining = head.value(of: "x-ratelimit-remaining-\(name)").flatMap { Int(lenient: $0) }
        self.resetsAfter = head.value(of: "x-ratelimit-reset-\(name)")
            .flatMap { RetryDelay.milliseconds(duration: $0) }.map { .milliseconds($0) }
        if self.maximum == nil, self.remaining == nil, self.resetsAfter == nil { return nil }
    }
}
