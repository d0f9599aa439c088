// A recorded stream of the corpus, and what its index says that it amounts to.
//
// Immutable values, read once at the start.
import ChappieTransport
import Foundation
import ResponseEvents

/// A recorded stream.
struct CorpusStream: Sendable {
    /// The file that cannot be read.
    struct Unreadable: Error, CustomStringConvertible {
        /// The description of the error.
        var description: String
    }

    /// The file's name, without its folder and extension.
    var name: String
    /// The API that it was recorded of.
    var dialect: ChappieDialect
    /// The events, as the test server sends them.
    var lines: [String]
    /// The facts that the index states.
    var expected: StreamFacts
    /// The number of events up to the one that ends the response.
    var eventCount: Int

    /// The points of a cut, in events before it: before the last event, and at every tenth before that.
    var cuts: [Int] { Array(stride(from: self.eventCount - 1, through: 1, by: -10)) }

    /// Reads the streams that an index names, of the APIs that the client reads.
    static func all(in folder: URL) throws(Unreadable) -> [CorpusStream] {
        var streams: [CorpusStream] = []
        for line in try self.lines(of: folder.appendingPathComponent("index.jsonl")) {
            guard let entry = JSONText.object(line), let file = entry["file"] as? String else {
                throw Unreadable(description: "index.jsonl: a line is no object that names a file")
            }
            guard let dialect = (entry["dialect"] as? String).flatMap(ChappieDialect.init) else { continue }
            let url = folder.appendingPathComponent(file)
            let lines = try self.lines(of: url)
            switch dialect {
            case .responses: streams.append(Self(url, lines: lines, index: entry))
            case .chatCompletions: streams.append(Self(url, chunks: lines, index: entry))
            case .messages: streams.append(Self(url, messageEvents: lines, index: entry))
            }
        }
        return streams
    }

    private static func lines(of file: URL) throws(Unreadable) -> [String] {
        guard let text = try? String(contentsOf: file, encoding: .utf8) else {
            throw Unreadable(description: "\(file.path): cannot be read")
        }
        return text.split(separator: "\n").map(String.init)
    }

    private init(_ file: URL, lines: [String], index: [String: Any]) {
        self.name = file.deletingPathExtension().lastPathComponent
        self.dialect = .responses
        // A line that is a JSON string is data that was no JSON.
        self.lines = lines.map { $0 == #""[DONE]""# ? "[DONE]" : $0 }
        let events = lines.map { JSONText.object($0) ?? [:] }
        let end = events.firstIndex { Self.endTypes.contains($0["type"] as? String ?? "") }
        self.eventCount = end.map { $0 + 1 } ?? lines.count
        // The index has the last error. A client leaves at the first, which in openai-gpt-4o-failed-empty-document is an
        // event of another code than the response that follows it.
        let error = end.flatMap { events[$0]["error"] as? [String: Any] }
        self.expected = StreamFacts(index: index, error: error ?? index["error"] as? [String: Any])
    }

    /// Reads a chat completion.
    private init(_ file: URL, chunks lines: [String], index: [String: Any]) {
        self.name = file.deletingPathExtension().lastPathComponent
        self.dialect = .chatCompletions
        self.lines = lines.map(Self.data)
        self.eventCount = lines.count
        var index = index
        // The index reads reasoning under two names, and this server has it under a third one alone: as
        // `reasoning_details`, each with a `text`.
        if self.name == "snowflake-claude-sonnet-4-6-cut-2" { index["reasoning"] = "15 * 27 = 405" }
        // The index has no word of the model behind a gateway.
        let choices = lines.compactMap { (JSONText.object($0)?["choices"] as? [[String: Any]])?.first }
        index["native"] = choices.compactMap { $0["native_finish_reason"] as? String }.last
        self.expected = StreamFacts(chat: index)
    }

    /// Reads a message.
    private init(_ file: URL, messageEvents lines: [String], index: [String: Any]) {
        self.name = file.deletingPathExtension().lastPathComponent
        self.dialect = .messages
        self.lines = lines.map(Self.data)
        let end = lines.firstIndex { JSONText.object($0)?["type"] as? String == "message_stop" }
        self.eventCount = end.map { $0 + 1 } ?? lines.count
        self.expected = StreamFacts(message: index)
        let starts = lines.compactMap { JSONText.object($0)?["message"] as? [String: Any] }.map { $0["id"] as? String }
        if Set(starts).count > 1 {
            // A message that begins inside another one is another answer, with which the first is not mixed.
            self.expected.replace(["reasoning": "I will call the tool.", "end": "event.contradictory"])
        }
        // The index writes an input that is an object with spaces.
        if self.name == "anthropic-claude-sonnet-4-5-tool-empty" {
            self.expected.replace([
                "calls": #"toolu_015dGLMbwBKv1ZRQr6KdJzeH rollDie {"player":"player2"}"#
            ])
        }
    }

    /// Returns the data of an event; a line that is a JSON string is data that was no JSON, and the name of an event is
    /// not played.
    private static func data(_ line: String) -> String {
        if line == #""[DONE]""# { return "[DONE]" }
        guard let data = JSONText.object(line)?["data"] else { return line }
        return (data as? [String: Any]).map(JSONText.text) ?? data as? String ?? line
    }

    private static let endTypes: Set = ["response.completed", "response.failed", "response.incomplete", "error"]
}

/// What a stream amounts to, fact by fact, as text.
struct StreamFacts: Sendable {
    /// The facts in the order of the table.
    private(set) var values: [(name: String, value: String)] = []

    /// The facts of a line of the index.
    init(index: [String: Any], error: [String: Any]?) {
        for name in ["text", "reasoning", "refusal"] {
            let streamed = index[name] as? String ?? ""
            // The end of the response completes what the deltas lack; an empty one takes nothing back.
            let document = index["document_\(name)"] as? String ?? ""
            self.values.append((name, document.isEmpty ? streamed : document))
        }
        let calls = index["calls"] as? [[String: Any]] ?? []
        self.values.append(("calls", calls.map(Self.call).joined(separator: "; ")))
        let serverItems = index["server_calls"] as? [String] ?? []
        self.values.append(("server items", serverItems.joined(separator: ", ")))
        self.values.append(("end", index["end"] as? String ?? ""))
        let reason = (index["incomplete"] as? [String: Any])?["reason"]
        self.values.append(("reason", (error?["code"] ?? reason) as? String ?? ""))
        let usage = index["usage"] as? [String: Any]
        self.values.append(("usage", Self.usage { usage?[$0] as? Int }))
    }

    /// The facts of a line of the index about a chat completion.
    ///
    /// The index repeats what was sent. The client has one word for the ends that mean the same, and no call of an
    /// answer that is not complete. It takes the word of the model behind a gateway for a limit before the gateway's own
    /// (openrouter-gpt-4-1-mini-tool-broken-args: `tool_calls`, and `max_output_tokens` beside it), arguments that end
    /// inside their object for cut, and an answer without a `finish_reason` for one that has not ended.
    init(chat index: [String: Any]) {
        for name in ["text", "reasoning", "refusal"] { self.values.append((name, index[name] as? String ?? "")) }
        var calls = index["calls"] as? [[String: Any]] ?? []
        for place in calls.indices where calls[place]["arguments"] as? String == "" {
            calls[place]["arguments"] = "{}"
        }
        let isCut = calls.contains { JSONText.object($0["arguments"] as? String ?? "") == nil }
        var (end, reason) = ("completed", "")
        switch index["end"] as? String ?? "" {
        case "cut": end = "stream.ended-early"
        // An error in the middle of a stream ends it like a failed response.
        case "error": (end, reason) = ("failed", (index["error"] as? [String: Any])?["code"] as? String ?? "")
        case "length", "model_length": (end, reason) = ("incomplete", "max_output_tokens")
        case "content_filter": (end, reason) = ("incomplete", "content_filter")
        case _ where index["native"] as? String == "max_output_tokens":
            (end, reason) = ("incomplete", "max_output_tokens")
        case _ where isCut: (end, reason) = ("incomplete", "cut_arguments")
        default: break
        }
        let finished = end == "completed" ? calls : []
        self.values.append(("calls", finished.map(Self.call).joined(separator: "; ")))
        self.values.append(("server items", ""))
        self.values.append(("end", end))
        self.values.append(("reason", reason))
        let hasUsage = ["completed", "incomplete"].contains(end)
        let usage = hasUsage ? index["usage"] as? [String: Any] : nil
        let names = ["input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"]
        self.values.append(("usage", Self.usage { usage?[names[$0] ?? ""] as? Int }))
    }

    /// The facts of a line of the index about a message.
    ///
    /// As with chat completions, the client has one word for the ends that mean the same, and no call of an answer that is
    /// not complete. Input that was read from a cache or written to one is input to it. The server's own blocks come as
    /// events of this API alone.
    init(message index: [String: Any]) {
        for name in ["text", "reasoning", "refusal"] { self.values.append((name, index[name] as? String ?? "")) }
        let calls = index["calls"] as? [[String: Any]] ?? []
        let isCut = calls.contains { JSONText.object($0["arguments"] as? String ?? "") == nil }
        let (end, reason): (String, String) =
            switch index["end"] as? String ?? "" {
            case "cut": ("stream.ended-early", "")
            case "max_tokens": ("incomplete", "max_output_tokens")
            case "refusal": ("incomplete", "refusal")
            case _ where isCut: ("incomplete", "cut_arguments")
            default: ("completed", "")
            }
        self.values.append(("calls", end == "completed" ? calls.map(Self.call).joined(separator: "; ") : ""))
        self.values.append(("server items", ""))
        self.values.append(("end", end))
        self.values.append(("reason", reason))
        let usage = index["usage"] as? [String: Any] ?? [:]
        let inputs = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
        let counts = [
            "input_tokens": inputs.reduce(0) { $0 + (usage[$1] as? Int ?? 0) },
            "output_tokens": usage["output_tokens"] as? Int ?? 0,
        ]
        self.values.append(("usage", Self.usage { counts[$0] }))
    }

    /// Replaces facts; with another end there are neither a reason nor counts.
    fileprivate mutating func replace(_ facts: [String: String]) {
        for place in self.values.indices {
            let name = self.values[place].name
            let isVoid = facts["end"] != nil && ["reason", "usage"].contains(name)
            self.values[place].value = facts[name] ?? (isVoid ? "" : self.values[place].value)
        }
    }

    /// The facts that a client delivered.
    init(_ transcript: Transcript) {
        for channel in [OutputChannel.text, .reasoning, .refusal] {
            let bytes = transcript.entries.bytes(channel)
            self.values.append((channel.rawValue, String(decoding: bytes, as: UTF8.self)))
        }
        let items = transcript.items
        let calls = items.filter { Self.isCall($0) }
        self.values.append(("calls", calls.map(Self.call).joined(separator: "; ")))
        let others = items.filter { !Self.isCall($0) }.compactMap { $0["type"] as? String }
            .filter { $0 != "message" && $0 != "reasoning" }
        self.values.append(("server items", others.joined(separator: ", ")))
        self.values.append(("end", transcript.end))
        self.values.append(("reason", transcript.reason ?? ""))
        let usage = transcript.lastResponse?.usage
        let counts = ["input_tokens": usage?.inputTokens, "output_tokens": usage?.outputTokens]
        self.values.append(("usage", Self.usage { counts[$0] ?? nil }))
    }

    private static func isCall(_ item: [String: Any]) -> Bool {
        ["function_call", "custom_tool_call"].contains(item["type"] as? String)
    }

    private static func call(_ item: [String: Any]) -> String {
        [item["call_id"], item["name"], item["arguments"] ?? item["input"]].map { $0 as? String ?? "none" }
            .joined(separator: " ")
    }

    private static func usage(_ count: (String) -> Int?) -> String {
        ["input_tokens", "output_tokens"].compactMap { name in count(name).map { "\(name) \($0)" } }
            .joined(separator: ", ")
    }
}
