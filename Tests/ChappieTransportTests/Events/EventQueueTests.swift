import Testing

@testable import ChappieTransport

@Suite struct EventQueueTests {
    @Test func aBatchThatFollowsHasRoomForAsManyEvents() {
        var queue = EventQueue()
        for _ in 0..<200 { queue.append(.textDelta("a")) }
        #expect(queue.takeAll() == Array(repeating: .textDelta("a"), count: 200))
        #expect(queue.takeAll().isEmpty)
        queue.append(.textDelta("b"))
        let second = queue.takeAll()
        #expect(second == [.textDelta("b")])
        #expect(second.capacity >= 200)
        queue.append(.textDelta("c"))
        #expect(queue.takeAll().capacity < 200)
    }

    @Test func aQueueThatIsEmptyHoldsRoomForNoMoreThanARead() {
        var queue = EventQueue()
        for _ in 0..<10_000 { queue.append(.completed) }
        #expect(queue.takeAll().count == 10_000)
        queue.append(.completed)
        #expect((256..<1_000).contains(queue.takeAll().capacity))
    }
}
