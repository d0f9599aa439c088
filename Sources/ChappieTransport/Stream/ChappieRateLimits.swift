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

    /// The limit of requests.
    public let requests: Limit?
    /// The limit of tokens.
    public let tokens: Limit?

    /// The fields that are read.
    static let fieldNames = ["limit", "remaining", "reset"].flatMap { value in
        ["requests", "tokens"].map { "x-ratelimit-\(value)-\($0)" }
    }

    /// Reads the fields of an answer; nil without any.
    init?(_ head: ResponseHead) {
        self.requests = Limit(of: "requests", in: head)
        self.tokens = Limit(of: "tokens", in: head)
        if self.requests == nil, self.tokens == nil { return nil }
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
