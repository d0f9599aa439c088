// Runs the parser over a stream in chunks, each alone in its memory, and holds what it says against the model.

import Invariants
import ServerSentEvents

/// A stream, and what the parser must say of it.
struct StreamCheck {
    private let stream: [UInt8]
    private let model: Recording
    private let limits: StreamLimits

    /// Takes a stream, and what the model says of it within limits.
    init(_ stream: [UInt8], model: Recording, limits: StreamLimits = StreamLimits()) {
        self.stream = stream
        self.model = model
        self.limits = limits
    }

    /// Parses the stream once in chunks.
    func run(_ chunking: Chunking, _ random: inout InputHash) {
        var parser = self.limits.parser
        self.run(chunking, &parser, self.model, &random)
    }

    /// Checks that a parser that ended a stream, and one that was reset in the middle of one, keep only the last ID.
    func runAgain(_ random: inout InputHash) {
        var parser = self.limits.parser
        self.run(.upTo(64), &parser, self.model, &random)
        let continued = StreamModel(self.stream, limits: self.limits, lastEventID: Array(parser.lastEventID.utf8))
        let half = Int.random(in: 0...self.stream.count, using: &random)
        _ = Pass(self.stream, [half], &parser, &random)
        parser.reset(lastEventID: String(decoding: self.model.lastEventID, as: UTF8.self))
        self.run(.upTo(64), &parser, continued.recording, &random)
    }

    /// Checks the events as values, for bytes in an array and for bytes in separate places.
    func runWithValues(_ random: inout InputHash) {
        var parser = self.limits.parser
        var events: [ServerSentEvent] = []
        let half = Int.random(in: 0...self.stream.count, using: &random)
        var failure: EventStreamError?
        do throws(EventStreamError) {
            // Only without an error: the events before an error are lost to the second form.
            if self.model.error == nil {
                events = try parser.events(in: self.stream[..<half])
            } else {
                try parser.parse(self.stream[..<half], appendingTo: &events)
            }
            try parser.parse(AnySequence(self.stream[half...]), appendingTo: &events)
        } catch {
            failure = error
        }
        let expected = self.model.items.compactMap { item in
            if case .event(let event) = item { event.decoded } else { nil }
        }
        require(failure == self.model.error && events.map(\.utf8) == expected, "other values than the events")
    }

    private func run(
        _ chunking: Chunking, _ parser: inout EventStreamParser, _ model: Recording, _ random: inout InputHash
    ) {
        let ends = chunking.ends(of: self.stream.count, &random)
        var recording = Pass(self.stream, ends, &parser, &random).recording
        recording.end = parser.finish()
        recording.lastEventID = Array(parser.lastEventID.utf8)
        let expected = model.arriving(in: ends)
        require(recording == expected, "cut at \(ends), \(self.limits): \(recording), and not \(expected)")
        if let time = model.reconnectionTime {
            require(parser.reconnectionTime == time, "the reconnection time is \(time)")
        }
    }
}

/// One pass over some chunks of a stream.
private struct Pass {
    /// The result, without its end.
    private(set) var recording = Recording()

    init(_ stream: [UInt8], _ ends: [Int], _ parser: inout EventStreamParser, _ random: inout InputHash) {
        var start = 0
        for end in ends {
            // What stands before a chunk would end a line, or begin a value, if it were read.
            let margin: [UInt8] = [0x0A, 0x0D, 0x3A, 0x20]
            let drawn = random.next()
            stream.withUnsafeBytes { bytes in
                ExactCopy.lend(
                    UnsafeRawBufferPointer(rebasing: bytes[start..<end]), misalignment: Int(drawn % 64),
                    margin: margin[Int(drawn >> 32 % 4)]
                ) { self.parse($0, end: end, &parser) }
            }
            start = end
        }
    }

    private mutating func parse(_ chunk: UnsafeRawBufferPointer, end: Int, _ parser: inout EventStreamParser) {
        var items: [RecordedItem] = []
        var failure: EventStreamError?
        do throws(EventStreamError) {
            try parser.parse(chunk) { item in items.append(Self.copy(item, chunk)) }
        } catch {
            failure = error
        }
        if let error = self.recording.error {
            require(items.isEmpty, "nothing is handed out after an error")
            require(failure == error, "an error does not change")
        }
        self.recording.items += items
        self.recording.offsets += items.map { _ in end }
        self.recording.error = failure ?? self.recording.error
    }

    private static func copy(_ item: EventStreamItem, _ chunk: UnsafeRawBufferPointer) -> RecordedItem {
        switch item {
        case .event(let event):
            let copy = EventBytes(
                type: Array(event.type), data: Array(event.data), lastEventID: Array(event.lastEventID))
            require(ServerSentEvent(event).utf8 == copy.decoded, "the strings are not the bytes'")
            self.readPastEnd(of: event.data, chunk)
            return .event(copy)
        case .reconnectionTime(let milliseconds): return .reconnectionTime(milliseconds)
        case .comment: return .comment
        }
    }

    /// Reads the 64 bytes past data that do not lie in the chunk.
    private static func readPastEnd(of data: UnsafeRawBufferPointer, _ chunk: UnsafeRawBufferPointer) {
        guard let start = data.baseAddress, let first = chunk.baseAddress else { return }
        if start >= first, start <= first + chunk.count { return }
        MemoryReading.read(UnsafeRawBufferPointer(start: start + data.count, count: 64))
    }
}
