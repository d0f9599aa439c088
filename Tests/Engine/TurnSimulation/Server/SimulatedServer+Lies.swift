// Answers whose events are changed after they were written: repeated, lost, renumbered, mixed with others.

import StreamTransport

/// A client's knowledge of a response that a connection has carried.
struct CarriedResponse {
    let responseID: String
    /// The identifiers of its items, as JSON strings.
    let itemIDs: [String]
    /// Indicates whether this one and those before it on the connection have named each item once; nil when there was
    /// none.
    var namesItems: Bool?

    /// Creates the knowledge of a client that has read an answer to its end.
    init(_ writer: AnswerWriter, sizeBefore: ContentSize) {
        self.responseID = writer.style.responseID
        self.itemIDs = writer.itemIDs
        let hasOutput = writer.events.dropLast().contains { $0.size != sizeBefore }
        self.namesItems = !writer.style.namesItems ? false : hasOutput && !writer.itemIDs.isEmpty ? true : nil
    }

    /// The same behind others on the same connection.
    func following(_ earlier: Self?) -> Self {
        var carried = self
        if let known = earlier?.namesItems { carried.namesItems = known && (self.namesItems ?? true) }
        return carried
    }
}

extension AnswerStyle {
    /// Makes reasoning go on behind the end of its item, which its name shows.
    mutating func continueReasoning() {
        self.continuesReasoning = true
        self.skipsAdded = false
        self.changesItemIDs = false
        self.repeatsDone = false
    }

    /// Gives all items the same index, in a way that leaves no doubt what belongs to which.
    mutating func shareIndices() {
        self.sharesIndices = true
        self.skipsAdded = false
        self.changesItemIDs = false
        self.repeatsDone = false
        self.lies.subtract([.textOnlyInClosing, .callOnlyInCompleted])
    }
}

extension SimulatedResponse {
    /// Indicates whether items can have the same index: they come one behind the other, and no call is that of another
    /// one.
    var canShareIndices: Bool {
        let calls = self.content.calls
        let areDifferent = calls.indices.allSatisfy { index in
            !calls[..<index].contains { call in
                var other = calls[index]
                other.position = call.position
                return other.isSame(as: call)
            }
        }
        return self.isInOrder && areDifferent
    }
}

extension SimulatedServer.Answer {
    /// Indicates whether the engine may leave it before its end: an event is lost, or it is another response's, or
    /// looks like it: in a resumed response, an item at the index of one that is done.
    var isLeft: Bool {
        let isAmbiguous = self.facts.contains(.resumed) && self.facts.contains(.sharedIndices)
        return isAmbiguous
            || [.resumedWithGap, .gapBesideUnnumbered, .otherIdentity, .restartedResponse, .continuedItem]
                .contains(where: self.facts.contains)
    }

    /// Changes a new response.
    mutating func tellLies(
        isResumable: Bool, percent: Int, options: SimulationOptions, _ random: inout SimulatedRandom
    ) {
        if random.chance(percent), options.allows(.repeatedEvents) { self.repeatEvents(&random) }
        if isResumable, random.chance(percent), options.allows(.gapBesideUnnumbered) {
            self.makeGap(&random, besideUnnumbered: true)
        }
    }

    /// Changes the rest of a response.
    mutating func tellLiesOfResumption(
        percent: Int, options: SimulationOptions, _ random: inout SimulatedRandom
    ) {
        // There are few responses that are resumed.
        guard random.chance(percent * 3) else { return }
        switch random.below(5) {
        case 0 where options.allows(.renumbered): self.renumber()
        case 1 where options.allows(.gapBesideUnnumbered): self.makeGap(&random, besideUnnumbered: true)
        case 2 where options.allows(.repeatedEvents): self.repeatEvents(&random)
        default: if options.allows(.otherIdentity) { self.changeIdentity(&random) }
        }
    }

    /// Output of an item that is done comes, or the response begins once more: that is no response any more.
    mutating func breakOrder(
        _ writer: AnswerWriter, options: SimulationOptions, _ random: inout SimulatedRandom
    ) {
        if random.chance(50), options.allows(.restartedResponse) {
            guard let output = self.events.dropLast().firstIndex(where: { $0.size != self.sizeBefore }) else { return }
            let id = random.pick([self.responseID, "resp_other"])
            let json = #"{"type":"response.created","response":{"id":"\#(id)","status":"in_progress"}}"#
            self.insertRefuted(json, as: .restartedResponse, behind: output, &random)
        } else if options.allows(.continuedItem), writer.style.namesItems, !writer.doneItems.isEmpty {
            let done = random.pick(writer.doneItems)
            guard let atom = writer.response.atoms.last(where: { $0.item == done.item }) else { return }
            let json =
                #"{"type":"\#(atom.content.deltaType)","item_id":"item_\#(writer.style.attempt)_\#(done.item)","#
                + #""output_index":\#(done.item),"content_index":0,"summary_index":0,"delta":"more"}"#
            self.insertUnlisted(json, behind: done.event, &random)
        }
    }

    /// A delta of an item that is done comes, which the end of the response does not have: it is refuted there at the
    /// latest, and no output before.
    private mutating func insertUnlisted(_ json: String, behind index: Int, _ random: inout SimulatedRandom) {
        guard let place = self.placeOfLie(behind: index, &random) else { return }
        self.insert(json, at: place, size: self.events[place - 1].size)
        self.unlistedBehind = self.events[..<place].compactMap(\.number).last
        self.refuteEnd(doubtedFrom: place)
    }

    /// The end does not have all output that has come: the engine may leave the response before, and ask for another one.
    mutating func refuteEnd(doubtedFrom place: Int = 0) {
        guard let last = self.events.indices.last else { return }
        self.events.doubt(from: place)
        self.events.refute(from: last, .connection, size: last > 0 ? self.events[last - 1].size : self.sizeBefore)
        self.facts.append(.continuedItem)
    }

    private mutating func insertRefuted(
        _ json: String, as fact: SimulatedFact, behind index: Int, _ random: inout SimulatedRandom
    ) {
        guard let place = self.placeOfLie(behind: index, &random) else { return }
        let size = self.events[place - 1].size
        self.insert(json, at: place, size: size)
        self.events.refute(from: place, .connection, size: size)
        self.facts.append(fact)
    }

    /// A response that has contradicted itself before is the worse one.
    private func placeOfLie(behind index: Int, _ random: inout SimulatedRandom) -> Int? {
        let place = index + 1 + random.below(self.events.count - index - 1)
        return self.events[place - 1].refutation == nil ? place : nil
    }

    // MARK: Numbers

    /// Events come again under their numbers, at once or a little later.
    private mutating func repeatEvents(_ random: inout SimulatedRandom) {
        for _ in 0...random.below(3) {
            let numbered = self.events.indices.dropLast().filter { self.events[$0].number != nil }.dropFirst(2)
            guard !numbered.isEmpty else { return }
            let index = random.pick(Array(numbered))
            let place = min(index + 1 + random.below(4), self.events.count - 1)
            var event = self.events[index]
            event.size = self.events[place - 1].size
            event.refutation = self.events[place - 1].refutation
            self.events.insert(event, at: place)
            self.facts.append(.repeatedEvents)
        }
    }

    /// An event is lost; from there on the engine knows no more of the response.
    ///
    /// An event without a number in its place does not tell that it was the missing one.
    mutating func makeGap(_ random: inout SimulatedRandom, besideUnnumbered: Bool = false) {
        let numbered = self.events.indices.dropLast().filter { index in
            index > 0 && self.events[(index - 1)...(index + 1)].allSatisfy { $0.number != nil }
                && self.events.count { $0.number == self.events[index].number } == 1
        }
        // The end that makes what was put in behind it untrue may be the event that is lost.
        guard !numbered.isEmpty, !self.facts.contains(.continuedItem) else { return }
        let lost = random.pick(numbered)
        let before = self.events[lost - 1]
        self.events.remove(at: lost)
        // Whatever follows is not read.
        self.events.freeze(from: lost, size: before.size)
        for index in self.events.indices[lost...] { self.events[index].refutation = nil }
        if besideUnnumbered {
            let noise = random.pick([Noise.keepalive, .rateLimits, .metadata, .timing, .unknown]).json
            self.insert("\(noise)", at: lost, size: before.size)
        }
        self.facts.append(besideUnnumbered ? .gapBesideUnnumbered : .resumedWithGap)
    }

    /// The rest of a response counts from 0 again, so that its numbers are those of events that have come.
    private mutating func renumber() {
        guard let index = self.events.firstIndex(where: { $0.number != nil }), let first = self.events[index].number,
            (1..<1_000).contains(first)
        else { return }
        for index in self.events.indices {
            guard let number = self.events[index].number else { continue }
            let json = String(decoding: self.bytes[self.events[index].range], as: UTF8.self)
            guard let start = json.utf8Offset(behind: "\"sequence_number\":") else { continue }
            let begin = self.bytes.count
            self.bytes += json.utf8.prefix(start) + Array("\(number - first)".utf8)
            self.bytes += json.utf8.dropFirst(start).drop { (0x30...0x39).contains($0) }
            self.events[index].range = begin..<self.bytes.count
        }
        self.events.refute(from: index, .response, size: self.sizeBefore)
        self.isVaried = true
        self.isContradictory = true
        self.facts.append(.renumbered)
    }

    // MARK: Other responses

    /// Another response takes the place of the one that was asked for.
    private mutating func changeIdentity(_ random: inout SimulatedRandom) {
        let last = self.events.count - 1
        switch random.below(3) {
        case 0:
            self.insert(
                #"{"type":"response.created","response":{"id":"resp_other","status":"in_progress"}}"#, at: 0,
                size: self.sizeBefore)
            self.events.refute(from: 0, .connection, size: self.sizeBefore)
        case 1:
            self.insert(
                #"{"type":"response.in_progress","response":{"id":"resp_other"}}"#, at: 0, size: self.sizeBefore)
            self.events.refute(from: 0, .connection, size: self.sizeBefore)
        default:
            guard last >= 0, self.events[last].isCompletion, let number = self.events[last].number else { return }
            let size = last > 0 ? self.events[last - 1].size : self.sizeBefore
            self.events.removeLast()
            self.insert(
                #"{"type":"response.completed","sequence_number":\#(number),"response":{"id":"resp_other"}}"#,
                at: last, size: size)
            self.events.refute(from: last, .connection, size: size)
        }
        self.facts.append(.otherIdentity)
    }

    /// Events of the response that the connection has carried before come between those of this one.
    mutating func addLateEvents(of earlier: CarriedResponse, isNumbered: Bool, _ random: inout SimulatedRandom) {
        let canBeInside = earlier.namesItems == true && !earlier.itemIDs.isEmpty
        for _ in 0...random.below(3) {
            let created = self.createdIndex
            // Before it has output of its own names, the end of a response would make such events doubtful.
            let output = self.events.dropLast().firstIndex { $0.size != self.sizeBefore } ?? 0
            let isInside = canBeInside && output > created && random.chance(70)
            let place = isInside ? output + 1 + random.below(self.events.count - output - 1) : random.below(created + 1)
            let size = place > 0 ? self.events[place - 1].size : self.sizeBefore
            let number = isNumbered && random.chance(50) ? #""sequence_number":\#(random.below(60)),"# : ""
            let id = random.pick(earlier.itemIDs + (isInside ? [] : ["\"item\""]))
            let part = #"\#(number)"output_index":\#(random.below(3)),"content_index":0"#
            let response = #"\#(number)"response":{"id":"\#(earlier.responseID)""#
            self.insert(
                random.pick([
                    #"{"type":"response.output_text.delta",\#(part),"item_id":\#(id),"delta":"late"}"#,
                    #"{"type":"response.output_text.delta",\#(part),"item_id":\#(id),"delta":"late"}"#,
                    #"{"type":"response.output_text.delta",\#(part),"delta":"late"}"#,
                    #"{"type":"response.output_text.done",\#(part),"item_id":\#(id),"text":"late"}"#,
                    #"{"type":"response.output_item.done",\#(part),"item":{"type":"function_call","id":\#(id),"#
                        + #""call_id":"late","name":"late","arguments":"{}"}}"#,
                    #"{"type":"response.in_progress",\#(response)}}"#,
                    #"{"type":"response.completed",\#(response),"status":"completed"}}"#,
                    #"{"type":"response.failed",\#(response),"error":{"code":"server_error"}}}"#,
                ]), at: place, size: size)
            if place <= created { self.createdIndex += 1 }
            self.facts.append(.lateEventsInside)
        }
    }

    private mutating func insert(_ json: String, at index: Int, size: ContentSize) {
        let start = self.bytes.count
        self.bytes += json.utf8
        var event = WireEvent(range: start..<self.bytes.count, size: size)
        event.refutation = index > 0 ? self.events[index - 1].refutation : nil
        self.events.insert(event, at: index)
    }
}
