// The inputs, with the counts that a measurement is checked against.
import ChappieTransport
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

    /// A thousand events of one shape, as a server of a dialect sends them.
    init(shape: EventShape, dialect: ChappieDialect) {
        var random = RandomWords(seed: 0x5EED)
        let deltas = (0..<1_000).map { shape.delta(number: Lendable.firstNumber + $0, random: &random) }
        self.init(name: shape.rawValue, type: dialect.deltaType, events: deltas.map { (dialect.event($0), $0.meant) })
    }

    private init(name: String, type: String?, events: [(json: String, delta: String)]) {
        self.name = name
        self.messages = Lendable(events.map { [UInt8]($0.json.utf8) })
        let stream = events.reduce(into: [UInt8]()) { stream, event in
            stream += Array("\(type.map { "event: \($0)\n" } ?? "")data: \(event.json)\n\n".utf8)
        }
        let starts = stride(from: 0, to: stream.count, by: Self.chunkByteCount)
        self.stream = Lendable(starts.map { Array(stream[$0..<min($0 + Self.chunkByteCount, stream.count)]) })
        self.eventCount = events.count
        self.deltaByteCount = events.reduce(0) { $0 + $1.delta.utf8.count }
    }
}

/// One delta, before a server puts it into an event.
private struct Delta {
    let number: Int
    /// The content of its JSON string.
    let written: String
    let meant: String
    /// Letters that hide its length.
    let obfuscation: String
}

extension EventShape {
    /// Makes a delta.
    fileprivate func delta(number: Int, random: inout RandomWords) -> Delta {
        switch self {
        case .words:
            let word = random.word()
            let obfuscation = random.letters(16 - min(word.utf8.count, 15))
            return Delta(number: number, written: word, meant: word, obfuscation: obfuscation)
        case .sentences:
            let sentence = random.letters(16 + number % 64)
            return Delta(number: number, written: sentence, meant: sentence, obfuscation: random.letters(8))
        case .escapes:
            let (written, meant) = [("\\n\\n", "\n\n"), (" \\\"", " \""), ("\\u00e9t", "ét")][number % 3]
            let word = random.word()
            return Delta(
                number: number, written: written + word, meant: meant + word, obfuscation: random.letters(4))
        }
    }
}

extension ChappieDialect {
    /// The type of the server-sent event of a delta; nil where a server writes none.
    fileprivate var deltaType: String? {
        switch self {
        case .responses: "response.output_text.delta"
        case .chatCompletions: nil
        case .messages: "content_block_delta"
        }
    }

    /// Returns a delta as an event, with every member that OpenAI or Anthropic writes.
    fileprivate func event(_ delta: Delta) -> String {
        switch self {
        case .responses:
            #"{"type":"response.output_text.delta","sequence_number":\#(delta.number),"#
                + #""item_id":"msg_0434d6d64b12b08900692f63a1a46c8195b3db3a5a0e85dd0b","output_index":0,"#
                + #""content_index":0,"delta":"\#(delta.written)","logprobs":[],"obfuscation":"\#(delta.obfuscation)"}"#
        case .chatCompletions:
            #"{"id":"chatcmpl-CzvS5kQyR3n1mZ0c7dPq2uTfW8bXe","object":"chat.completion.chunk","created":1769000000,"#
                + #""model":"paper-and-ink-2026-01-20","service_tier":"default","system_fingerprint":"fp_0a1b2c3d4e","#
                + #""choices":[{"index":0,"delta":{"content":"\#(delta.written)"},"logprobs":null,"finish_reason":null}],"#
                + #""usage":null,"obfuscation":"\#(delta.obfuscation)"}"#
        case .messages:
            #"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\#(delta.written)"}}"#
        }
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
