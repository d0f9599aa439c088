// Holds usage limits against a plain reading.

import Invariants
import ResponseEvents

/// The usage limits of a header section.
struct UsageLimitCheck {
    private let section: FieldSection
    private let headers: UsageLimitHeaders

    /// Reads the fields.
    init(_ section: FieldSection) {
        self.section = section
        self.headers = UsageLimitHeaders(section.fields)
    }

    /// Looks at the range of what was read, and merges it again.
    func runBare() {
        self.checkRanges()
        self.checkMerging()
    }

    /// Compares what was read, and reads and merges it again.
    func run() {
        self.checkRanges()
        self.checkMerging()
        self.checkEnd()
        guard self.section.hasPlainNames else { return }
        self.compare()
        let variant = self.section.fields.map { (name: $0.name.uppercased(), value: "\t \($0.value) ") }
        require(UsageLimitHeaders(variant) == self.headers, "case and space around a value change the limits")
        self.checkReadingAgain()
    }

    private func checkRanges() {
        let snapshots = self.headers.snapshots
        require((1...UsageLimits.maximumCount).contains(snapshots.count), "\(snapshots.count) limits")
        require(snapshots[0].limitID == UsageLimitSnapshot.defaultLimitID, "the default limit is not the first")
        for window in snapshots.flatMap({ [$0.primary, $0.secondary] }) {
            guard let window else { continue }
            require(window.usedPercent.isFinite, "a share is \(window.usedPercent)")
            require((window.windowMinutes ?? 0) >= 0 && (window.resetsAt ?? 0) >= 0, "a time is negative")
        }
        for text in snapshots.flatMap({ [$0.limitID, $0.limitName ?? "x"] }) + [self.headers.planType ?? "x"] {
            require(!text.isEmpty && text == PlainText.trim(text), "\(text.debugDescription) is no text")
        }
        let active = self.headers.activeSnapshot
        let named = snapshots.first { $0.limitID == self.headers.activeLimitID }
        require(active == named ?? snapshots[0], "\(active.limitID) is not the active limit")
    }

    private func checkMerging() {
        var limits = UsageLimits()
        for snapshot in self.headers.snapshots { limits.merge(snapshot) }
        // Two families may have one limit's name; what one of them does not say stays.
        guard Set(self.headers.snapshots.map(\.limitID)).count == self.headers.snapshots.count else { return }
        require(limits.snapshots == self.headers.snapshots, "merged into nothing, the limits are others")
        for snapshot in self.headers.snapshots {
            limits.merge(snapshot)
            limits.merge(UsageLimitSnapshot(limitID: snapshot.limitID))
        }
        require(limits.snapshots == self.headers.snapshots, "merged twice, the limits are others")
    }

    /// Checks the end of the limit, for any time and any number of seconds.
    private func checkEnd() {
        let now = self.section.now
        var facts = ServerErrorFacts()
        facts.type = "usage_limit_reached"
        guard let error = Self.limit(facts) else { breakInvariant("a usage limit is none") }
        let known = self.headers.activeSnapshot.primary?.resetsAt
        require(error.resetsAt(now: now, headers: self.headers) == known, "the limit does not end with its window")
        facts.resetsInSeconds = self.section.values(named: "resets-in-seconds").first.flatMap(PlainText.integer).map {
            max(0, $0)
        }
        guard let seconds = facts.resetsInSeconds, let error = Self.limit(facts) else { return }
        let end = error.resetsAt(now: now, headers: self.headers)
        require(
            end == (now > Int.max - seconds ? Int.max : now + seconds), "\(seconds) s after \(now) is \(end as Any)")
    }

    private static func limit(_ facts: ServerErrorFacts) -> UsageLimitError? {
        UsageLimitError(facts) { $0 == "usage_limit_reached" }
    }

    // MARK: A plain reading

    private func compare() {
        let text = { (name: String) in self.values(named: name).first.flatMap { $0.isEmpty ? nil : $0 } }
        let plan = text("x-codex-plan-type").map { PlainText.trim(Self.word($0)) }
        require(self.headers.planType == plan, "another plan")
        require(self.headers.reachedType == text("x-codex-rate-limit-reached-type"), "another type was reached")
        let active = text("x-codex-active-limit").map(Self.limitID)
        require(self.headers.activeLimitID == active, "another limit is active: \(active as Any)")
        let families = self.families()
        require(self.headers.snapshots.count == families.count, "not the limits of \(families)")
        for (snapshot, family) in zip(self.headers.snapshots, families) { self.compare(snapshot, family: family) }
    }

    private func compare(_ snapshot: UsageLimitSnapshot, family: String) {
        let name = Self.limitID(String(family.dropFirst(2)))
        require(snapshot.limitID == name, "\(snapshot.limitID) is not \(name)")
        let limitName = self.values(named: family + "-limit-name").first
        require(snapshot.limitName ?? "" == limitName ?? "", "\(name) has another name for people")
        self.compare(snapshot.primary, family + "-primary")
        self.compare(snapshot.secondary, family + "-secondary")
        let flags = ["has-credits", "unlimited"].map { flag in
            self.values(named: "x-codex-credits-\(flag)").first.flatMap(PlainText.truth)
        }
        let isDefault = family == "x-codex"
        require(snapshot.planType == (isDefault ? self.headers.planType : nil), "\(name) has another plan")
        guard isDefault, let hasCredits = flags[0], let isUnlimited = flags[1] else {
            return require(snapshot.credits == nil, "\(name) has credits that nobody spoke of")
        }
        let balance = self.values(named: "x-codex-credits-balance").first.flatMap { $0.isEmpty ? nil : $0 }
        let credits = UsageLimitCredits(hasCredits: hasCredits, isUnlimited: isUnlimited, balance: balance)
        require(snapshot.credits == credits, "other credits than \(credits)")
    }

    private func compare(_ window: UsageLimitWindow?, _ prefix: String) {
        let used = self.values(named: prefix + "-used-percent").first.flatMap(PlainText.number)
        let times = ["-window-minutes", "-reset-at"].map { name in
            self.values(named: prefix + name).first.flatMap(PlainText.integer).flatMap { $0 < 0 ? nil : $0 }
        }
        // A server reports "no such window" by zero use without a length and an end.
        guard let used, used != 0 || times[0] ?? 0 != 0 || times[1] != nil else {
            return require(window == nil, "\(prefix) is a window that nobody spoke of")
        }
        let words = "\(prefix) is \(window as Any), and not \(used) of \(times)"
        require(window?.usedPercent == used && window?.windowMinutes == times[0] && window?.resetsAt == times[1], words)
    }

    /// No field of limits has a name of more than 256 bytes.
    private func values(named name: String) -> [String] {
        name.utf8.count <= 256 ? self.section.values(named: name) : []
    }

    private func families() -> [String] {
        var families = ["x-codex"]
        for name in self.section.fields.map({ PlainText.lowercase($0.name) }) where name.utf8.count <= 256 {
            guard name.utf8.starts(with: "x-".utf8), name.utf8.reversed().starts(with: Self.ending.utf8.reversed())
            else { continue }
            let family = String(decoding: name.utf8.dropLast(Self.ending.utf8.count), as: UTF8.self)
            if family.utf8.count > 2, !families.contains(family), families.count < 64 { families.append(family) }
        }
        return families
    }

    private static let ending = "-primary-used-percent"

    /// A word for programs has 256 bytes at most, and no half of a scalar.
    private static func word(_ text: String) -> String {
        var (kept, byteCount) = (String.UnicodeScalarView(), 0)
        for scalar in text.unicodeScalars {
            byteCount += UTF8.width(scalar)
            guard byteCount <= 256 else { break }
            kept.append(scalar)
        }
        return String(kept)
    }

    private static func limitID(_ name: String) -> String {
        let words = PlainText.trim(Self.word(name)).lowercased().split(separator: "-", omittingEmptySubsequences: false)
        let limitID = words.joined(separator: "_")
        return limitID.isEmpty ? "codex" : limitID
    }

    // MARK: Reading again

    /// Writes the limits as the fields that mean them, and reads those.
    private func checkReadingAgain() {
        let snapshots = self.headers.snapshots
        guard Set(snapshots.map(\.limitID)).count == snapshots.count else { return }
        var fields: [(name: String, value: String)] = []
        for snapshot in snapshots {
            let family = "x-\(snapshot.limitID)"
            fields += Self.fields(of: snapshot.primary, prefix: family + "-primary")
            fields += Self.fields(of: snapshot.secondary, prefix: family + "-secondary")
            fields.append(("\(family)-limit-name", snapshot.limitName ?? ""))
        }
        fields.append(("x-codex-plan-type", self.headers.planType ?? ""))
        fields.append(("x-codex-active-limit", self.headers.activeLimitID ?? ""))
        fields.append(("x-codex-rate-limit-reached-type", self.headers.reachedType ?? ""))
        if let credits = snapshots[0].credits {
            fields.append(("x-codex-credits-has-credits", "\(credits.hasCredits)"))
            fields.append(("x-codex-credits-unlimited", "\(credits.isUnlimited)"))
            fields.append(("x-codex-credits-balance", credits.balance ?? ""))
        }
        let again = UsageLimitHeaders(fields)
        require(again == self.headers, "written and read again, the limits are \(again), and not \(self.headers)")
    }

    private static func fields(of window: UsageLimitWindow?, prefix: String) -> [(name: String, value: String)] {
        // A window without known values is written too: its field's name reveals the family.
        [
            ("\(prefix)-used-percent", window.map { "\($0.usedPercent)" } ?? ""),
            ("\(prefix)-window-minutes", window?.windowMinutes.map { "\($0)" } ?? ""),
            ("\(prefix)-reset-at", window?.resetsAt.map { "\($0)" } ?? ""),
        ]
    }
}
