// A response as the events of one attempt: real JSON, cut into deltas at random.

/// Writes the events of one answer.
struct AnswerWriter {
    let response: SimulatedResponse
    let style: AnswerStyle
    let plan: AnswerPlan
    var random: SimulatedRandom
    var arena = EventArena()
    var events: [WireEvent] = []
    var facts: [SimulatedFact] = []
    var size: ContentSize
    /// The identifiers of items that were announced.
    private(set) var itemIDs: [String] = []
    /// The position of `response.created` among the events.
    private(set) var createdIndex = 0
    /// Finished items that are no calls, and the events that have finished them.
    var doneItems: [(item: Int, event: Int)] = []
    /// Calls that no event finishes but the end of the response, by their place among the calls, in the form in which a
    /// consumer gets them.
    var heldCalls: [Int: [UInt8]] = [:]
    /// The place of each finished call among the calls, by its position.
    var ordinals: [Int: Int] = [:]
    /// The event that contradicts those before it.
    var contradictionIndex: Int?
    /// The number of events of another agent.
    var otherAgentEventCount = 0
    /// The number of the next event of the response.
    private(set) var number = 0
    private var announcedItems: Set<Int> = []
    private var announcedParts: Set<Int> = []
    /// The end of the deltas of reasoning whose item has ended.
    private var continuedEnd: Int?

    /// Writes a response of which so much was said before.
    init(_ response: SimulatedResponse, from size: ContentSize, style: AnswerStyle, random: SimulatedRandom) {
        self.response = response
        self.size = size
        self.style = style
        self.random = random
        self.plan = AnswerPlan(response, style: style, &self.random)
        self.arena.escapes = self.random.chance(25)
        if self.arena.escapes { self.facts.append(.escapedText) }
    }

    /// Writes everything, from `response.created` to `response.completed`.
    mutating func write() {
        let sizeBefore = self.size
        self.arena.bytes.reserveCapacity(4_096)
        self.writeLifecycle("response.created")
        self.createdIndex = self.events.count - 1
        if self.random.chance(50) { self.writeLifecycle("response.in_progress") }
        for (index, atom) in self.response.atoms.enumerated() {
            self.write(atom, at: index)
            self.continueReasoning(behind: index)
        }
        self.writeCompleted()
        if self.otherAgentEventCount > 0 { self.facts.append(.otherAgent) }
        guard let index = self.contradictionIndex else { return }
        self.facts.append(.contradictingClosing)
        self.events.refute(from: index, .response, size: index > 0 ? self.events[index - 1].size : sizeBefore)
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
            if let first = self.plan.firstHeldCall, index >= first { return }
            return self.write(call)
        }
        self.writeDeltas(of: atom, upTo: self.plan.heldText?.atom == index ? self.plan.heldText?.offset : nil)
        if self.response.isEndOfPart(index) { self.writePartDone(atom) }
        if !rest.contains(where: { $0.item == atom.item }) { self.writeItemDone(atom) }
    }

    // MARK: Output

    private mutating func writeDeltas(of atom: SimulatedResponse.Atom, upTo limit: Int?) {
        let bytes = atom.bytes[..<(limit ?? atom.bytes.count)]
        var start = 0
        if self.random.chance(4) {
            self.writeDelta(of: atom, atom.bytes[..<0])
            self.facts.append(.emptyDelta)
        }
        while start < bytes.count {
            let wanted = start + 1 + self.random.below(self.style.deltaSize * 2)
            let end = min(bytes.count, SimulatedText.boundary(after: wanted, in: atom.bytes))
            self.size.add(end - start, of: atom.content)
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
        self.ordinals[call.position] = self.size.calls - 1
        self.writeCallDone(call)
        guard self.style.repeatsDone else { return }
        self.writeCallDone(call)
        self.facts.append(.repeatedItemDone)
    }

    /// Writes more of reasoning whose item has ended, and all of it behind the last output: only the end of the response
    /// shows that it is the item's.
    private mutating func continueReasoning(behind index: Int) {
        guard let held = self.plan.continuedText, index > held.atom else { return }
        let atom = self.response.atoms[held.atom]
        var start = self.continuedEnd ?? held.offset
        while start < atom.bytes.count, index == self.response.atoms.count - 1 || self.random.chance(50) {
            let wanted = start + 1 + self.random.below(self.style.deltaSize * 2)
            let end = SimulatedText.boundary(after: wanted, in: atom.bytes)
            self.writeDelta(of: atom, atom.bytes[start..<end])
            start = end
        }
        self.continuedEnd = start
    }

    // MARK: Structure

    private mutating func announce(_ atom: SimulatedResponse.Atom) {
        guard !self.style.skipsAdded else { return }
        if self.announcedItems.insert(atom.item).inserted {
            self.begin("response.output_item.added")
            self.writeIndex(of: atom.item)
            self.arena.append(",\"item\":{\"type\":")
            self.arena.append(atom.content.itemType)
            self.arena.append(",\"id\":")
            let start = self.arena.bytes.count
            self.writeID(of: atom.item)
            self.itemIDs.append(String(decoding: self.arena.bytes[start...], as: UTF8.self))
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

    mutating func writePlace(of atom: SimulatedResponse.Atom) {
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
        self.writeIndex(of: index)
    }

    mutating func writeIndex(of item: Int) {
        self.arena.append(",\"output_index\":")
        self.arena.append(self.style.sharesIndices ? 0 : item)
    }

    mutating func writeID(of index: Int) {
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

    mutating func begin(_ type: StaticString) {
        self.writeNoise()
        self.writeOtherAgent()
        self.beginEvent(type)
    }

    mutating func beginEvent(_ type: StaticString) {
        self.events.append(WireEvent(range: self.arena.bytes.count..<self.arena.bytes.count, size: self.size))
        self.arena.append("{\"type\":\"")
        self.arena.append(type)
        self.arena.append("\"")
        self.writeNumber()
    }

    mutating func end(isCompletion: Bool = false, call: Int? = nil) {
        self.endEvent(size: self.size)
        let last = self.events.count - 1
        self.events[last].isCompletion = isCompletion
        self.events[last].call = call
    }

    mutating func endEvent(size: ContentSize) {
        self.arena.append("}")
        let last = self.events.count - 1
        self.events[last].range = self.events[last].range.lowerBound..<self.arena.bytes.count
        self.events[last].size = size
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

    /// Writes events that are not of the response, and have no number in it.
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
