// Tests of MessageAssembler and PaddedBuffer.

import Testing
import WebSocketProtocol

@Suite struct MessageAssemblerTests {
    private func piece(isFirst: Bool, isLast: Bool) -> MessagePiece {
        MessagePiece(kind: .text, isCompressed: true, isFirst: isFirst, isLast: isLast)
    }

    private func append(
        _ bytes: [UInt8], _ piece: MessagePiece, to assembler: inout MessageAssembler
    ) throws(FrameError) -> [UInt8]? {
        try bytes.withUnsafeBufferPointer { run throws(FrameError) in
            try assembler.append(piece, bytes: UnsafeRawBufferPointer(run)).map { Array($0.bytes) }
        }
    }

    @Test func aMessageInOnePieceIsNotCopied() throws {
        var assembler = MessageAssembler()
        try [1, 2, 3 as UInt8].withUnsafeBytes { bytes in
            let whole = try assembler.append(self.piece(isFirst: true, isLast: true), bytes: bytes)
            let message = try #require(whole)
            #expect(message.bytes.baseAddress == bytes.baseAddress)
            #expect(message.bytes.count == 3)
            #expect(message.kind == .text)
            #expect(message.isCompressed)
        }
    }

    @Test(arguments: 2...5)
    func piecesArePutTogether(pieceCount: Int) throws {
        var assembler = MessageAssembler()
        // A second message shows that the first is forgotten.
        for start in [0, 100] as [UInt8] {
            for index in 0..<pieceCount {
                let bytes = [UInt8](repeating: start + UInt8(index), count: 1_000)
                let isLast = index == pieceCount - 1
                let piece = self.piece(isFirst: index == 0, isLast: isLast)
                let whole = try self.append(bytes, piece, to: &assembler)
                let expected = (0...index).flatMap { [UInt8](repeating: start + UInt8($0), count: 1_000) }
                #expect(whole == (isLast ? expected : nil))
            }
        }
    }

    @Test func theLastPieceMayBeEmpty() throws {
        var assembler = MessageAssembler()
        #expect(try self.append([7], self.piece(isFirst: true, isLast: false), to: &assembler) == nil)
        #expect(try self.append([], self.piece(isFirst: false, isLast: true), to: &assembler) == [7])
    }

    @Test(arguments: [9, 10, 11], [0, 4])
    func theLimitCountsAllPieces(byteCount: Int, cut: Int) throws {
        var assembler = MessageAssembler(limit: 10)
        let bytes = [UInt8](repeating: 1, count: byteCount)
        if cut > 0 {
            _ = try self.append(Array(bytes[..<cut]), self.piece(isFirst: true, isLast: false), to: &assembler)
        }
        do throws(FrameError) {
            let piece = self.piece(isFirst: cut == 0, isLast: true)
            let whole = try self.append(Array(bytes[cut...]), piece, to: &assembler)
            #expect(whole == bytes && byteCount <= 10)
        } catch {
            #expect(error == .messageTooBig(limit: 10) && byteCount > 10)
        }
    }

    @Test func trimmingForgetsNoPiece() throws {
        var assembler = MessageAssembler()
        let bytes = SeededBytes.make(50_000)
        assembler.trim()
        #expect(try self.append(bytes, self.piece(isFirst: true, isLast: false), to: &assembler) == nil)
        assembler.trim()
        let whole = try self.append([7], self.piece(isFirst: false, isLast: true), to: &assembler)
        #expect(whole == bytes + [7])
        assembler.trim()
        #expect(try self.append([8], self.piece(isFirst: true, isLast: false), to: &assembler) == nil)
        #expect(try self.append([9], self.piece(isFirst: false, isLast: true), to: &assembler) == [8, 9])
    }
}

@Suite struct PaddedBufferTests {
    @Test(arguments: [0, 1, 4_095, 4_096, 4_097, 100_000])
    func bytesPastTheEndMayBeRead(byteCount: Int) throws {
        let buffer = PaddedBuffer()
        [UInt8](repeating: 1, count: byteCount).withUnsafeBytes { buffer.append($0) }
        let start = try #require(buffer.bytes.baseAddress)
        var sum = 0
        for offset in 0..<PaddedBuffer.paddingByteCount {
            sum += Int(start.load(fromByteOffset: byteCount + offset, as: UInt8.self))
        }
        #expect(sum >= 0)
        #expect(buffer.count == byteCount)
    }

    @Test func appendingKeepsWhatIsThere() {
        let buffer = PaddedBuffer()
        let bytes = SeededBytes.make(20_000)
        for start in stride(from: 0, to: bytes.count, by: 777) {
            Array(bytes[start..<min(start + 777, bytes.count)]).withUnsafeBytes { buffer.append($0) }
        }
        #expect(Array(buffer.bytes) == bytes)
        buffer.removeLast(19_000)
        #expect(Array(buffer.bytes) == Array(bytes.prefix(1_000)))
    }

    @Test func lentMemoryIsBoundedByTheLimit() {
        let buffer = PaddedBuffer()
        for expected in [4_096, 904, 0, 0] {
            buffer.append(upTo: 5_000) { room in
                #expect(room.count == expected)
                return room.count
            }
        }
        #expect(buffer.count == 5_000)
        #expect(buffer.capacity == 5_000)
    }

    @Test(arguments: [0, 1, 16_384, 16_385, 100_000])
    func trimmingLeavesLittle(capacity: Int) {
        let buffer = PaddedBuffer(capacity: capacity)
        [1 as UInt8].withUnsafeBytes { buffer.append($0) }
        let before = buffer.capacity
        buffer.trim()
        #expect(buffer.count == 0)
        #expect(buffer.capacity == (before > 16_384 ? 0 : before))
        [UInt8](repeating: 1, count: 5).withUnsafeBytes { buffer.append($0) }
        #expect(Array(buffer.bytes) == [1, 1, 1, 1, 1])
    }

    @Test(arguments: [999, 1_000, 1_001])
    func theMemoryOfAGiantMessageIsGivenBack(capacity: Int) {
        let buffer = PaddedBuffer(capacity: capacity, keptCapacity: 1_000)
        buffer.removeAll()
        #expect(buffer.capacity == (capacity > 1_000 ? 0 : capacity))
        [UInt8](repeating: 1, count: 5).withUnsafeBytes { buffer.append($0) }
        #expect(Array(buffer.bytes) == [1, 1, 1, 1, 1])
    }
}
