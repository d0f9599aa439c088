import StreamTransport

/// Finds out that connections are cut at the same age, as a proxy or a load balancer does that has a limit of time.
///
/// It reads no clock; it belongs to the turn's driver.
package struct PathTimeLimit: Sendable {
    /// A younger connection is cut for any reason.
    static let shortestAge = Duration.seconds(5)
    /// How many ages are compared.
    static let maximumCount = 16

    private var ages: [Duration] = []

    /// No connection was cut yet.
    package init() {}

    /// A connection was cut at this age; nil unless one before was cut at the same.
    ///
    /// Ages that differ by less than a fiftieth are the same, but no more than a second, and from a quarter of one on.
    package mutating func cut(at age: Duration) -> Duration? {
        guard age >= Self.shortestAge else { return nil }
        let tolerance = min(max(age / 50, .milliseconds(250)), .seconds(1))
        defer { if self.ages.count < Self.maximumCount { self.ages.append(age) } }
        return self.ages.contains { max($0 - age, age - $0) <= tolerance } ? age : nil
    }
}

extension AttemptFailure {
    /// Whether the connection ended without a word of the server's about the response.
    package var isCut: Bool {
        switch self {
        case .transport(let failure): failure.cause == .connectionLost
        // RFC 6455 section 7.4.1: going away, no code, and no close frame at all.
        case .closed(let code, _): [1001, 1005, 1006].contains(code)
        case .endedEarly, .endedWithoutEvent: true
        case .upgradeStatus, .httpStatus, .errorEvent, .responseFailed, .responseIncomplete, .unexpectedContentType,
            .binaryMessage, .undecodableEvent, .contradictoryEvents, .sequenceGap, .otherAPI, .eventTooLarge,
            .outputTooLarge, .toolOutputAwaited, .timeout,
            .requestTooLarge:
            false
        }
    }
}
