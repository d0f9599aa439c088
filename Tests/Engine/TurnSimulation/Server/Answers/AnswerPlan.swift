// The content of an answer outside its deltas, and contradictions in its closing events.

/// The parts of an answer that only its closing events contain, or that differ from its deltas there.
struct AnswerPlan: Sendable {
    /// The events that close a text with the whole of it, in the order in which they come.
    enum Closing: Int, CaseIterable, Sendable {
        case text, part, item, response

        /// Indicates whether they close one part.
        var isOfPart: Bool { self == .text || self == .part }
    }

    /// The end of a text that no delta says.
    struct HeldText: Sendable {
        /// The last atom of its part.
        let atom: Int
        /// The first byte of the atom that is held back.
        let offset: Int
        /// The first event that has it.
        let until: Closing
        /// Indicates whether deltas behind the end of its item have it, which only the end of the response confirms.
        var isContinued = false
    }

    /// Another text of a part than its deltas say.
    struct Contradiction: Sendable {
        let item: Int
        let part: Int
        let closing: Closing
        let bytes: [UInt8]
    }

    var heldText: HeldText?
    /// The atom of the first call that stands in the end of the response alone, as do those behind it.
    var firstHeldCall: Int?
    var contradiction: Contradiction?

    /// Applies a style's lies to a response; some responses have no place for a lie.
    init(_ response: SimulatedResponse, style: AnswerStyle, _ random: inout SimulatedRandom) {
        if style.continuesReasoning {
            self.heldText = response.continuedReasoning()
        } else if style.lies.contains(.contradictingClosing) {
            self.contradiction = Self.contradiction(of: response, style: style, &random)
        } else if style.lies.contains(.textOnlyInClosing) {
            self.heldText = Self.heldText(of: response, style: style, &random)
        }
        if style.lies.contains(.callOnlyInCompleted) { self.firstHeldCall = Self.heldCall(of: response, &random) }
    }

    /// The text that deltas behind the end of its item have.
    var continuedText: HeldText? { self.heldText.flatMap { $0.isContinued ? $0 : nil } }

    /// Indicates whether some output comes later than in other answers of the turn.
    var holdsBack: Bool { self.heldText != nil && self.continuedText == nil || self.firstHeldCall != nil }

    /// Indicates whether the end of the response has to repeat its items.
    var needsOutput: Bool {
        self.firstHeldCall != nil || self.heldText?.until == .response || self.contradiction?.closing == .response
    }

    // MARK: Held back

    private static func heldCall(of response: SimulatedResponse, _ random: inout SimulatedRandom) -> Int? {
        let calls = response.atoms.indices.filter { response.atoms[$0].isCall }
        guard !calls.isEmpty else { return nil }
        let held = calls.suffix(1 + random.below(calls.count))
        // The end of a response has them in the order of their positions.
        let positions = held.map { response.atoms[$0].item }
        return positions == positions.sorted() ? held.first : nil
    }

    private static func heldText(
        of response: SimulatedResponse, style: AnswerStyle, _ random: inout SimulatedRandom
    ) -> HeldText? {
        let candidates = response.atoms.indices.filter { response.isEndOfPart($0) && !response.atoms[$0].bytes.isEmpty }
        guard !candidates.isEmpty else { return nil }
        let atom = random.pick(candidates)
        let bytes = response.atoms[atom].bytes
        let offset = random.chance(30) ? 0 : SimulatedText.boundary(after: random.below(bytes.count), in: bytes)
        let text = response.bytes(item: response.atoms[atom].item, part: response.atoms[atom].part)
        let repeatsOutput = response.hasOutput(like: text, before: atom, offset: offset)
        let closings = Closing.allCases.filter { closing in
            closing.isOfPart ? !repeatsOutput && (closing != .part || style.closesParts) : true
        }
        let held = HeldText(atom: atom, offset: offset, until: random.pick(closings))
        return offset < bytes.count && response.canHoldBack(held) ? held : nil
    }

    // MARK: Contradictions

    private static func contradiction(
        of response: SimulatedResponse, style: AnswerStyle, _ random: inout SimulatedRandom
    ) -> Contradiction? {
        let candidates = response.atoms.indices.filter { response.isEndOfPart($0) && !response.atoms[$0].isCall }
        guard !candidates.isEmpty else { return nil }
        let index = random.pick(candidates)
        let atom = response.atoms[index]
        let closing = random.pick(Closing.allCases.filter { $0 != .part || style.closesParts })
        let text = response.bytes(item: atom.item, part: atom.part)
        guard let bytes = Self.otherText(than: text, mayBeShorter: closing != .response, &random) else { return nil }
        if closing.isOfPart, response.hasOutput(like: bytes, before: index, offset: atom.bytes.count) { return nil }
        return Contradiction(item: atom.item, part: atom.part, closing: closing, bytes: bytes)
    }

    /// Another text, in a place where servers do not change theirs: they add marks, and take away white space.
    private static func otherText(
        than text: [UInt8], mayBeShorter: Bool, _ random: inout SimulatedRandom
    ) -> [UInt8]? {
        let places = text.indices.filter { (0x22..<0x7F).contains(text[$0]) && text[$0] != UInt8(ascii: ".") }
        guard !places.isEmpty else { return nil }
        let place = random.pick(places)
        if mayBeShorter, place > 0, random.chance(30) { return Array(text[..<place]) }
        let other: [UInt8] = text[place] == 0x23 ? Array("§".utf8) : [0x23]
        return Array(text[..<place]) + other + Array(text[(place + 1)...])
    }
}

extension SimulatedResponse {
    /// The whole text of a part.
    func bytes(item: Int, part: Int) -> [UInt8] {
        self.atoms.reduce(into: []) { bytes, atom in
            if atom.item == item, atom.part == part, !atom.isCall { bytes += atom.bytes }
        }
    }

    /// Returns whether no more of an atom's part comes behind it.
    func isEndOfPart(_ index: Int) -> Bool {
        let atom = self.atoms[index]
        return !self.atoms[(index + 1)...].contains { $0.item == atom.item && $0.part == atom.part }
    }

    /// Indicates whether items, and their parts, come one behind the other.
    var isInOrder: Bool {
        zip(self.atoms, self.atoms.dropFirst()).allSatisfy { ($0.item, $0.part) <= ($1.item, $1.part) }
    }

    /// Returns whether the end of a text is still in place when the event comes that has it: a consumer concatenates.
    func canHoldBack(_ held: AnswerPlan.HeldText) -> Bool {
        let atom = self.atoms[held.atom]
        let end: Int
        switch held.until {
        case .text, .part: end = held.atom
        case .item: end = self.atoms.lastIndex { $0.item == atom.item } ?? held.atom
        case .response: end = self.atoms.count - 1
        }
        let later = self.atoms[(held.atom + 1)..<(end + 1)]
        guard !later.contains(where: { $0.isOfSameChannel(as: atom) }) else { return false }
        let before = self.atoms[..<held.atom].filter { $0.isOfSameChannel(as: atom) }
        guard let last = before.last else { return true }
        if held.until == .response {
            // The response is closed with each kind of text as a whole.
            guard self.isInOrder, last.isOfSameKind(as: atom) || !before.contains(where: { $0.isOfSameKind(as: atom) })
            else { return false }
        }
        if held.offset > 0 || (last.item, last.part) == (atom.item, atom.part) { return true }
        return !before.contains { ($0.item, $0.part) == (atom.item, atom.part) }
            && (last.item, last.part) <= (atom.item, atom.part)
    }
}

// MARK: A closing text that closes what is there

extension SimulatedResponse {
    /// Returns whether the text of a part's end closes output that has come before: it is like all that its item has, or
    /// like the part that ended last.
    ///
    /// Content decides, and indices may be wrong: the end of the item alone tells that another part has the same text.
    /// `offset` is that of the first byte of the part's last atom that no delta says.
    func hasOutput(like text: [UInt8], before index: Int, offset: Int) -> Bool {
        let atom = self.atoms[index]
        let earlier = self.atoms[..<index].indices.filter { other in
            self.atoms[other].item == atom.item && self.atoms[other].isOfSameKind(as: atom)
        }
        let output = earlier.flatMap { self.atoms[$0].bytes } + atom.bytes[..<offset]
        let closed = earlier.filter(self.isEndOfPart).map { self.bytes(item: atom.item, part: self.atoms[$0].part) }
        return [output, closed.last { !$0.isEmpty } ?? []].contains { !$0.isEmpty && SimulatedText.isLike($0, text) }
    }
}

// MARK: Reasoning that goes on behind the end of its item

extension SimulatedResponse {
    /// The second half of the last reasoning, if it is that of an item behind the first ones that others follow.
    func continuedReasoning(behind itemCount: Int = 0) -> AnswerPlan.HeldText? {
        guard let index = self.atoms.lastIndex(where: { $0.isReasoning && !$0.bytes.isEmpty }) else { return nil }
        let (atom, later) = (self.atoms[index], self.atoms[(index + 1)...])
        let offset = SimulatedText.boundary(after: atom.bytes.count / 2, in: atom.bytes)
        guard atom.item >= itemCount, later.contains(where: { $0.item >= itemCount }),
            !later.contains(where: { $0.item == atom.item }), (1..<atom.bytes.count).contains(offset)
        else { return nil }
        return AnswerPlan.HeldText(atom: index, offset: offset, until: .response, isContinued: true)
    }

    /// Ends reasoning where its item has ended, if the client gives the item back: it goes on in no other answer.
    mutating func endReasoning(givenBack count: Int, behind earlierCount: Int) {
        guard let held = self.continuedReasoning(behind: earlierCount), self.atoms[held.atom].item < count else {
            return
        }
        self.atoms[held.atom].bytes.removeSubrange(held.offset...)
    }
}

extension SimulatedResponse.Atom {
    /// Indicates whether it is reasoning or its summary.
    fileprivate var isReasoning: Bool {
        switch self.content {
        case .summary, .reasoning: true
        case .text, .refusal, .call: false
        }
    }

    /// Indicates whether it is a call.
    var isCall: Bool {
        if case .call = self.content { true } else { false }
    }

    /// Returns whether a consumer concatenates output of the two.
    fileprivate func isOfSameChannel(as other: Self) -> Bool {
        guard !self.bytes.isEmpty else { return false }
        switch (self.content, other.content) {
        case (.text, .text), (.refusal, .refusal): return true
        case (.summary, .summary), (.summary, .reasoning), (.reasoning, .summary), (.reasoning, .reasoning): return true
        case (.text, _), (.refusal, _), (.summary, _), (.reasoning, _), (.call, _): return false
        }
    }

    fileprivate func isOfSameKind(as other: Self) -> Bool {
        switch (self.content, other.content) {
        case (.text, .text), (.refusal, .refusal), (.summary, .summary), (.reasoning, .reasoning): true
        case (.text, _), (.refusal, _), (.summary, _), (.reasoning, _), (.call, _): false
        }
    }
}
