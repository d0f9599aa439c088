// How much of a usage limit is used, wherever the server said so. A value; whoever keeps it merges newer ones into it.

/// A span of time with a budget.
package struct UsageLimitWindow: Equatable, Sendable {
    /// How much of the budget is used; may pass 100.
    package var usedPercent: Double
    /// How long the span is, in minutes.
    package var windowMinutes: Int?
    /// When the budget is whole again, in seconds since 1970.
    package var resetsAt: Int?

    /// A window; nil when nothing is used and nothing else is known, which is how a server says "no such window".
    package init?(usedPercent: Double, windowMinutes: Int? = nil, resetsAt: Int? = nil) {
        guard usedPercent.isFinite else { return nil }
        self.usedPercent = usedPercent
        self.windowMinutes = windowMinutes.flatMap { $0 < 0 ? nil : $0 }
        self.resetsAt = resetsAt.flatMap { $0 < 0 ? nil : $0 }
        if usedPercent == 0, (self.windowMinutes ?? 0) == 0, self.resetsAt == nil { return nil }
    }

    /// This window with what `newer` says; what `newer` leaves out stays.
    package func merging(_ newer: UsageLimitWindow) -> UsageLimitWindow {
        var merged = newer
        merged.windowMinutes = newer.windowMinutes ?? self.windowMinutes
        merged.resetsAt = newer.resetsAt ?? self.resetsAt
        return merged
    }
}

/// What can be used beyond the windows.
package struct UsageLimitCredits: Equatable, Sendable {
    /// Indicates whether there are any.
    package var hasCredits: Bool
    /// Indicates whether there is no end to them.
    package var isUnlimited: Bool
    /// How many there are, as the server writes it.
    package var balance: String?

    /// Collects what is known about credits.
    package init(hasCredits: Bool, isUnlimited: Bool, balance: String? = nil) {
        self.hasCredits = hasCredits
        self.isUnlimited = isUnlimited
        self.balance = balance
    }
}

/// The state of one usage limit.
package struct UsageLimitSnapshot: Equatable, Sendable {
    /// The limit that everything counts against.
    package static let defaultLimitID = "codex"

    /// Which limit it is, in lower case with underscores.
    package var limitID: String
    /// The limit's name for people.
    package var limitName: String?
    /// The window that the server calls the first; which span it is differs between plans.
    package var primary: UsageLimitWindow?
    /// The window that the server calls the second.
    package var secondary: UsageLimitWindow?
    /// What can be used beyond the windows.
    package var credits: UsageLimitCredits?
    /// The plan, as the server writes it.
    package var planType: String?

    /// A snapshot that knows nothing yet, unless it is given.
    package init(
        limitID: String = Self.defaultLimitID, limitName: String? = nil, primary: UsageLimitWindow? = nil,
        secondary: UsageLimitWindow? = nil, credits: UsageLimitCredits? = nil, planType: String? = nil
    ) {
        self.limitID = limitID
        self.limitName = limitName
        self.primary = primary
        self.secondary = secondary
        self.credits = credits
        self.planType = planType
    }

    /// Indicates whether the snapshot says anything but its name.
    package var isEmpty: Bool {
        self.primary == nil && self.secondary == nil && self.credits == nil && self.planType == nil
    }

    /// Takes over what a newer snapshot of the same limit says.
    ///
    /// What it does not say stays: silence erases nothing.
    package mutating func merge(_ newer: UsageLimitSnapshot) {
        self.limitName = newer.limitName ?? self.limitName
        self.primary = Self.merge(self.primary, newer.primary)
        self.secondary = Self.merge(self.secondary, newer.secondary)
        self.credits = newer.credits ?? self.credits
        self.planType = newer.planType ?? self.planType
    }

    private static func merge(_ older: UsageLimitWindow?, _ newer: UsageLimitWindow?) -> UsageLimitWindow? {
        guard let newer else { return older }
        return older?.merging(newer) ?? newer
    }
}

/// The newest known state of every limit.
package struct UsageLimits: Equatable, Sendable {
    /// How many limits are kept; a server that invents names cannot fill the memory.
    package static let maximumCount = 64

    /// One snapshot for each limit, in the order in which the limits appeared.
    package private(set) var snapshots: [UsageLimitSnapshot] = []

    /// Knows nothing yet.
    package init() {}

    /// The newest state of one limit.
    package subscript(limitID: String) -> UsageLimitSnapshot? { self.snapshots.first { $0.limitID == limitID } }

    /// Takes over what a snapshot says about its limit.
    package mutating func merge(_ snapshot: UsageLimitSnapshot) {
        if let index = self.snapshots.firstIndex(where: { $0.limitID == snapshot.limitID }) {
            self.snapshots[index].merge(snapshot)
        } else if self.snapshots.count < Self.maximumCount {
            self.snapshots.append(snapshot)
        }
    }
}
