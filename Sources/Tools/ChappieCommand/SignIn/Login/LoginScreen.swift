// The texts of a sign-in. Pure.
import PlatformFoundation

/// Formats the output of `chappie login`.
struct LoginScreen {
    /// The colour and weight of text.
    let style: TerminalStyle
    /// The number of columns of the terminal; nil when there is none.
    let width: Int?

    /// Returns a page and a code, each on a line of its own.
    func deviceCode(_ code: String, page: URL, completePage: URL?, lifetime: Duration) -> String {
        var lines = ["Open this page in a browser, on any device:", ""]
        lines += [self.standingOut(page.absoluteString), "", "and enter this code:", "", self.standingOut(code), ""]
        if let completePage {
            lines += ["This page has the code in it:", "", self.standingOut(completePage.absoluteString), ""]
        }
        lines.append("The code is good for \(Self.length(lifetime)). \(Self.goesOn)")
        lines.append("Never enter a code that somebody else has sent you.")
        return lines.map(self.wrapped).joined(separator: "\n") + "\n\n"
    }

    /// Returns the page that a browser opens.
    func browser(_ page: URL, isOpened: Bool) -> String {
        let lines = [
            isOpened
                ? "Your browser opens this page; if it does not, open it yourself:"
                : "Open this page in a browser on this machine:",
            "", self.standingOut(page.absoluteString), "",
            Self.goesOn,
        ]
        return lines.map(self.wrapped).joined(separator: "\n") + "\n\n"
    }

    private static let goesOn = "When you have agreed there, this goes on by itself."

    /// Returns a duration, from a minute on in whole minutes, because some seconds have passed already.
    private static func length(_ lifetime: Duration) -> String {
        let seconds = Int(lifetime.components.seconds)
        return TimeText.length(seconds: seconds < 60 ? seconds : (seconds + 59) / 60 * 60)
    }

    /// Returns bold text, indented where the line has room for that, because text that is broken over two lines is hard
    /// to copy.
    private func standingOut(_ text: String) -> String {
        let text = text.onOneLine()
        let isNarrow = self.width.map { text.count + 2 > $0 } ?? false
        return (isNarrow ? "" : "  ") + self.style.bold(text)
    }

    /// Breaks sentences at words; highlighted text is kept whole.
    private func wrapped(_ line: String) -> String {
        guard let width = self.width, line.first != " ", line.count > width, line.contains(" ") else { return line }
        return HelpText.wrapped(line, behind: 0, width: width)
    }
}

/// A line on a terminal that is rewritten in place.
///
/// Without escape sequences: the rest of a longer previous text is covered with spaces. Owned by the task that writes
/// it.
struct LiveLine {
    /// The echo of Ctrl-C by a terminal, after the text.
    private static let echo = "^C"

    /// The number of columns; a longer line would not stay in one place.
    let width: Int
    private var shownCount = 0

    /// Creates an empty line.
    init(width: Int) { self.width = width }

    /// Returns the characters that replace the previous text by another one.
    mutating func showing(_ text: String) -> String {
        let text = String(text.prefix(max(0, self.width - 1 - Self.echo.count)))
        defer { self.shownCount = text.count }
        return "\r" + text + String(repeating: " ", count: max(0, self.shownCount - text.count))
    }

    /// Returns the characters that leave an empty line, with the cursor at its beginning.
    mutating func erased() -> String {
        defer { self.shownCount = 0 }
        return self.shownCount == 0
            ? "" : "\r" + String(repeating: " ", count: self.shownCount + Self.echo.count) + "\r"
    }
}
