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

    @Test func memoryIsScarceWhileManyLargeBuffersExist() {
        let pool = InboundBufferPool()
        let plentifulCount = InboundMemory.plentifulByteCount / InboundBuffer.largeByteCount
        var buffers = (0..<plentifulCount).map { _ in pool.take() }
        #expect(pool.memory.share == .max)
        buffers.append(pool.take())
        #expect(pool.memory.share == InboundMemory.scarceShare)
        // The pool keeps some, which count as well.
        for buffer in buffers { pool.giveBack(buffer) }
        buffers = []
        #expect(pool.memory.share == .max)
        buffers = (0...plentifulCount).map { _ in pool.take() }
        #expect(pool.memory.share == InboundMemory.scarceShare)
        // A buffer that is dropped is not given back.
        buffers.removeLast()
        #expect(pool.memory.share == .max)
    }

    @Test func aShareLimitsWhatIsUnread() throws {
        self.append(600)
        #expect(self.arena.room(sharing: Self.share) == Self.share - 600 - Self.record)
        self.append(600)
        #expect(self.arena.room(sharing: Self.share) == 0)
        #expect(try #require(self.arena.take()).isPaused)
        #expect(!self.arena.shouldResume(withUnread: Self.share / 4 + 1))
        #expect(self.arena.shouldResume(withUnread: Self.share / 4))
        #expect(!self.arena.shouldResume(withUnread: 0))
        #expect(self.arena.room(sharing: Self.share) == Self.share)
    }

    @Test func whatCameInPlentyPausesReadingWhenMemoryIsScarce() throws {
        self.append(5_000, share: .max)
        #expect(self.arena.room > 5_000)
        #expect(self.arena.room(sharing: Self.share) == 0)
        #expect(try #require(self.arena.take()).isPaused)
        #expect(self.arena.shouldResume(withUnread: 0))
    }

    /// The consumer learns from the next buffer that reading waits for it.
    @Test func readingNeverWaitsForAConsumerThatHasNoBufferToTake() throws {
        self.append(5_000, share: .max)
        #expect(try #require(self.arena.take()).isPaused == false)
        #expect(self.arena.room(sharing: Self.share) == Self.share)
        self.append(10)
        #expect(self.arena.room(sharing: Self.share) == 0)
        #expect(try #require(self.arena.take()).isPaused)
        #expect(self.arena.shouldResume(withUnread: 0))
    }

    @Test func plentyEndsTheLimit() throws {
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
