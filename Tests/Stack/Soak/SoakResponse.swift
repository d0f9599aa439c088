// The servers' answer: text made from a number.

/// A made-up response.
struct SoakResponse: Sendable {
    /// The text, as UTF-8.
    private(set) var text: [UInt8] = []
    /// The events of the wire.
    private(set) var events: [String] = []

    /// Text, and the same as it stands in JSON.
    private static let phrases: [(text: [UInt8], json: String)] =
        [
            " the stream goes on between two ends, and on,", " one byte after the other, as long as both are there",
            " café, naïve, 水 and \u{1F600} are more than one byte each", ".", ",", " 42", " and then", " it pauses",
            " a consumer that reads when it likes, and not before", " nothing comes twice, and nothing is left out;",
        ].map { (Array($0.utf8), $0) } + [
            (Array("\n".utf8), "\\n"), (Array(" \"quoted\"".utf8), " \\\"quoted\\\""), (Array(" \\".utf8), " \\\\"),
            (Array(" é".utf8), " \\u00e9"),
        ]

    /// Makes a response of about `byteCount` bytes, in at least `deltaCount` deltas.
    init(seed: UInt64, byteCount: Int, deltaCount: Int) {
        var random = SoakRandom(seed: seed)
        self.events.append(Self.edge("created", status: "in_progress"))
        while self.text.count < byteCount {
            var json = ""
            let end = self.text.count + random.number(in: 1...max(1, min(1_000, 2 * byteCount / deltaCount)))
            while self.text.count < end {
                let phrase = Self.phrases[random.number(in: 0...Self.phrases.count - 1)]
                self.text += phrase.text
                json += phrase.json
            }
            self.events.append(
                #"{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":""#
                    + json + "\"}")
        }
        self.events.append(Self.edge("completed", status: "completed"))
    }

    private static func edge(_ type: String, status: String) -> String {
        #"{"type":"response.\#(type)","response":{"id":"resp_1","status":"\#(status)"}}"#
    }
}

/// Numbers that are the same for the same seed.
struct SoakRandom {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(self.next() % UInt64(range.count))
    }

    /// True that often in a hundred times.
    mutating func chance(_ percent: Int) -> Bool { self.number(in: 0...99) < percent }
}
