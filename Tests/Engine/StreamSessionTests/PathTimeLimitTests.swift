// Cuts at the same age of a connection suggest a time limit on the path.

import StreamTransport
import Testing

@testable import StreamSession

@Suite struct PathTimeLimitTests {
    @Test(
        arguments: [
            ([60_000, 60_000], [nil, 60_000]), ([60_000, 61_000], [nil, 61_000]), ([60_000, 61_300], [nil, nil]),
            ([100_000, 40_000, 100_900], [nil, nil, 100_900]), ([5_000, 5_200], [nil, 5_200]),
            ([5_000, 5_300], [nil, nil]), ([4_999, 4_999], [nil, nil]), ([3_600_000, 3_602_000], [nil, nil]),
        ] as [([Int], [Int?])])
    func twoCutsAtTheSameAgeAreFound(ages: [Int], found: [Int?]) {
        var limit = PathTimeLimit()
        #expect(ages.map { limit.cut(at: .milliseconds($0)) } == found.map { $0.map { Duration.milliseconds($0) } })
    }

    @Test func onlyAbruptEndsCountAsCuts() {
        let lost = AttemptFailure.transport(TransportFailure(phase: .stream, cause: .connectionLost))
        #expect(lost.isCut && AttemptFailure.endedEarly.isCut)
        #expect([1001, 1005, 1006].allSatisfy { AttemptFailure.closed(code: $0, beforeFirstEvent: false).isCut })
        #expect(![1000, 1008, 1011].contains { AttemptFailure.closed(code: $0, beforeFirstEvent: false).isCut })
        #expect(!AttemptFailure.timeout(.idle).isCut && !AttemptFailure.undecodableEvent.isCut)
    }
}
