// The result of a pass over a stream: by the parser, the specification's algorithm, or the model of limits.

import ServerSentEvents

/// The bytes of an event.
struct EventBytes: Equatable {
    /// The event type.
    var type: [UInt8]
    /// The data.
    var data: [UInt8]
    /// The last event ID.
    var lastEventID: [UInt8]

    /// The bytes of the strings that the specification decodes these to.
    var decoded: EventBytes {
        EventBytes(
            type: Self.decode(self.type), data: Self.decode(self.data), lastEventID: Self.decode(self.lastEventID))
    }

    /// Returns the specification's decoding of bytes.
    static func decode(_ bytes: [UInt8]) -> [UInt8] { Array(String(decoding: bytes, as: UTF8.self).utf8) }
}

extension ServerSentEvent {
    /// The bytes of the strings: `==` of strings calls canonically equivalent ones equal, and would hide errors.
    var utf8: EventBytes {
        EventBytes(type: Array(self.type.utf8), data: Array(self.data.utf8), lastEventID: Array(self.lastEventID.utf8))
    }
}

/// One thing that a stream says.
enum RecordedItem: Equatable {
    case event(EventBytes)
    case reconnectionTime(Int)
    case comment

    /// The item as the specification has it, which decodes the stream first.
    var decoded: RecordedItem {
        switch self {
        case .event(let event): .event(event.decoded)
        case .reconnectionTime, .comment: self
        }
    }
}

/// The result of one pass over a stream.
struct Recording: Equatable {
    /// The items of the stream, in order.
    var items: [RecordedItem] = []
    /// The number of bytes that had arrived when each item was returned.
    var offsets: [Int] = []
    /// The place where the stream ended.
    var end = EventStreamEnd.clean
    /// The last event ID at the end.
    var lastEventID: [UInt8] = []
    /// The error that ended it.
    var error: EventStreamError?

    /// The reconnection time at the end.
    var reconnectionTime: Duration? {
        self.items.lazy.compactMap { if case .reconnectionTime(let time) = $0 { .milliseconds(time) } else { nil } }
            .last
    }

    /// The recording of a parser that is given these chunks: each item can only come with the end of a chunk.
    func arriving(in chunkEnds: [Int]) -> Recording {
        var copy = self
        var chunk = 0
        copy.offsets = self.offsets.map { offset in
            while chunkEnds[chunk] < offset { chunk += 1 }
            return chunkEnds[chunk]
        }
        return copy
    }
}
