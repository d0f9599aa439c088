// A response's required output, read from its events without any of the client's code.
//
// Immutable values, made once for each rendering.
import ChappieTransport
import ResponseEvents

/// Kinds of output that a consumer concatenates.
enum OutputChannel: String, CaseIterable, Sendable {
    /// The text.
    case text
    /// Refusals.
    case refusal
    /// Reasoning and its summaries.
    case reasoning
}

/// The output of one response.
struct ResponseOutput: Sendable {
    /// A place in the response that output belongs to.
    struct Slot: Hashable, Sendable {
        /// The type of its deltas.
        var type: String
        /// The item.
        var outputIndex: Int
        /// The part of the item.
        var partIndex: Int
    }

    /// A finished tool call, by what makes it the same call.
    struct Call: Hashable, Sendable {
        /// The item's position.
        var outputIndex: Int
        /// The tool.
        var name: String
        /// The arguments or the input, byte for byte.
        var arguments: [UInt8]
        /// Indicates whether the tool takes any text instead of JSON.
        var isCustom: Bool
    }

    /// Output in the order in which it is delivered.
    enum Piece: Hashable, Sendable {
        /// Bytes of a slot; neighbours of one slot are one piece.
        case bytes(OutputChannel, Slot, [UInt8])
        /// A tool call.
        case call(Call)
    }

    /// Everything, in order.
    private(set) var pieces: [Piece] = []
    /// The events that no other case carries, in order.
    private(set) var raw: [String] = []
    /// The call of an event, by the event's JSON text.
    private(set) var callOfEvent: [String: Call] = [:]
    /// Numbered events, which count once.
    private var numbered: Set<String> = []
    /// Indicates whether a closing event contradicts the output before it; later events are not read.
    private(set) var isContradicted = false
    /// Items of other agents than the root, which are no output.
    private var asides: Set<Int> = []

    /// The bytes of a channel.
    func bytes(_ channel: OutputChannel) -> [UInt8] {
        var result: [UInt8] = []
        for case .bytes(channel, _, let bytes) in self.pieces { result += bytes }
        return result
    }

    /// The calls.
    var calls: [Call] {
        self.pieces.compactMap { if case .call(let call) = $0 { call } else { nil } }
    }

    /// Reads the events of a response.
    init(lines: [String]) {
        for line in lines { self.add(line) }
    }

    /// Reads what a dialect can say of a response: the calls of functions come with its end, and a message has no
    /// refusals apart from its text.
    init(lines: [String], dialect: ChappieDialect) {
        self.init(lines: lines)
        guard dialect != .responses else { return }
        var calls: [Call] = []
        var items: [Int] = []
        let item = { (outputIndex: Int) in
            // Items that a message does not have count for nothing.
            if !items.contains(outputIndex) { items.append(outputIndex) }
            return items.firstIndex(of: outputIndex) ?? 0
        }
        let all = self.pieces
        self = Self(pieces: [])
        for piece in all {
            switch piece {
            case .bytes(let channel, let slot, let bytes):
                let isText = dialect == .messages && channel == .refusal
                let index = dialect == .messages ? item(slot.outputIndex) : channel == .reasoning ? 0 : 1
                let place = Slot(type: isText ? "text" : channel.rawValue, outputIndex: index, partIndex: 0)
                self.append(isText ? .text : channel, place, bytes)
            case .call(var call) where !call.isCustom:
                call.outputIndex = dialect == .messages ? item(call.outputIndex) : 2 + calls.count
                calls.append(call)
            case .call: break
            }
        }
        self.pieces += calls.map(Piece.call)
    }

    /// Takes the raw events of an uncut stream, which are the server's chunks and, made by the client, the finished calls.
    mutating func take(rawEvents payloads: [String]) {
        self.raw = payloads
        var rest = self.calls[...]
        for payload in payloads {
            guard let event = JSONText.object(payload), event["type"] as? String == "response.output_item.done",
                var call = Self.call(event)
            else { continue }
            // The client counts the items of such an answer itself.
            if let next = rest.popFirst() { call.outputIndex = next.outputIndex }
            self.callOfEvent[payload] = call
        }
    }

    /// Creates the output of some pieces.
    init(pieces: [Piece]) {
        self.pieces = pieces
    }

    private mutating func add(_ line: String) {
        guard !self.isContradicted, let event = JSONText.object(line), let type = event["type"] as? String else {
            return
        }
        if event["sequence_number"] != nil, !self.numbered.insert(line).inserted { return }
        let outputIndex = event["output_index"] as? Int ?? 0
        if let item = event["item"] as? [String: Any], item["agent"] != nil { self.asides.insert(outputIndex) }
        if let channel = Self.channel(of: type), !self.asides.contains(outputIndex) {
            let slot = Slot(type: type, outputIndex: outputIndex, partIndex: Self.part(event))
            return self.append(channel, slot, Array((event["delta"] as? String ?? "").utf8))
        }
        for closing in Self.closings(of: event, type: type) { self.close(closing) }
        guard !self.isContradicted else { return }
        guard type != "response.completed" else { return self.addCalls(of: event, in: line) }
        self.raw.append(line)
        guard type == "response.output_item.done", let call = Self.call(event) else { return }
        self.pieces.append(.call(call))
        self.callOfEvent[line] = call
    }

    private static func part(_ event: [String: Any]) -> Int {
        (event["content_index"] ?? event["summary_index"]) as? Int ?? 0
    }

    /// The whole text of a part, as a closing event says it.
    private struct Closing {
        var slot: Slot
        var text: String
    }

    /// The texts of an event that closes a text, a part, an item or the response.
    private static func closings(of event: [String: Any], type: String) -> [Closing] {
        let outputIndex = event["output_index"] as? Int ?? 0
        let item = event["item"] as? [String: Any] ?? [:]
        switch type {
        case "response.content_part.done":
            let part = event["part"] as? [String: Any] ?? [:]
            return [self.closing(part, outputIndex: outputIndex, partIndex: self.part(event))].compactMap(\.self)
        case "response.output_item.done":
            return self.closings(ofItem: item, outputIndex: outputIndex)
        case "response.completed":
            let output = (event["response"] as? [String: Any])?["output"] as? [[String: Any]] ?? []
            return output.enumerated().flatMap { self.closings(ofItem: $1, outputIndex: $0) }
        default:
            let delta = type.hasSuffix(".done") ? String(type.dropLast(4)) + "delta" : ""
            guard self.channel(of: delta) != nil, let text = (event["text"] ?? event["refusal"]) as? String else {
                return []
            }
            return [Closing(slot: Slot(type: delta, outputIndex: outputIndex, partIndex: self.part(event)), text: text)]
        }
    }

    private static func closings(ofItem item: [String: Any], outputIndex: Int) -> [Closing] {
        ["content", "summary"].flatMap { name in
            (item[name] as? [[String: Any]] ?? []).enumerated().compactMap { index, part in
                self.closing(part, outputIndex: outputIndex, partIndex: index)
            }
        }
    }

    private static func closing(_ part: [String: Any], outputIndex: Int, partIndex: Int) -> Closing? {
        let types = [
            "output_text": "response.output_text.delta", "refusal": "response.refusal.delta",
            "summary_text": "response.reasoning_summary_text.delta", "reasoning_text": "response.reasoning_text.delta",
        ]
        guard let type = (part["type"] as? String).flatMap({ types[$0] }),
            let text = (part["text"] ?? part["refusal"]) as? String
        else { return nil }
        return Closing(slot: Slot(type: type, outputIndex: outputIndex, partIndex: partIndex), text: text)
    }

    /// Adds what a closing text has beyond the output of its part, unless it contradicts that.
    private mutating func close(_ closing: Closing) {
        let slot = closing.slot
        guard !closing.text.isEmpty, !self.asides.contains(slot.outputIndex), let channel = Self.channel(of: slot.type)
        else { return }
        var known: [UInt8] = []
        for case .bytes(channel, slot, let bytes) in self.pieces { known += bytes }
        let bytes = Array(closing.text.utf8)
        guard bytes.starts(with: known) else {
            self.isContradicted = true
            return
        }
        self.append(channel, slot, Array(bytes[known.count...]))
    }

    /// Calls that no event has but the end of the response: they arrive as ends of items.
    private mutating func addCalls(of event: [String: Any], in line: String) {
        let output = (event["response"] as? [String: Any])?["output"] as? [[String: Any]] ?? []
        let known = Set(self.calls.map(\.outputIndex))
        for (index, item) in output.enumerated() where !known.contains(index) {
            let done: [String: Any] = ["output_index": index, "item": item]
            guard let call = Self.call(done) else { continue }
            let text = JSONText.text(item)
            let json = line.contains(text) ? text : JSONText.escaped(text)
            let payload = #"{"type":"response.output_item.done","output_index":\#(index),"item":\#(json)}"#
            self.raw.append(payload)
            self.pieces.append(.call(call))
            self.callOfEvent[payload] = call
        }
    }

    private mutating func append(_ channel: OutputChannel, _ slot: Slot, _ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        if case .bytes(channel, slot, let before)? = self.pieces.last {
            self.pieces[self.pieces.count - 1] = .bytes(channel, slot, before + bytes)
        } else {
            self.pieces.append(.bytes(channel, slot, bytes))
        }
    }

    private static func channel(of type: String) -> OutputChannel? {
        switch type {
        case "response.output_text.delta": .text
        case "response.refusal.delta": .refusal
        case "response.reasoning_summary_text.delta", "response.reasoning_text.delta": .reasoning
        default: nil
        }
    }

    private static func call(_ event: [String: Any]) -> Call? {
        guard let item = event["item"] as? [String: Any], let type = item["type"] as? String,
            type == "function_call" || type == "custom_tool_call",
            let text = (item["arguments"] ?? item["input"]) as? String
        else { return nil }
        return Call(
            outputIndex: event["output_index"] as? Int ?? 0, name: item["name"] as? String ?? "",
            arguments: Array(text.utf8), isCustom: type == "custom_tool_call")
    }
}

extension ResponseOutput {
    /// Returns the rest of `self` after the given number of bytes of each channel and of calls; nil when a client that
    /// reads in order cannot have received exactly that.
    func prefix(byteCounts: [OutputChannel: Int], callCount: Int) -> ResponseOutput? {
        var counts = byteCounts
        var calls = callCount
        var result: [Piece] = []
        for piece in self.pieces {
            switch piece {
            case .bytes(let channel, let slot, let bytes):
                let count = min(counts[channel, default: 0], bytes.count)
                if count > 0 { result.append(.bytes(channel, slot, Array(bytes.prefix(count)))) }
                counts[channel, default: 0] -= count
                guard count == bytes.count else {
                    return counts.values.allSatisfy { $0 == 0 } && calls == 0 ? .init(pieces: result) : nil
                }
            case .call:
                guard calls > 0 else { return counts.values.allSatisfy { $0 == 0 } ? .init(pieces: result) : nil }
                calls -= 1
                result.append(piece)
            }
        }
        return counts.values.allSatisfy { $0 == 0 } && calls == 0 ? ResponseOutput(pieces: result) : nil
    }

    /// Returns whether a response with `other`'s output begins with this output, in exactly this order.
    func isBeginning(of other: ResponseOutput) -> Bool { Self.isBeginning(self.pieces, of: other.pieces) }

    /// Returns whether the same holds for every channel and for the calls, each for itself.
    func isBeginningByChannel(of other: ResponseOutput) -> Bool {
        OutputChannel.allCases.allSatisfy { channel in
            Self.isBeginning(self.merged(channel), of: other.merged(channel))
        } && other.calls.starts(with: self.calls)
    }

    /// Returns whether of every channel and of the calls one of the two is the beginning of the other.
    func agreesByChannel(with other: ResponseOutput) -> Bool {
        let doChannelsAgree = OutputChannel.allCases.allSatisfy { channel in
            let (own, others) = (self.merged(channel), other.merged(channel))
            return Self.isBeginning(own, of: others) || Self.isBeginning(others, of: own)
        }
        return doChannelsAgree && (other.calls.starts(with: self.calls) || self.calls.starts(with: other.calls))
    }

    /// A channel's pieces, with neighbours of one slot joined.
    private func merged(_ channel: OutputChannel) -> [Piece] {
        var result = ResponseOutput(pieces: [])
        for case .bytes(channel, let slot, let bytes) in self.pieces { result.append(channel, slot, bytes) }
        return result.pieces
    }

    private static func isBeginning(_ pieces: [Piece], of others: [Piece]) -> Bool {
        guard let last = pieces.last, others.count >= pieces.count else { return pieces.isEmpty }
        guard others.starts(with: pieces.dropLast()) else { return false }
        if case (.bytes(let channel, let slot, let bytes), .bytes(let otherChannel, let otherSlot, let otherBytes)) =
            (last, others[pieces.count - 1])
        {
            return channel == otherChannel && slot == otherSlot && otherBytes.starts(with: bytes)
        }
        return last == others[pieces.count - 1]
    }
}
