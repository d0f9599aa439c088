// The events that close parts, items and the response, and those of another agent between all others.

extension AnswerWriter {
    /// The text of a part that an event closes, in which it may contradict the deltas.
    private mutating func text(of atom: SimulatedResponse.Atom, in closing: AnswerPlan.Closing) -> [UInt8] {
        guard let contradiction = self.plan.contradiction, contradiction.closing == closing,
            contradiction.item == atom.item, contradiction.part == atom.part
        else {
            let bytes = self.response.bytes(item: atom.item, part: atom.part)
            guard let held = self.plan.continuedText, closing != .response else { return bytes }
            let other = self.response.atoms[held.atom]
            return other.item == atom.item && other.part == atom.part
                ? Array(bytes.dropLast(other.bytes.count - held.offset)) : bytes
        }
        self.contradictionIndex = self.contradictionIndex ?? self.events.count - 1
        return contradiction.bytes
    }

    /// Returns whether the end of an atom's part stands in a later event than this one.
    private func isHeldBack(_ atom: SimulatedResponse.Atom, in closing: AnswerPlan.Closing) -> Bool {
        guard let held = self.plan.heldText, !held.isContinued, held.until.rawValue > closing.rawValue else {
            return false
        }
        let other = self.response.atoms[held.atom]
        return other.item == atom.item && other.part == atom.part
    }

    /// Counts what is said first in this kind of event.
    private mutating func say(in closing: AnswerPlan.Closing, item: Int? = nil, part: Int? = nil) {
        guard let held = self.plan.heldText, held.until == closing else { return }
        let atom = self.response.atoms[held.atom]
        guard atom.item == item ?? atom.item, atom.part == part ?? atom.part else { return }
        self.size.add(atom.bytes.count - held.offset, of: atom.content)
        self.facts.append(held.isContinued ? .continuedReasoning : .textOnlyInClosing)
    }

    // MARK: Parts and items

    mutating func writePartDone(_ atom: SimulatedResponse.Atom) {
        if !self.isHeldBack(atom, in: .text) {
            self.begin(atom.content.doneType)
            self.writePlace(of: atom)
            self.arena.append(atom.content.isRefusal ? ",\"refusal\":" : ",\"text\":")
            self.arena.appendString(self.text(of: atom, in: .text))
            self.say(in: .text, item: atom.item, part: atom.part)
            self.end()
        }
        guard self.style.closesParts, !self.isHeldBack(atom, in: .part) else { return }
        self.begin(atom.content.partDoneType)
        self.writePlace(of: atom)
        self.arena.append(",\"part\":")
        self.write(atom, in: .part)
        self.say(in: .part, item: atom.item, part: atom.part)
        self.end()
    }

    private mutating func write(_ atom: SimulatedResponse.Atom, in closing: AnswerPlan.Closing) {
        self.arena.append("{\"type\":\"")
        self.arena.append(atom.content.textType)
        self.arena.append(atom.content.isRefusal ? "\",\"refusal\":" : "\",\"text\":")
        self.arena.appendString(self.text(of: atom, in: closing))
        self.arena.append("}")
    }

    mutating func writeItemDone(_ atom: SimulatedResponse.Atom) {
        // An item whose end is known at the end of the response alone is not done before.
        if let held = self.plan.heldText, !held.isContinued, held.until == .response,
            self.response.atoms[held.atom].item == atom.item
        {
            return
        }
        self.begin("response.output_item.done")
        self.writeIndex(of: atom.item)
        self.arena.append(",\"item\":")
        self.writeItem(atom, in: .item)
        self.say(in: .item, item: atom.item)
        self.doneItems.append((atom.item, self.events.count - 1))
        self.end()
    }

    private mutating func writeItem(_ atom: SimulatedResponse.Atom, in closing: AnswerPlan.Closing) {
        self.arena.append("{\"type\":")
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
        let atoms = self.response.atoms.filter { $0.item == atom.item }
        for part in 0...(atoms.map(\.part).max() ?? 0) {
            if part > 0 { self.arena.append(",") }
            // A response in another order may end before it comes to a part whose place is before those of others.
            let missing = SimulatedResponse.Atom(item: atom.item, part: part, content: atom.content, bytes: [])
            self.write(atoms.first { $0.part == part } ?? missing, in: closing)
        }
        self.arena.append("]}")
    }

    // MARK: Calls

    mutating func writeCallDone(_ call: SimulatedCall) {
        self.begin("response.output_item.done")
        self.writeIndex(of: call.position)
        self.arena.append(",\"item\":")
        self.writeItem(call, ordinal: self.size.calls - 1)
        self.end(call: self.size.calls - 1)
    }

    private mutating func writeItem(_ call: SimulatedCall, ordinal: Int) {
        self.arena.append(call.isCustom ? "{\"type\":\"custom_tool_call\",\"id\":" : Self.functionCall)
        self.writeID(of: call.position)
        // The consumer finds the call by it.
        self.arena.append(",\"status\":\"completed\",\"call_id\":\"call_")
        self.arena.append(ordinal)
        self.arena.append("\",\"name\":")
        self.arena.appendString(call.name.utf8)
        if let namespace = call.namespace {
            self.arena.append(",\"namespace\":")
            self.arena.appendString(namespace.utf8)
        }
        self.arena.append(call.isCustom ? ",\"input\":" : ",\"arguments\":")
        self.arena.appendString(call.wireInput.utf8)
        self.arena.append("}")
    }

    private static let functionCall: StaticString = "{\"type\":\"function_call\",\"id\":"

    // MARK: The response

    mutating func writeCompleted() {
        self.begin("response.completed")
        self.arena.append(",\"response\":{\"id\":")
        self.arena.appendString(self.style.responseID.utf8)
        self.arena.append(",\"status\":\"completed\"")
        if self.style.repeatsOutput || self.plan.needsOutput { self.writeOutput() }
        self.arena.append(",\"usage\":{\"input_tokens\":3,\"output_tokens\":7,\"total_tokens\":10}}")
        self.say(in: .response)
        self.end(isCompletion: true)
    }

    private mutating func writeOutput() {
        self.arena.append(",\"output\":[")
        for item in self.response.items.indices {
            if item > 0 { self.arena.append(",") }
            guard let atom = self.response.atoms.first(where: { $0.item == item }) else {
                // Only its place is known.
                self.arena.append("{\"type\":\"message\",\"content\":[]}")
                continue
            }
            let start = self.arena.bytes.count
            guard case .call(let call) = atom.content else {
                self.writeItem(atom, in: .response)
                continue
            }
            let known = self.ordinals[item]
            self.writeItem(call, ordinal: known ?? self.size.calls)
            guard known == nil else { continue }
            let json = #"{"type":"response.output_item.done","output_index":\#(item),"item":"#
            self.heldCalls[self.size.calls] = Array(json.utf8) + Array(self.arena.bytes[start...]) + Array("}".utf8)
            self.size.calls += 1
            self.facts.append(.callOnlyInCompleted)
        }
        if self.otherAgentEventCount == Self.otherAgentTypes.count {
            self.arena.append(self.response.items.isEmpty ? "" : ",")
            self.writeOtherAgentItem()
        }
        self.arena.append("]")
    }

    // MARK: Another agent

    private static let otherAgentTypes: [StaticString] = [
        "response.output_item.added", "response.output_text.delta", "response.output_text.delta",
        "response.output_text.done", "response.output_item.done",
    ]

    /// Events of an item that is another agent's, each before one of the response's own events.
    mutating func writeOtherAgent() {
        let step = self.otherAgentEventCount
        guard self.style.lies.contains(.otherAgent), self.number > 0, step < Self.otherAgentTypes.count,
            self.random.chance(30)
        else { return }
        self.otherAgentEventCount += 1
        // What the event that follows says has not been said.
        let size = self.events[self.events.count - 1].size
        self.beginEvent(Self.otherAgentTypes[step])
        self.arena.append(",\"output_index\":21")
        switch step {
        case 0, 4:
            self.arena.append(",\"item\":")
            self.writeOtherAgentItem()
        default:
            self.arena.append(",\"content_index\":0,\"item_id\":\"agent_")
            self.arena.append(self.style.attempt)
            self.arena.append(step == 3 ? "\",\"text\":\"agentagent\"" : "\",\"delta\":\"agent\"")
        }
        self.endEvent(size: size)
    }

    private mutating func writeOtherAgentItem() {
        self.arena.append("{\"type\":\"message\",\"role\":\"assistant\",\"id\":\"agent_")
        self.arena.append(self.style.attempt)
        self.arena.append("\",\"agent\":{\"agent_name\":\"/root/helper\"},\"content\":[")
        if self.otherAgentEventCount > 3 {
            self.arena.append("{\"type\":\"output_text\",\"text\":\"agentagent\"}")
        }
        self.arena.append("]}")
    }
}
