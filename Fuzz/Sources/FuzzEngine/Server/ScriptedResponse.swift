// A response without a fault, described by bytes, and what a consumer must get of it.

/// Output as a consumer gets it.
struct ConsumedDelta: Equatable {
    enum Kind { case text, reasoning, refusal }

    let kind: Kind
    let text: [UInt8]
}

/// A message of the server.
enum ServerItem {
    /// The JSON text of an event.
    case event([UInt8])
    /// A sign of life below events: a ping or a pong, a comment or an unknown field.
    case noise(Int)
}

/// The items of a response that ends well, and its output.
struct ScriptedResponse {
    private(set) var items: [ServerItem] = []
    private(set) var output: [ConsumedDelta] = []

    init(_ bytes: [UInt8]) {
        self.append(#"{"type":"response.created","response":{"id":"r"}}"#)
        var rest = bytes[...]
        // Long programs find no more faults than short ones, and take longer.
        while self.items.count < 60, let code = rest.popFirst() {
            let choice = Int(code >> 3)
            switch code % 8 {
            case 0, 1: self.append(.text, "response.output_text.delta", choice, rest.popFirst() ?? 0)
            case 2: self.append(.reasoning, "response.reasoning_summary_text.delta", choice, rest.popFirst() ?? 0)
            case 3: self.append(.reasoning, "response.reasoning_text.delta", choice, rest.popFirst() ?? 0)
            case 4: self.append(.refusal, "response.refusal.delta", choice, rest.popFirst() ?? 0)
            case 5:
                let event = Self.events[choice % Self.events.count]
                // An item that is announced again has begun anew.
                if event == Self.announcement, self.isAnnounced { break }
                self.isAnnounced = self.isAnnounced || event == Self.announcement
                self.append(event)
            default: self.items.append(.noise(choice))
            }
        }
        if let half = self.waitingHalf { self.deliver(half) }
        self.append(#"{"type":"response.completed","response":{"id":"r","status":"completed"}}"#)
    }

    private mutating func append(_ json: String) { self.items.append(.event(Array(json.utf8))) }

    private static let announcement =
        #"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m"}}"#

    private var isAnnounced = false

    /// Events without output.
    private static let events = [
        #"{"type":"keepalive"}"#, #"{"type":"response.in_progress","response":{"id":"r"}}"#, "{}",
        #"{"type":"response.unheard.of","delta":7}"#, #"{"delta":"x","type":"response.output_text.done"}"#,
        Self.announcement,
        #"{"type":"codex.rate_limits","rate_limits":{"primary":{"used_percent":3}}}"#,
        #"{"type":"response.output_text.delta","delta":"","output_index":1}"#,
        #"{"type":"response.output_text.delta","delta":"other","stream_id":"another lane"}"#,
    ]

    /// Characters and their forms in JSON.
    private static let characters = [
        ("a", "a"), ("é", "é"), ("😀", "\\uD83D\\ude00"), ("\n", "\\n"), ("\"", "\\\""), ("\u{FFFD}", "\\ud800"),
        ("\0", "\\u0000"), ("😀", "😀"), ("\\", "\\\\"), ("\u{301}", "\\u0301"), ("{", "{"), ("€", "€"),
    ].map { (Array($0.utf8), Array($1.utf8)) }

    /// A half without the other one, and what a consumer gets in its place.
    private static let half = Array("\\ud800".utf8)
    private static let replacement = Array("\u{FFFD}".utf8)

    /// A half at the end of a delta, and where that stands.
    private struct WaitingHalf {
        var kind: ConsumedDelta.Kind
        var type: String
    }

    private var waitingHalf: WaitingHalf?

    private mutating func deliver(_ half: WaitingHalf) {
        self.output.append(ConsumedDelta(kind: half.kind, text: Self.replacement))
    }

    /// The number of characters by which the output may grow before its deltas are short.
    private var remainingCharacterCount = 6_000

    private mutating func append(_ kind: ConsumedDelta.Kind, _ type: String, _ choice: Int, _ length: UInt8) {
        // Lengths around those at which a frame's header changes, and beyond a segment.
        var count = [1, 2, 3, 5, 30, 110, 900, 5_000][Int(length % 8)]
        if count > self.remainingCharacterCount { count = 1 }
        self.remainingCharacterCount -= count
        var text: [UInt8] = []
        var endsWithHalf = false
        var json = Array(#"{"type":"\#(type)","delta":""#.utf8)
        for index in 0..<count {
            let (character, written) = Self.characters[(choice + index * Int(length >> 3)) % Self.characters.count]
            text += character
            json += written
            endsWithHalf = written == Self.half
        }
        json += Array(#"","output_index":0}"#.utf8)
        // The first half of a surrogate pair waits for the next delta of its place, which does not have the second, or
        // for what a consumer puts behind it. Only one waits at a time.
        if let half = self.waitingHalf, half.kind == kind || endsWithHalf {
            if half.type == type { text = Self.replacement + text } else { self.deliver(half) }
            self.waitingHalf = nil
        }
        if endsWithHalf {
            text.removeLast(Self.replacement.count)
            self.waitingHalf = WaitingHalf(kind: kind, type: type)
        }
        if !text.isEmpty { self.output.append(ConsumedDelta(kind: kind, text: text)) }
        self.items.append(.event(json))
    }
}
