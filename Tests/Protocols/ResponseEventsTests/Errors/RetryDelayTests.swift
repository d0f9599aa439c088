// The delays that servers ask for, in valid and invalid forms.

import HTTPProtocol
import Testing

@testable import ResponseEvents

@Suite struct RetryDelayTests {
    /// 1994-11-06 08:49:37 UTC, the date of RFC 9110's examples.
    private let example = 784_111_777

    @Test(arguments: [
        ("0", nil), ("2", 2_000), ("2.5", 2_500), (" 3 ", 3_000), ("0.0001", 1), ("-5", nil), ("-0", nil),
        ("0.0", nil), ("Sun, 06 Nov 1994 08:49:36 GMT", nil), ("Sun, 06 Nov 1994 08:49:38 GMT", 1_000),
        ("1e3", 1_000_000), ("99999999999999999999", RetryDelay.maximum), ("31536000", RetryDelay.maximum),
        ("31535999", RetryDelay.maximum - 1_000), ("nan", nil), ("inf", nil), ("1e999", nil), ("", nil), ("soon", nil),
        ("0x10", nil), ("1,5", nil), ("5 s", nil),
    ])
    func secondsAreRead(text: String, milliseconds: Int?) {
        #expect(RetryDelay.milliseconds(headers: [("Retry-After", text)], now: self.example) == milliseconds)
    }

    @Test(arguments: [("250", 250), ("0.2", 1), ("-1", 7_000), ("0", 7_000), ("1e99", RetryDelay.maximum)])
    func millisecondsComeFirst(text: String, milliseconds: Int) {
        let headers = [(name: "retry-after", value: "7"), (name: "Retry-After-MS", value: text)]
        #expect(RetryDelay.milliseconds(headers: headers, now: 0) == milliseconds)
    }

    @Test func wrongMillisecondsLeaveTheSeconds() {
        #expect(RetryDelay.milliseconds(headers: [("retry-after-ms", "x"), ("retry-after", "7")], now: 0) == 7_000)
        #expect(RetryDelay.milliseconds(headers: [("date", "x")], now: 0) == nil)
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
    func everyFormOfADateIsRead(date: String) {
        let delay = { RetryDelay.milliseconds(headers: [("retry-after", date)], now: $0) }
        #expect(delay(self.example - 90) == 90_000)
        #expect(delay(self.example) == nil)
        #expect(delay(self.example + 90) == nil)
        #expect(delay(Int.max) == nil)
        #expect(delay(Int.min) == RetryDelay.maximum)
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
        ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400), ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
        ("Fri, 31 Dec 9999 23:59:60 GMT", 253_402_300_800), ("Sat, 31 Dec 2022 23:59:59 GMT", 1_672_531_199),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
        ("Tue, 29 Feb 0000 00:00:00 GMT", -62_162_121_600), ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
    ])
    func datesAreCountedFrom1970(date: String, seconds: Int) {
        #expect(HTTPDate.secondsSince1970(date, now: 0) == seconds)
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 2023 08:49:37 GMT", "Mon, 29 Feb 2100 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Non 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 19944 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov -994 08:49:37 GMT", "1994-11-06T08:49:37Z", "GMT", "Sun, 06 Nov 1994 08:49:37 GMT GMT",
    ])
    func invalidHTTPDateIsRefused(date: String) {
        #expect(HTTPDate.secondsSince1970(date, now: 0) == nil)
    }

    @Test func aShortYearIsAtMostFiftyYearsAhead() {
        let in2026 = 1_795_256_523
        #expect(HTTPDate.secondsSince1970("Wednesday, 01-Jan-76 00:00:00 GMT", now: in2026) == 3_345_062_400)
        #expect(HTTPDate.secondsSince1970("Saturday, 01-Jan-77 00:00:00 GMT", now: in2026) == 220_924_800)
        // The year 2076 begins within the 50 years and ends past them.
        #expect(HTTPDate.secondsSince1970("Friday, 31-Dec-76 00:00:00 GMT", now: in2026) == 220_838_400)
    }

    @Test func aShortYearMayBeginAnotherCentury() {
        let endOf2099 = 4_102_444_799
        #expect(HTTPDate.secondsSince1970("Friday, 01-Jan-00 00:00:00 GMT", now: endOf2099) == 4_102_444_800)
        // There is no such day in 2100.
        #expect(HTTPDate.secondsSince1970("Tuesday, 29-Feb-00 00:00:00 GMT", now: endOf2099) == 951_782_400)
        #expect(HTTPDate.secondsSince1970("Tuesday, 29-Feb-00 00:00:00 GMT", now: 3 * endOf2099 / 2) == 951_782_400)
        #expect(HTTPDate.secondsSince1970("Monday, 29-Feb-99 00:00:00 GMT", now: endOf2099) == nil)
    }

    @Test(arguments: [
        ("Please try again in 11.054s.", 11_054), ("Try again in 28ms", 28), ("TRY AGAIN IN 35 seconds", 35_000),
        ("try again in 7m12s. More words 5s", 432_000), ("try again in 1h2m3s", 3_723_000),
        ("try again in 2d", 172_800_000),
        ("try again in  1 minute 30 seconds", 90_000), ("try again in 6m0s", 360_000), ("try again in 1.s", nil),
        ("try again in .5s", nil), ("try again in 5 sheep", nil), ("try again in 5", nil), ("try again in", nil),
        ("try again in -5s", nil), ("try again in 0s", nil), ("try again in 0m0.0s", nil), ("again in 5s", nil),
        ("", nil), ("try again in 5s 3 apples", 5_000),
        ("try again in 99999999999999999999999d", RetryDelay.maximum), ("ü try again in 2.5s", 2_500),
        ("try again in " + String(repeating: "9", count: 400) + "d", RetryDelay.maximum),
    ])
    func aMessageMayHoldADelay(message: String, milliseconds: Int?) {
        #expect(RetryDelay.milliseconds(message: message) == milliseconds)
    }

    @Test(arguments: ["retry-after: 0", #"{"headers":{"Retry-After":"0"}}"#, "slow\nretry-after: -1"])
    func refusalThatStatesNoWaitStatesNoDelay(text: String) {
        #expect(RefusalText(text).retryAfter == nil)
        #expect(RetryDelay.withoutStatement(text) == text || text.hasPrefix("{"))
    }

    /// The time until a limit's window begins anew may be over.
    @Test func resetOfARateLimitMayBeNow() {
        #expect(RetryDelay.milliseconds(duration: "0s") == 0)
        #expect(RetryDelay.milliseconds(duration: "0") == 0)
    }

    @Test func onlyAnOrdinaryRateLimitsMessageIsRead() {
        var facts = ServerErrorFacts()
        facts.message = "Please try again in 2s."
        #expect(facts.retryDelay == nil)
        facts.code = "rate_limit_exceeded"
        #expect(facts.retryDelay == 2_000)
        facts.message = nil
        #expect(facts.retryDelay == nil)
    }
}
