import ChappieRelay
import ChappieTransport
import ResponseEvents

/// Writes a stream as the events of the Responses API, with numbers that are the same for every reader.
///
/// It has to see the stream from its beginning. Text, reasoning and refusals go out as they come; items are closed, and
/// calls are written, when the response ends, in the order in which the upstream has them. Pure.
struct ResponsesWriter {
    /// An event of the wire.
    struct Event: Equatable {
        let type: String
        /// `sequence_number`; the first is 0.
        let number: Int
        let json: [UInt8]
        /// Indicates whether no event follows.
        var isLast: Bool { self.type == "response.completed" || self.type == "response.failed" }
    }

    /// An item that deltas have begun.
    private struct Item {
        enum Kind { case reasoning, message }
        let kind: Kind
        let id: String
        let index: Int
        var text = ""
        var refusal = ""
    }

    /// The members that repeat those of the journaled request, with the value for a request that does not have them.
    ///
    /// The document of Open Responses requires each of them, and permits null for some alone.
    private static let requestedMembers: [(name: String, preset: String)] = [
        ("frequency_penalty", "0"), ("instructions", "null"), ("max_output_tokens", "null"),
        ("max_tool_calls", "null"), ("metadata", "{}"), ("parallel_tool_calls", "true"), ("presence_penalty", "0"),
        ("prompt_cache_key", "null"), ("reasoning", "null"), ("safety_identifier", "null"),
        ("service_tier", "\"default\""), ("store", "true"), ("temperature", "1"),
        ("text", "{\"format\":{\"type\":\"text\"}}"), ("tool_choice", "\"auto\""), ("tools", "[]"),
        ("top_logprobs", "0"), ("top_p", "1"), ("truncation", "\"disabled\""),
    ]

    private let stream: ChappieStreamID
    private let model: String
    private let createdAt: Int
    /// The JSON text of the members that are the same in every state of the response.
    private let constantMembers: String
    private var nextNumber = 0
    private var items: [Item] = []

    /// The response's identifier.
    static func responseID(of stream: ChappieStreamID) -> String { "resp_\(stream)" }

    /// The stream of a response's identifier; nil for one of another server.
    static func stream(of responseID: String) -> ChappieStreamID? {
        responseID.hasPrefix("resp_") ? ChappieStreamID(String(responseID.dropFirst(5))) : nil
    }

    /// Creates a writer.
    init(_ stream: ChappieStreamID, _ facts: ChappieHub.Facts) {
        self.stream = stream
        self.model = facts.model ?? ""
        self.createdAt = facts.createdAt
        let request = (try? JSONObjectText(Array(facts.body.utf8))) ?? JSONObjectText()
        let previous = facts.previousResponseID.map(Self.text) ?? "null"
        let own = "\"previous_response_id\":\(previous),\"background\":\(facts.isBackground)"
        self.constantMembers = Self.requestedMembers.reduce(own) { text, member in
            let value = request[member.name].map { RelayedItem.line($0) }
            return text + ",\"\(member.name)\":" + (value.flatMap { $0 == "null" ? nil : $0 } ?? member.preset)
        }
    }

    /// The events before the first delta.
    mutating func begin() -> [Event] {
        ["response.created", "response.in_progress"].map { type in
            self.event(type, "\"response\":\(self.response(status: "in_progress"))")
        }
    }

    /// The events of an event of the stream; those that the API has no place for lead to none.
    mutating func received(_ event: ChappieStreamEvent) -> [Event] {
        switch event {
        case .textDelta(let text): self.delta(text, .message, isRefusal: false)
        case .refusalDelta(let text): self.delta(text, .message, isRefusal: true)
        case .reasoningDelta(let text): self.delta(text, .reasoning, isRefusal: false)
        default: []
        }
    }

    /// The last events, of a complete response.
    ///
    /// - Parameter upstream: what the upstream said of it.
    /// - Returns: the events.
    mutating func completed(_ upstream: RelayedResponse) -> [Event] {
        var events: [Event] = []
        var output: [String] = []
        var begun = self.items[...]
        for item in upstream.items {
            let kind = RelayedItem(item)
            switch kind.type {
            case "reasoning":
                if let own = begun.first, own.kind == .reasoning {
                    begun.removeFirst()
                    events += self.close(own, as: kind, &output)
                } else {
                    events += self.write(kind, &output)
                }
            case "message":
                // Several messages of the upstream are one here, since their deltas are one text.
                guard let place = begun.firstIndex(where: { $0.kind == .message }) else { continue }
                for own in begun[...place] { events += self.close(own, as: nil, &output) }
                begun = begun[(place + 1)...]
            default: events += self.write(kind, &output)
            }
        }
        for own in begun { events += self.close(own, as: nil, &output) }
        let response = self.response(status: "completed", output: output, upstream)
        events.append(self.event("response.completed", "\"response\":\(response)"))
        return events
    }

    /// The last event of a response that has failed.
    mutating func failed(code: String, message: String) -> [Event] {
        let error = "{\"code\":\(Self.text(code)),\"message\":\(Self.text(message))}"
        let output = self.items.map { self.json(of: $0, status: "incomplete") }
        let response = self.response(status: "failed", error: error, output: output)
        return [self.event("response.failed", "\"response\":\(response)")]
    }

    /// The response as an object, for a reader that does not stream.
    func object(status: String, _ upstream: RelayedResponse? = nil) -> String {
        var copy = self
        guard let upstream else {
            return self.response(status: status, output: self.items.map { self.json(of: $0, status: "in_progress") })
        }
        var output: [String] = []
        for event in copy.completed(upstream) where event.type == "response.output_item.done" {
            if let item = RelayedItem.member("item", of: event.json) { output.append(item) }
        }
        return self.response(status: status, output: output, upstream)
    }

    // MARK: Items

    private mutating func delta(_ text: String, _ kind: Item.Kind, isRefusal: Bool) -> [Event] {
        var events: [Event] = []
        let part = isRefusal ? "refusal" : "output_text"
        if self.items.last?.kind != kind {
            let prefix = kind == .message ? "msg" : "rs"
            let item = Item(kind: kind, id: "\(prefix)_\(self.stream)_\(self.items.count)", index: self.items.count)
            self.items.append(item)
            events.append(
                self.event(
                    "response.output_item.added",
                    "\"output_index\":\(item.index),\"item\":\(self.json(of: item, status: "in_progress"))"))
        }
        let place = self.items.count - 1
        let isFirst = isRefusal ? self.items[place].refusal.isEmpty : self.items[place].text.isEmpty
        let contentIndex = isRefusal && !self.items[place].text.isEmpty ? 1 : 0
        let item = self.items[place]
        let position = "\"item_id\":\(Self.text(item.id)),\"output_index\":\(item.index)"
        switch kind {
        case .reasoning:
            if isFirst {
                events.append(
                    self.event(
                        "response.reasoning_summary_part.added",
                        "\(position),\"summary_index\":0,\"part\":{\"type\":\"summary_text\",\"text\":\"\"}"))
            }
            events.append(
                self.event(
                    "response.reasoning_summary_text.delta",
                    "\(position),\"summary_index\":0,\"delta\":\(Self.text(text))"))
        case .message:
            if isFirst {
                let empty =
                    isRefusal
                    ? "{\"type\":\"refusal\",\"refusal\":\"\"}"
                    : "{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[]}"
                events.append(
                    self.event(
                        "response.content_part.added",
                        "\(position),\"content_index\":\(contentIndex),\"part\":\(empty)"))
            }
            events.append(
                self.event(
                    "response.\(part).delta",
                    "\(position),\"content_index\":\(contentIndex),\"delta\":\(Self.text(text))"))
        }
        if isRefusal { self.items[place].refusal += text } else { self.items[place].text += text }
        return events
    }

    /// Closes an item that deltas have begun, with what the upstream says of it where that is more.
    private mutating func close(_ item: Item, as upstream: RelayedItem?, _ output: inout [String]) -> [Event] {
        let position = "\"item_id\":\(Self.text(item.id)),\"output_index\":\(item.index)"
        var events: [Event] = []
        switch item.kind {
        case .reasoning:
            let part = "{\"type\":\"summary_text\",\"text\":\(Self.text(item.text))}"
            events.append(
                self.event(
                    "response.reasoning_summary_text.done",
                    "\(position),\"summary_index\":0,\"text\":\(Self.text(item.text))"))
            events.append(
                self.event("response.reasoning_summary_part.done", "\(position),\"summary_index\":0,\"part\":\(part)"))
        case .message:
            for (index, part) in Self.parts(of: item).enumerated() {
                events.append(
                    self.event(
                        "response.\(part.type).done",
                        "\(position),\"content_index\":\(index),\"\(part.member)\":\(Self.text(part.text))"))
                events.append(
                    self.event(
                        "response.content_part.done", "\(position),\"content_index\":\(index),\"part\":\(part.json)"))
            }
        }
        let json = upstream?.json(id: item.id) ?? self.json(of: item, status: "completed")
        output.append(json)
        events.append(
            self.event("response.output_item.done", "\"output_index\":\(item.index),\"item\":\(json)"))
        return events
    }

    /// Writes an item that no delta has begun, such as a call.
    private mutating func write(_ item: RelayedItem, _ output: inout [String]) -> [Event] {
        let index = self.items.count
        let prefix = item.type == "reasoning" ? "rs" : "item"
        let own = Item(kind: .reasoning, id: "\(prefix)_\(self.stream)_\(index)", index: index)
        self.items.append(own)
        let json = item.json(id: own.id)
        output.append(json)
        let place = "\"output_index\":\(index)"
        var events = [
            self.event("response.output_item.added", "\(place),\"item\":\(item.json(id: own.id, withoutInput: true))")
        ]
        if let input = item.input {
            let position = "\"item_id\":\(Self.text(own.id)),\(place)"
            let (type, member) =
                item.type == "custom_tool_call"
                ? ("custom_tool_call_input", "input") : ("function_call_arguments", "arguments")
            events.append(self.event("response.\(type).delta", "\(position),\"delta\":\(input)"))
            events.append(self.event("response.\(type).done", "\(position),\"\(member)\":\(input)"))
        }
        events.append(self.event("response.output_item.done", "\(place),\"item\":\(json)"))
        return events
    }

    private struct Part {
        let type: String
        let member: String
        let text: String
        let json: String
    }

    private static func parts(of item: Item) -> [Part] {
        var parts: [Part] = []
        if !item.text.isEmpty {
            parts.append(
                Part(
                    type: "output_text", member: "text", text: item.text,
                    json: "{\"type\":\"output_text\",\"text\":\(self.text(item.text)),\"annotations\":[]}"))
        }
        if !item.refusal.isEmpty {
            parts.append(
                Part(
                    type: "refusal", member: "refusal", text: item.refusal,
                    json: "{\"type\":\"refusal\",\"refusal\":\(self.text(item.refusal))}"))
        }
        return parts
    }

    private func json(of item: Item, status: String) -> String {
        switch item.kind {
        case .reasoning:
            let summary = item.text.isEmpty ? "" : "{\"type\":\"summary_text\",\"text\":\(Self.text(item.text))}"
            return "{\"id\":\(Self.text(item.id)),\"type\":\"reasoning\",\"summary\":[\(summary)]}"
        case .message:
            let content = Self.parts(of: item).map(\.json).joined(separator: ",")
            return "{\"id\":\(Self.text(item.id)),\"type\":\"message\",\"role\":\"assistant\",\"status\":\"\(status)\","
                + "\"content\":[\(content)]}"
        }
    }

    // MARK: JSON

    private mutating func event(_ type: String, _ members: String) -> Event {
        defer { self.nextNumber += 1 }
        let json = "{\"type\":\"\(type)\",\"sequence_number\":\(self.nextNumber),\(members)}"
        return Event(type: type, number: self.nextNumber, json: Array(json.utf8))
    }

    private func response(
        status: String, error: String = "null", output: [String] = [], _ upstream: RelayedResponse? = nil
    ) -> String {
        let completedAt = upstream?.completedAt.map { String($0) } ?? "null"
        return
            "{\"id\":\(Self.text(Self.responseID(of: self.stream))),\"object\":\"response\","
            + "\"created_at\":\(self.createdAt),\"completed_at\":\(completedAt),"
            + "\"status\":\"\(status)\",\"error\":\(error),\"incomplete_details\":null,"
            + "\"model\":\(Self.text(upstream?.model ?? self.model)),\(self.constantMembers),"
            + "\"output\":[\(output.joined(separator: ","))],\"usage\":\(Self.json(of: upstream?.usage))}"
    }

    private static func json(of usage: ChappieTokenUsage?) -> String {
        guard let usage else { return "null" }
        let (input, output) = (usage.inputTokens ?? 0, usage.outputTokens ?? 0)
        let reasoning = usage.reasoningTokens ?? 0
        return
            "{\"input_tokens\":\(input),\"input_tokens_details\":{\"cached_tokens\":\(usage.cachedInputTokens ?? 0)},"
            + "\"output_tokens\":\(output),\"output_tokens_details\":{\"reasoning_tokens\":\(reasoning)},"
            + "\"total_tokens\":\(usage.totalTokens ?? input + output)}"
    }

    private static func text(_ text: String) -> String { String(decoding: JSONText.string(text), as: UTF8.self) }
}

/// The upstream's facts of a complete response.
struct RelayedResponse: Sendable {
    var model: String?
    var usage: ChappieTokenUsage?
    /// The time of its end, in seconds since 1970.
    var completedAt: Int?
    /// Its items in order, each the JSON text of an object.
    var items: [String] = []
}

extension RelayedResponse {
    /// Reads the facts of a stream that is complete.
    init(_ facts: ChappieHub.Facts) {
        self.init(
            model: facts.upstreamModel, usage: facts.usage, completedAt: facts.completedAt, items: facts.items)
    }
}

/// An item of the upstream, whose members keep their text.
struct RelayedItem {
    private let object: JSONObjectText

    init(_ json: String) { self.object = (try? JSONObjectText(Array(json.utf8))) ?? JSONObjectText() }

    /// The item's type; `message` where it does not say.
    var type: String { self.string("type") ?? "message" }

    /// The input of a call, as JSON text.
    var input: String? {
        switch self.type {
        case "function_call": self.member("arguments")
        case "custom_tool_call": self.member("input")
        default: nil
        }
    }

    /// The item's JSON text with an identifier of the relay's.
    func json(id: String, withoutInput: Bool = false) -> String {
        var object = self.object
        object["id"] = JSONText.string(id)[...]
        if object["status"] == nil, self.type != "reasoning" { object["status"] = JSONText.string("completed")[...] }
        if withoutInput {
            if object["status"] != nil { object["status"] = JSONText.string("in_progress")[...] }
            for name in ["arguments", "input"] where object[name] != nil { object[name] = JSONText.string("")[...] }
        }
        return Self.line(object.json[...])
    }

    /// Returns a JSON text without line ends, which stand between its tokens alone and would end a line of an event
    /// stream.
    static func line(_ json: ArraySlice<UInt8>) -> String {
        String(decoding: json.map { $0 == 0x0a || $0 == 0x0d ? 0x20 : $0 }, as: UTF8.self)
    }

    /// A member of an object's JSON text, as text.
    static func member(_ name: String, of json: [UInt8]) -> String? {
        (try? JSONObjectText(json))?[name].map { String(decoding: $0, as: UTF8.self) }
    }

    private func member(_ name: String) -> String? { self.object[name].map { String(decoding: $0, as: UTF8.self) } }

    private func string(_ name: String) -> String? {
        guard let json = self.member(name), json.hasPrefix("\""), json.hasSuffix("\"") else { return nil }
        return String(json.dropFirst().dropLast())
    }
}
