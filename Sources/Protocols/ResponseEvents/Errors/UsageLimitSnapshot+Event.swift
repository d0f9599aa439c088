// Usage limits in the `codex.rate_limits` event. Pure.
import HTTPProtocol

extension UsageLimitSnapshot {
    /// Reads an event; members that are missing, `null` or of another type are unknown.
    init(rateLimitsEvent event: JSONDocumentValue) {
        let windows = event["rate_limits"]
        // Either member names the limit; the second one is also its display name.
        let name = event["metered_limit_name"]?.string ?? event["limit_name"]?.string
        self.init(
            limitID: name.map(Self.limitID(named:)) ?? Self.defaultLimitID,
            limitName: event["limit_name"]?.string?.word,
            primary: windows?["primary"].flatMap(UsageLimitWindow.init(eventWindow:)),
            secondary: windows?["secondary"].flatMap(UsageLimitWindow.init(eventWindow:)),
            credits: event["credits"].flatMap(UsageLimitCredits.init(eventCredits:)),
            planType: event["plan_type"]?.string?.word
        )
    }

    /// Returns a limit's name in the form in which limits are compared.
    static func limitID(named name: String) -> String {
        let limitID = String(name.word.withoutSurroundingSpace).lowercased()
        let normalized = String(limitID.map { $0 == "-" ? "_" : $0 })
        return normalized.isEmpty ? Self.defaultLimitID : normalized
    }
}

extension UsageLimitWindow {
    fileprivate init?(eventWindow window: JSONDocumentValue) {
        guard let usedPercent = window["used_percent"]?.double else { return nil }
        self.init(
            usedPercent: usedPercent,
            windowMinutes: window["window_minutes"]?.integer,
            resetsAt: window["reset_at"]?.integer
        )
    }
}

extension UsageLimitCredits {
    fileprivate init?(eventCredits credits: JSONDocumentValue) {
        guard let hasCredits = credits["has_credits"]?.bool, let isUnlimited = credits["unlimited"]?.bool else {
            return nil
        }
        let balance = credits["balance"]?.scalarText
        self.init(hasCredits: hasCredits, isUnlimited: isUnlimited, balance: balance?.isEmpty == true ? nil : balance)
    }
}
