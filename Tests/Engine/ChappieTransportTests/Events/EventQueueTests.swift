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

    @Test func memoryThatIsGivenBackIsUsedAgain() {
        var queue = EventQueue()
        for _ in 0..<200 { queue.append(.textDelta("a")) }
        var batch = queue.moveAll()
        #expect(batch == Array(repeating: .textDelta("a"), count: 200))
        #expect(queue.moveAll().capacity == 0)
        let address = batch.withUnsafeBytes { $0.baseAddress }
        batch.removeAll(keepingCapacity: true)
        queue.reuse(batch)
        batch = []
        queue.append(.textDelta("b"))
        batch = queue.moveAll()
        #expect(batch == [.textDelta("b")])
        #expect(batch.withUnsafeBytes { $0.baseAddress } == address)
    }

    @Test func eventsThatWaitAreNotLostForOtherMemory() {
        var queue = EventQueue()
        for number in 0..<3 { queue.append(.textDelta(String(number))) }
        let first = queue.takeFirst()
        var memory: [ChappieStreamEvent] = []
        memory.reserveCapacity(8)
        queue.reuse(memory)
        #expect(first == [.textDelta("0")])
        #expect(queue.moveAll() == [.textDelta("1"), .textDelta("2")])
        #expect(queue.count == 0)
    }

    @Test func veryLargeMemoryIsNotKept() {
        var queue = EventQueue()
        var memory: [ChappieStreamEvent] = []
        memory.reserveCapacity(10_000)
        queue.reuse(memory)
        queue.append(.completed)
        #expect((256..<2_000).contains(queue.moveAll().capacity))
    }

    @Test func aQueueThatIsEmptyHoldsRoomForNoMoreThanARead() {
        var queue = EventQueue()
        for _ in 0..<10_000 { queue.append(.completed) }
        #expect(queue.takeAll().count == 10_000)
        queue.append(.completed)
        #expect((256..<1_000).contains(queue.takeAll().capacity))
    }
}
