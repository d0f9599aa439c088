// Memory that goes from one stream to the next.

import Testing
import WebSocketProtocol

@testable import LibwebsocketsTransport

@Suite struct InboundMemoryPoolTests {
    /// Memory that takes at least so much.
    private static func storage(_ byteCount: Int) -> InboundBuffer.Storage {
        var storage = InboundBuffer.Storage()
        storage.memory = PaddedBuffer(capacity: byteCount)
        return storage
    }

    @Test func whatWasGivenLastIsTakenFirst() {
        let pool = InboundMemoryPool()
        let (first, second) = (Self.storage(1_000), Self.storage(2_000))
        pool.give(first)
        pool.give(second)
        #expect(pool.byteCount == 3_000)
        #expect(pool.take().memory === second.memory)
        #expect(pool.take().memory === first.memory)
        #expect(pool.byteCount == 0)
        #expect(pool.take().memory.capacity == 0)
        #expect(pool.byteCount == 0)
    }

    @Test func theLimitHolds() {
        let pool = InboundMemoryPool()
        pool.give(Self.storage(InboundMemoryPool.byteLimit - 1))
        pool.give(Self.storage(1))
        #expect(pool.byteCount == InboundMemoryPool.byteLimit)
        pool.give(Self.storage(1))
        #expect(pool.byteCount == InboundMemoryPool.byteLimit)
        pool.give(Self.storage(InboundMemoryPool.byteLimit))
        _ = pool.take()
        #expect(pool.byteCount == InboundMemoryPool.byteLimit - 1)
    }

    @Test func aBufferIsTheSameWhateverItsMemoryHeld() {
        for round in 0..<3 {
            let buffer = InboundBuffer()
            #expect(buffer.isEmpty)
            #expect(buffer.weight == 0)
            buffer.appendPong()
            let text = Array("round \(round)".utf8)
            text.withUnsafeBytes { buffer.append($0, as: nil) }
            text.withUnsafeBytes { buffer.append($0, as: nil) }
            buffer.appendPong()
            #expect(buffer.records.map(\.content) == [.pong, .body, .pong])
            #expect(buffer.records.map(\.count) == [0, 2 * text.count, 0])
            #expect(Array(buffer.bytes(of: buffer.records[1])) == text + text)
            #expect(Array(buffer.bytes(of: buffer.records[0])).isEmpty)
            #expect(buffer.byteCount == 2 * text.count)
            buffer.removeAll()
            #expect(buffer.isEmpty)
            #expect(buffer.byteCount == 0)
        }
    }

    @Test func marksAloneNeedNoMemory() {
        let buffer = InboundBuffer()
        buffer.appendPong()
        #expect(Array(buffer.bytes(of: buffer.records[0])).isEmpty)
        #expect(buffer.byteCount == 0)
        buffer.removeAll()
        #expect(buffer.isEmpty)
    }
}
