// A response as the events of one attempt in another API than Responses.

import ChappieTransport

/// Writes the events of one answer as a chat completion or as a message.
struct DialectAnswerWriter {
    private(set) var arena = EventArena()
    private(set) var events: [WireEvent] = []
    /// The calls, which only the end of the answer finishes, by their place among the calls, in the form in which a
    /// consumer gets them.
    private(set) var heldCalls: [Int: [UInt8]] = [:]
    /// The event that states the reason to end: behind it a body that ends in order is complete.
    private(set) var finishIndex = 0
    private let response: SimulatedResponse
    private let isChat: Bool
    private let number: Int
    private let deltaSize: Int
    private let reasoningName: String
    private var random: SimulatedRandom
    private var size = ContentSize()
    /// The position of each item as the decoder counts them: by the item's index, or by the kind of its text.
    private var positions: [String: Int] = [:]

    /// Writes a response, which must be `expressed(in:)` the dialect, in the answer of this number.
    init(_ response: SimulatedResponse, in dialect: ChappieDialect, number: Int, random: SimulatedRandom) {
        var random = random
        self.response = response
        self.isChat = dialect == .chatCompletions
        self.number = number
        self.deltaSize = random.pick([1, 3, 8, 30, 300])
        self.reasoningName = random.pick(["reasoning", "reasoning_content"])
        self.arena.escapes = random.chance(25)
        self.random = random
        self.writeBeginning()
        for (index, atom) in response.atoms.enumerated() { self.write(atom, at: index) }
        self.writeEnd()
    }

    private mutating func append(_ json: String, isCompletion: Bool = false) {
        self.arena.append(json)
        let start = self.events.last?.range.upperBound ?? 0
        var event = WireEvent(range: start..<self.arena.bytes.count, size: self.size)
        event.isCompletion = isCompletion
        self.events.append(event)
    }

    private mutating func append(delta: String, finish: String = "null") {
        let filler = self.random.chance(10) ? #","obfuscation":"aXv3""# : ""
        self.append(
            #"{"id":"chat_\#(self.number)","object":"chat.completion.chunk","choices":[{"index":0,"delta":{\#(delta)},"#
                + #""finish_reason":\#(finish)}]\#(filler)}"#)
    }

    private func string(_ bytes: some Collection<UInt8>) -> String {
        var arena = EventArena()
        arena.escapes = self.arena.escapes
        arena.appendString(bytes)
        return String(decoding: arena.bytes, as: UTF8.self)
    }

    /// The pieces of a text, none of them empty.
    private mutating func pieces(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var start = 0
        while start < bytes.count {
            let end = SimulatedText.boundary(after: start + 1 + self.random.below(self.deltaSize * 2), in: bytes)
            pieces.append(bytes[start..<end])
            start = end
        }
        return pieces
    }

    private mutating func position(of item: String) -> Int {
        let position = self.positions[item] ?? self.positions.count
        self.positions[item] = position
        return position
    }

    // MARK: The events

    private mutating func writeBeginning() {
        if !self.isChat {
            let message = #"{"id":"msg_\#(self.number)","role":"assistant","content":[],"usage":{"input_tokens":3}}"#
            self.append(#"{"type":"message_start","message":\#(message)}"#)
            if self.random.chance(30) { self.append(#"{"type":"ping"}"#) }
        } else if self.random.chance(60) {
            self.append(delta: #""role":"assistant","content":"""#)
        }
    }

    private mutating func write(_ atom: SimulatedResponse.Atom, at index: Int) {
        let isFirst = !self.response.atoms[..<index].contains { $0.item == atom.item }
        let isLast = !self.response.atoms[(index + 1)...].contains { $0.item == atom.item }
        if case .call(let call) = atom.content { return self.write(call) }
        let isReasoning =
            switch atom.content {
            case .summary, .reasoning: true
            case .text, .refusal, .call: false
            }
        if !self.isChat, isFirst {
            _ = self.position(of: "\(atom.item)")
            let start = isReasoning ? #""thinking","thinking":"""# : #""text","text":"""#
            self.append(
                #"{"type":"content_block_start","index":\#(atom.item),"content_block":{"type":\#(start)}}"#)
        }
        for piece in self.pieces(of: atom.bytes) {
            self.size.add(piece.count, of: atom.content)
            let text = self.string(piece)
            if self.isChat {
                _ = self.position(of: isReasoning ? "reasoning" : "message")
                let name = isReasoning ? self.reasoningName : atom.content.isRefusal ? "refusal" : "content"
                self.append(delta: #""\#(name)":\#(text)"#)
            } else {
                let delta = isReasoning ? #""thinking_delta","thinking":"# : #""text_delta","text":"#
                self.append(
                    #"{"type":"content_block_delta","index":\#(atom.item),"delta":{"type":\#(delta)\#(text)}}"#)
            }
        }
        guard !self.isChat, isLast else { return }
        if isReasoning {
            self.append(
                #"{"type":"content_block_delta","index":\#(atom.item),"delta":{"type":"signature_delta","signature":"s"}}"#
            )
        }
        self.append(#"{"type":"content_block_stop","index":\#(atom.item)}"#)
    }

    private mutating func write(_ call: SimulatedCall) {
        let place = self.heldCalls.count
        // The consumer finds the call by its identifier.
        let (id, name) = (#""call_\#(place)""#, self.string(call.name.utf8))
        let position = self.position(of: "\(call.position)")
        let pieces = self.pieces(of: Array(call.wireInput.utf8)).map { self.string($0) }
        if self.isChat {
            let function = #"{"name":\#(name),"arguments":""}"#
            self.append(
                delta: #""tool_calls":[{"index":\#(place),"id":\#(id),"type":"function","function":\#(function)}]"#)
            for piece in pieces {
                self.append(
                    delta: #""tool_calls":[{"index":\#(place),"function":{"arguments":\#(piece)}}]"#)
            }
        } else {
            let block = #"{"type":"tool_use","id":\#(id),"name":\#(name),"input":{}}"#
            self.append(#"{"type":"content_block_start","index":\#(call.position),"content_block":\#(block)}"#)
            for piece in pieces {
                let delta = #"{"type":"input_json_delta","partial_json":\#(piece)}"#
                self.append(#"{"type":"content_block_delta","index":\#(call.position),"delta":\#(delta)}"#)
            }
            self.append(#"{"type":"content_block_stop","index":\#(call.position)}"#)
        }
        // A message's name is read and written again, arguments and a chunk's name stand as they were sent.
        let written = self.isChat ? name : #""\#(call.name)""#
        let item =
            #"{"type":"function_call","call_id":\#(id),"name":\#(written),"arguments":\#(self.string(call.wireInput.utf8))}"#
        self.heldCalls[place] = Array(
            #"{"type":"response.output_item.done","output_index":\#(position),"item":\#(item)}"#.utf8)
    }

    private mutating func writeEnd() {
        self.finishIndex = self.events.count
        let hasCalls = !self.heldCalls.isEmpty
        if self.isChat {
            self.append(delta: "", finish: hasCalls ? #""tool_calls""# : #""stop""#)
            if self.random.chance(50) {
                self.append(#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":7}}"#)
            }
        } else {
            let delta = #"{"stop_reason":"\#(hasCalls ? "tool_use" : "end_turn")"}"#
            self.append(#"{"type":"message_delta","delta":\#(delta),"usage":{"output_tokens":7}}"#)
        }
        self.size.calls = self.heldCalls.count
        self.append(self.isChat ? "[DONE]" : #"{"type":"message_stop"}"#, isCompletion: true)
    }
}

extension SimulatedResponse {
    /// The same as far as a dialect can say it: calls are those of functions without a namespace, and a message has no
    /// refusals.
    func expressed(in dialect: ChappieDialect) -> Self {
        var other = self
        for index in other.atoms.indices {
            switch other.atoms[index].content {
            case .call(let call): other.atoms[index].content = .call(call.asFunction)
            case .refusal where dialect == .messages: other.atoms[index].content = .text
            case .text, .refusal, .summary, .reasoning: break
            }
        }
        return other
    }
}

extension SimulatedCall {
    /// The call of a function without a namespace.
    fileprivate var asFunction: Self {
        var other = self
        other.namespace = nil
        guard self.isCustom else { return other }
        var input = EventArena()
        input.append(#"{"input":"#)
        input.appendString(self.canonicalInput.utf8)
        input.append("}")
        other.isCustom = false
        other.wireInput = String(decoding: input.bytes, as: UTF8.self)
        other.canonicalInput = other.wireInput
        return other
    }
}
