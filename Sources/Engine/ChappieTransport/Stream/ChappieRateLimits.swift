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
    static let fieldNames = Self.requestNames + Self.tokenNames
    private static let requestNames = DialectFields.rateLimit(of: "requests")
    private static let tokenNames = DialectFields.rateLimit(of: "tokens")

    /// Reads the fields of an answer; nil without any.
    init?(_ head: ResponseHead) {
        self.limits = [Limit(Self.requestNames, in: head), Limit(Self.tokenNames, in: head)]
        if self.limits == [nil, nil] { return nil }
    }
}

extension ChappieRateLimits.Limit {
    fileprivate init?(_ names: [String], in head: ResponseHead) {
        self.maximum = head.value(of: names[0]).flatMap { Int(lenient: $0) }
        self.remaining = head.value(of: names[1]).flatMap { Int(lenient: $0) }
        self.resetsAfter = head.value(of: names[2])
            .flatMap { RetryDelay.milliseconds(duration: $0) }.map { .milliseconds($0) }
        if self.maximum == nil, self.remaining == nil, self.resetsAfter == nil { return nil }
    }
}
