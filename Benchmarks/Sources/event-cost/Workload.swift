// The inputs, with the counts that a measurement is checked against.
import Foundation

/// The shape of a workload's events.
enum EventShape: String, CaseIterable {
    /// One word in each delta, with every member that the service writes.
    case words
    /// Deltas of more than 15 bytes, for which a string allocates.
    case sentences
    /// Words with a line feed, a quotation mark or a letter in an escape.
    case escapes
}

/// Text deltas as JSON, contiguous as in an arena.
struct Workload: Sendable {
    /// The name of the workload.
    let name: String
    /// The events as messages.
    let messages: Lendable
    /// The same as an event stream, in pieces of 16 KiB.
    let stream: Lendable
    /// The number of events.
    let eventCount: Int
    /// The UTF-8 bytes of their deltas.
    let deltaByteCount: Int

    private static let chunkByteCount = 16 << 10

    /// A thousand events of one shape.
    init(shape: EventShape) {
        var random = RandomWords(seed: 0x5EED)
        let events = (0..<1_000).map { shape.event(number: Lendable.firstNumber + $0, random: &random) }
        self.init(name: shape.rawValue, events: events)
    }

    private init(name: String, events: [(json: String, delta: String)]) {
        self.name = name
        self.messages = Lendable(events.map { [UInt8]($0.json.utf8) })
        let stream = events.reduce(into: [UInt8]()) { stream, event in
            stream += Array("event: response.output_text.delta\ndata: \(event.json)\n\n".utf8)
        }
        let starts = stride(from: 0, to: stream.count, by: Self.chunkByteCount)
        self.stream = Lendable(starts.map { Array(stream[$0..<min($0 + Self.chunkByteCount, stream.count)]) })
        self.eventCount = events.count
        self.deltaByteCount = events.reduce(0) { $0 + $1.delta.utf8.count }
    }
}

extension EventShape {
    /// Makes an event, and its text unescaped.
    fileprivate func event(number: Int, random: inout RandomWords) -> (json: String, delta: String) {
        switch self {
        case .words:
            let word = random.word()
            return (Self.long(number, word, random.letters(16 - min(word.utf8.count, 15))), word)
        case .sentences:
            let sentence = random.letters(16 + number % 64)
            return (Self.long(number, sentence, random.letters(8)), sentence)
        case .escapes:
            let (written, meant) = [("\\n\\n", "\n\n"), (" \\\"", " \""), ("\\u00e9t", "ét")][number % 3]
            let word = random.word()
            return (Self.long(number, written + word, random.letters(4)), meant + word)
        }
    }

    private static func long(_ number: Int, _ delta: String, _ obfuscation: String) -> String {
        #"{"type":"response.output_text.delta","sequence_number":\#(number),"#
            + #""item_id":"msg_0434d6d64b12b08900692f63a1a46c8195b3db3a5a0e85dd0b","output_index":0,"#
            + #""content_index":0,"delta":"\#(delta)","logprobs":[],"obfuscation":"\#(obfuscation)"}"#
    }
}

/// Words with the lengths of recorded streams, determined by the seed.
private struct RandomWords {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    /// The numbers of deltas with 1, 2, … 14 bytes among a thousand recorded ones.
    private static let shares = [212, 145, 138, 148, 94, 62, 57, 53, 37, 24, 18, 6, 4, 2]

    /// One to 14 letters; all but the shortest begin with a space.
    mutating func word() -> String {
        var rest = self.below(1_000)
        var count = 1
        while count < Self.shares.count, rest >= Self.shares[count - 1] {
            rest -= Self.shares[count - 1]
            count += 1
        }
        return count == 1 ? self.letters(1) : " " + self.letters(count - 1)
    }

    mutating func letters(_ count: Int) -> String {
        String(decoding: (0..<count).map { _ in UInt8(ascii: "a") + UInt8(self.below(26)) }, as: UTF8.self)
    }

    private mutating func below(_ limit: Int) -> Int {
        // SplitMix64.
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var bits = self.state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((bits ^ (bits >> 31)) % UInt64(limit))
    }
}
