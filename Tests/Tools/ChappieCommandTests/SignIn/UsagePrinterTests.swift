// Usage as bars, as plain lines, and as JSON.
import Foundation
import Testing

@testable import Chappie
@testable import ChappieCommand
@testable import ChappieTransport

/// 2026-11-22, 07:57:00 UTC.
private let now = Date(timeIntervalSince1970: 1_795_334_220)

private func printer(
    width: Int? = 80, isUTF8: Bool = true, isColored: Bool = false
) throws -> UsagePrinter {
    UsagePrinter(
        style: TerminalStyle(isColored: isColored), width: width, isUTF8: isUTF8,
        time: TimeText(now: now, timeZone: try #require(TimeZone(secondsFromGMT: 3_600))))
}

private func window(_ percent: Double, minutes: Int? = 300, resetsIn seconds: Double? = 7_380)
    -> ChappieUsageLimitWindow
{
    ChappieUsageLimitWindow(
        usedPercent: percent, windowMinutes: minutes, resetsAt: seconds.map { now.addingTimeInterval($0) })
}

private func usage(
    _ primary: ChappieUsageLimitWindow?, _ secondary: ChappieUsageLimitWindow? = nil, isReached: Bool = false
) -> ChappieUsage {
    ChappieUsage(
        planType: nil,
        limit: .init(isAllowed: !isReached, isReached: isReached, primary: primary, secondary: secondary),
        additionalLimits: [:], credits: nil)
}

@Suite struct UsagePrinterTests {
    @Test(arguments: [
        (0, "5 h  ░░░░░░░░░░░░░░░░  0 %  resets in 2 h 3 min (11:00)\n"),
        (0.1, "5 h  █░░░░░░░░░░░░░░░  0.1 %  resets in 2 h 3 min (11:00)\n"),
        (42, "5 h  ███████░░░░░░░░░  42 %  resets in 2 h 3 min (11:00)\n"),
        (99.9, "5 h  ███████████████░  99.9 %  resets in 2 h 3 min (11:00)\n"),
        (100, "5 h  ████████████████  100 %  resets in 2 h 3 min (11:00)\n"),
        (137.55, "5 h  ████████████████  137.6 %  resets in 2 h 3 min (11:00)\n"),
        (1e300, "5 h  ████████████████  99999 %  resets in 2 h 3 min (11:00)\n"),
        (-3, "5 h  ░░░░░░░░░░░░░░░░  0 %  resets in 2 h 3 min (11:00)\n"),
    ])
    func aWindowIsABar(percent: Double, text: String) throws {
        #expect(try printer().text(usage(window(percent))) == text)
    }

    @Test func windowsLineUp() throws {
        let text = try printer().text(usage(window(42), window(100, minutes: 10_080, resetsIn: 390_000)))
        #expect(
            text == """
                5 h  ███████░░░░░░░░░   42 %  resets in 2 h 3 min (11:00)
                7 d  ████████████████  100 %  resets in 4 d 12 h (2026-11-26 21:17)

                """)
    }

    @Test func withoutUTF8ABarIsASCII() throws {
        let text = try printer(isUTF8: false).text(usage(window(42)))
        #expect(text == "5 h  #######---------  42 %  resets in 2 h 3 min (11:00)\n")
        #expect(text.utf8.allSatisfy { $0 < 0x80 })
    }

    @Test func barsAreShownOnlyOnATerminal() throws {
        #expect(try printer(width: nil).text(usage(window(42))) == "5 h  42 %  resets in 2 h 3 min (11:00)\n")
    }

    @Test func barIsColoredOnlyInAColoredStyle() throws {
        #expect(try printer(isColored: true).text(usage(window(42))).contains("\u{1B}[32m███████\u{1B}[0m"))
        #expect(try printer(isColored: true).text(usage(window(90))).contains("\u{1B}[31m██████████████\u{1B}[0m"))
        #expect(try !printer().text(usage(window(90), isReached: true)).contains("\u{1B}"))
    }

    @Test(arguments: 1...80)
    func noLineIsWiderThanTheTerminal(width: Int) throws {
        let text = try printer(width: width).text(usage(window(42), window(100, minutes: 10_080)))
        for line in text.split(separator: "\n") {
            // The label and the number are never left out.
            #expect(line.count <= max(width, 10), "\(line)")
            #expect(line.contains(" %"))
        }
    }

    @Test func aNarrowTerminalGetsAShorterBarThenNoTimeThenNoBar() throws {
        let usage = usage(window(50))
        #expect(try printer(width: 48).text(usage) == "5 h  ████░░░░  50 %  resets in 2 h 3 min (11:00)\n")
        #expect(try printer(width: 44).text(usage) == "5 h  ██░░  50 %  resets in 2 h 3 min (11:00)\n")
        #expect(try printer(width: 43).text(usage) == "5 h  ████████░░░░░░░░  50 %\n")
        #expect(try printer(width: 15).text(usage) == "5 h  ██░░  50 %\n")
        #expect(try printer(width: 14).text(usage) == "5 h  50 %\n")
    }

    @Test func reachedLimitIsShown() throws {
        let text = try printer().text(usage(window(100), isReached: true))
        #expect(text.hasSuffix("\nThe limit is reached: requests are refused for now.\n"))
    }

    @Test func unknownValuesAreLeftOut() throws {
        #expect(try printer(width: nil).text(usage(window(1, minutes: nil, resetsIn: nil))) == "limit  1 %\n")
        for minutes in [0, -1, Int.min] {
            #expect(try printer(width: nil).text(usage(window(1, minutes: minutes, resetsIn: nil))) == "limit  1 %\n")
        }
        #expect(
            try printer(width: nil).text(usage(window(1, minutes: Int.max, resetsIn: nil))) == "1000000 d  1 %\n")
        #expect(try printer(width: nil).text(usage(window(1, resetsIn: -60))) == "5 h  1 %  has begun anew (08:56)\n")
        #expect(try printer(width: nil).text(usage(window(1, resetsIn: 1e15))) == "5 h  1 %\n")
        #expect(try printer().text(usage(nil)) == "no windows\n")
        let nothing = ChappieUsage(planType: nil, limit: nil, additionalLimits: [:], credits: nil)
        #expect(try printer().text(nothing) == "The server names no limits.\n")
    }

    @Test func planCreditsAndOtherLimitsAreShown() throws {
        let usage = ChappieUsage(
            planType: "plus", limit: .init(isAllowed: true, isReached: false, primary: window(42), secondary: nil),
            additionalLimits: [
                "zebra": .init(isAllowed: true, isReached: false, primary: window(1), secondary: nil),
                "ape": .init(isAllowed: false, isReached: false, primary: nil, secondary: nil),
            ], credits: .init(isAvailable: true, isUnlimited: false, balance: "12.50"))
        #expect(
            try printer(width: nil).text(usage) == """
                plan  plus
                5 h  42 %  resets in 2 h 3 min (11:00)
                ape
                The limit is reached: requests are refused for now.
                zebra
                5 h  1 %  resets in 2 h 3 min (11:00)
                credits  12.50

                """)
    }

    @Test func serverTextIsEscapedForTheTerminal() throws {
        let usage = ChappieUsage(
            planType: "plus\u{1B}]0;x\u{07}\nplan  root", limit: nil,
            additionalLimits: [
                "a\r\u{1B}[2Kb\u{2028}c": .init(isAllowed: true, isReached: false, primary: nil, secondary: nil)
            ],
            credits: .init(isAvailable: true, isUnlimited: false, balance: "1\n2"))
        #expect(
            try printer().text(usage) == """
                plan  plus]0;x plan  root

                a[2Kb c
                no windows

                credits  1 2

                """)
        let line = UsagePrinter.line(usage, account: "default")
        #expect(line.count { $0.isNewline } == 1)
        #expect(!line.contains("\u{1B}"))
    }

    @Test func jsonOutputIsOneObjectOnALine() {
        let usage = ChappieUsage(
            planType: "plus",
            limit: .init(
                isAllowed: true, isReached: false, primary: window(42.5), secondary: window(5, minutes: 10_080)),
            additionalLimits: ["a": .init(isAllowed: true, isReached: false, primary: nil, secondary: nil)],
            credits: .init(isAvailable: false, isUnlimited: false, balance: nil))
        let windows =
            #""primary":{"usedPercent":42.5,"windowMinutes":300,"resetsAt":"2026-11-22T10:00:00Z"},"#
            + #""secondary":{"usedPercent":5,"windowMinutes":10080,"resetsAt":"2026-11-22T10:00:00Z"}"#
        #expect(
            UsagePrinter.line(usage, account: "work")
                == #"{"type":"usage","account":"work","planType":"plus","allowed":true,"limitReached":false,\#(windows),"#
                + #""additionalLimits":{"a":{"allowed":true,"limitReached":false}},"#
                + #""credits":{"available":false,"unlimited":false}}"# + "\n")
    }
}

@Suite struct TimeTextTests {
    @Test(arguments: [
        (0, "0 s"), (-1, "0 s"), (1, "1 s"), (59, "59 s"), (60, "1 min"), (61, "1 min 1 s"), (892, "14 min 52 s"),
        (3_600, "1 h"), (3_659, "1 h"), (7_320, "2 h 2 min"), (86_399, "23 h 59 min"), (86_400, "1 d"),
        (604_800, "7 d"), (390_000, "4 d 12 h"),
    ])
    func aLengthHasItsTwoLargestUnits(seconds: Int, words: String) {
        #expect(TimeText.length(seconds: seconds) == words)
    }
}

@Suite struct LocaleTests {
    @Test(arguments: [
        (["LANG": "en_US.UTF-8"], true), (["LANG": "C.utf8"], true), (["LANG": "C"], false), ([:], false),
        (["LC_ALL": "C", "LANG": "en_US.UTF-8"], false), (["LC_ALL": "", "LC_CTYPE": "de_DE.UTF-8"], true),
        (["LC_CTYPE": "POSIX", "LANG": "en_US.UTF-8"], false),
    ])
    func localeVariablesDetermineUTF8Support(environment: [String: String], isUTF8: Bool) {
        #expect(Console(environment: environment).isUTF8 == isUTF8)
    }
}
