// The walks, by the part of the data that a hostile server would make long.
import Chappie
import ChappieTransport
import ResponseEvents
import ServerSentEvents
import StreamSession
import TransportSurface

/// One walk over a server's data.
struct Walk {
    /// Its name in the table.
    let name: String
    /// The number of elements in the shorter run.
    let count: Int
    /// Makes an input of `count` elements, and returns the walk over it, whose result is used.
    let prepare: (_ count: Int) -> () -> Int

    /// Every walk; a new function that walks over a server's data belongs here.
    static var all: [Walk] { self.items + self.documents + self.canonical + self.texts + self.events + self.streams }

    /// Text made of a piece for each number, with commas between them.
    private static func list(_ count: Int, _ piece: (Int) -> String) -> String {
        (0..<count).map(piece).joined(separator: ",")
    }

    /// Marks that canonical equivalence has to sort.
    private static func marks(_ count: Int) -> String { String(repeating: "\u{301}\u{316}", count: count) }

    private static func text(
        _ name: String, _ count: Int, _ make: @escaping (Int) -> String,
        _ walk: @escaping ([UInt8]) -> Int
    ) -> Walk {
        Walk(name: name, count: count) { count in
            let bytes = Array(make(count).utf8)
            return { walk(bytes) }
        }
    }

    // MARK: Items

    private static var items: [Walk] {
        let item: ([UInt8]) -> Int = { InputItem($0)?.json.count ?? 0 }
        return [
            self.text("item, members that are null", 4_000, { "{\(self.list($0) { #""m\#($0)":null"# })}" }, item),
            self.text("item, members", 4_000, { "{\(self.list($0) { #""m\#($0)":\#($0)"# })}" }, item),
            self.text("item, one name again and again", 4_000, { "{\(self.list($0) { #""m":\#($0)"# })}" }, item),
            self.text(
                "item, parts of a message", 1_000,
                { #"{"role":"assistant","content":[\#(self.list($0) { #"{"text":"\#($0)","x":null}"# })]}"# }, item),
            self.text(
                "item, members of a part that are null", 4_000,
                { #"{"role":"assistant","content":[{\#(self.list($0) { #""m\#($0)":null"# })}]}"# }, item),
            self.text(
                "item, nested arrays", 400,
                { count in
                    #"{"a":["#
                        + self.list(count) { _ in
                            String(repeating: "[", count: 100)
                                + String(repeating: "]", count: 100)
                        } + "]}"
                }, item),
            self.text("item, a name of combining marks", 2_000, { #"{"a\#(self.marks($0))":1}"# }, item),
            self.text("item, a type of combining marks", 2_000, { #"{"type":"a\#(self.marks($0))"}"# }, item),
            Walk(name: "items carried", count: 500) { count in
                let items = (0..<count).map { Array(#"{"type":"message","id":"\#($0)","role":"user"}"#.utf8) }
                let body = try? ResponseRequestBody(json: Array(#"{"input":[]}"#.utf8))
                return { body?.appendingInput(items)?.approximateByteCount ?? 0 }
            },
            Walk(name: "items of a continuation", count: 500) { count in
                let items = (0..<count).map { Array(#"{"type":"message","id":"\#($0)","role":"user"}"#.utf8) }
                let own = Array(#"{"input":[]}"#.utf8)
                let next = Array(
                    #"{"input":[\#(items.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ",")),"x"]}"#
                        .utf8)
                guard let body = try? ResponseRequestBody(json: own), let later = try? ResponseRequestBody(json: next),
                    let memory = ContinuationMemory(
                        request: body, outputItems: items.compactMap { InputItem($0)?.json }, responseID: "r")
                else { return { 0 } }
                return { memory.continuation(of: later)?.inputJSON.count ?? 0 }
            },
            Walk(name: "calls of a turn", count: 1_000) { count in
                let calls = (0..<count).map {
                    FinishedCall(callID: "c\($0)", name: "t", payload: "{}")
                }
                return {
                    var journal = TurnJournal(input: [])
                    journal.completed([], calls: calls)
                    for call in calls { journal.answered(call.callID, with: [UInt8(ascii: "o")]) }
                    journal.close()
                    return journal.items.count
                }
            },
            self.text("items put in", 1_000, { "[\(self.list($0) { #"{"n":\#($0)}"# })]" }) {
                SteeringMessage.items(of: $0)?.count ?? 0
            },
            self.text("members of a request", 2_000, { "{\(self.list($0) { #""m\#($0)":1"# })}" }) { json in
                guard let body = try? ResponseRequestBody(json: json) else { return 0 }
                return (try? body.webSocketMessage().count) ?? 0 + (body.isContinuation(of: body) ? 1 : 0)
            },
        ]
    }

    // MARK: Errors and limits

    private static var documents: [Walk] {
        let facts: ([UInt8]) -> Int = { bytes in
            guard let facts = ServerErrorFacts(body: bytes) else { return 0 }
            let limit = UsageLimitError(facts) { $0 == "usage_limit_reached" }
            return (facts.message?.utf8.count ?? 0) + (limit == nil ? 0 : 1) + (facts.retryDelay ?? 0)
        }
        return [
            self.text("error body, members", 1_000, { "{\(self.list($0) { #""m\#($0)":null"# })}" }, facts),
            self.text(
                "error body, a code of combining marks", 2_000,
                { #"{"error":{"code":"a\#(self.marks($0))","type":"b\#(self.marks($0))","message":"m"}}"# }, facts),
            self.text(
                "error body, digits", 4_000,
                { #"{"error":{"resets_at":\#(String(repeating: "9", count: $0)),"message":"m"}}"# }, facts),
            self.text(
                "error body, the words of a delay", 2_000,
                { count in
                    #"{"error":{"code":"rate_limit_exceeded","message":"try again in "#
                        + String(repeating: "1s ", count: count) + #""}}"#
                }, facts),
            self.text(
                "error body, the beginning of a delay", 1_000,
                { count in
                    #"{"error":{"code":"rate_limit_exceeded","message":""#
                        + String(repeating: "try again i", count: count) + #""}}"#
                }, facts),
            self.text("error payload, cut", 4_000, { #"{"error":"\#(self.marks($0))"}"# }) {
                ServerErrorFacts.payload(of: $0, byteCountLimit: $0.count / 2, orWhole: true)?.utf8.count ?? 0
            },
            Walk(name: "usage limits, families of fields", count: 1_000) { count in
                let fields = (0..<count).map { (name: "X-Family\($0)-Primary-Used-Percent", value: "\($0)") }
                return { UsageLimitHeaders(fields).snapshots.count }
            },
            Walk(name: "usage limits, names of combining marks", count: 500) { count in
                let fields = (0..<4).map { (name: "x-\(self.marks(count))\($0)-primary-used-percent", value: "1") }
                return { UsageLimitHeaders(fields).snapshots.count }
            },
        ]
    }

    // MARK: Canonical JSON

    private static var canonical: [Walk] {
        let canonical: ([UInt8]) -> Int = { CanonicalJSON.bytes(of: $0).count }
        return [
            self.text(
                "canonical JSON, members", 4_000, { "{\(self.list($0) { #""m\#($0 * 7_919 % 10_007)":1"# })}" },
                canonical),
            self.text(
                "canonical JSON, a long name among halves of pairs", 1_000,
                { count in
                    #"{"\ud800\udc00\#(String(repeating: "a", count: count * 10))":1,"#
                        + self.list(count) { #""\ud800\#($0 * 7_919 % 10_007)":1"# } + "}"
                }, canonical),
            self.text(
                "canonical JSON, long names", 60,
                { count in
                    "{\(self.list(count) { #""\#(String(repeating: "a", count: 1_000))\#($0 * 7_919 % 10_007)":1"# })}"
                }, canonical),
            self.text("canonical JSON, digits", 20_000, { String(repeating: "9", count: $0) }, canonical),
            self.text(
                "canonical JSON, escapes", 4_000, { #""\#(String(repeating: #"\u00e9\ud83d\ude00"#, count: $0))""# },
                canonical),
        ]
    }

    // MARK: Redaction

    private static var texts: [Walk] {
        func redaction(_ secrets: [String]) -> ([UInt8]) -> Int {
            let redaction = SecretRedaction(secrets)
            return { redaction.words(String(decoding: $0, as: UTF8.self)).utf8.count }
        }
        let secret = "sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"
        return [
            self.text(
                "redaction, beginnings of a secret", 10_000, { "sk-" + String(repeating: "a", count: $0) },
                redaction([secret, "a" + secret])),
            self.text("redaction, secrets", 1_000, { String(repeating: secret, count: $0) }, redaction([secret])),
            self.text(
                "redaction, backslashes", 10_000, { secret + String(repeating: "\\", count: $0) + "u" },
                redaction([secret])),
            self.text("redaction, escapes", 4_000, { String(repeating: #"\u0073k-"#, count: $0) }, redaction([secret])),
            self.text(
                "redaction, percent-encoding", 4_000, { String(repeating: "%73k-%2", count: $0) }, redaction([secret])),
        ]
    }

    // MARK: Events

    private static var events: [Walk] {
        /// Decodes one event, and reads the values that a turn reads at its end.
        func event(_ name: String, _ count: Int, _ make: @escaping (Int) -> String) -> Walk {
            self.text(name, count, { make($0) + String(repeating: " ", count: ResponseEventDecoder.paddingByteCount) })
            {
                bytes in
                var decoder = ResponseEventDecoder()
                return bytes.withUnsafeBytes { padded in
                    let json = UnsafeRawBufferPointer(
                        rebasing: padded.dropLast(ResponseEventDecoder.paddingByteCount))
                    guard let event = try? decoder.decode(json) else { return 0 }
                    guard case .completed(let summary) = event.kind else { return event.sequenceNumber ?? 1 }
                    return summary.outputItems.count + (summary.errorPayload(byteCountLimit: 100)?.utf8.count ?? 0)
                }
            }
        }
        return [
            event("event, escapes", 4_000) {
                #"{"type":"response.output_text.delta","delta":"\#(String(repeating: #"\n\u00e9"#, count: $0))"}"#
            },
            event("event, members", 4_000) { count in
                "{\(self.list(count) { #""m\#($0)":{"a":[]}"# }),\"type\":\"response.unheard_of\"}"
            },
            event("event, one member again and again", 4_000) { count in
                "{\(self.list(count) { #""item":{"type":"\#($0)","name":"n"}"# }),\"type\":\"response.output_item.done\"}"
            },
            event("event, items of a complete response", 1_000) { count in
                #"{"type":"response.completed","response":{"output":[\#(self.list(count) { #"{"id":"\#($0)"}"# })]}}"#
            },
            event("event, limits", 2_000) { count in
                #"{"type":"codex.rate_limits","rate_limits":{\#(self.list(count) { #""m\#($0)":1"# })}}"#
            },
            event("event, an error's fields", 1_000) { count in
                #"{"type":"error","status":429,"error":{"code":"c"},"headers":{\#(self.list(count) { #""m\#($0)":"1""# })}}"#
            },
            Walk(name: "closing texts of an item's parts", count: 500) { count in
                {
                    var ledger = ReplayLedger()
                    for part in 0..<count {
                        let slot = ReplaySlot(.text, outputIndex: 0, partIndex: part)
                        _ = ledger.admit([UInt8(ascii: "a")].span, in: slot)
                        _ = ledger.close([UInt8](repeating: UInt8(ascii: "a"), count: 2).span, in: slot)
                        _ = ledger.admit([UInt8(ascii: "a")].span, in: slot)
                    }
                    for _ in 0..<count { ledger.beginItem(0, of: .message) }
                    return ledger.hasDelivered ? count : 0
                }
            },
            Walk(name: "ends of other responses behind finished items", count: 500) { count in
                var order = ResponseOrder()
                _ = order.created(responseID: "r")
                for index in 0...count { _ = order.itemAdded(index, name: UInt64(index + 1)) }
                for index in 0..<count { _ = order.itemDone(index, name: UInt64(index + 1)) }
                return { [order] in
                    var order = order
                    return (0..<count).count { order.terminal(responseID: "\($0)", .complete(names: [])) == .foreign }
                }
            },
        ]
    }

    // MARK: Event streams

    /// Inputs for which a parser is quadratic that copies, moves or searches unfinished bytes again.
    private static var streams: [Walk] {
        func stream(_ name: String, chunk: Int, _ make: @escaping (Int) -> String) -> Walk {
            self.text("event stream, \(name)", 100_000, make) { bytes in
                bytes.withUnsafeBytes { bytes in
                    var parser = EventStreamParser()
                    var byteCount = 0
                    for start in stride(from: 0, to: bytes.count, by: chunk) {
                        let piece = bytes[start..<min(start + chunk, bytes.count)]
                        try? parser.parse(UnsafeRawBufferPointer(rebasing: piece)) { item in
                            guard case .event(let event) = item else { return }
                            byteCount += event.data.count + event.type.count + event.lastEventID.count
                        }
                    }
                    return byteCount
                }
            }
        }
        func letters(_ count: Int) -> String { String(repeating: "x", count: count) }
        func deltas(_ count: Int, _ end: String) -> String {
            String(repeating: "event: delta\(end)data: {}\(end)\(end)", count: count / 20)
        }
        func lines(_ count: Int) -> String { String(repeating: "data: x\n", count: count / 8) + "\n" }
        return [
            stream("one line, 1460-byte chunks", chunk: 1_460) { "data: \(letters($0))\n\n" },
            stream("one line, 37-byte chunks", chunk: 37) { "data: \(letters($0))\n\n" },
            stream("data lines of one event, 16 KiB chunks", chunk: 16 << 10) { lines($0) },
            stream("data lines of one event, one chunk", chunk: .max) { lines($0) },
            stream("events, one chunk, LF", chunk: .max) { deltas($0, "\n") },
            stream("events, one chunk, LF and a final CR", chunk: .max) { deltas($0, "\n") + "\r" },
            stream("events, one chunk, CR", chunk: .max) { deltas($0, "\r") },
            stream("an endless comment", chunk: 16 << 10) { ":\(letters($0))" },
            stream("an endless unknown field", chunk: 16 << 10) { "unknown: \(letters($0))" },
            stream("an endless field name", chunk: 1_460) { letters($0) },
            stream("a type", chunk: 1_460) { "data: x\nevent: \(letters($0))\n\n" },
            stream("an ID", chunk: 1_460) { "data: x\nid: \(letters($0))\n\n" },
            stream("CRs, one chunk", chunk: .max) { String(repeating: "\r", count: $0) },
            stream("empty comments", chunk: 16 << 10) { String(repeating: ":\n", count: $0 / 2) },
        ]
    }
}
