// The refusal of a request because a plan, a quota or an organisation's budget is used up. Pure.

/// A usage limit that was reached.
///
/// Sending the request again before the limit ends is useless.
package struct UsageLimitError: Error, Equatable, Sendable {
    /// The limit that was reached, such as `usage_limit_reached`.
    package let type: String
    /// A further machine-readable word.
    package let code: String?
    /// The server's description; empty when it has none.
    package let message: String
    /// The plan, as the server writes it.
    package let planType: String?
    /// The time at which the limit ends, in seconds since 1970.
    package let resetsAt: Int?
    /// The number of seconds until the limit ends.
    package let resetsInSeconds: Int?

    /// Reads the facts of an error; nil when they are not about a usage limit.
    ///
    /// - Parameters:
    ///   - facts: the facts that the server reports.
    ///   - isLimit: whether a type or a code means a limit, and not a throttle.
    package init?(_ facts: ServerErrorFacts, where isLimit: (String) -> Bool) {
        guard let type = [facts.type, facts.code].compactMap({ $0 }).first(where: isLimit) else { return nil }
        self.type = type
        self.code = facts.code
        self.message = facts.message ?? ""
        self.planType = facts.planType
        self.resetsAt = facts.resetsAt
        self.resetsInSeconds = facts.resetsInSeconds
    }

    /// Returns the time at which the limit ends, in seconds since 1970: the server's, else counted from `now`, else the
    /// window's.
    package func resetsAt(now: Int, headers: UsageLimitHeaders? = nil) -> Int? {
        if let resetsAt = self.resetsAt { return resetsAt }
        if let seconds = self.resetsInSeconds {
            let (sum, overflow) = now.addingReportingOverflow(seconds)
            return overflow ? Int.max : sum
        }
        return headers?.activeSnapshot.primary?.resetsAt
    }
}

/// The names of plans, for people.
package enum PlanName {
    private static let names = [
        "free": "Free", "go": "Go", "plus": "Plus", "pro": "Pro", "prolite": "Pro Lite", "promax": "Pro Max",
        "team": "Team", "business": "Business", "ent26": "Enterprise", "enterprise": "Enterprise", "hc": "Enterprise",
        "self_serve_business_usage_based": "Self Serve Business Usage Based",
        "enterprise_cbp_usage_based": "Enterprise CBP Usage Based", "edu": "Edu", "education": "Edu",
        "guest": "Guest", "free_workspace": "Free Workspace", "quorum": "Quorum", "k12": "K12",
    ]

    /// Returns whether a plan is a known one, compared without regard to case.
    package static func isKnown(planType: String) -> Bool { self.names[planType.lowercased()] != nil }

    /// Returns the name of a plan, compared without regard to case; an unknown plan keeps the server's name.
    package static func displayName(planType: String) -> String { self.names[planType.lowercased()] ?? planType }
}
