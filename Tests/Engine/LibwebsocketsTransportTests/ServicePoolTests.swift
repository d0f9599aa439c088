// The assignment of service threads to connections.

import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite struct ServicePoolTests {
    private static func deal(_ count: Int, times: Int, from pool: ServicePool) -> [ObjectIdentifier] {
        (0..<times).map { _ in ObjectIdentifier(pool.service(among: count)) }
    }

    @Test(arguments: [1, 0, -5, .min])
    func poolHasAtLeastOneThread(_ count: Int) {
        let pool = ServicePool()
        #expect(Set(Self.deal(count, times: 5, from: pool)).count == 1)
    }

    @Test func threadsAreAssignedRoundRobin() {
        let pool = ServicePool()
        let dealt = Self.deal(3, times: 9, from: pool)
        #expect(Set(dealt).count == 3)
        #expect(dealt[0..<3] == dealt[3..<6])
        #expect(dealt[0..<3] == dealt[6..<9])
        // A transport with fewer threads uses the first ones.
        #expect(Set(Self.deal(1, times: 4, from: pool)) == [dealt[0]])
        #expect(Set(Self.deal(2, times: 4, from: pool)) == [dealt[0], dealt[1]])
    }
}
