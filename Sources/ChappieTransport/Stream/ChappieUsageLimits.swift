#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One usage window of an account.
public struct ChappieUsageLimitWindow: Sendable, Equatable {
    /// The used percentage, 0 to 100; a server may report more.
    public let usedPercent: Double
    /// The window's length, such as 300 or 10,080.
    public let windowMinutes: Int?
    /// The time at which the window begins anew.
    public let resetsAt: Date?

    /// Creates a window.
    package init(usedPercent: Double, windowMinutes: Int?, resetsAt: Date?) {
        self.usedPercent = usedPercent
        self.windowMinutes = windowMinutes
        self.resetsAt = resetsAt
    }
}

/// The state of an account's usage windows, reported within a stream.
public struct ChappieUsageLimitSnapshot: Sendable, Equatable {
    /// The window that the server lists first.
    public let primary: ChappieUsageLimitWindow?
    /// Another window, usually the week.
    public let secondary: ChappieUsageLimitWindow?
    /// The plan, as the server spells it.
    public let planType: String?

    init(primary: ChappieUsageLimitWindow?, secondary: ChappieUsageLimitWindow?, planType: String?) {
        self.primary = primary
        self.secondary = secondary
        self.planType = planType
    }
}

/// A usage limit that ended a turn.
public struct ChappieUsageLimit: Sendable, Equatable {
    /// A subscription plan.
    public struct Plan: Sendable, Equatable {
        /// The plan's name in the server's spelling, such as `plus`.
        public let rawValue: String
        /// The plan's name for display, such as `Plus`.
        public let displayName: String

        init(rawValue: String, displayName: String) {
            self.rawValue = rawValue
            self.displayName = displayName
        }
    }

    /// The `type` of a temporary limit.
    static let reachedType = "usage_limit_reached"

    /// The kind of limit: `usage_limit_reached`.
    public let type: String
    /// The server's message.
    public let message: String
    /// The plan that the limit belongs to.
    public let plan: Plan?
    /// The time at which the limit ends.
    public let resetsAt: Date?
    /// The window that the server lists first.
    public let primary: ChappieUsageLimitWindow?
    /// Another window.
    public let secondary: ChappieUsageLimitWindow?

    init(
        type: String,
        message: String,
        plan: Plan?,
        resetsAt: Date?,
        windows: (primary: ChappieUsageLimitWindow?, secondary: ChappieUsageLimitWindow?)
    ) {
        self.type = type
        self.message = message
        self.plan = plan
        self.resetsAt = resetsAt
        self.primary = windows.primary
        self.secondary = windows.secondary
    }
}
