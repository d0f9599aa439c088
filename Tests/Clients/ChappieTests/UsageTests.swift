// An account's usage: body and path.
import Foundation
import Testing

@testable import Chappie

private let now = Date(timeIntervalSince1970: 1_000)

private func usage(_ text: String) -> ChappieUsage? { ChappieUsage(body: Array(text.utf8), now: now) }

private func window(_ members: String) -> ChappieUsageLimitWindow? {
    usage(#"{"rate_limit":{"primary_window":{\#(members)}}}"#)?.limit?.primary
}

@Suite struct UsageTests {
    @Test func aDocumentIsReadWhole() {
        let usage = usage(
            """
            {"plan_type":"plus",
             "rate_limit":{"allowed":true,"limit_reached":false,
               "primary_window":{"used_percent":42,"limit_window_seconds":18000,"reset_after_seconds":7349,
                 "reset_at":1795260000},
               "secondary_window":{"used_percent":5.5,"limit_window_seconds":604800,"reset_after_seconds":390000,
                 "reset_at":1795642651}},
             "credits":{"has_credits":true,"unlimited":false,"balance":"12.50","approx_local_messages":null},
             "spend_control":{"reached":false,"individual_limit":null},
             "additional_rate_limits":[
               {"limit_name":"Reviews","metered_feature":"reviews","rate_limit":{"allowed":false,"limit_reached":true}},
               {"metered_feature":"nameless","rate_limit":{}}, {"limit_name":"without a limit","rate_limit":null}],
             "rate_limit_reached_type":null}
            """)
        let primary = ChappieUsageLimitWindow(
            usedPercent: 42, windowMinutes: 300, resetsAt: Date(timeIntervalSince1970: 1_795_260_000))
        let secondary = ChappieUsageLimitWindow(
            usedPercent: 5.5, windowMinutes: 10_080, resetsAt: Date(timeIntervalSince1970: 1_795_642_651))
        #expect(
            usage
                == ChappieUsage(
                    planType: "plus",
                    limit: .init(isAllowed: true, isReached: false, primary: primary, secondary: secondary),
                    additionalLimits: [
                        "Reviews": .init(isAllowed: false, isReached: true, primary: nil, secondary: nil),
                        "nameless": .init(isAllowed: true, isReached: false, primary: nil, secondary: nil),
                    ],
                    credits: .init(isAvailable: true, isUnlimited: false, balance: "12.50")))
    }

    @Test func missingMembersAreNil() {
        let nothing = ChappieUsage(planType: nil, limit: nil, additionalLimits: [:], credits: nil)
        #expect(usage("{}") == nothing)
        #expect(
            usage(#"{"plan_type":null,"rate_limit":null,"credits":null,"additional_rate_limits":null}"#) == nothing)
    }

    @Test(arguments: [(60, 1), (61, 2), (119, 2), (120, 2), (18_000, 300), (1, 1), (0, 0)])
    func secondsBecomeWholeMinutes(seconds: Int, minutes: Int) {
        #expect(window(#""used_percent":0,"limit_window_seconds":\#(seconds)"#)?.windowMinutes == minutes)
    }

    @Test func resetAfterSecondsIsAddedToTheLocalTimeUnlessResetAtIsGiven() {
        #expect(window(#""used_percent":0,"reset_after_seconds":60"#)?.resetsAt == now.addingTimeInterval(60))
        #expect(
            window(#""used_percent":0,"reset_after_seconds":60,"reset_at":7"#)?.resetsAt
                == Date(timeIntervalSince1970: 7))
        #expect(window(#""used_percent":0"#)?.resetsAt == nil)
    }

    @Test(arguments: ["1e300", "-1e300", "-1e19", "-120"])
    func invalidMinutesAreLeftOut(seconds: String) throws {
        let read = try #require(window(#""used_percent":1e300,"limit_window_seconds":\#(seconds)"#))
        #expect(read.windowMinutes == nil)
    }

    @Test(arguments: [
        "", "x", "[]", "1", "null", "{", #"{"plan_type":1}"#, #"{"rate_limit":[]}"#,
        #"{"rate_limit":{"primary_window":{}}}"#, #"{"rate_limit":{"primary_window":{"used_percent":"42"}}}"#,
        #"{"rate_limit":{"primary_window":{"used_percent":1,"reset_at":"soon"}}}"#,
        #"{"rate_limit":{"allowed":"yes"}}"#, #"{"credits":true}"#, #"{"credits":{"balance":1}}"#,
        #"{"additional_rate_limits":{}}"#, #"{"additional_rate_limits":[1]}"#,
        #"{"additional_rate_limits":[{"rate_limit":{}}]}"#,
    ])
    func malformedUsageIsRejected(text: String) {
        #expect(usage(text) == nil)
    }

    @Test func bytesThatAreNotUTF8AreNotUsage() {
        #expect(ChappieUsage(body: [0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D], now: now) == nil)
    }

    @Test(arguments: [
        ("https://chatgpt.com/backend-api/codex", "/../wham/usage"),
        ("https://chatgpt.com/backend-api/codex/", "/../wham/usage"),
        ("https://chatgpt.com/backend-api", "/wham/usage"), ("https://h/backend-api/a/b", "/../../wham/usage"),
        ("https://h/x/backend-api/codex", "/../wham/usage"), ("https://h/v1", "/api/codex/usage"),
        ("https://h/my-backend-api", "/api/codex/usage"), ("https://h", "/api/codex/usage"),
    ])
    func usagePathFollowsFromTheBaseURL(base: String, path: String) throws {
        var endpoint = ChappieEndpoint.other(try #require(URL(string: base)))
        #expect(endpoint.usagePathOrDefault == path)
        endpoint.usagePath = "/usage"
        #expect(endpoint.usagePathOrDefault == "/usage")
    }
}
