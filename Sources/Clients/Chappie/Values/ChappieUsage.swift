import PlatformFoundation

/// The used part of an account's usage limits.
///
/// ```swift
/// let usage = try await client.usage()
/// print(usage.limit?.primary?.usedPercent ?? 0)
/// ```
public struct ChappieUsage: Sendable, Equatable {
    /// A limit with its windows.
    public struct Limit: Sendable, Equatable {
        /// Indicates whether requests are allowed; true where the server does not report it.
        public let isAllowed: Bool
        /// Indicates whether the limit is reached; false where the server does not report it.
        public let isReached: Bool
        /// The server's first window, usually of five hours.
        public let primary: ChappieUsageLimitWindow?
        /// The server's second window, usually the week.
        public let secondary: ChappieUsageLimitWindow?
    }

    /// The credits that an account has bought in addition to its plan.
    public struct Credits: Sendable, Equatable {
        /// Indicates whether there are any credits.
        public let isAvailable: Bool
        /// Indicates whether the credits are unlimited.
        public let isUnlimited: Bool
        /// The number of credits, as the server writes it.
        public let balance: String?
    }

    /// The plan, as the server spells it, such as `plus`.
    public let planType: String?
    /// The limit of the account; nil where it has none.
    public let limit: Limit?
    /// The limits of single models or features, by the server's names for them.
    public let additionalLimits: [String: Limit]
    /// The credits in addition to the plan; nil where the server does not report them.
    public let credits: Credits?
}

extension ChappieUsage {
    /// Reads a document of the server; nil when it is not JSON, or a member has the wrong type.
    ///
    /// A window that only specifies the seconds until its reset is dated from `now`.
    init?(body: [UInt8], now: Date) {
        guard let text = String(validating: body, as: UTF8.self), let value = ChappieJSONValue(jsonText: text) else {
            return nil
        }
        do throws(MalformedUsageError) {
            let document = try UsageObject(value)
            self.planType = try document.text("plan_type")
            self.limit = try document.object("rate_limit").map { limit throws(MalformedUsageError) in
                try Limit(limit, now: now)
            }
            self.credits = try document.object("credits").map { credits throws(MalformedUsageError) in
                try Credits(credits)
            }
            var additional: [String: Limit] = [:]
            for element in try document.objects("additional_rate_limits") {
                guard let limit = try element.object("rate_limit") else { continue }
                let names = [try element.text("limit_name"), try element.text("metered_feature")]
                guard let name = names.lazy.compactMap(\.self).first else { return nil }
                additional[name] = try Limit(limit, now: now)
            }
            self.additionalLimits = additional
        } catch {
            return nil
        }
    }
}

extension ChappieUsage.Limit {
    fileprivate init(_ object: UsageObject, now: Date) throws(MalformedUsageError) {
        self.isAllowed = try object.flag("allowed") ?? true
        self.isReached = try object.flag("limit_reached") ?? false
        self.primary = try Self.window(object.object("primary_window"), now: now)
        self.secondary = try Self.window(object.object("secondary_window"), now: now)
    }

    private static func window(
        _ object: UsageObject?, now: Date
    ) throws(MalformedUsageError) -> ChappieUsageLimitWindow? {
        guard let object else { return nil }
        guard let usedPercent = try object.number("used_percent") else { throw MalformedUsageError() }
        let minutes = try object.number("limit_window_seconds").map { ($0 / 60).rounded(.up) }
        let delay = try object.number("reset_after_seconds")
        let resetsAt = try object.number("reset_at").map { Date(timeIntervalSince1970: $0) }
        return ChappieUsageLimitWindow(
            usedPercent: usedPercent, windowMinutes: minutes.flatMap { $0 < 0 ? nil : Int(exactly: $0) },
            resetsAt: resetsAt ?? delay.map { now.addingTimeInterval($0) })
    }
}

extension ChappieUsage.Credits {
    fileprivate init(_ object: UsageObject) throws(MalformedUsageError) {
        self.isAvailable = try object.flag("has_credits") ?? false
        self.isUnlimited = try object.flag("unlimited") ?? false
        self.balance = try object.text("balance")
    }
}

/// The error of a document whose members have the wrong types.
private struct MalformedUsageError: Error {}

/// An object of the document; members that are `null` count as absent.
private struct UsageObject {
    private let members: [String: ChappieJSONValue]

    init(_ value: ChappieJSONValue) throws(MalformedUsageError) {
        guard case .object(let members) = value else { throw MalformedUsageError() }
        self.members = members.filter { $0.value != .null }
    }

    func text(_ name: String) throws(MalformedUsageError) -> String? {
        guard let value = self.members[name] else { return nil }
        guard case .string(let text) = value else { throw MalformedUsageError() }
        return text
    }

    func number(_ name: String) throws(MalformedUsageError) -> Double? {
        guard let value = self.members[name] else { return nil }
        guard case .number(let number) = value else { throw MalformedUsageError() }
        return number
    }

    func flag(_ name: String) throws(MalformedUsageError) -> Bool? {
        guard let value = self.members[name] else { return nil }
        guard case .bool(let flag) = value else { throw MalformedUsageError() }
        return flag
    }

    func object(_ name: String) throws(MalformedUsageError) -> UsageObject? {
        guard let value = self.members[name] else { return nil }
        return try UsageObject(value)
    }

    func objects(_ name: String) throws(MalformedUsageError) -> [UsageObject] {
        guard let value = self.members[name] else { return [] }
        guard case .array(let elements) = value else { throw MalformedUsageError() }
        var objects: [UsageObject] = []
        for element in elements { objects.append(try UsageObject(element)) }
        return objects
    }
}
