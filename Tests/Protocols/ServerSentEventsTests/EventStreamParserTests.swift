// Conformance: every vector, however its stream is cut.

import Foundation
import ServerSentEvents
import Testing

@Suite struct EventStreamParserTests {
    @Test(arguments: EventStreamVector.own)
    func conformsHoweverTheStreamIsCut(_ vector: EventStreamVector) {
        Self.check(vector)
    }

    @Test func conformsToTheSharedVectors() throws {
        guard let vectors = try SharedVectors.load() else {
            print("shared event-stream vectors are not beside this checkout; only the vectors of this package were run")
            return
        }
        #expect(vectors.count >= 130)
        for vector in vectors { Self.check(vector) }
    }

    @Test(arguments: EventStreamVector.own)
    func agreesWithTheSpecificationsProse(_ vector: EventStreamVector) {
        let expected = SpecificationParser.parse(vector.input)
        #expect(expected.events == vector.events.map(\.utf8))
        #expect(Recording([vector.input]).items == expected.items)
    }

    @Test(arguments: 0..<40)
    func agreesWithTheSpecificationsProseOnRandomStreams(_ seed: UInt64) {
        var random = SplitMix64(state: seed)
        for _ in 0..<100 {
            let stream = RandomStream.make(&random)
            let expected = SpecificationParser.parse(stream)
            let chunks = RandomStream.cut(stream, &random)
            let recording = Recording(chunks)
            #expect(recording.items == expected.items, "\(stream) cut into \(chunks.map(\.count))")
            #expect(recording.lastEventID == expected.lastEventID)
            #expect(recording.end.withoutCount == expected.end, "\(stream) cut into \(chunks.map(\.count))")
            #expect(recording.withoutOffsets == Recording([stream]).withoutOffsets)
        }
    }

    @Test(arguments: 0...140)
    func findsLineEndsAtEveryDistance(_ count: Int) {
        let text = String(repeating: "x", count: count)
        for terminator in ["\n", "\r", "\r\n"] {
            let stream = Array("data: \(text)\(terminator)data:\(terminator)\(terminator)".utf8)
            for prefix in 0..<9 {
                let input = Array(repeating: 10, count: prefix) + stream
                #expect(Recording([input]).events.map(\.data) == [Array((text + "\n").utf8)])
            }
        }
    }

    private static func check(_ vector: EventStreamVector, sourceLocation: SourceLocation = #_sourceLocation) {
        let expected = vector.events.map(\.utf8)
        for chunks in Chunking.all(of: vector.input) {
            let recording = Recording(chunks)
            let comment: Comment = "\(vector.rule), cut into \(chunks.map(\.count).prefix(40))"
            #expect(recording.events == expected, comment, sourceLocation: sourceLocation)
            #expect(recording.lastEventID == Array(vector.lastEventID.utf8), comment, sourceLocation: sourceLocation)
            if let times = vector.reconnectionTimes {
                #expect(recording.reconnectionTimes == times, comment, sourceLocation: sourceLocation)
            }
        }
        if let offsets = vector.offsets {
            let bytes = Recording(Chunking.pieces(of: vector.input, byteCount: 1))
            #expect(bytes.eventOffsets == offsets, "\(vector.rule)", sourceLocation: sourceLocation)
        }
    }
}

extension EventStreamEnd {
    /// Only where the stream ended: the prose of the specification counts no bytes.
    var withoutCount: EventStreamEnd {
        switch self {
        case .clean: .clean
        case .insideLine: .insideLine(pendingByteCount: 0)
        case .insideEvent: .insideEvent(pendingByteCount: 0)
        }
    }
}

/// Vectors that stand beside the checkout, when they do.
enum SharedVectors {
    private struct Vector: Decodable {
        struct Event: Decodable {
            let event: String
            let data: String
            let id: String
        }

        let rule: String
        let name: String
        let input: Data
        let events: [Event]
        let at: [Int]?
        let retry: [Int]?
        let lastEventId: String

        enum CodingKeys: String, CodingKey {
            case rule, name, events, at, retry, lastEventId
            case input = "input_b64"
        }
    }

    static func load() throws -> [EventStreamVector]? {
        let checkout = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
        let file = checkout.appending(path: "../shared/sse-vectors.jsonl")
        guard let text = try? Data(contentsOf: file) else { return nil }
        return try text.split(separator: 0x0A).map { line in
            let vector = try JSONDecoder().decode(Vector.self, from: Data(line))
            return EventStreamVector(
                rule: "\(vector.name): \(vector.rule)", input: Array(vector.input),
                events: vector.events.map { ServerSentEvent(type: $0.event, data: $0.data, lastEventID: $0.id) },
                offsets: vector.at, reconnectionTimes: vector.retry, lastEventID: vector.lastEventId)
        }
    }
}
