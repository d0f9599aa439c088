// The bytes that are copied, kept and touched: the properties that make the parser linear and bounded.

import Foundation
import Testing

@testable import ServerSentEvents

@Suite struct EventStreamMemoryTests {
    @Test func anEventInsideTheChunkIsNotCopied() throws {
        let stream = Array("event: t\nid: 1\ndata: abc\n\ndata:d\r\n\r\n".utf8)
        var parser = EventStreamParser()
        try stream.withUnsafeBytes { chunk in
            let start = try #require(chunk.baseAddress)
            var places: [Int] = []
            try parser.parse(chunk) { item in
                guard case .event(let event) = item, let data = event.data.baseAddress else { return }
                places.append(data - start)
            }
            #expect(places == [21, 31])
        }
        #expect(parser.event.data.buffer.capacity == 0)
        #expect(parser.event.type.buffer.capacity == 0)
    }

    @Test(arguments: [1, 7, 60, 64, 65, 1_000, 70_000])
    func bytesPastBufferedDataAreReadable(byteCount: Int) throws {
        let stream = Array("data: a\ndata: \(String(repeating: "x", count: byteCount))\n\n".utf8)
        for chunks in [[stream[...]], [stream[..<9], stream[9...]]] {
            var parser = EventStreamParser()
            var sum: Int?
            for chunk in chunks {
                try Array(chunk).withUnsafeBytes { bytes in
                    try parser.parse(bytes) { item in
                        guard case .event(let event) = item, let data = event.data.baseAddress else { return }
                        #expect(event.data.count == byteCount + 2)
                        sum = UnsafeRawBufferPointer(start: data + event.data.count, count: 64).reduce(0) {
                            $0 + Int($1)
                        }
                    }
                }
            }
            #expect(sum == 0)
        }
    }

    @Test(arguments: [":", "unknown: ", "datas: ", "data : ", "\u{0}", "id: \u{0}", "retry: x"])
    func ignoredLinesAreNotStored(start: String) throws {
        var parser = EventStreamParser(maximumEventByteCount: 0)
        #expect(try parser.events(in: Array(start.utf8)).isEmpty)
        let piece = Array(repeating: UInt8(ascii: "x"), count: 1 << 16)
        for _ in 0..<64 { _ = try parser.events(in: piece) }
        #expect(parser.event.byteCount == 0)
        #expect(parser.event.data.buffer.capacity == 0)
        #expect(parser.event.type.buffer.capacity == 0)
        #expect(parser.finish() == .insideLine(pendingByteCount: 0))
    }

    @Test func bytesOfAnEarlierChunkAreNeverTouchedAgain() throws {
        // Each chunk's page becomes unreadable when its call returns: a second look at it would end the process.
        let pageByteCount = Int(getpagesize())
        let piece = Array("event: t\nid: 4\ndata: one\ndata: two".utf8)
        var parser = EventStreamParser()
        for _ in 0..<50 {
            let page = try #require(
                mmap(nil, pageByteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
            defer { munmap(page, pageByteCount) }
            page.copyMemory(from: piece, byteCount: piece.count)
            try parser.parse(UnsafeRawBufferPointer(start: page, count: piece.count)) { _ in
                Issue.record("no event yet")
            }
            #expect(mprotect(page, pageByteCount, PROT_NONE) == 0)
        }
        let events = try parser.events(in: Array("\n\n".utf8))
        #expect(events.count == 1)
        #expect(events[0].type == "t")
        #expect(events[0].data.hasPrefix("one\ntwoevent: t\none\ntwoevent: t\n"))
    }

    @Test func aChunkIsReadOnlyInsideItsBounds() throws {
        let pageByteCount = Int(getpagesize())
        let page = try #require(
            mmap(nil, 2 * pageByteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
        defer { munmap(page, 2 * pageByteCount) }
        #expect(mprotect(page + pageByteCount, pageByteCount, PROT_NONE) == 0)
        let stream = Array("event: type\ndata: 0123456789\r\nid\nretry: 12\n:c\nd\nda\ndat\ndata\nevent\n\n".utf8)
        for end in 0...stream.count {
            for start in 0...end {
                let chunk = page + pageByteCount - (end - start)
                chunk.copyMemory(from: Array(stream[start..<end]), byteCount: end - start)
                var parser = EventStreamParser()
                try parser.parse(UnsafeRawBufferPointer(start: chunk, count: end - start)) { _ in }
            }
        }
    }

    @Test func aLineInManyChunksMovesItsBufferOnlyAsItDoubles() throws {
        var parser = EventStreamParser()
        _ = try parser.events(in: Array("data:".utf8))
        let piece = Array(repeating: UInt8(ascii: "x"), count: 1_460)
        var capacities: Set<Int> = []
        for count in 1...4_096 {
            _ = try parser.events(in: piece)
            capacities.insert(parser.event.data.buffer.capacity)
            #expect(parser.event.byteCount == count * 1_460)
            #expect(parser.event.data.buffer.count == count * 1_460)
        }
        // 1,460 bytes to 5.7 MiB is 12 doublings.
        #expect(capacities.count <= 14)
    }

    @Test func eachTerminatorIsFoundOnce() {
        var random = SplitMix64(state: 9)
        for count in Array(0...200) + [4_096, 100_000] {
            let alphabet: [UInt8] = [10, 13, 9, 0x0E, 0x8A, 0x8D, 0, 0x7F, 0xFF, 0x78, 0x78, 0x78]
            let bytes = (0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &random)] }
            var found: [Int] = []
            bytes.withUnsafeBytes { buffer in
                guard let base = buffer.baseAddress else { return }
                var scanner = LineTerminatorScanner(bytes: base, count: count)
                while true {
                    let offset = scanner.next()
                    if offset >= count { break }
                    found.append(offset)
                }
                #expect(scanner.next() == count)
                #expect(scanner.next() == count)
            }
            #expect(found == bytes.indices.filter { bytes[$0] == 10 || bytes[$0] == 13 })
        }
    }

    @Test func theBufferShrinksAfterAGiantEvent() throws {
        var parser = EventStreamParser()
        func parse(dataByteCount: Int) throws {
            _ = try parser.events(in: Array("data: ".utf8))
            _ = try parser.events(in: Array(repeating: UInt8(ascii: "x"), count: dataByteCount))
            #expect(try parser.events(in: Array("\n\n".utf8)).first?.data.utf8.count == dataByteCount)
        }
        // Far above what is ever kept: given back at once.
        try parse(dataByteCount: 8 << 20)
        #expect(parser.event.data.buffer.capacity == 0)
        // Large: kept for another one, given back when an event does not need it, in the buffer or in the chunk.
        try parse(dataByteCount: 1 << 20)
        try parse(dataByteCount: 1 << 20)
        #expect(parser.event.data.buffer.capacity >= 1 << 20)
        try parse(dataByteCount: 100)
        #expect(parser.event.data.buffer.capacity <= PendingValue.smallByteCount)
        try parse(dataByteCount: 1 << 20)
        _ = try parser.events(in: Array("data: small\n\n".utf8))
        #expect(parser.event.data.buffer.capacity == 0)
        // Small: kept.
        try parse(dataByteCount: 1_000)
        #expect((1_000...PendingValue.smallByteCount).contains(parser.event.data.buffer.capacity))
        // No memory outlives the stream.
        try parse(dataByteCount: 1 << 20)
        _ = parser.finish()
        #expect(parser.event.data.buffer.capacity == 0)
    }
}
