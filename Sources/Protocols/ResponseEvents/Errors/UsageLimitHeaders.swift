// Usage limits in header fields: those of an HTTP response, or inside an error event. Pure.
import HTTPProtocol

/// The usage limits in the header fields of one response.
///
/// A family of fields begins with `x-` and the limit's name: `x-codex-primary-used-percent` belongs to `codex`.
package struct UsageLimitHeaders: Equatable, Sendable {
    /// One snapshot for each family.
    ///
    /// The default limit comes first and is always present, even without known values.
    package let snapshots: [UsageLimitSnapshot]
    /// The limit that a refusal refers to.
    package let activeLimitID: String?
    /// The plan, as the server writes it.
    package let planType: String?
    /// The limit that was reached, as a machine-readable word.
    package let reachedType: String?

    /// The names of the default limit's fields, in lower case, for callers that request fields by name.
    package static let fieldNames =
        ["primary", "secondary"].flatMap { window in
            ["used-percent", "window-minutes", "reset-at"].map { "x-codex-\(window)-\($0)" }
        } + [
            "x-codex-plan-type", "x-codex-active-limit", "x-codex-rate-limit-reached-type",
            "x-codex-credits-has-credits", "x-codex-credits-unlimited", "x-codex-credits-balance",
        ]

    /// Reads header fields; names in any case.
    ///
    /// Of fields with the same name the first one is used. A name of more than 256 bytes is ignored.
    package init(_ headers: [(name: String, value: String)]) {
        let headers = headers.filter { $0.name.utf8.count <= String.maximumWordByteCount }
        let fields = Dictionary(
            headers.map { ($0.name.lowercased(), String($0.value.withoutSurroundingSpace)) },
            uniquingKeysWith: { first, _ in first }
        )
        self.planType = fields["x-codex-plan-type"].nonEmpty?.word.withoutBlanksAtEnd
        self.reachedType = fields["x-codex-rate-limit-reached-type"].nonEmpty
        self.activeLimitID = fields["x-codex-active-limit"].nonEmpty.map(UsageLimitSnapshot.limitID(named:))
        var snapshots = Self.families(headers).map { UsageLimitSnapshot(family: $0, fields: fields) }
        snapshots[0].credits = UsageLimitCredits(fields: fields)
        snapshots[0].planType = self.planType
        self.snapshots = snapshots
    }

    /// The snapshot of the limit that a refusal refers to, or else of the default limit.
    package var activeSnapshot: UsageLimitSnapshot {
        let active = self.activeLimitID.flatMap { limitID in self.snapshots.first { $0.limitID == limitID } }
        return active ?? self.snapshots[0]
    }

    /// Returns the beginnings of the fields' names, the default one first.
    private static func families(_ headers: [(name: String, value: String)]) -> [String] {
        let ending = "-primary-used-percent"
        var families = ["x-" + UsageLimitSnapshot.defaultLimitID]
        for name in headers.lazy.map({ $0.name.lowercased() }) where name.hasPrefix("x-") && name.hasSuffix(ending) {
            let family = String(name.dropLast(ending.count))
            guard family.count > 2, !families.contains(family), families.count < UsageLimits.maximumCount else {
                continue
            }
            families.append(family)
        }
        return families
    }
}

extension UsageLimitSnapshot {
    fileprivate init(family: String, fields: [String: String]) {
        self.init(
            limitID: Self.limitID(named: String(family.dropFirst(2))),
            limitName: fields["\(family)-limit-name"].nonEmpty,
            primary: UsageLimitWindow(prefix: "\(family)-primary", fields: fields),
            secondary: UsageLimitWindow(prefix: "\(family)-secondary", fields: fields)
        )
    }
}

extension UsageLimitWindow {
    fileprivate init?(prefix: String, fields: [String: String]) {
        guard let usedPercent = fields["\(prefix)-used-percent"].flatMap(Double.init(finite:)) else { return nil }
        self.init(
            usedPercent: usedPercent,
            windowMinutes: fields["\(prefix)-window-minutes"].flatMap(Int.init(lenient:)),
            resetsAt: fields["\(prefix)-reset-at"].flatMap(Int.init(lenient:))
        )
    }
}

extension UsageLimitCredits {
    /// Creates the credits; nil unless both flags are present.
    fileprivate init?(fields: [String: String]) {
        guard let hasCredits = fields["x-codex-credits-has-credits"].flatMap(Bool.init(lenient:)),
            let isUnlimited = fields["x-codex-credits-unlimited"].flatMap(Bool.init(lenient:))
        else { return nil }
        self.init(
            hasCredits: hasCredits, isUnlimited: isUnlimited, balance: fields["x-codex-credits-balance"].nonEmpty)
    }
}

extension String? {
    fileprivate var nonEmpty: String? { self?.isEmpty == false ? self : nil }
}

extension String {
    /// The text without spaces and tabs at its end: a whole field value has none there, but a cut one may.
    fileprivate var withoutBlanksAtEnd: String {
        var rest = self[...]
        while let last = rest.utf8.last, last == 0x20 || last == 0x09 { rest.removeLast() }
        return String(rest)
    }
}
