import StreamTransport

/// Detects that connections are cut at the same age, as by a proxy or a load balancer with a time limit.
///
/// It reads no clock; it belongs to the turn's driver.
package struct PathTimeLimit: Sendable {
    /// The age below which a cut is not considered, as it may have any cause.
    static let shortestAge = Duration.seconds(5)
    /// The maximum number of ages that are compared.
    static let maximumCount = 16

    private var ages: [Duration] = []

    /// Creates a detector without any cut connection.
    package init() {}

    /// Records that a connection was cut at an age; returns nil unless an earlier one was cut at the same age.
    ///
    /// Two ages count as the same when they differ by at most a fiftieth, a tolerance of at least 0.25 and at most 1
    /// second.
    package mutating func cut(at age: Duration) -> Duration? {
        guard age >= Self.shortestAge else { return nil }
        let tolerance = min(max(age / 50, .milliseconds(250)), .seconds(1))
        defer { if self.ages.count < Self.maximumCount { self.ages.append(age) } }
        return self.ages.contains { max($0 - age, age - $0) <= tolerance } ? age : nil
    }
}

extension AttemptFailure {
    /// Indicates whether the connection ended without a statement of the server about the response.
    package var isCut: Bool {
        switch self {
        case .transport(let failure): failure.cause == .connectionLost
        // RFC 6455 section 7.4.1: going away, no code, and no close frame at all.
        case .closed(let code, _): [1001, 1005, 1006].contains(code)
        case .endedEarly, .endedWithoutEvent: true
        default: false
        }
    }
}
