// Text deltas like those of a model's server, with lengths and words that differ from event to event.

/// Makes the data of one `response.output_text.delta` event after the other.
struct ModelDeltaGenerator {
    /// The type of every event.
    static let type = Array("response.output_text.delta".utf8)

    /// The number of consecutive events that share an item.
    private static let eventsPerItem = 400
    private static let alphabet = Array("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    private static let words: [[UInt8]] = [
        " the", " of", " and", " to", " a", " in", " is", " that", " stream", " event", " because", " something",
        " transport", " reconnects", ",", ".", ":", " “", "”", "’s", " —", "\\n\\n", "\\n", " \\\"", "\\\"", "-",
        " naïve", " Übertragung", " données", " 東京", " 🙂", " 42", " 1,024", "ing", "ed", "tion", " un", " internal",
        " responsibility", " acknowledgement", " I", " you", " we", " not", " at", " once", "```", " =", " {", " }",
        " \\\\", " return", " let", " every", " bottle", " letter", " ocean", " current", " north", " shore",
    ].map { Array($0.utf8) }

    private var random: SplitMix64
    private var sequenceNumber = 0
    private var itemID: [UInt8] = []
    private var data: [UInt8] = []

    /// A generator at the beginning of a seed's sequence.
    init(seed: UInt64) {
        self.random = SplitMix64(seed: seed)
    }

    /// The JSON of the next event.
    mutating func next() -> [UInt8] {
        if self.sequenceNumber % Self.eventsPerItem == 0 { self.itemID = self.characters(50) }
        self.data.removeAll(keepingCapacity: true)
        self.add("{\"type\":\"response.output_text.delta\",\"sequence_number\":")
        self.data.append(contentsOf: String(self.sequenceNumber % 100_000).utf8)
        self.add(",\"item_id\":\"msg_")
        self.data.append(contentsOf: self.itemID)
        self.add("\",\"output_index\":0,\"content_index\":0,\"delta\":\"")
        for _ in 0...self.random.next(below: 3) {
            self.data.append(contentsOf: Self.words[self.random.next(below: Self.words.count)])
        }
        self.add("\",\"logprobs\":[],\"obfuscation\":\"")
        let padding = self.characters(self.random.next(below: 16))
        self.data.append(contentsOf: padding)
        self.add("\"}")
        self.sequenceNumber += 1
        return self.data
    }

    private mutating func add(_ text: StaticString) {
        text.withUTF8Buffer { self.data.append(contentsOf: $0) }
    }

    private mutating func characters(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in Self.alphabet[self.random.next(below: Self.alphabet.count)] }
    }
}
