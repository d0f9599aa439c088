// Input without output is read in slices, so that the consumer looks at its clock in between.

import Deflate
import StreamTransport
import Testing
import WebSocketProtocol

@testable import LibwebsocketsTransport

@Suite struct InboundReaderTests {
    /// Reads a buffer to its end; returns the number of slices that ended before, and the output.
    private static func read(
        _ buffer: InboundBuffer, coding: PayloadCoding
    ) throws -> (slices: Int, payloads: [[UInt8]]) {
        var reader = InboundReader(messageByteCountLimit: 1 << 24)
        try reader.begin(coding)
        reader.read(buffer)
        var slices = 0
        var payloads: [[UInt8]] = []
        while true {
            if let event = try reader.next() {
                guard case .payload(let payload) = event else { continue }
                payloads.append(Array(payload.bytes))
            } else if reader.endSlice() {
                slices += 1
            } else {
                return (slices, payloads)
            }
        }
    }

    private static func buffer(_ records: [(bytes: [UInt8], piece: MessagePiece?)]) -> InboundBuffer {
        let buffer = InboundBuffer(byteCount: 4 << 20)
        for record in records { record.bytes.withUnsafeBytes { buffer.append($0, as: record.piece) } }
        return buffer
    }

    /// A comment of gzip without an end (RFC 1952 section 2.3).
    @Test func commentOfGzipIsReadInSlices() throws {
        let comment: [UInt8] = [0x1F, 0x8B, 8, 16, 0, 0, 0, 0, 0, 3] + [UInt8](repeating: 0x61, count: 1_000_000)
        let result = try Self.read(Self.buffer([(comment, nil)]), coding: .content("gzip"))
        #expect(result.payloads.isEmpty)
        #expect((15...16).contains(result.slices))
    }

    @Test func fragmentsAreReadInSlices() throws {
        let first = MessagePiece(kind: .text, isFirst: true, isLast: false)
        let middle = MessagePiece(kind: .text, isFirst: false, isLast: false)
        let last = MessagePiece(kind: .text, isFirst: false, isLast: true)
        let fragment = [UInt8](repeating: 0x61, count: 1_000)
        let records = [(fragment, first)] + (0..<998).map { _ in (fragment, middle) } + [(fragment, last)]
        let result = try Self.read(Self.buffer(records.map { (bytes: $0.0, piece: $0.1) }), coding: .none)
        #expect(result.payloads == [[UInt8](repeating: 0x61, count: 1_000_000)])
        #expect((15...17).contains(result.slices))
    }

    @Test func fragmentsWithoutBytesEndASliceToo() throws {
        let first = MessagePiece(kind: .text, isFirst: true, isLast: false)
        let middle = MessagePiece(kind: .text, isFirst: false, isLast: false)
        let records = [([UInt8](), first)] + (0..<4_999).map { _ in ([UInt8](), middle) }
        let result = try Self.read(Self.buffer(records.map { (bytes: $0.0, piece: $0.1) }), coding: .none)
        #expect(result.payloads.isEmpty)
        #expect(result.slices >= 4)
    }

    @Test func readingWithOutputIsNotSliced() throws {
        let records = (0..<2_000).map { _ in
            (bytes: [UInt8](repeating: 0x61, count: 1_000), piece: nil as MessagePiece?)
        }
        let result = try Self.read(Self.buffer(records), coding: .none)
        #expect(result.slices == 0)
        #expect(result.payloads.reduce(0) { $0 + $1.count } == 2_000_000)
    }

    // MARK: Messages that are lent without their events

    @Test func wholeMessagesAreLentUntilAnotherRecordFollows() throws {
        let whole = MessagePiece(kind: .text)
        let buffer = Self.buffer([([1], whole), ([], whole)])
        buffer.appendPong()
        [UInt8(2)].withUnsafeBytes { buffer.append($0, as: MessagePiece(kind: .binary)) }
        var reader = InboundReader(messageByteCountLimit: 10)
        #expect(reader.nextWholeMessage() == nil)
        reader.read(buffer)
        #expect(reader.nextWholeMessage().map { Array($0.bytes) } == [1])
        #expect(reader.nextWholeMessage()?.bytes.count == 0)
        // The mark of a pong stays for `next()`.
        #expect(reader.nextWholeMessage() == nil)
        let event = try reader.next()
        let isPong = if case .pong? = event { true } else { false }
        #expect(isPong)
        let last = reader.nextWholeMessage()
        #expect(last?.kind == .binary && last?.bytes.first == 2)
        #expect(reader.isAtEnd && reader.nextWholeMessage() == nil)
    }

    static let others: [(piece: MessagePiece, byteCount: Int)] = [
        (MessagePiece(kind: .text, isLast: false), 1), (MessagePiece(kind: .text, isFirst: false), 1),
        (MessagePiece(kind: .text, isCompressed: true), 1), (MessagePiece(kind: .text), 11),
    ]

    /// Fragments, compressed messages and those above the limit are left to `next()`.
    @Test(arguments: Self.others)
    func otherRecordsAreNotLent(piece: MessagePiece, byteCount: Int) {
        var reader = InboundReader(messageByteCountLimit: 10)
        reader.read(Self.buffer([([UInt8](repeating: 0x61, count: byteCount), piece)]))
        #expect(reader.nextWholeMessage() == nil)
        #expect(!reader.isAtEnd)
    }
}
