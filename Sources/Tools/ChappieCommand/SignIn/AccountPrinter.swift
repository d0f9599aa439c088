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
    static func line(_ account: ChappieAccount, at date: Date = Date()) -> String {
        var writer = JSONLineWriter()
        writer.add("type", "account")
        Self.add(account, to: &writer)
        writer.add("nextRequest", account.nextRequest(at: date).rawValue)
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
        let next = account.nextRequest(at: self.time.now)
        let again = "sign in again: chappie login --account \(account.name.onOneLine(limit: 200))"
        if next == .requiresSignIn { return self.style.red(self.wrapped(again)) }
        guard let expiresAt = account.expiresAt, let clock = self.time.clockWords(expiresAt) else {
            return next == .usesToken ? "the token is renewed by itself" : "the next request renews the token"
        }
        let end = self.time.untilWords(expiresAt).map { "is good for \($0) (\(clock))" } ?? "has ended (\(clock))"
        let words =
            switch next {
            case .refreshes, .requiresSignIn: "; the next request renews it"
            case .usesToken where account.requiresReauthentication: ", and cannot be renewed; then \(again)"
            // Its end is before its issue: the clock is wrong, and only the server knows.
            case .usesToken where self.time.untilWords(expiresAt) == nil: " by this clock; the next request tries it"
            case .usesToken: ", and is then renewed by itself"
            }
        return self.wrapped("the token \(end)\(words)")
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
