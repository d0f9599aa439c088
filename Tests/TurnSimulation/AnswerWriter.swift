// A response as the events of one attempt: real JSON, cut into deltas at random.

/// Writes the events of one answer.
struct AnswerWriter {
    private let response: SimulatedResponse
    private let style: AnswerStyle
    private var random: SimulatedRandom
    private(set) var arena = EventArena()
    private(set) var events: [WireEvent] = []
    private(set) var facts: [SimulatedFact] = []
    private var size = ContentSize()
    private var number = 0
    private var announcedItems: Set<Int> = []
    private var announcedParts: Set<Int> = []

    /// Writes a response of which so much was said before.
    init(_ response: SimulatedResponse, from size: ContentSize, style: AnswerStyle, random: SimulatedRandom) {
        self.response = response
        self.size = size
        self.style = style
        self.random = random
        self.arena.escapes = self.random.chance(25)
        if self.arena.escapes { self.facts.append(.escapedText) }
    }

    /// Writes everything, from `response.created` to `response.completed`.
    mutating func write() {
        self.arena.bytes.reserveCapacity(4_096)
        self.writeLifecycle("response.created")
        if self.random.chance(50) { self.writeLifecycle("response.in_progress") }
        for (index, atom) in self.response.atoms.enumerated() { self.write(atom, at: index) }
        self.begin("response.completed")
        self.arena.append(",\"response\":{\"id\":")
        self.arena.appendString(self.style.responseID.utf8)
        self.arena.append(
            ",\"status\":\"completed\",\"usage\":{\"input_tokens\":3,\"output_tokens\":7,\"total_tokens\":10}}")
        self.end(isCompletion: true)
    }

    private mutating func writeLifecycle(_ type: StaticString) {
        self.begin(type)
        self.arena.append(",\"response\":{\"id\":")
        self.arena.appendString(self.style.responseID.utf8)
        self.arena.append(",\"status\":\"in_progress\",\"output\":[]}")
        self.end()
    }

    private mutating func write(_ atom: SimulatedResponse.Atom, at index: Int) {
        let rest = self.response.atoms[(index + 1)...]
        self.announce(atom)
        if case .call(let call) = atom.content {
            return self.write(call)
        }
        self.writeDeltas(of: atom)
        if !rest.contains(where: { $0.item == atom.item && $0.part == atom.part }) { self.writePartDone(atom) }
        if !rest.contains(where: { $0.item == atom.item }) { self.writeItemDone(atom) }
    }

    // MARK: Output

    private mutating func writeDeltas(of atom: SimulatedResponse.Atom) {
        var start = 0
        if self.random.chance(4) {
            self.writeDelta(of: atom, atom.bytes[..<0])
            self.facts.append(.emptyDelta)
        }
        while start < atom.bytes.count {
            let wanted = start + 1 + self.random.below(self.style.deltaSize * 2)
            let end = SimulatedText.boundary(after: wanted, in: atom.bytes)
            switch atom.content {
            case .text: self.size.text += end - start
            case .refusal: self.size.refusal += end - start
            case .summary, .reasoning: self.size.reasoning += end - start
            case .call: break
            }
            self.writeDelta(of: atom, atom.bytes[start..<end])
            start = end
        }
    }

    private mutating func writeDelta(of atom: SimulatedResponse.Atom, _ bytes: ArraySlice<UInt8>) {
        self.begin(atom.content.deltaType)
        self.writePlace(of: atom)
        self.arena.append(",\"delta\":")
        self.arena.appendString(bytes)
        if self.random.chance(10) { self.arena.append(",\"obfuscation\":\"aXv3\"") }
        self.end()
    }

    private mutating func write(_ call: SimulatedCall) {
        let input = Array(call.wireInput.utf8)
        let type: StaticString =
            call.isCustom ? "response.custom_tool_call_input.delta" : "response.function_call_arguments.delta"
        var start = 0
        while start < input.count, !self.style.skipsAdded {
            let end = SimulatedText.boundary(after: start + 1 + self.random.below(self.style.deltaSize * 4), in: input)
            self.begin(type)
            self.writeItem(call.position)
            self.arena.append(",\"delta\":")
            self.arena.appendString(input[start..<end])
            self.end()
            start = end
        }
        self.size.calls += 1
        self.writeCallDone(call)
        guard self.style.repeatsDone else { return }
        self.writeCallDone(call)
        self.facts.append(.repeatedItemDone)
    }

    private mutating func writeCallDone(_ call: SimulatedCall) {
        self.begin("response.output_item.done")
        self.arena.append(",\"output_index\":")
        self.arena.append(call.position)
        self.arena.append(call.isCustom ? ",\"item\":{\"type\":\"custom_tool_call\",\"id\":" : Self.functionCall)
        self.writeID(of: call.position)
        // The consumer finds the call by it.
        self.arena.append(",\"status\":\"completed\",\"call_id\":\"call_")
        self.arena.append(self.size.calls - 1)
        self.arena.append("\",\"name\":")
        self.arena.appendString(call.name.utf8)
        if let namespace = call.namespace {
            self.arena.append(",\"namespace\":")
            self.arena.appendString(namespace.utf8)
        }
        self.arena.append(call.isCustom ? ",\"input\":" : ",\"arguments\":")
        self.arena.appendString(call.wireInput.utf8)
        self.arena.append("}")
        self.end(call: self.size.calls - 1)
    }

    private static let functionCall: StaticString = ",\"item\":{\"type\":\"function_call\",\"id\":"

    // MARK: Structure

    private mutating func announce(_ atom: SimulatedResponse.Atom) {
        guard !self.style.skipsAdded else { return }
        if self.announcedItems.insert(atom.item).inserted {
            self.begin("response.output_item.added")
            self.arena.append(",\"output_index\":")
            self.arena.append(atom.item)
            self.arena.append(",\"item\":{\"type\":")
            self.arena.append(atom.content.itemType)
            self.arena.append(",\"id\":")
            self.writeID(of: atom.item)
            self.arena.append(",\"status\":\"in_progress\"}")
            self.end()
        }
        if case .call = atom.content { return }
        guard self.announcedParts.insert(atom.item * 16 + atom.part).inserted else { return }
        self.begin(atom.content.partType)
        self.writePlace(of: atom)
        self.arena.append(",\"part\":{\"type\":\"part\",\"text\":\"\"}")
        self.end()
    }

    private mutating func writePartDone(_ atom: SimulatedResponse.Atom) {
        self.begin(atom.content.doneType)
        self.writePlace(of: atom)
        if case .refusal = atom.content { self.arena.append(",\"refusal\":") } else { self.arena.append(",\"text\":") }
        self.arena.appendString(self.bytes(item: atom.item, part: atom.part))
        self.end()
    }

    private mutating func writeItemDone(_ atom: SimulatedResponse.Atom) {
        self.begin("response.output_item.done")
        self.arena.append(",\"output_index\":")
        self.arena.append(atom.item)
        self.arena.append(",\"item\":{\"type\":")
        self.arena.append(atom.content.itemType)
        self.arena.append(",\"id\":")
        self.writeID(of: atom.item)
        self.arena.append(",\"status\":\"completed\"")
        if self.style.encrypts { self.arena.append(",\"encrypted_content\":\"e\"") }
        if case .summary = atom.content {
            self.arena.append(",\"summary\":[")
        } else {
            self.arena.append(",\"content\":[")
        }
        self.writeParts(of: atom.item)
        self.arena.append("]}")
        self.end()
    }

    private mutating func writeParts(of item: Int) {
        var part = 0
        while let first = self.response.atoms.first(where: { $0.item == item && $0.part == part }) {
            if part > 0 { self.arena.append(",") }
            switch first.content {
            case .text, .call: self.arena.append("{\"type\":\"output_text\",\"text\":")
            case .refusal: self.arena.append("{\"type\":\"refusal\",\"refusal\":")
            case .summary: self.arena.append("{\"type\":\"summary_text\",\"text\":")
            case .reasoning: self.arena.append("{\"type\":\"reasoning_text\",\"text\":")
            }
            self.arena.appendString(self.bytes(item: item, part: part))
            self.arena.append("}")
            part += 1
        }
    }

    private func bytes(item: Int, part: Int) -> [UInt8] {
        self.response.atoms.reduce(into: []) { bytes, atom in
            if atom.item == item, atom.part == part { bytes += atom.bytes }
        }
    }

    private mutating func writePlace(of atom: SimulatedResponse.Atom) {
        self.writeItem(atom.item)
        if case .summary = atom.content {
            self.arena.append(",\"summary_index\":")
        } else {
            self.arena.append(",\"content_index\":")
        }
        self.arena.append(atom.part)
    }

    private mutating func writeItem(_ index: Int) {
        self.arena.append(",\"item_id\":")
        self.writeID(of: index)
        self.arena.append(",\"output_index\":")
        self.arena.append(index)
    }

    private mutating func writeID(of index: Int) {
        self.arena.append("\"item_")
        self.arena.append(self.style.attempt)
        self.arena.append("_")
        self.arena.append(index)
        if self.style.changesItemIDs {
            self.arena.append("_")
            self.arena.append(self.events.count)
        }
        self.arena.append("\"")
    }

    // MARK: Events

    private mutating func begin(_ type: StaticString) {
        self.writeNoise()
        self.events.append(WireEvent(range: self.arena.bytes.count..<self.arena.bytes.count, size: self.size))
        self.arena.append("{\"type\":\"")
        self.arena.append(type)
        self.arena.append("\"")
        self.writeNumber()
    }

    private mutating func end(isCompletion: Bool = false, call: Int? = nil) {
        self.arena.append("}")
        let last = self.events.count - 1
        self.events[last].range = self.events[last].range.lowerBound..<self.arena.bytes.count
        self.events[last].size = self.size
        self.events[last].isCompletion = isCompletion
        self.events[last].call = call
    }

    private mutating func writeNumber() {
        defer { self.number += 1 }
        guard self.style.numbering != .absent else { return }
        self.arena.append(",\"sequence_number\":")
        switch self.style.numbering {
        case .inOrder, .absent:
            self.arena.append(self.number)
            self.events[self.events.count - 1].number = self.number
        case .repeated:
            self.arena.append(self.number / 2)
        case .odd:
            switch self.random.below(6) {
            case 0: self.arena.append("\"seven\"")
            case 1: self.arena.append("-3")
            case 2: self.arena.append("1.5")
            case 3: self.arena.append("null")
            case 4: self.arena.append("99999999999999999999")
            // The same number with the same delta is the same event, for all that a client can tell.
            default: self.arena.append(self.random.below(1_000) * 10_000 + self.number)
            }
        }
    }

    /// Events that say nothing of the response, and have no number in it.
    private mutating func writeNoise() {
        guard self.style.noise > 0, self.random.chance(self.style.noise) else { return }
        let noise = self.random.pick(Noise.allCases)
        if let fact = noise.fact { self.facts.append(fact) }
        let start = self.arena.bytes.count
        self.arena.append(noise.json)
        // The event that follows has not been said.
        self.events.append(WireEvent(range: start..<self.arena.bytes.count, size: self.events.last?.size ?? self.size))
    }
}
