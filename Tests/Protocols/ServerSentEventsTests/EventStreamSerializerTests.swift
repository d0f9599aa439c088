// The serializer: what it writes, what it refuses, and that a parser reads back what was written.

import ServerSentEvents
import Testing

@Suite struct EventStreamSerializerTests {
    @Test(arguments: [
        (ServerSentEvent(data: ""), "data:\n\n"),
        (ServerSentEvent(data: "a"), "data: a\n\n"),
        (ServerSentEvent(data: " a "), "data:  a \n\n"),
        (ServerSentEvent(data: "a\nb"), "data: a\ndata: b\n\n"),
        (ServerSentEvent(data: "a\r\nb\rc\n\r\n"), "data: a\ndata: b\ndata: c\ndata:\ndata:\n\n"),
        (ServerSentEvent(data: "\n"), "data:\ndata:\n\n"),
        (ServerSentEvent(data: "\r\n\n"), "data:\ndata:\ndata:\n\n"),
        (ServerSentEvent(type: "message", data: "a"), "data: a\n\n"),
        (ServerSentEvent(type: "", data: "a"), "data: a\n\n"),
        (ServerSentEvent(type: "Message", data: "a"), "event: Message\ndata: a\n\n"),
        (ServerSentEvent(type: " a:b", data: "a"), "event:  a:b\ndata: a\n\n"),
        (ServerSentEvent(type: "t", data: "a", lastEventID: "1"), "event: t\nid: 1\ndata: a\n\n"),
        (ServerSentEvent(data: "\u{FEFF}\u{0}", lastEventID: " "), "id:  \ndata: \u{FEFF}\u{0}\n\n"),
        (ServerSentEvent(data: "data: x\u{2028}y\u{85}z\u{B}"), "data: data: x\u{2028}y\u{85}z\u{B}\n\n"),
    ])
    func writesAnEvent(_ event: ServerSentEvent, as text: String) throws {
        var serializer = EventStreamSerializer()
        #expect(try Self.equals(serializer.bytes(for: event), text))
    }

    @Test func writesAnIDWhenItChanges() throws {
        var serializer = EventStreamSerializer(lastEventID: "1")
        var bytes: [UInt8] = []
        for id in ["1", "2", "2", "", "", "e\u{301}", "\u{E9}"] {
            try serializer.serialize(ServerSentEvent(data: "a", lastEventID: id), appendingTo: &bytes)
            #expect(serializer.lastEventID.utf8.elementsEqual(id.utf8))
        }
        let data = "data: a\n\n"
        let text = "\(data)id: 2\n\(data)\(data)id:\n\(data)\(data)id: e\u{301}\n\(data)id: \u{E9}\n\(data)"
        #expect(Self.equals(bytes, text))
    }

    @Test func writesAnIDByItself() throws {
        var serializer = EventStreamSerializer()
        var bytes: [UInt8] = []
        for id in ["", "7", "7", ""] { try serializer.serialize(lastEventID: id, appendingTo: &bytes) }
        #expect(Self.equals(bytes, "id: 7\n\nid:\n\n"))
    }

    @Test(arguments: [
        ("", ":\n"), ("a", ": a\n"), (" a", ":  a\n"), ("a\nb", ": a\n: b\n"), ("\r\n\r", ":\n:\n:\n"),
        (":\u{0}", ": :\u{0}\n"), ("data: a", ": data: a\n"),
    ])
    func writesAComment(_ comment: String, as text: String) {
        var bytes: [UInt8] = []
        EventStreamSerializer().serialize(comment: comment, appendingTo: &bytes)
        #expect(Self.equals(bytes, text))
    }

    @Test(
        arguments: [
            (.zero, 0), (.milliseconds(1), 1), (.seconds(3), 3_000), (.microseconds(2_999), 2), (.nanoseconds(1), 0),
            (.milliseconds(Int.max), Int.max), (.milliseconds(Int.max) + .microseconds(999), Int.max),
        ] as [(Duration, Int)])
    func writesAReconnectionTime(_ time: Duration, milliseconds: Int) throws {
        var bytes: [UInt8] = []
        try EventStreamSerializer().serialize(reconnectionTime: time, appendingTo: &bytes)
        #expect(Self.equals(bytes, "retry: \(milliseconds)\n"))
        #expect(Recording([bytes]).reconnectionTimes == [milliseconds])
    }

    @Test(
        arguments: [
            .milliseconds(-1), .nanoseconds(-1), .milliseconds(Int.max) + .milliseconds(1), .seconds(Int64.max),
            .seconds(Int64.min), .seconds(-1),
        ] as [Duration])
    func refusesAReconnectionTime(_ time: Duration) {
        var bytes: [UInt8] = [1]
        #expect(throws: EventStreamSerializerError.invalidReconnectionTime) {
            try EventStreamSerializer().serialize(reconnectionTime: time, appendingTo: &bytes)
        }
        #expect(bytes == [1])
    }

    @Test(
        arguments: [
            (ServerSentEvent(type: "\n", data: "a"), .invalidType(byteOffset: 0)),
            (ServerSentEvent(type: "ab\r", data: "a"), .invalidType(byteOffset: 2)),
            (ServerSentEvent(type: "\u{E9}\r\nb", data: "a"), .invalidType(byteOffset: 2)),
            (ServerSentEvent(type: "t", data: "a", lastEventID: "1\n"), .invalidLastEventID(byteOffset: 1)),
            (ServerSentEvent(type: "t", data: "a", lastEventID: "\r\n"), .invalidLastEventID(byteOffset: 0)),
            (ServerSentEvent(type: "t", data: "a", lastEventID: "12\u{0}\u{301}"), .invalidLastEventID(byteOffset: 2)),
        ] as [(ServerSentEvent, EventStreamSerializerError)])
    func refusesWhatALineCannotCarry(_ event: ServerSentEvent, error: EventStreamSerializerError) throws {
        var serializer = EventStreamSerializer()
        var bytes: [UInt8] = [1]
        #expect(throws: error) { try serializer.serialize(event, appendingTo: &bytes) }
        #expect(throws: error) { try serializer.bytes(for: event) }
        #expect(bytes == [1])
        #expect(serializer.lastEventID.isEmpty)
        #expect(
            try Self.equals(serializer.bytes(for: ServerSentEvent(data: "a", lastEventID: "1")), "id: 1\ndata: a\n\n"))
    }

    @Test func refusesAnIDByItself() {
        var serializer = EventStreamSerializer(lastEventID: "1")
        var bytes: [UInt8] = [1]
        #expect(throws: EventStreamSerializerError.invalidLastEventID(byteOffset: 1)) {
            try serializer.serialize(lastEventID: "a\u{0}", appendingTo: &bytes)
        }
        #expect(bytes == [1])
        #expect(serializer.lastEventID == "1")
    }

    @Test(
        arguments: [
            (.invalidType(byteOffset: 2), "an event type has a line terminator (at byte 2)"),
            (.invalidLastEventID(byteOffset: 0), "a last event ID has a line terminator or a NUL (at byte 0)"),
            (.invalidReconnectionTime, "a reconnection time is negative or too long"),
        ] as [(EventStreamSerializerError, String)])
    func errorDescriptionNamesFieldAndByteOffset(error: EventStreamSerializerError, text: String) {
        #expect("\(error)" == text)
    }

    @Test(arguments: EventStreamVector.own)
    func aParserReadsBackTheEventsOfEveryVector(_ vector: EventStreamVector) throws {
        var serializer = EventStreamSerializer()
        var bytes: [UInt8] = []
        for event in vector.events { try serializer.serialize(event, appendingTo: &bytes) }
        for chunks in Chunking.all(of: bytes) {
            #expect(Recording(chunks).events == vector.events.map(\.utf8))
            #expect(Recording(chunks).end == .clean)
        }
    }

    @Test(arguments: 0..<40)
    func parserReadsBackSerializedEvents(_ seed: UInt64) throws {
        var random = SplitMix64(state: seed)
        for _ in 0..<50 {
            let lastEventID = RandomElements.identifier(&random)
            let elements = (0..<Int.random(in: 0..<12, using: &random)).map { _ in RandomElements.make(&random) }
            var serializer = EventStreamSerializer(lastEventID: lastEventID)
            var bytes: [UInt8] = []
            for element in elements { try element.serialize(with: &serializer, appendingTo: &bytes) }
            let chunks = RandomStream.cut(bytes, &random)
            let recording = Recording(chunks, parser: EventStreamParser(lastEventID: lastEventID))
            #expect(recording.items == elements.flatMap(\.expected), "\(elements) cut into \(chunks.map(\.count))")
            #expect(recording.lastEventID.elementsEqual(serializer.lastEventID.utf8))
            #expect(recording.end == .clean)
        }
    }

    private static func equals(_ bytes: [UInt8], _ text: String) -> Bool { bytes.elementsEqual(text.utf8) }
}

/// An element to be written.
private enum RandomElement {
    case event(ServerSentEvent)
    case comment(String)
    case reconnectionTime(Int)
    case lastEventID(String)

    func serialize(
        with serializer: inout EventStreamSerializer, appendingTo bytes: inout [UInt8]
    ) throws(EventStreamSerializerError) {
        switch self {
        case .event(let event): try serializer.serialize(event, appendingTo: &bytes)
        case .comment(let text): serializer.serialize(comment: text, appendingTo: &bytes)
        case .reconnectionTime(let milliseconds):
            try serializer.serialize(reconnectionTime: .milliseconds(milliseconds), appendingTo: &bytes)
        case .lastEventID(let id): try serializer.serialize(lastEventID: id, appendingTo: &bytes)
        }
    }

    /// The items that a parser reads: the same, except for line terminators in text and for an empty type.
    var expected: [RecordedItem] {
        switch self {
        case .event(let event):
            let type = event.type.isEmpty ? "message" : event.type
            let data = Self.lines(of: event.data).joined(separator: [0x0A])
            return [
                .event(
                    .init(
                        type: Array(type.utf8), data: Array(data), lastEventID: Array(event.lastEventID.utf8)))
            ]
        case .comment(let text): return Self.lines(of: text).map { _ in .comment }
        case .reconnectionTime(let milliseconds): return [.reconnectionTime(milliseconds)]
        case .lastEventID: return []
        }
    }

    /// The lines of a text, by a scan of its own.
    private static func lines(of text: String) -> [[UInt8]] {
        var lines: [[UInt8]] = [[]]
        var previous: UInt8 = 0
        for byte in text.utf8 {
            if byte == 0x0D || (byte == 0x0A && previous != 0x0D) {
                lines.append([])
            } else if byte != 0x0A {
                lines[lines.count - 1].append(byte)
            }
            previous = byte
        }
        return lines
    }
}

/// Random things to write, with text that tempts both sides to mistakes.
private enum RandomElements {
    private static let pieces = [
        "a", "bc", " ", "  ", ":", ": ", "data: ", "event:x", "id: 1", "retry: 2", "message", "\t", "\u{FEFF}",
        "\u{E9}",
        "e\u{301}", "\u{301}", "\u{200D}", "\u{6F22}", "\u{1F642}", "\u{2028}", "\u{2029}", "\u{85}", "\u{B}", "\u{C}",
        String(repeating: "x", count: 70),
    ]
    private static let terminators = ["\n", "\n", "\r", "\r\n", "\n\n", "\r\r\n"]

    static func make(_ random: inout SplitMix64) -> RandomElement {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: .comment(self.text(self.pieces + self.terminators + ["\0"], &random))
        case 1: .reconnectionTime([0, 1, 3_000, Int.max].randomElement(using: &random) ?? 0)
        case 2: .lastEventID(self.identifier(&random))
        default:
            .event(
                ServerSentEvent(
                    type: self.text(self.pieces + ["\0"], &random),
                    data: self.text(self.pieces + self.terminators + ["\0"], &random),
                    lastEventID: self.identifier(&random)))
        }
    }

    static func identifier(_ random: inout SplitMix64) -> String { self.text(self.pieces, &random) }

    private static func text(_ pieces: [String], _ random: inout SplitMix64) -> String {
        (0..<Int.random(in: 0..<5, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
    }
}
