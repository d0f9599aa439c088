// Copies of everything a parser handed out, with the number of bytes fed when it came.

import ServerSentEvents
import Testing

/// One thing that a parser handed out.
enum RecordedItem: Equatable {
    case event(ServerSentEvent.UTF8Bytes)
    case reconnectionTime(Int)
    case comment
}

extension ServerSentEvent {
    /// An event as bytes: `==` of strings calls canonically equivalent ones equal, and would hide errors.
    struct UTF8Bytes: Equatable, CustomStringConvertible {
        let type: [UInt8]
        let data: [UInt8]
        let lastEventID: [UInt8]

        var description: String { "\(Self.quote(self.type)) \(Self.quote(self.data)) \(Self.quote(self.lastEventID))" }

        private static func quote(_ bytes: [UInt8]) -> String {
            String(decoding: bytes.prefix(200), as: UTF8.self).debugDescription
        }
    }

    var utf8: UTF8Bytes {
        UTF8Bytes(type: Array(self.type.utf8), data: Array(self.data.utf8), lastEventID: Array(self.lastEventID.utf8))
    }
}

/// The result of one pass over a stream.
struct Recording: Equatable {
    var items: [RecordedItem] = []
    /// The number of bytes that had been fed when each item was returned.
    var offsets: [Int] = []
    var end = EventStreamEnd.clean
    var lastEventID: [UInt8] = []
    var error: EventStreamError?

    var events: [ServerSentEvent.UTF8Bytes] {
        self.items.compactMap { if case .event(let event) = $0 { event } else { nil } }
    }

    var eventOffsets: [Int] {
        zip(self.items, self.offsets).compactMap { if case .event = $0 { $1 } else { nil } }
    }

    var reconnectionTimes: [Int] {
        self.items.compactMap { if case .reconnectionTime(let milliseconds) = $0 { milliseconds } else { nil } }
    }

    /// The recording without what depends on the chunks.
    var withoutOffsets: Recording {
        var copy = self
        copy.offsets = []
        return copy
    }

    /// Feeds a parser, until it throws, and ends the stream.
    init(
        _ chunks: [some Collection<UInt8>], parser: EventStreamParser = EventStreamParser()
    ) {
        var parser = parser
        var byteCount = 0
        for chunk in chunks {
            byteCount += chunk.count
            self.feed(Array(chunk), to: &parser, byteCount: byteCount)
        }
        self.end = parser.finish()
        self.lastEventID = Array(parser.lastEventID.utf8)
    }

    /// An empty recording, to be filled by hand.
    init() {}

    private mutating func feed(_ chunk: [UInt8], to parser: inout EventStreamParser, byteCount: Int) {
        do throws(EventStreamError) {
            try parser.record(chunk) { item in
                self.items.append(item)
                self.offsets.append(byteCount)
            }
        } catch {
            self.error = error
        }
    }
}

extension EventStreamParser {
    /// Parses a chunk, and hands out copies.
    mutating func record(_ chunk: [UInt8], _ receive: (RecordedItem) -> Void) throws(EventStreamError) {
        let result = chunk.withUnsafeBytes { bytes -> Result<Void, EventStreamError> in
            do throws(EventStreamError) {
                try self.parse(bytes) { item in
                    switch item {
                    case .event(let event): receive(.event(ServerSentEvent(event).utf8))
                    case .reconnectionTime(let milliseconds): receive(.reconnectionTime(milliseconds))
                    case .comment: receive(.comment)
                    }
                }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }
}

/// Every way of cutting a stream that a test of a whole rule tries.
enum Chunking {
    /// The whole, single bytes, single bytes with empty chunks between, pieces of a few sizes, and every cut in two.
    ///
    /// Of a long stream, the cuts in two are those beside line terminators and a coarse grid.
    static func all(of bytes: [UInt8]) -> [[ArraySlice<UInt8>]] {
        var result = [[bytes[...]], self.pieces(of: bytes, byteCount: 1)]
        result.append(self.pieces(of: bytes, byteCount: 1).flatMap { [[], $0, []] })
        for byteCount in [2, 3, 5, 7, 16, 37, 64] where byteCount < bytes.count {
            result.append(self.pieces(of: bytes, byteCount: byteCount))
        }
        for cut in bytes.indices.dropFirst() where self.isTried(cut, in: bytes) {
            result.append([bytes[..<cut], bytes[cut...]])
        }
        return result
    }

    static func pieces(of bytes: [UInt8], byteCount: Int) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: bytes.count, by: byteCount).map { bytes[$0..<min($0 + byteCount, bytes.count)] }
    }

    private static func isTried(_ cut: Int, in bytes: [UInt8]) -> Bool {
        bytes.count <= 1_500 || cut % 97 == 0
            || bytes[max(0, cut - 2)..<min(bytes.count, cut + 2)].contains { $0 == 10 || $0 == 13 }
    }
}

/// The bytes of a string in which every scalar stands for the byte of its value.
func latin1(_ text: String) -> [UInt8] {
    text.unicodeScalars.map { UInt8($0.value) }
}
