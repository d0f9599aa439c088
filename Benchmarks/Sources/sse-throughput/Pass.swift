// One pass of the parser over a stream: bare, as it is timed, or with a look at every byte that comes out.

import ServerSentEvents

/// What a timed pass found; cheap enough to keep in it.
struct Tally: Equatable {
    /// How many events were received.
    var eventCount = 0
    /// How many bytes of data they had.
    var dataByteCount = 0
}

extension EventStreamParser {
    /// Parses a stream in chunks, and counts.
    mutating func tally(of bytes: UnsafeRawBufferPointer, chunkByteCount: Int) throws(EventStreamError) -> Tally {
        var tally = Tally()
        try self.parse(bytes, chunkByteCount: chunkByteCount) { item in
            guard case .event(let event) = item else { return }
            tally.eventCount &+= 1
            tally.dataByteCount &+= event.data.count
        }
        return tally
    }

    /// Parses a stream in chunks, and reads everything that comes out.
    mutating func facts(of bytes: UnsafeRawBufferPointer, chunkByteCount: Int) throws(EventStreamError) -> StreamFacts {
        var counter = StreamFactsCounter()
        try self.parse(bytes, chunkByteCount: chunkByteCount) { item in
            guard case .event(let event) = item else { return }
            counter.add(type: event.type, data: event.data, lastEventID: event.lastEventID)
        }
        return counter.facts
    }

    /// Parses a stream in chunks that lie where the stream lies.
    @inline(__always)
    private mutating func parse(
        _ bytes: UnsafeRawBufferPointer, chunkByteCount: Int, _ receive: (EventStreamItem) -> Void
    ) throws(EventStreamError) {
        var start = 0
        while start < bytes.count {
            let end = min(start &+ chunkByteCount, bytes.count)
            try self.parse(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), receive)
            start = end
        }
    }
}

/// The parser did not find what is in the input.
struct WrongResultError: Error, CustomStringConvertible {
    /// What was parsed.
    let name: String
    /// What is in it, and what was found.
    let expected: String, found: String

    /// A line for the terminal.
    var description: String { "\(self.name): expected \(self.expected), found \(self.found)" }
}

/// Throws when two accounts of a stream differ.
func expectSame<Account: Equatable>(_ name: String, expected: Account, found: Account) throws(WrongResultError) {
    guard expected == found else {
        throw WrongResultError(name: name, expected: "\(expected)", found: "\(found)")
    }
}
