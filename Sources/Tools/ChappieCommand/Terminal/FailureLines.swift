// The lines about a failure on standard error. Pure.
import ChappieTransport

/// A failure as lines for people: the problem, the server's message, the next step and the facts, each stated once.
struct FailureLines {
    /// The problem, in sentences.
    let problem: String
    /// The server's message; nil without one.
    var serverMessage: String?
    /// The next step, in sentences; nil where there is none, or the problem's sentences end with it.
    var advice: String?
    /// The facts of the last line, such as the tag.
    let facts: [String]

    /// Returns the lines; a width divides them between words, nil does not.
    func text(style: TerminalStyle, width: Int?) -> String {
        let message = HelpText.wrapped(self.problem, behind: Console.name.count + 1, width: width)
        let said = self.serverMessage.map { Console.line(ofServer: $0, width: width) } ?? ""
        let advice = self.advice.map { "  " + HelpText.wrapped($0, behind: 4, width: width) + "\n" } ?? ""
        let facts = "  " + HelpText.wrapped(self.facts.joined(separator: ", "), behind: 4, width: width)
        return style.red(Console.name) + " " + message + "\n" + said + advice + style.dim(facts) + "\n"
    }
}

extension FailureLines {
    /// Returns the fact of a number of attempts; nil for none.
    static func fact(ofAttempts count: Int) -> String? {
        guard count > 0 else { return nil }
        return count == 1 ? "1 attempt" : "\(count) attempts"
    }

    /// Returns the fact of a rejected certificate's issuer, as the certificate names it.
    static func fact(ofIssuer issuer: String) -> String { "certificate issued by \(issuer.onOneLine(limit: 300))" }
}
