import Testing

@testable import ResponseEvents

/// Deltas that are read by the frame of the one before, beside the same ones that are scanned.
@Suite struct DeltaFrameTests {
    private static let chat =
        #"{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a\n"},"#
        + #""finish_reason":null}],"usage":null,"obfuscation":"xy"}"#
    private static let messages =
        #"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n"}}"#

    private static func decoder(isChat: Bool) -> any DialectDecoder {
        isChat ? ChatCompletionsDecoder() : MessagesDecoder()
    }

    /// Returns what each event is read as; with `scansEach` an event that says nothing stands before it.
    private static func readings(_ events: [[UInt8]], isChat: Bool, scansEach: Bool) -> [String] {
        let decoder = Self.decoder(isChat: isChat)
        return events.map { event in
            if scansEach { _ = try? withPadded(Array(#"{"type":"ping"}"#.utf8), { try decoder.read($0) }) }
            do {
                switch try withPadded(event, { try decoder.read($0) }) {
                case .event(let events, let isSurfaced): return "\(isSurfaced) \(Self.text(of: events))"
                case .end(let events): return "end \(Self.text(of: events))"
                case .otherAPI(let dialect): return "\(dialect)"
                case .other, .output: return "other"
                }
            } catch {
                return "\(error)"
            }
        }
    }

    private static func text(of events: TranslatedEvents) -> String {
        var text = ""
        events.forEach { text += String(decoding: $0, as: UTF8.self) + "\n" }
        return text
    }

    @Test(arguments: [true, false]) func eventThatDiffersInOneByteIsReadAsIfItWereScanned(isChat: Bool) {
        let delta = Array((isChat ? Self.chat : Self.messages).utf8)
        for place in delta.indices {
            for byte in Array(" \"\\0}n".utf8) + [0x01, 0xC3] {
                var other = delta
                other[place] = byte
                let events = [delta, other, delta, other + [byte], Array(delta.dropLast())]
                #expect(
                    Self.readings(events, isChat: isChat, scansEach: false)
                        == Self.readings(events, isChat: isChat, scansEach: true), "\(place) \(byte)")
            }
        }
    }

    @Test(arguments: [true, false]) func textsOfAnyLengthAreRead(isChat: Bool) {
        let delta = isChat ? Self.chat : Self.messages
        for text in ["", "b", #"\u00e9"#, #"\ud83d"#, "é😀", String(repeating: "long ", count: 500), #"\x"#, "\u{1}"] {
            for filler in ["", "z", String(repeating: "z", count: 40)] {
                let other = delta.replacing(#"a\n"#, with: text).replacing("xy", with: filler)
                let events = [delta, other, delta, other, other].map { Array($0.utf8) }
                #expect(
                    Self.readings(events, isChat: isChat, scansEach: false)
                        == Self.readings(events, isChat: isChat, scansEach: true), "\(other)")
            }
        }
    }

    @Test func nothingButTextOfTheMessageIsRepeated() {
        let deltas = [
            #"{"content":"a","tool_calls":[{"function":{}}]}"#, #"{"content":"a","reasoning_opaque":"o"}"#,
            #"{"content":[{"type":"text","text":"a"}]}"#, #"{"content":"a","refusal":"r"}"#,
            #"{"content":"a","reasoning_content":""}"#, #"{"content":"a","content":"b"}"#, #"{"reasoning":"a"}"#,
        ]
        for delta in deltas {
            let events =
                [delta, delta, delta].map { Array(chunk($0).utf8) }
                + [chunk("{}", finish: "stop"), "[DONE]"].map { Array($0.utf8) }
            #expect(
                Self.readings(events, isChat: true, scansEach: false)
                    == Self.readings(events, isChat: true, scansEach: true), "\(delta)")
        }
    }

    @Test func deltaBelongsToTheNewestBlockOfItsIndex() {
        let block = #"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#
        let events = [block, Self.messages, Self.messages, block, Self.messages, #"{"type":"message_stop"}"#]
            .map { Array($0.utf8) }
        let readings = Self.readings(events, isChat: false, scansEach: false)
        #expect(readings == Self.readings(events, isChat: false, scansEach: true))
        #expect(readings[4].contains(#""output_index":1"#))
    }

    @Test func eventsOfALargeAnswerCountAsMuch() {
        let delta = Array(Self.chat.utf8)
        let decoder = ChatCompletionsDecoder(byteCountLimit: 6)
        for _ in 0..<2 { #expect(throws: Never.self) { try withPadded(delta, { try decoder.read($0) }) } }
        #expect(throws: ResponseEventError.tooLarge) { try withPadded(delta, { try decoder.read($0) }) }
    }
}
