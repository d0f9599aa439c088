// A decoder reads a delta by the shape of the previous one. The result must be that of a decoder without a shape.

import Foundation
import Testing

@testable import ResponseEvents

@Suite struct EventPatternTests {
    /// The facts of an event; for other events than deltas only those that distinguish it from one.
    private struct Facts: Equatable {
        var error: ResponseEventError?
        var typeName = ""
        var streamID: String?
        var itemID: [UInt8]?
        var number: Int?
        var kind: ResponseEvent.DeltaKind?
        var position: [Int] = []
        var text: [UInt8] = []
        var isTerminal = false

        init(_ json: [UInt8], of decoder: inout ResponseEventDecoder) {
            // Behind the event stands what would end a text or an object.
            withPadded(json, padding: UInt8(ascii: "\"")) { bytes in
                do throws(ResponseEventError) {
                    self.take(try decoder.decode(bytes))
                } catch {
                    self.error = error
                }
            }
        }

        private mutating func take(_ event: ResponseEvent) {
            self.typeName = String(event.typeName)
            self.streamID = event.streamID.map { String($0) }
            self.itemID = event.itemID.map { Array($0.utf8) }
            self.number = event.sequenceNumber
            self.isTerminal = event.kind.isTerminal
            guard case .delta(let kind, let outputIndex, let partIndex, let text) = event.kind else { return }
            self.kind = kind
            self.position = [outputIndex, partIndex]
            self.text = Array(text.utf8)
        }
    }

    /// Compares what is found after some events with what is found without any.
    private func check(_ json: [UInt8], after lessons: [[UInt8]], location: SourceLocation = #_sourceLocation) {
        var taught = ResponseEventDecoder()
        for lesson in lessons {
            withPadded(lesson) { bytes in _ = try? taught.decode(bytes) }
        }
        var fresh = ResponseEventDecoder()
        let expected = Facts(json, of: &fresh)
        let found = Facts(json, of: &taught)
        if found != expected {
            Issue.record(
                "\(String(decoding: json, as: UTF8.self)): \(found), not \(expected)", sourceLocation: location)
        }
    }

    private func check(_ json: String, after lessons: [String], location: SourceLocation = #_sourceLocation) {
        self.check(Array(json.utf8), after: lessons.map { Array($0.utf8) }, location: location)
    }

    /// An event with every member that services write.
    private static func long(_ number: String, _ delta: String, padding: String = "aB3", item: String = "msg_1")
        -> String
    {
        #"{"type":"response.output_text.delta","sequence_number":\#(number),"item_id":"\#(item)","output_index":0,"#
            + #""content_index":1,"delta":"\#(delta)","logprobs":[],"obfuscation":"\#(padding)"}"#
    }

    /// The shapes of events, each as lessons and the event that follows them.
    private static let shapes: [[String]] = [
        [Self.long("7", "It"), Self.long("8", " is", padding: "9"), Self.long("9", " a word", padding: "xyz12")],
        [Self.long("7", "It"), Self.long("8", " is", item: "msg_2"), Self.long("10", "a", item: "msg_33")],
        [
            #"{"delta":"It","type":"response.refusal.delta"}"#, #"{"delta":" is","type":"response.refusal.delta"}"#,
            #"{"delta":"","type":"response.refusal.delta"}"#,
        ],
        [
            #"{ "stream_id" : "s1", "type" : "response.reasoning_summary_text.delta", "summary_index" : 4, "delta" : "a" }"#,
            #"{ "stream_id" : "s1", "type" : "response.reasoning_summary_text.delta", "summary_index" : 4, "delta" : "b" }"#,
        ],
        [
            #"{"sequence_number":1,"type":"response.function_call_arguments.delta","delta":"{\"a\":","n":-1.5e3}"#,
            #"{"sequence_number":2,"type":"response.function_call_arguments.delta","delta":"\"\u00fc\"","n":-1.5e3}"#,
        ],
        [Self.long("7", "Grüße"), Self.long("8", "日本", padding: "ß"), Self.long("9", "👩🏽‍🚀 x", padding: "ä\\n")],
        [
            Self.long("7", "It", item: "m\\u0041"), Self.long("8", " is", item: "n\\/"),
            Self.long("9", "", item: "n\\/"),
        ],
        [Self.long("7", "It", item: "m_1"), Self.long("8", " is", item: ""), Self.long("9", "a", item: "")],
    ]

    // MARK: Everything that is one byte away

    @Test(arguments: Self.shapes)
    func anotherByteAnywhereIsRead(shape: [String]) {
        let events = shape.map { Array($0.utf8) }
        let bytes =
            Array("\0\u{1f} !\"\\/0179-.eEtn:,{}[]u\u{7f}".utf8) + [0x80, 0xA9, 0xC3, 0xE2, 0xED, 0xF0, 0xF5, 0xFF]
        for event in events.suffix(2) {
            for index in event.indices {
                for byte in bytes where byte != event[index] {
                    var changed = event
                    changed[index] = byte
                    self.check(changed, after: events)
                }
            }
        }
    }

    @Test(arguments: Self.shapes)
    func aByteMoreOrLessAnywhereIsRead(shape: [String]) {
        let events = shape.map { Array($0.utf8) }
        let event = events[events.count - 1]
        for index in 0...event.count {
            for byte in Array("\n \"\\0a,:}]{[".utf8) + [0xC3] {
                var longer = event
                longer.insert(byte, at: index)
                self.check(longer, after: events)
            }
            self.check(Array(event[..<index]), after: events)
            guard index < event.count else { continue }
            var shorter = event
            shorter.remove(at: index)
            self.check(shorter, after: events)
            self.check(event + event[index...], after: events)
        }
    }

    // MARK: What stands in a gap

    @Test(arguments: [
        "0", "7", "00", "01", "-1", "-0", "1.0", "1e2", "", " 7", "7 ", "\"7\"", "null", "true", "7,",
        "999999999999999999",
        "1000000000000000000", "0999999999999999999", "18446744073709551616",
    ])
    func anyNumberIsRead(number: String) {
        self.check(Self.long(number, "x"), after: [Self.long("1", "a"), Self.long("2", "b", padding: "q")])
        self.check(Self.long("5", "x"), after: [Self.long(number, "a"), Self.long(number, "b", padding: "q")])
    }

    @Test(arguments: [
        "\\n", "\\\"", "\\\\", "\\/", "\\u00fc", "\\ud83d\\ude00", "\\ud83d", "\\ude00x", "\\u12", "\\q", "\\", "\"",
        "\\u0000",
        "ü", "\u{7f}", "\u{2028}", "\t", "日", "😀",
    ])
    func anyTextIsReadWhereverItsOddPartStands(oddity: String) {
        let lessons = [Self.long("1", "a"), Self.long("2", "b", padding: "q", item: "other")]
        for count in 0...40 {
            let text = String(repeating: "x", count: count) + oddity
            for rest in ["", "yz", String(repeating: "z", count: 20)] {
                self.check(Self.long("3", text + rest), after: lessons)
                self.check(Self.long("3", "a", padding: text + rest), after: lessons)
                self.check(Self.long("3", "a", item: text + rest), after: lessons)
            }
        }
    }

    @Test(
        arguments: [
            [0xC3], [0xC3, 0x28], [0xA9], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x98],
            [0xF4, 0x90, 0x80, 0x80],
            [0xC0, 0xAF], [0xFF], [0xF8, 0x88, 0x80, 0x80, 0x80],
        ] as [[UInt8]])
    func invalidUTF8InAnyGapOfThePatternIsRefused(bytes: [UInt8]) throws {
        let lessons = [Self.long("1", "a"), Self.long("2", "b", padding: "q", item: "other")].map { Array($0.utf8) }
        for event in [
            Self.long("3", "x@y"), Self.long("3", "a", padding: "x@y"), Self.long("3", "a", item: "x@y"),
            Self.long("3", "@"),
        ] {
            let place = try #require(event.utf8.firstIndex(of: UInt8(ascii: "@")))
            let broken = Array(event.utf8[..<place]) + bytes + Array(event.utf8[event.utf8.index(after: place)...])
            var decoder = ResponseEventDecoder()
            for lesson in lessons { #expect(decodingError(lesson, decoder: &decoder) == nil) }
            #expect(decodingError(broken, decoder: &decoder) == .invalidUTF8)
        }
    }

    // MARK: What must not be taken for the event before

    @Test(arguments: [
        (
            #"{"type":"response.output_text.delta","delta":"a","delta":"b"}"#,
            #"{"type":"response.output_text.delta","delta":"c","delta":"b"}"#
        ),
        (
            #"{"type":"response.output_text.delta","delta":"a","delta":"b"}"#,
            #"{"type":"response.output_text.delta","delta":"a","delta":"d"}"#
        ),
        (
            #"{"delta":"a","type":"keepalive","type":"response.output_text.delta"}"#,
            #"{"delta":"b","type":"keepalive","type":"response.output_text.delta"}"#
        ),
        (
            #"{"type":"response.output_text.delta","sequence_number":1,"sequence_number":"x","delta":"a"}"#,
            #"{"type":"response.output_text.delta","sequence_number":2,"sequence_number":"y","delta":"b"}"#
        ),
        (
            #"{"type":"response.output_text.delta","output_index":1,"output_index":2,"delta":"a"}"#,
            #"{"type":"response.output_text.delta","output_index":3,"output_index":2,"delta":"b"}"#
        ),
        (
            #"{"type":"response.output_text.delta","stream_id":"a","stream_id":null,"delta":"a"}"#,
            #"{"type":"response.output_text.delta","stream_id":"b","stream_id":null,"delta":"b"}"#
        ),
        (
            #"{"type":"response.output_text.delta","stream_id":"s","delta":"a"}"#,
            #"{"type":"response.output_text.delta","stream_id":"t","delta":"b"}"#
        ),
        (
            #"{"type":"response.output_text.delta","item_id":"m","item_id":"n","delta":"a"}"#,
            #"{"type":"response.output_text.delta","item_id":"m","item_id":"o","delta":"b"}"#
        ),
        (
            #"{"type":"response.output_text.delta","item_id":"m","item_id":null,"delta":"a"}"#,
            #"{"type":"response.output_text.delta","item_id":"n","item_id":null,"delta":"b"}"#
        ),
        (
            #"{"type":"response.output_text.delta","item_id":"m","delta":"a"}"#,
            #"{"type":"response.output_text.delta","item_id":null,"delta":"b"}"#
        ),
        (
            #"{"type":"response.output_text.delta","item_id":"m\u0041","delta":"a"}"#,
            #"{"type":"response.output_text.delta","item_id":"m\u0042","delta":"b"}"#
        ),
        (
            #"{"type":"response.output_text.delta","delta":"a","text":"b","part":"c"}"#,
            #"{"type":"response.output_text.delta","delta":"d","text":"e","part":"f"}"#
        ),
        (
            #"{"type":"response.output_text.delta","delta":"a","sequence_number":1}"#,
            #"{"type":"response.output_text.done" ,"text":"c" ,"sequence_number":1}"#
        ),
        (
            #"{"typ\u0065":"response.output_text.delta","d\u0065lta":"a"}"#,
            #"{"typ\u0065":"response.output_text.delta","d\u0065lta":"b"}"#
        ),
        (
            #"{"type":"response.output_text.\u0064elta","delta":"a"}"#,
            #"{"type":"response.output_text.\u0064elta","delta":"b"}"#
        ),
        (#"{"type":"response.output_text.delta","delta":"a"}"#, #"{"type":"response.output_text.delta","delta":null}"#),
        (
            #"{"type":"response.output_text.delta","delta":"a","x":{"delta":"b"}}"#,
            #"{"type":"response.output_text.delta","delta":"c","x":{"delta":"d"}}"#
        ),
        (
            #"{"type":"response.output_text.delta","delta":"a","item":"b"}"#,
            #"{"type":"response.output_text.delta","delta":"c","item":"d"}"#
        ),
        (
            #"{"type":"response.output_text.delta","delta":"a","x":["b"]}"#,
            #"{"type":"response.output_text.delta","delta":"c","x":["d"]}"#
        ),
    ])
    func anEventThatOnlyLooksAlikeIsRead(first: String, second: String) {
        for lessons in [[first], [first, first], [first, second], [first, second, first]] {
            self.check(second, after: lessons)
            self.check(first, after: lessons)
        }
    }

    @Test func anEventWithManyTextsIsRead() {
        for count in 0...12 {
            func event(_ text: String) -> String {
                let texts = (0..<count).map { #""k\#($0)":"\#(text)\#($0)","# }.joined()
                return #"{"type":"response.output_text.delta",\#(texts)"delta":"\#(text)"}"#
            }
            for lessons in [[event("a")], [event("a"), event("b")], [event("a"), event("b"), event("c")]] {
                self.check(event("dd"), after: lessons)
            }
        }
    }

    @Test(arguments: [900, 1_023, 1_024, 1_025, 3_000])
    func aLongEventIsRead(byteCount: Int) {
        let base = Self.long("1", "").utf8.count
        let lessons = [
            Self.long("1", String(repeating: "x", count: byteCount - base)),
            Self.long("2", String(repeating: "y", count: byteCount - base - 1) + "z"),
        ]
        self.check(Self.long("3", "short", padding: "p"), after: lessons)
        self.check(Self.long("3", String(repeating: "w", count: 5_000)), after: lessons)
        self.check(Self.long("3", String(repeating: "ü", count: 700) + "\\n"), after: lessons)
    }

    /// Events that are not deltas, and invalid events, leave the shape of the previous delta unchanged.
    @Test(arguments: handMadeEvents + ["{", "[DONE]", #"{"type":7}"#, "\u{1}"])
    func otherEventsMayComeInBetween(event: String) {
        for shape in Self.shapes {
            self.check(shape[1], after: [shape[0], shape[1], event])
            self.check(event, after: shape)
        }
    }

    @Test func everyShapeFollowsEveryOther() {
        for first in Self.shapes {
            for second in Self.shapes {
                for event in second { self.check(event, after: first + [second[0]]) }
            }
        }
    }

    @Test func anEventThatIsTooLargeIsRefusedThoughItFits() {
        var decoder = ResponseEventDecoder(maximumByteCount: 300)
        for text in ["a", "b", "c"] {
            #expect(decodingError(Array(Self.long("1", text).utf8), decoder: &decoder) == nil)
        }
        let large = Self.long("1", String(repeating: "x", count: 300))
        #expect(decodingError(Array(large.utf8), decoder: &decoder) == .tooLarge)
    }

    @Test(arguments: SharedData.recordings)
    func aRecordingIsReadAsIfEachEventWereTheFirst(file: URL) throws {
        var taught = ResponseEventDecoder()
        for line in try SharedData.lines(of: file) {
            var fresh = ResponseEventDecoder()
            let expected = Facts(line, of: &fresh)
            #expect(Facts(line, of: &taught) == expected)
        }
    }
}
