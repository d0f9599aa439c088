// One pass of the parser over a stream: counting alone, as it is timed, or with checksums of every byte of the events.

import ServerSentEvents

/// The counts of a timed pass, which cost little time.
struct Tally: Equatable {
    /// The number of events.
    var eventCount = 0
    /// The bytes of their data.
    var dataByteCount = 0
}

extension EventStreamParser {
    /// Parses a stream in chunks, and counts its events.
    mutating func tally(of bytes: UnsafeRawBufferPointer, chunkByteCount: Int) throws(EventStreamError) -> Tally {
        var tally = Tally()
        try self.parse(bytes, chunkByteCount: chunkByteCount) { item in
            guard case .event(let event) = item else { return }
            tally.eventCount &+= 1
            tally.dataByteCount &+= event.data.count
        }
        return tally
    }

    /// Parses a stream in chunks, and sums up every byte of its events.
    mutating func facts(of bytes: UnsafeRawBufferPointer, chunkByteCount: Int) throws(EventStreamError) -> StreamFacts {
        var counter = StreamFactsCounter()
        try self.parse(bytes, chunkByteCount: chunkByteCount) { item in
            guard case .event(let event) = item else { return }
            counter.add(type: event.type, data: event.data, lastEventID: event.lastEventID)
        }
        return counter.facts
    }

    /// Parses a stream in chunks, without copying them.
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

/// The parser's result differs from the facts of the input.
struct WrongResultError: Error, CustomStringConvertible {
    /// The name of the input.
    let name: String
    /// The facts of the input, and the result of the parser.
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
