// The form of one attempt's answer: everything that differs between attempts and must not matter.

/// The style of an answer.
struct AnswerStyle: Sendable {
    enum Numbering: Sendable {
        case inOrder
        case absent
        case repeated
        case odd
    }

    /// The response's identifier.
    var responseID: String
    /// Distinguishes the identifiers of one attempt's items from another's.
    var attempt: Int
    var numbering = Numbering.inOrder
    /// Indicates whether each event names its item differently.
    var changesItemIDs = false
    /// Indicates whether items and parts are announced when they end, or not at all.
    var skipsAdded = false
    /// The approximate number of bytes of a delta.
    var deltaSize: Int
    /// The percentage of events that are preceded by noise.
    var noise: Int
    /// Indicates whether reasoning can be given back, because it comes encrypted.
    var encrypts = true
    /// Indicates whether a finished item is said twice.
    var repeatsDone = false
    /// Indicates whether the end of the response has all its items once more.
    var repeatsOutput: Bool
    /// Indicates whether parts are closed with their whole text, too.
    var closesParts: Bool
    /// Indicates whether all items have the same index.
    var sharesIndices = false
    /// Indicates whether reasoning goes on behind the end of its item.
    var continuesReasoning = false
    /// Its unusual behaviours, which few servers have.
    var lies: Set<SimulatedFact> = []

    /// A style that a server may have.
    ///
    /// Numbers of a response that is kept are in order, because they are what it is asked for by.
    init(
        _ random: inout SimulatedRandom, responseID: String, attempt: Int, isKept: Bool, liePercent: Int
    ) {
        self.responseID = responseID
        self.attempt = attempt
        self.deltaSize = random.pick([1, 3, 8, 30, 300])
        self.noise = random.pick([0, 0, 0, 5, 25])
        self.skipsAdded = random.chance(8)
        self.encrypts = random.chance(80)
        self.repeatsOutput = random.chance(50)
        self.closesParts = random.chance(50)
        for lie in Self.possibleLies where random.chance(liePercent) { self.lies.insert(lie) }
        guard !isKept else { return }
        self.numbering = random.pick([.inOrder, .inOrder, .inOrder, .inOrder, .absent, .repeated, .odd])
        self.changesItemIDs = random.chance(8)
        self.repeatsDone = random.chance(4)
    }
}

extension AnswerStyle {
    /// Lies that the writer of an answer tells.
    private static let possibleLies: [SimulatedFact] = [
        .textOnlyInClosing, .callOnlyInCompleted, .contradictingClosing, .otherAgent,
    ]

    /// Indicates whether late events of the response can be told from those of the next one on its connection.
    var namesItems: Bool {
        !self.skipsAdded && !self.changesItemIDs && !self.repeatsDone && !self.sharesIndices
    }

    /// The facts that are counted.
    var facts: [SimulatedFact] {
        var facts: [SimulatedFact] = []
        switch self.numbering {
        case .inOrder: break
        case .absent: facts.append(.numbersMissing)
        case .repeated: facts.append(.numbersRepeated)
        case .odd: facts.append(.numbersOdd)
        }
        if self.changesItemIDs { facts.append(.changingItemIDs) }
        if !self.encrypts { facts.append(.plainReasoning) }
        if self.skipsAdded { facts.append(.itemsNotAnnounced) }
        if self.sharesIndices { facts.append(.sharedIndices) }
        return facts
    }
}
