// The memory of many streams that flood.

import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite struct InboundMemoryTests {
    private static let share = 1_000
    /// The weight of a record.
    private static let record = MemoryLayout<InboundBuffer.Record>.stride

    private let arena = InboundArena(limits: TransportLimits())

    /// Appends a run of a body while the share has this size.
    private func append(_ byteCount: Int, share: Int = InboundMemoryTests.share) {
        var none: InboundBuffer?
        var arrival = InboundArena.Arrival(moment: .now, byteCount: byteCount, share: share)
        [UInt8](repeating: 0x78, count: byteCount).withUnsafeBytes { bytes in
            _ = self.arena.append(bytes, of: &arrival, reserve: &none)
        }
    }

    /// The number of large buffers that may be in use before memory is scarce for so many streams.
    private static func plentifulCount(forStreams streamCount: Int) -> Int {
        InboundMemory.plentifulByteCount(forStreams: streamCount) / InboundBuffer.largeByteCount
    }

    @Test(arguments: [0, 1, 100, 150, 10_000, .max])
    func memoryIsScarceWhileManyLargeBuffersAreInUse(streamCount: Int) {
        let pool = InboundBufferPool()
        var share: Int { pool.memory.share(ofStreams: streamCount) }
        var buffers = (0..<Self.plentifulCount(forStreams: streamCount)).map { _ in pool.take() }
        #expect(share == .max)
        buffers.append(pool.take())
        #expect(share == InboundMemory.scarceShare)
        // A buffer that the pool keeps is not in use.
        pool.giveBack(buffers.removeLast())
        #expect(share == .max)
        buffers.append(pool.take())
        #expect(share == InboundMemory.scarceShare)
        // A buffer that is dropped is not given back.
        buffers.removeLast()
        #expect(share == .max)
    }

    @Test(arguments: [0, 1, 10, 50, 100, 112])
    func streamsAndLargeBuffersTogetherHaveALimit(streamCount: Int) {
        let largeByteCount = InboundMemory.plentifulByteCount(forStreams: streamCount)
        #expect(largeByteCount + streamCount * InboundMemory.streamByteCount == InboundMemory.byteCount)
        #expect(largeByteCount >= InboundMemory.leastByteCount)
    }

    @Test(arguments: [113, 1_000, .max])
    func plentifulMemoryHasAMinimumForManyStreams(streamCount: Int) {
        #expect(InboundMemory.plentifulByteCount(forStreams: streamCount) == InboundMemory.leastByteCount)
    }

    @Test(arguments: [1, 100, 1_000_000])
    func leastMemoryHoldsTheDefaultWatermarksAndTheBufferOfTheConsumer(streamCount: Int) {
        let limits = TransportLimits()
        let unread = (limits.highWatermark + InboundBuffer.largeByteCount - 1) / InboundBuffer.largeByteCount
        // The consumer reads one more.
        #expect(Self.plentifulCount(forStreams: streamCount) >= unread + 1)
    }

    /// A pool that counted what it keeps would leave memory scarce for streams that come after a flood.
    @Test func theBuffersOfAFloodThatIsOverDoNotCount() {
        let pool = InboundBufferPool()
        let buffers = (0..<50).map { _ in pool.take() }
        #expect(pool.memory.share(ofStreams: 1) == InboundMemory.scarceShare)
        for buffer in buffers { pool.giveBack(buffer) }
        let taken = (0..<Self.plentifulCount(forStreams: .max)).map { _ in pool.take() }
        #expect(pool.memory.share(ofStreams: .max) == .max)
        withExtendedLifetime(taken) {}
    }

    @Test func aShareLimitsWhatIsUnread() throws {
        self.append(490)
        #expect(self.arena.room(sharing: Self.share) == Self.share - 490 - Self.record)
        self.append(490)
        #expect(self.arena.room(sharing: Self.share) == 0)
        #expect(try #require(self.arena.take()).isPaused)
        #expect(!self.arena.shouldResume(withUnread: Self.share / 4 + 1))
        #expect(self.arena.shouldResume(withUnread: Self.share / 4))
        #expect(!self.arena.shouldResume(withUnread: 0))
        #expect(self.arena.room(sharing: Self.share) == Self.share)
    }

    @Test func readingPausesWhenReceivedBytesExceedAReducedShare() throws {
        self.append(5_000, share: .max)
        #expect(self.arena.room > 5_000)
        #expect(self.arena.room(sharing: Self.share) == 0)
        #expect(try #require(self.arena.take()).isPaused)
        #expect(self.arena.shouldResume(withUnread: 0))
    }

    /// The consumer learns from the next buffer that reading waits for it.
    @Test func readingIsNotPausedWithoutABufferToTake() throws {
        self.append(5_000, share: .max)
        #expect(try #require(self.arena.take()).isPaused == false)
        #expect(self.arena.room(sharing: Self.share) == Self.share)
        self.append(10)
        #expect(self.arena.room(sharing: Self.share) == 0)
        #expect(try #require(self.arena.take()).isPaused)
        #expect(self.arena.shouldResume(withUnread: 0))
    }

    @Test func plentifulMemoryLetsPausedReadingResume() throws {
        self.append(1_200)
        #expect(self.arena.room == 0)
        _ = self.arena.take()
        // The share of the last read is over.
        #expect(self.arena.room(sharing: .max) == 0)
        #expect(self.arena.shouldResume(withUnread: 5_000))
        #expect(self.arena.room > InboundBuffer.readByteCount)
    }

    @Test(arguments: [(Int.max, true), (InboundMemoryTests.share, false)])
    func buffersHaveTheSizeOfTheirBytesWhileMemoryIsScarce(_ share: Int, _ isLarge: Bool) throws {
        self.append(5_000, share: share)
        let buffer = try #require(self.arena.take()?.buffer)
        #expect(buffer.isLarge == isLarge)
        #expect(!buffer.isSmall)
        #expect(buffer.byteCount == 5_000)
    }
}
