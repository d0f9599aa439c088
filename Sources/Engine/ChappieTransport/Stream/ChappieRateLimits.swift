import HTTPProtocol
import PlatformFoundation
import ResponseEvents
import StreamTransport

/// The rate limits of an account's key as the server reported them with a response, in fields that begin with
/// `x-ratelimit-` or `anthropic-ratelimit-`.
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
    static let fieldNames = (Self.requestNames + Self.tokenNames).flatMap { $0 }
    private static let requestNames = DialectFields.rateLimit(of: "requests")
    private static let tokenNames = DialectFields.rateLimit(of: "tokens")

    /// Reads the fields of an answer that came at a time, in seconds since 1970; nil without any.
    init?(_ head: ResponseHead, at time: Int) {
        self.limits = [Limit(Self.requestNames, in: head, at: time), Limit(Self.tokenNames, in: head, at: time)]
        if self.limits == [nil, nil] { return nil }
    }
}

extension ChappieRateLimits.Limit {
    fileprivate init?(_ names: [[String]], in head: ResponseHead, at time: Int) {
        func value(_ place: Int) -> String? { names[place].lazy.compactMap { head.value(of: $0) }.first }
        self.maximum = value(0).flatMap { Int(lenient: $0) }
        self.remaining = value(1).flatMap { Int(lenient: $0) }
        self.resetsAfter = value(2).flatMap { text -> Duration? in
            if let delay = RetryDelay.milliseconds(duration: text) { return .milliseconds(delay) }
            // RFC 3339 section 5.6.
            guard let date = try? Date(text, strategy: .iso8601) else { return nil }
            return .seconds(min(max(0, Int(date.timeIntervalSince1970) - time), 1 << 32))
        }
        if self.maximum == nil, self.remaining == nil, self.resetsAfter == nil { return nil }
    }
}
