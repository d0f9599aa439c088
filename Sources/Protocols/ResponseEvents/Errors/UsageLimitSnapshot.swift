// The state of a usage limit, from any source. A value; its holder merges newer ones into it.

/// A span of time with a budget.
package struct UsageLimitWindow: Equatable, Sendable {
    /// The used part of the budget in percent; may exceed 100.
    package var usedPercent: Double
    /// The length of the span, in minutes.
    package var windowMinutes: Int?
    /// The time at which the budget is full again, in seconds since 1970.
    package var resetsAt: Int?

    /// Creates a window; nil when 0 % is used and no other value is known, by which a server reports "no such window".
    package init?(usedPercent: Double, windowMinutes: Int? = nil, resetsAt: Int? = nil) {
        guard usedPercent.isFinite else { return nil }
        self.usedPercent = usedPercent
        self.windowMinutes = windowMinutes.flatMap { $0 < 0 ? nil : $0 }
        self.resetsAt = resetsAt.flatMap { $0 < 0 ? nil : $0 }
        if usedPercent == 0, (self.windowMinutes ?? 0) == 0, self.resetsAt == nil { return nil }
    }

    /// Returns this window with the values of `newer`; values that `newer` leaves out are kept.
    package func merging(_ newer: UsageLimitWindow) -> UsageLimitWindow {
        var merged = newer
        merged.windowMinutes = newer.windowMinutes ?? self.windowMinutes
        merged.resetsAt = newer.resetsAt ?? self.resetsAt
        return merged
    }
}

/// The credits that can be used beyond the windows.
package struct UsageLimitCredits: Equatable, Sendable {
    /// Indicates whether there are any credits.
    package var hasCredits: Bool
    /// Indicates whether the credits are unlimited.
    package var isUnlimited: Bool
    /// The number of credits, as the server writes it.
    package var balance: String?

    /// Creates credits.
    package init(hasCredits: Bool, isUnlimited: Bool, balance: String? = nil) {
        self.hasCredits = hasCredits
        self.isUnlimited = isUnlimited
        self.balance = balance
    }
}

/// The state of one usage limit.
package struct UsageLimitSnapshot: Equatable, Sendable {
    /// The limit that every request counts against.
    package static let defaultLimitID = "codex"

    /// The identifier of the limit, in lower case with underscores.
    package var limitID: String
    /// The limit's name for people.
    package var limitName: String?
    /// The server's first window, whose length differs between plans.
    package var primary: UsageLimitWindow?
    /// The server's second window.
    package var secondary: UsageLimitWindow?
    /// The credits that can be used beyond the windows.
    package var credits: UsageLimitCredits?
    /// The plan, as the server writes it.
    package var planType: String?

    /// Creates a snapshot; values are unknown by default.
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

    /// Indicates whether the snapshot has no values but its name.
    package var isEmpty: Bool {
        self.primary == nil && self.secondary == nil && self.credits == nil && self.planType == nil
    }

    /// Merges the values of a newer snapshot of the same limit.
    ///
    /// Values that the newer one lacks are kept.
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
    /// The largest number of limits that are kept, so that a server that invents names cannot fill the memory.
    package static let maximumCount = 64

    /// One snapshot for each limit, in the order in which the limits appeared.
    package private(set) var snapshots: [UsageLimitSnapshot] = []

    /// Creates the state without known limits.
    package init() {}

    /// The newest state of one limit.
    package subscript(limitID: String) -> UsageLimitSnapshot? { self.snapshots.first { $0.limitID == limitID } }

    /// Merges a snapshot of one limit.
    package mutating func merge(_ snapshot: UsageLimitSnapshot) {
        if let index = self.snapshots.firstIndex(where: { $0.limitID == snapshot.limitID }) {
            self.snapshots[index].merge(snapshot)
        } else if self.snapshots.count < Self.maximumCount {
            self.snapshots.append(snapshot)
        }
    }
}
