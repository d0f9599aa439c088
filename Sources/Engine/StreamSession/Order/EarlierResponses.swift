/// The identifiers and habits of a kept connection's earlier responses, by which their late events are recognised.
///
/// A value of the connection; the turn that uses the connection has a copy. It performs no I/O.
package struct EarlierResponses: Sendable {
    /// The maximum number of remembered item identifiers, as fingerprints of eight bytes: the newest ones.
    package static let maximumNameCount = 4_096

    private var names: Set<UInt64> = []
    private var order: [UInt64] = []
    private var oldest = 0

    /// Indicates whether the connection has carried a response.
    private(set) var hasResponses = false
    private var habits = Habits()
    /// Indicates whether the request has the outputs of calls of the newest response.
    package var areCallsAnswered = false
    /// The identifier at the newest response's end, which is the only one of a response that is not announced.
    private(set) var lastEndID: String?

    /// The habits of a response, or of all responses.
    struct Habits: Sendable {
        /// Indicates whether it has announced its items; nil when it had none.
        var announcesItems: Bool?
        /// Indicates whether it has announced its items, each under one name; nil when it had none.
        var namesItems: Bool?
        /// Indicates whether it has numbered its events without a gap.
        var countsByOne = false
        /// Indicates whether it was created before all its other events.
        var createsResponses = false
    }

    /// Indicates whether every response with items has announced them.
    var announcesItems: Bool { self.habits.announcesItems == true }
    /// Indicates whether every response with items has announced them, each under one name.
    package var namesItems: Bool { self.habits.namesItems == true }
    /// Indicates whether every response has numbered its events without a gap.
    package var countsByOne: Bool { self.habits.countsByOne }
    /// Indicates whether every response was created before all its other events.
    var createsResponses: Bool { self.habits.createsResponses }

    /// Creates the value of a connection that has carried no response.
    package init() {}

    /// Returns whether an item of an earlier response had a name.
    func contains(_ name: UInt64) -> Bool { self.names.contains(name) }

    /// Records another response, with items of these names; `endID` is the identifier at its end.
    mutating func add(_ names: Set<UInt64>, habits: Habits, endID: String?) {
        self.lastEndID = endID
        self.areCallsAnswered = false
        self.habits.announcesItems = Self.both(self.habits.announcesItems, habits.announcesItems)
        self.habits.namesItems = Self.both(self.habits.namesItems, habits.namesItems)
        self.habits.countsByOne = habits.countsByOne && (self.habits.countsByOne || !self.hasResponses)
        self.habits.createsResponses = habits.createsResponses && (self.habits.createsResponses || !self.hasResponses)
        self.hasResponses = true
        for name in names where self.names.insert(name).inserted {
            guard self.order.count == Self.maximumNameCount else {
                self.order.append(name)
                continue
            }
            self.names.remove(self.order[self.oldest])
            self.order[self.oldest] = name
            self.oldest = (self.oldest + 1) % Self.maximumNameCount
        }
    }

    private static func both(_ before: Bool?, _ now: Bool?) -> Bool? {
        guard let before, let now else { return before ?? now }
        return before && now
    }
}
