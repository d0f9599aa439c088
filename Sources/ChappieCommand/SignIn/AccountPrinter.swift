// Accounts as text for people, and as JSON lines. Pure.
import Chappie
import ChappieSignIn
import PlatformFoundation

/// Formats accounts.
struct AccountPrinter {
    /// The colour and weight of text.
    let style: TerminalStyle
    /// The current time.
    let time: TimeText
    /// The width of lines; nil for lines that are not divided.
    var width: Int?

    /// Returns an account in a few lines.
    func text(_ account: ChappieAccount) -> String {
        let who = (account.email ?? account.userID ?? account.accountID)?.onOneLine(limit: 200)
        var lines = [self.style.bold(account.name.onOneLine(limit: 200)) + (who.map { "  \($0)" } ?? "")]
        if let accountID = account.accountID { lines.append(Self.row("account", accountID.onOneLine(limit: 200))) }
        if let planType = account.planType { lines.append(Self.row("plan", planType.onOneLine(limit: 200))) }
        lines.append(Self.row("signed in", self.end(account)))
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns an account as one object on a line of its own.
    static func line(_ account: ChappieAccount) -> String {
        var writer = JSONLineWriter()
        writer.add("type", "account")
        Self.add(account, to: &writer)
        return writer.line
    }

    /// Adds the facts of an account as fields.
    static func add(_ account: ChappieAccount, to writer: inout JSONLineWriter) {
        writer.add("name", account.name)
        writer.add("accountID", account.accountID)
        writer.add("email", account.email)
        writer.add("planType", account.planType)
        writer.add("userID", account.userID)
        writer.add("expiresAt", account.expiresAt)
        writer.add("requiresReauthentication", account.requiresReauthentication)
    }

    private func end(_ account: ChappieAccount) -> String {
        if account.requiresReauthentication {
            let words = "sign in again: chappie login --account \(account.name.onOneLine(limit: 200))"
            return self.style.red(self.wrapped(words))
        }
        guard let expiresAt = account.expiresAt, let clock = self.time.clockWords(expiresAt) else {
            return "the token is renewed by itself"
        }
        guard let until = self.time.untilWords(expiresAt) else {
            return self.wrapped("the token has ended (\(clock)); the next request renews it")
        }
        return self.wrapped("the token is good for \(until) (\(clock)), and is then renewed by itself")
    }

    private func wrapped(_ words: String) -> String {
        HelpText.wrapped(words, behind: Self.column, width: self.width)
    }

    /// The column at which values begin.
    private static let column = 13

    private static func row(_ name: String, _ value: String) -> String {
        "  " + name + String(repeating: " ", count: max(1, Self.column - 2 - name.count)) + value
    }
}
