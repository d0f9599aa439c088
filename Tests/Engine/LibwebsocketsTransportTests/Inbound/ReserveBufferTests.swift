// Bytes in the reserve, which stay there when no other buffer has room, and are copied when one has.

import StreamTransport
import Testing
import WebSocketProtocol

@testable import LibwebsocketsTransport

@Suite struct ReserveBufferTests {
    private let arena = InboundArena(limits: TransportLimits())
    private let large = InboundBuffer(byteCount: InboundBuffer.largeByteCount)
    /// More than a small buffer takes.
    private static let text = String(repeating: "x", count: InboundBuffer.smallByteCount + 1)

    /// Writes text into what the buffer lends, as a read does.
    private func read(_ text: String, at offset: Int, of buffer: InboundBuffer) -> UnsafeRawBufferPointer {
        let memory = buffer.lend()
        let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[offset..<offset + text.utf8.count])
        bytes.copyBytes(from: text.utf8)
        return UnsafeRawBufferPointer(bytes)
    }

    private func append(_ text: String, reserve: inout InboundBuffer?) {
        Array(text.utf8).withUnsafeBytes { _ = self.arena.append($0, reserve: &reserve) }
    }

    @Test(arguments: [0, 16, 70])
    func bytesWithoutAnotherBufferStayInTheReserve(offset: Int) throws {
        var reserve: InboundBuffer? = self.large
        let bytes = self.read(Self.text, at: offset, of: self.large)
        self.arena.append(bytes, reserve: &reserve)
        #expect(reserve == nil)
        self.append("behind it", reserve: &reserve)
        let buffer = try #require(self.arena.take(giving: nil)?.buffer)
        #expect(buffer === self.large)
        #expect(buffer.texts == [Self.text + "behind it"])
        #expect(buffer.bytes(of: buffer.records[0]).baseAddress == bytes.baseAddress)
        #expect(buffer.byteCount == offset + Self.text.utf8.count + 9)
    }

    @Test func bytesThatFitASmallBufferAreCopied() throws {
        var reserve: InboundBuffer? = self.large
        self.arena.append(self.read("abc", at: 16, of: self.large), reserve: &reserve)
        #expect(reserve === self.large)
        #expect(self.large.isEmpty && self.large.byteCount == 0)
        // The next read may use the memory again.
        self.arena.append(self.read("def", at: 16, of: self.large), reserve: &reserve)
        #expect(try #require(self.arena.take(giving: nil)).texts == ["abcdef"])
    }

    @Test func bytesThatFitALargeBufferAreCopied() throws {
        var reserve: InboundBuffer? = InboundBuffer(byteCount: InboundBuffer.largeByteCount)
        self.append(Self.text, reserve: &reserve)
        #expect(reserve == nil)
        reserve = self.large
        self.arena.append(self.read(Self.text, at: 16, of: self.large), reserve: &reserve)
        #expect(reserve === self.large)
        #expect(try #require(self.arena.take(giving: nil)).texts == [Self.text + Self.text])
    }

    @Test func aWholeReadStaysWhereItIs() throws {
        var reserve: InboundBuffer? = self.large
        let text = String(repeating: "y", count: InboundBuffer.largeByteCount)
        self.arena.append(self.read(text, at: 0, of: self.large), reserve: &reserve)
        let buffer = try #require(self.arena.take(giving: nil)?.buffer)
        #expect(buffer === self.large)
        #expect(buffer.texts == [text])
        #expect(!buffer.hasRoom(for: 1))
    }

    @Test func messagesInAReserveBufferAreNotMoved() throws {
        var reserve: InboundBuffer? = self.large
        let bytes = self.read("##\(Self.text)##two#", at: 16, of: self.large)
        let piece = InboundBuffer.Record.Content.message(MessagePiece(kind: .text))
        let count = Self.text.utf8.count
        let records = [
            InboundBuffer.Record(content: piece, offset: 2, count: count),
            InboundBuffer.Record(content: piece, offset: count + 4, count: 3),
        ]
        var arrival = InboundArena.Arrival(moment: .now, byteCount: bytes.count)
        _ = self.arena.append(records, in: bytes, of: &arrival, reserve: &reserve)
        #expect(reserve == nil)
        // What stands behind the last message is room again.
        self.arena.append("three")
        let buffer = try #require(self.arena.take(giving: nil)?.buffer)
        #expect(buffer === self.large)
        #expect(buffer.texts == [Self.text, "two", "three"])
        #expect(buffer.bytes(of: buffer.records[0]).baseAddress == bytes.baseAddress.map { $0 + 2 })
    }

    @Test func freePlaceExistsOnlyInFreeMemory() throws {
        let buffer = PaddedBuffer(capacity: 8)
        let memory = UnsafeRawBufferPointer(buffer.lend())
        func place(_ range: Range<Int>) -> Int? {
            buffer.freePlace(of: UnsafeRawBufferPointer(rebasing: memory[range]))
        }
        #expect(place(0..<8) == 0)
        #expect(place(3..<8) == 3)
        buffer.keep(4)
        #expect(place(3..<8) == nil)
        #expect(place(4..<8) == 4)
        let start = try #require(memory.baseAddress)
        #expect(buffer.freePlace(of: UnsafeRawBufferPointer(start: start + 4, count: 5)) == nil)
        #expect(buffer.freePlace(of: UnsafeRawBufferPointer(start: start - 1, count: 2)) == nil)
        #expect(buffer.freePlace(of: UnsafeRawBufferPointer(start: nil, count: 0)) == nil)
        #expect([1, 2].withUnsafeBytes { buffer.freePlace(of: $0) } == nil)
    }
}
