// The server model's response: items with their output, in the order in which it is written. An immutable value.

/// One response, without identifiers, numbers and cuts, which differ each time it is written.
struct SimulatedResponse: Sendable {
    /// The type of an item.
    enum ItemKind: Sendable, Equatable {
        case message
        case reasoning
        case call
    }

    /// A stretch of one item's output.
    struct Atom: Sendable {
        enum Content: Sendable {
            case text
            case refusal
            case summary
            case reasoning
            case call(SimulatedCall)
        }

        var item: Int
        var part: Int
        var content: Content
        /// UTF-8; empty for a call.
        var bytes: [UInt8]
    }

    /// By output index.
    var items: [ItemKind] = []
    /// Interleaved items take turns.
    var atoms: [Atom] = []

    /// Creates a few items of any kind, possibly none.
    init(_ random: inout SimulatedRandom) {
        for _ in 0..<random.pick([0, 1, 1, 2, 2, 3, 4]) { self.appendItem(&random) }
    }

    /// Appends an item, whose output may be interleaved with that of the item before it.
    mutating func appendItem(_ random: inout SimulatedRandom) {
        let index = self.items.count
        let kind = random.pick([.message, .message, .reasoning, .call] as [ItemKind])
        self.items.append(kind)
        let new = Self.atoms(of: kind, at: index, &random)
        guard random.chance(15), index > 0 else { return self.atoms += new }
        var merged: [Atom] = []
        var pending = new[...]
        let start = self.atoms.firstIndex { $0.item == index - 1 } ?? self.atoms.count
        for atom in self.atoms[start...] {
            merged.append(atom)
            if random.chance(50), let next = pending.popFirst() { merged.append(next) }
        }
        self.atoms = Array(self.atoms[..<start]) + merged + pending
    }

    private static func atoms(of kind: ItemKind, at index: Int, _ random: inout SimulatedRandom) -> [Atom] {
        switch kind {
        case .call:
            let call = SimulatedCall(&random, position: index)
            return [Atom(item: index, part: 0, content: .call(call), bytes: [])]
        case .message:
            return (0..<random.pick([1, 1, 1, 2, 3])).flatMap { part in
                let content: Atom.Content = random.chance(15) ? .refusal : .text
                return Self.atoms(item: index, part: part, content: content, &random)
            }
        case .reasoning:
            let content: Atom.Content = random.chance(60) ? .summary : .reasoning
            return (0..<random.pick([1, 1, 2])).flatMap { part in
                Self.atoms(item: index, part: part, content: content, &random)
            }
        }
    }

    private static func atoms(
        item: Int, part: Int, content: Atom.Content, _ random: inout SimulatedRandom
    ) -> [Atom] {
        (0..<random.pick([1, 1, 2])).map { _ in
            let count = random.pick([0, 1, 2, 4, 8, 16])
            return Atom(item: item, part: part, content: content, bytes: SimulatedText.bytes(&random, pieces: count))
        }
    }

    /// Everything that a consumer of the whole response holds.
    var content: ResponseContent {
        var content = ResponseContent()
        for atom in self.atoms {
            switch atom.content {
            case .text: content.text += atom.bytes
            case .refusal: content.refusal += atom.bytes
            case .summary, .reasoning: content.reasoning += atom.bytes
            case .call(let call): content.calls.append(call)
            }
        }
        return content
    }
}
