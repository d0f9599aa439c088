// The screen of a sign-in.
import Foundation
import Testing

@testable import ChappieCommand

private let page = URL(string: "https://auth.example/codex/device") ?? URL(filePath: "/")

private func screen(isColored: Bool = false, width: Int? = 80) -> LoginScreen {
    LoginScreen(style: TerminalStyle(isColored: isColored), width: width)
}

private func deviceCode(
    _ code: String = "ABCD-12345", screen: LoginScreen = screen(), completePage: URL? = nil
) -> [String] {
    screen.deviceCode(code, page: page, completePage: completePage, lifetime: .seconds(900))
        .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
}

@Suite struct LoginScreenTests {
    @Test func pageAndCodeStandOnLinesOfTheirOwn() {
        let lines = deviceCode()
        #expect(lines.contains("  https://auth.example/codex/device"))
        #expect(lines.contains("  ABCD-12345"))
        #expect(lines.contains { $0.contains("good for 15 min.") })
        #expect(!lines.joined().contains("\u{1B}"))
    }

    @Test func pageAndCodeAreBoldInAColoredStyle() {
        let lines = deviceCode(screen: screen(isColored: true))
        #expect(lines.contains("  \u{1B}[1mhttps://auth.example/codex/device\u{1B}[0m"))
        #expect(lines.contains("  \u{1B}[1mABCD-12345\u{1B}[0m"))
    }

    @Test func completeVerificationURLIsShownToo() throws {
        let complete = try #require(URL(string: "https://auth.example/device?user_code=ABCD"))
        #expect(deviceCode(completePage: complete).contains("  https://auth.example/device?user_code=ABCD"))
    }

    @Test(arguments: [10, 20, 34, 35, 40, 79])
    func noWordIsBrokenOnANarrowTerminal(width: Int) {
        for line in deviceCode(screen: screen(width: width)) where line.count > width {
            #expect(!line.contains(" "), "\(line)")
        }
        // What is copied is never indented past the edge.
        #expect(deviceCode(screen: screen(width: width)).contains { $0 == page.absoluteString } == (width < 35))
    }

    @Test func serverTextIsEscapedForTheTerminal() {
        let lines = deviceCode("A\u{1B}[2J\u{07}B\r\nSigned in.\u{9B}1m\u{202E}C")
        #expect(lines.contains("  A[2JB Signed in.1mC"))
        #expect(!lines.contains("Signed in."))
    }

    @Test func authorizationPageIsShownWithAndWithoutABrowser() {
        let opened = screen().browser(page, isOpened: true)
        let printed = screen().browser(page, isOpened: false)
        #expect(opened.hasPrefix("Your browser opens this page"))
        #expect(printed.hasPrefix("Open this page in a browser on this machine:\n"))
        for text in [opened, printed] { #expect(text.contains("\n  https://auth.example/codex/device\n")) }
    }
}

@Suite struct LiveLineTests {
    @Test func aTextTakesThePlaceOfTheOneBefore() {
        var line = LiveLine(width: 80)
        #expect(line.showing("10 s") == "\r10 s")
        #expect(line.showing("9 s") == "\r9 s ")
        #expect(line.showing("8 s") == "\r8 s")
        // The terminal may have written ^C behind it.
        #expect(line.erased() == "\r     \r")
        #expect(line.erased() == "")
    }

    @Test func aLineNeverPassesTheLastColumn() {
        var line = LiveLine(width: 8)
        #expect(line.showing("1234567890") == "\r12345")
        #expect(line.erased() == "\r       \r")
        var none = LiveLine(width: 0)
        #expect(none.showing("1") == "\r")
    }

    @Test(arguments: [
        (Duration.seconds(900), "Waiting: 15 min left, Ctrl-C cancels."),
        (.milliseconds(891_001), "Waiting: 14 min 52 s left, Ctrl-C cancels."),
        (.milliseconds(1), "Waiting: 1 s left, Ctrl-C cancels."), (.zero, "Waiting for the server's last word."),
        (.seconds(-5), "Waiting for the server's last word."),
    ])
    func theSecondThatHasBegunIsShown(remaining: Duration, words: String) {
        #expect(LoginCountdown.words(remaining: remaining) == words)
    }
}

@Suite struct BrowserOpenerTests {
    #if os(Linux)
        @Test(
            arguments: [
                ([:], nil), (["DISPLAY": ""], nil), (["DISPLAY": ":0"], "xdg-open"),
                (["WAYLAND_DISPLAY": "wayland-0"], "xdg-open"),
            ] as [([String: String], String?)])
        func withoutADisplayNothingIsOpened(environment: [String: String], program: String?) {
            let opener = BrowserOpener(environment: environment)
            #expect(opener.program == program)
            if program == nil { #expect(!opener.open("https://h/")) }
        }
    #endif
}
