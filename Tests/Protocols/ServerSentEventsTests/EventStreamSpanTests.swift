// The face with spans says what the one with pointers says, and copies as little.

import ServerSentEvents
import Testing

@Suite struct EventStreamSpanTests {
    @Test(arguments: EventStreamVector.own)
    func spanItemsEqualThePointerItems(_ vector: EventStreamVector) throws {
        for chunks in Chunking.all(of: vector.input) {
            var parser = EventStreamParser()
            var items: [RecordedItem] = []
            for chunk in chunks { try parser.parse(Array(chunk).span) { items.append(RecordedItem($0)) } }
            #expect(items == Recording(chunks).items)
            #expect(parser.finish() == Recording(chunks).end)
        }
    }

    @Test func anEventInsideTheChunkIsNotCopied() throws {
        let stream = Array("event: t\nid: 1\ndata: abc\n\ndata:d\r\n\r\n".utf8)
        var parser = EventStreamParser()
        var places: [Int] = []
        try stream.withUnsafeBufferPointer { chunk in
            try parser.parse(chunk.span) { item in
                guard case .event(_, let data, _) = item else { return }
                data.withUnsafeBufferPointer { places.append($0.baseAddress! - chunk.baseAddress!) }
            }
        }
        #expect(places == [21, 31])
    }

    @Test func limitErrorFollowsEarlierEvents() {
        var parser = EventStreamParser(maximumEventByteCount: 4)
        var items: [RecordedItem] = []
        let error = EventStreamError.eventTooLarge(maximumByteCount: 4, byteOffset: 23)
        let stream = Array(": c\ndata: a\n\ndata: 12345\n\n".utf8)
        #expect(throws: error) { try parser.parse(stream.span) { items.append(RecordedItem($0)) } }
        #expect(items == [.comment, .event(ServerSentEvent(data: "a").utf8)])
        #expect(throws: error) { try parser.parse(stream.span) { items.append(RecordedItem($0)) } }
        #expect(items.count == 2)
    }
}

extension RecordedItem {
    /// A copy of what the parser lends.
    init(_ item: borrowing EventStreamSpanItem) {
        switch item {
        case .event(let type, let data, let lastEventID):
            let event = ServerSentEvent(
                type: Self.text(type), data: Self.text(data), lastEventID: Self.text(lastEventID))
            self = .event(event.utf8)
        case .reconnectionTime(let milliseconds): self = .reconnectionTime(milliseconds)
        case .comment: self = .comment
        }
    }

    private static func text(_ span: Span<UInt8>) -> String {
        span.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}
