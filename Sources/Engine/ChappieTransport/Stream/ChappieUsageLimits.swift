public import PlatformFoundation
import ResponseEvents
import StreamSession

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
}

/// A usage limit that ended a turn.
public struct ChappieUsageLimit: Sendable, Equatable {
    /// A subscription plan.
    public struct Plan: Sendable, Equatable {
        /// The plan's name in the server's spelling, such as `plus`.
        public let rawValue: String
        /// The plan's name for display, such as `Plus`.
        public let displayName: String
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
}

extension ChappieUsageLimitWindow {
    init(_ window: UsageLimitWindow) {
        self.init(
            usedPercent: window.usedPercent, windowMinutes: window.windowMinutes,
            resetsAt: window.resetsAt.map { Date(timeIntervalSince1970: Double($0)) })
    }
}

extension ChappieUsageLimitSnapshot {
    /// Creates a snapshot; nil when it has no meaningful window.
    init?(_ snapshot: UsageLimitSnapshot) {
        guard snapshot.primary != nil || snapshot.secondary != nil else { return nil }
        self.init(
            primary: snapshot.primary.map { ChappieUsageLimitWindow($0) },
            secondary: snapshot.secondary.map { ChappieUsageLimitWindow($0) },
            planType: snapshot.planType)
    }
}

extension ChappieUsageLimit {
    /// Creates the limit; its windows come from the refusal's own fields, or else from the stream's earlier events.
    init(_ error: UsageLimitError, resetsAt: Int?, headers: UsageLimitHeaders, known: UsageLimitSnapshot?) {
        let active = headers.activeSnapshot
        let plan = error.planType ?? headers.planType ?? known?.planType
        self.init(
            type: error.type,
            message: error.message,
            plan: plan.map { Plan(rawValue: $0, displayName: PlanName.displayName(planType: $0)) },
            resetsAt: resetsAt.map { Date(timeIntervalSince1970: Double($0)) },
            primary: (active.primary ?? known?.primary).map { ChappieUsageLimitWindow($0) },
            secondary: (active.secondary ?? known?.secondary).map { ChappieUsageLimitWindow($0) })
    }
}

extension ServerErrorFacts {
    /// The error as a usage limit; nil for an error that a short wait may cure.
    var usageLimit: UsageLimitError? { UsageLimitError(self, where: ErrorMeaning.isUsageLimit) }
}
