// Other answers to the same request: what a model says that is asked twice.

extension SimulatedResponse {
    /// The difference of an answer from the previous one.
    enum Variation: Sendable, CaseIterable {
        /// Members of arguments in another order, which is the same to a tool.
        case respelledArguments
        case commonBeginning
        case shorter
        case insertedItem
        case otherTool
        case otherArguments
        case otherText
        case otherOrder
        case otherResponse

        /// Indicates whether a consumer can tell the two apart.
        var isSame: Bool { self == .respelledArguments }
    }

    /// Returns another answer; nil when this one has no part that could differ in that way.
    func varied(_ variation: Variation, _ random: inout SimulatedRandom) -> Self? {
        switch variation {
        case .respelledArguments: self.mapCalls { $0.respelled() }
        case .commonBeginning: self.withOtherEnd(&random)
        case .shorter: self.cut(&random)
        case .insertedItem: self.withInsertedItem(&random)
        case .otherTool:
            self.mapCalls { call in
                var other = call
                other.name += "_2"
                return other
            }
        case .otherArguments: self.mapCalls { $0.withOtherInput(&random) }
        case .otherText: self.withOtherText(&random)
        case .otherOrder: self.inOtherOrder(&random)
        case .otherResponse: Self(&random)
        }
    }

    private func mapCalls(_ change: (SimulatedCall) -> SimulatedCall) -> Self? {
        var other = self
        var hasCalls = false
        for index in other.atoms.indices {
            guard case .call(let call) = other.atoms[index].content else { continue }
            other.atoms[index].content = .call(change(call))
            hasCalls = true
        }
        return hasCalls ? other : nil
    }

    private func cut(_ random: inout SimulatedRandom) -> Self? {
        guard !self.atoms.isEmpty else { return nil }
        var other = self
        let index = random.below(self.atoms.count)
        let bytes = self.atoms[index].bytes
        other.atoms = Array(self.atoms[..<index])
        if !bytes.isEmpty {
            var last = self.atoms[index]
            last.bytes = Array(bytes[..<SimulatedText.boundary(after: random.below(bytes.count), in: bytes)])
            other.atoms.append(last)
        }
        other.items = Array(self.items[..<((other.atoms.map(\.item).max() ?? -1) + 1)])
        return other
    }

    private func withOtherEnd(_ random: inout SimulatedRandom) -> Self? {
        guard var other = self.cut(&random) else { return nil }
        if let last = other.atoms.indices.last, !other.atoms[last].bytes.isEmpty, random.chance(60) {
            other.atoms[last].bytes += SimulatedText.bytes(&random, pieces: 3)
        }
        for _ in 0..<random.below(3) { other.appendItem(&random) }
        return other
    }

    private func withInsertedItem(_ random: inout SimulatedRandom) -> Self? {
        guard !self.items.isEmpty else { return nil }
        var front = self
        front.items = []
        front.atoms = []
        front.appendItem(&random)
        var other = self
        other.items = front.items + self.items
        other.atoms = front.atoms + self.atoms.map { $0.moved(by: 1) }
        return other
    }

    private func withOtherText(_ random: inout SimulatedRandom) -> Self? {
        let candidates = self.atoms.indices.filter { !self.atoms[$0].bytes.isEmpty }
        guard !candidates.isEmpty else { return nil }
        var other = self
        let index = random.pick(candidates)
        other.atoms[index].bytes = SimulatedText.withChangedScalar(self.atoms[index].bytes, &random)
        return other
    }

    /// The same output, but what came first comes last.
    private func inOtherOrder(_ random: inout SimulatedRandom) -> Self? {
        guard self.atoms.count > 1 else { return nil }
        var other = self
        let split = 1 + random.below(self.atoms.count - 1)
        other.atoms = Array(self.atoms[split...] + self.atoms[..<split])
        return other
    }

    /// The response without its first items, whose places the others take.
    func withoutItems(_ count: Int) -> Self {
        var other = self
        other.items = Array(self.items.dropFirst(count))
        other.atoms = self.atoms.filter { $0.item >= count }.map { $0.moved(by: -count) }
        return other
    }

    /// The first items alone.
    func withOnlyItems(_ count: Int) -> Self {
        var other = self
        other.items = Array(self.items.prefix(count))
        other.atoms = self.atoms.filter { $0.item < count }
        return other
    }

    /// The first items, and behind them those of another response.
    func continued(by rest: Self, after count: Int) -> Self {
        var other = self.withOnlyItems(count)
        other.items += rest.items
        other.atoms += rest.atoms.map { $0.moved(by: count) }
        return other
    }
}

extension SimulatedResponse.Atom {
    /// The same output of an item that is `count` positions further on.
    fileprivate func moved(by count: Int) -> Self {
        var other = self
        other.item += count
        if case .call(var call) = self.content {
            call.position += count
            other.content = .call(call)
        }
        return other
    }
}
