// Usage limits from header fields and events, and how newer ones are merged into older ones.

import Testing

@testable import ResponseEvents

@Suite struct UsageLimitTests {
    private let codexFields: [(name: String, value: String)] = [
        ("X-Codex-Primary-Used-Percent", "42.5"), ("x-codex-primary-window-minutes", "300"),
        ("X-CODEX-PRIMARY-RESET-AT", "1795256523"), ("x-codex-primary-reset-after-seconds", "13872"),
        ("x-codex-secondary-used-percent", " 41 "), ("x-codex-secondary-window-minutes", "10080"),
        ("x-codex-primary-over-secondary-limit-percent", "0"), ("x-codex-plan-type", "plus"),
        ("x-codex-credits-has-credits", "False"), ("x-codex-credits-unlimited", "1"), ("x-codex-credits-balance", ""),
    ]

    @Test func theDefaultFamilyIsRead() {
        let limits = UsageLimitHeaders(self.codexFields)
        let expected = UsageLimitSnapshot(
            primary: UsageLimitWindow(usedPercent: 42.5, windowMinutes: 300, resetsAt: 1_795_256_523),
            secondary: UsageLimitWindow(usedPercent: 41, windowMinutes: 10_080),
            credits: UsageLimitCredits(hasCredits: false, isUnlimited: true),
            planType: "plus"
        )
        #expect(limits.snapshots == [expected])
        #expect(limits.activeSnapshot == expected)
        #expect(limits.planType == "plus")
    }

    @Test func planThatIsCutDoesNotEndInBlanks() {
        let plan = String(repeating: "p", count: 254)
        let limits = UsageLimitHeaders([("x-codex-plan-type", plan + " \t plus")])
        #expect(limits.planType == plan)
        #expect(UsageLimitHeaders([("x-codex-plan-type", limits.planType ?? "")]) == limits)
    }

    @Test func furtherFamiliesAreFoundByTheirFields() {
        let fields =
            self.codexFields + [
                ("X-Codex-Bengalfox-Primary-Used-Percent", "7"), ("x-codex-bengalfox-limit-name", "Fox"),
                ("x-codex-active-limit", "Codex-Bengalfox"), ("-primary-used-percent", "1"),
                ("x--primary-used-percent", "1"), ("y-other-primary-used-percent", "1"),
            ]
        let limits = UsageLimitHeaders(fields)
        #expect(limits.snapshots.map(\.limitID) == ["codex", "codex_bengalfox"])
        let fox = UsageLimitSnapshot(
            limitID: "codex_bengalfox", limitName: "Fox", primary: UsageLimitWindow(usedPercent: 7))
        #expect(limits.activeSnapshot == fox)
    }

    @Test func anActiveLimitWithoutFieldsMeansTheDefault() {
        let limits = UsageLimitHeaders(self.codexFields + [("x-codex-active-limit", "premium")])
        #expect(limits.activeLimitID == "premium")
        #expect(limits.activeSnapshot.limitID == "codex")
    }

    /// Space and mark are one character, but no one byte of the mark is space.
    @Test(arguments: ["\u{0610}x", "x\u{0301}"])
    func valuesAreTrimmedByBytes(name: String) {
        let headers = UsageLimitHeaders([("X-CODEX-ACTIVE-LIMIT", "\t \(name) ")])
        #expect(headers.activeLimitID.map { Array($0.utf8) } == Array(name.utf8))
        #expect(UsageLimitHeaders([("x-codex-active-limit", name)]) == headers)
    }

    @Test func noFieldsAreAnEmptySnapshot() {
        let limits = UsageLimitHeaders([])
        #expect(limits.snapshots == [UsageLimitSnapshot()])
        #expect(limits.activeSnapshot.isEmpty)
    }

    @Test func inventedLimitFamiliesAreBounded() {
        let fields = (0..<1_000).map { ("x-\($0)-primary-used-percent", "1") }
        #expect(UsageLimitHeaders(fields).snapshots.count == UsageLimits.maximumCount)
        var limits = UsageLimits()
        for index in 0..<1_000 { limits.merge(UsageLimitSnapshot(limitID: "\(index)", planType: "p")) }
        #expect(limits.snapshots.count == UsageLimits.maximumCount)
    }

    @Test(arguments: [
        ("0", nil, nil, false), ("0", "0", nil, false), ("0.0", "0", "x", false), ("0", "300", nil, true),
        ("0", nil, "5", true), ("1", nil, nil, true), ("nan", "300", "5", false), ("inf", "300", "5", false),
        ("0x10", "300", "5", false), ("", "300", "5", false), ("abc", "300", "5", false), ("1e999", "3", "5", false),
        ("120", "3", "5", true), ("-1", "3", "5", true),
    ])
    func windowExistsOnlyWithUsageLengthOrResetTime(used: String, minutes: String?, reset: String?, exists: Bool) {
        var fields = [(name: "x-codex-primary-used-percent", value: used)]
        if let minutes { fields.append(("x-codex-primary-window-minutes", minutes)) }
        if let reset { fields.append(("x-codex-primary-reset-at", reset)) }
        #expect((UsageLimitHeaders(fields).snapshots[0].primary != nil) == exists)
    }

    @Test(arguments: ["-5", "99999999999999999999", "1.5", "x", "", "0x1f", "1e30", "nan"])
    func invalidNumberIsUnknown(text: String) {
        let fields = [
            (name: "x-codex-primary-used-percent", value: "5"), (name: "x-codex-primary-window-minutes", value: text),
            (name: "x-codex-primary-reset-at", value: text),
        ]
        #expect(UsageLimitHeaders(fields).snapshots[0].primary == UsageLimitWindow(usedPercent: 5))
    }

    @Test(arguments: [
        ("true", true), ("TRUE", true), ("True", true), ("1", true), ("false", false), ("False", false), ("0", false),
        ("yes", nil), ("", nil), ("2", nil), ("truee", nil),
    ])
    func aFlagIsReadInAnyCase(text: String, flag: Bool?) {
        let fields = [
            (name: "x-codex-credits-has-credits", value: text), (name: "x-codex-credits-unlimited", value: "false"),
            (name: "x-codex-credits-balance", value: "12.40"),
        ]
        let credits = UsageLimitHeaders(fields).snapshots[0].credits
        #expect(credits?.hasCredits == flag)
        #expect(credits == flag.map { UsageLimitCredits(hasCredits: $0, isUnlimited: false, balance: "12.40") })
    }

    @Test func creditsNeedBothFlags() {
        #expect(UsageLimitHeaders([("x-codex-credits-unlimited", "true")]).snapshots[0].credits == nil)
    }

    // MARK: Events

    @Test func rateLimitEventIsReadIntoASnapshot() throws {
        let snapshot = try rateLimits(
            #"""
            {"type":"codex.rate_limits","plan_type":"plus","rate_limits":{"allowed":true,
            "primary":{"used_percent":42,"window_minutes":300,"reset_at":1795260000},
            "secondary":{"used_percent":5.5,"window_minutes":10080.0,"reset_at":"1795642651"}},
            "credits":{"has_credits":true,"unlimited":false,"balance":"12.40"},"promo":null}
            """#)
        let expected = UsageLimitSnapshot(
            primary: UsageLimitWindow(usedPercent: 42, windowMinutes: 300, resetsAt: 1_795_260_000),
            secondary: UsageLimitWindow(usedPercent: 5.5, windowMinutes: 10_080, resetsAt: 1_795_642_651),
            credits: UsageLimitCredits(hasCredits: true, isUnlimited: false, balance: "12.40"),
            planType: "plus"
        )
        #expect(snapshot == expected)
    }

    @Test(arguments: [
        "", #","rate_limits":null,"credits":null,"plan_type":null"#, #","rate_limits":[],"credits":1,"plan_type":{}"#,
        #","rate_limits":{"primary":null,"secondary":"x"}"#, #","rate_limits":{"primary":{"used_percent":"x"}}"#,
        #","rate_limits":{"primary":{"used_percent":0,"window_minutes":0,"reset_at":null}}"#,
    ])
    func missingOrMalformedRateLimitsLeaveTheSnapshotEmpty(members: String) throws {
        #expect(try rateLimits(#"{"type":"codex.rate_limits"\#(members)}"#) == UsageLimitSnapshot())
    }

    @Test(arguments: [
        (#""metered_limit_name":"codex-Fox""#, "codex_fox", nil), (#""limit_name":"fox""#, "fox", "fox"),
        (#""limit_name":"F","metered_limit_name":"m""#, "m", "F"), (#""limit_name":"""#, "codex", ""),
    ])
    func anEventMayNameItsLimit(member: String, limitID: String, name: String?) throws {
        let snapshot = try rateLimits(#"{"type":"codex.rate_limits",\#(member)}"#)
        #expect(snapshot.limitID == limitID)
        #expect(snapshot.limitName == name)
    }

    // MARK: Merging

    @Test func mergingAnEmptySnapshotKeepsValues() {
        let full = UsageLimitHeaders(self.codexFields).snapshots[0]
        var merged = full
        merged.merge(UsageLimitSnapshot())
        #expect(merged == full)
        var limits = UsageLimits()
        limits.merge(full)
        limits.merge(UsageLimitSnapshot())
        limits.merge(UsageLimitSnapshot(limitID: "fox", planType: "pro"))
        #expect(limits["codex"] == full)
        #expect(limits["fox"]?.planType == "pro")
        #expect(limits["none"] == nil)
    }

    @Test func newerFactsReplaceOlderOnes() {
        var merged = UsageLimitHeaders(self.codexFields).snapshots[0]
        merged.merge(UsageLimitSnapshot(primary: UsageLimitWindow(usedPercent: 50), planType: "pro"))
        let window = UsageLimitWindow(usedPercent: 50, windowMinutes: 300, resetsAt: 1_795_256_523)
        #expect(merged.primary == window)
        #expect(merged.secondary == UsageLimitWindow(usedPercent: 41, windowMinutes: 10_080))
        #expect(merged.planType == "pro")
    }

    // MARK: Plans

    @Test(arguments: [
        ("free", "Free"), ("PLUS", "Plus"), ("prolite", "Pro Lite"), ("promax", "Pro Max"), ("hc", "Enterprise"),
        ("ent26", "Enterprise"), ("education", "Edu"), ("k12", "K12"), ("free_workspace", "Free Workspace"),
        ("self_serve_business_usage_based", "Self Serve Business Usage Based"),
        ("enterprise_cbp_usage_based", "Enterprise CBP Usage Based"), ("Something_New", "Something_New"), ("", ""),
    ])
    func aPlanHasANameForPeople(planType: String, name: String) {
        #expect(PlanName.displayName(planType: planType) == name)
    }
}

private func rateLimits(_ json: String) throws -> UsageLimitSnapshot {
    try withEvent(Array(json.utf8)) { event in
        guard case .rateLimits(let snapshot) = event.kind else {
            Issue.record("not that event")
            return UsageLimitSnapshot(limitID: "?")
        }
        return snapshot
    }
}
