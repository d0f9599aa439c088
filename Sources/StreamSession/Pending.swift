package struct CircuitBreaker: Sendable {
    package enum Permission: Sendable, Equatable { case allowed, probe, refused(retryAfter: Duration) }
    package enum Outcome: Sendable, Equatable { case succeeded, failed(isCounted: Bool), abandoned }
    package init(failureThreshold: Int, openDuration: Duration) {}
    package mutating func permission(now: Duration) -> Permission { .allowed }
    package mutating func ended(_ p: Permission, _ o: Outcome, now: Duration) {}
}
package struct ResponseOrder: Sendable { package init() {}; package enum Violation: String, Sendable, Equatable { case interleaved } }
extension ResponseOrder { package init(previousResponseID: String?) {} }
