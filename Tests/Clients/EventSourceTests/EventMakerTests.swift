// Events that have something in common with the event before them.

import ServerSentEvents
import Testing

@testable import EventSource

@Suite struct EventMakerTests {
    /// Parses a stream in two pieces, and makes each event in both ways.
    private func events(of stream: String, cut: Int = 0) throws -> (made: [ServerSentEvent], copied: [ServerSentEvent])
    {
        let bytes = Array(stream.utf8)
        var (parser, maker) = (EventStreamParser(), EventMaker())
        var (made, copied): ([ServerSentEvent], [ServerSentEvent]) = ([], [])
        for piece in [bytes[..<cut], bytes[cut...]] {
            try Array(piece).withUnsafeBytes { piece in
                try parser.parse(piece) { item in
                    guard case .event(let event) = item else { return }
                    made.append(maker.event(event))
                    copied.append(ServerSentEvent(event))
                }
            }
        }
        return (made, copied)
    }

    /// The type of an event is its own whatever the one before it had, also one of the same length.
    @Test func eventsAreThoseOfTheirBytes() throws {
        let types = [
            "response.output_text.delta", "response.output_text.delta", "response.output_text.gamma", "", "a", "b", "b",
            "response.output_text.delta", "naïve.\u{FFFD}", String(repeating: "x", count: EventMaker.typeByteLimit),
            String(repeating: "y", count: EventMaker.typeByteLimit + 1), "response.output_text.delta",
        ]
        let stream = types.enumerated().map { index, type in
            "event: \(type)\n" + (index.isMultiple(of: 3) ? "id: \(index)\n" : "") + "data: \(index)\n\n"
        }
        let (made, copied) = try self.events(of: stream.joined())
        #expect(made == copied)
        #expect(made.map(\.type) == types.map { $0.isEmpty ? "message" : $0 })
        #expect(made.first?.lastEventID == "0" && made.last?.lastEventID == "9")
    }

    @Test func invalidTextIsRepairedForEachEvent() throws {
        var (parser, maker) = (EventStreamParser(), EventMaker())
        var types: [String] = []
        let stream = Array("event: a".utf8) + [0xFF] + Array("\ndata: 1\n\nevent: a\u{FFFD}\ndata: 2\n\n".utf8)
        try (stream + stream).withUnsafeBytes { bytes in
            try parser.parse(bytes) { item in
                if case .event(let event) = item { types.append(maker.event(event).type) }
            }
        }
        #expect(types == Array(repeating: "a\u{FFFD}", count: 4))
    }

    @Test func splittingTheStreamDoesNotChangeTheEvents() throws {
        let stream = "event: one\ndata: 1\n\nevent: one\ndata: 2\n\ndata: 3\n\n"
        let whole = try self.events(of: stream).copied
        for cut in 0...stream.utf8.count { #expect(try self.events(of: stream, cut: cut).made == whole) }
    }
}
