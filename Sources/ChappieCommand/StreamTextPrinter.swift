// A stream as text for people and pipes. Pure.
import Chappie

/// Prints the text to standard output, byte for byte into a pipe, and everything else to standard error.
///
/// Progress, reasoning and limits are shown on a terminal only.
struct StreamTextPrinter: StreamPrinter {
    private let terminals: Console.Terminals
    private let style: TerminalStyle
    private var textByteCount = 0
    /// Whether the person's cursor stands at the beginning of a line.
    private var isAtLineStart = true
    /// Whether the last thing shown was reasoning, which the answer does not continue.
    private var isInReasoning = false

    /// A printer for the kinds of reader that the outputs have.
    init(terminals: Console.Terminals, style: TerminalStyle) {
        self.terminals = terminals
        self.style = style
    }

    mutating func printed(_ event: ChappieStreamEvent) -> PrintedText {
        switch event {
        case .textDelta(let text): self.answer(text)
        case .reasoningDelta(let text): self.reasoning(text)
        case .refusalDelta(let text): PrintedText(errorOutput: self.shownOnError(text))
        case .usageLimits(let snapshot): self.progress(Self.words(for: snapshot))
        case .raw(let type, let payload): self.aside("\(type) \(payload)")
        case .toolCallRequested(let request): self.aside("tool \(request.name) \(request.arguments)")
        case .approvalRequested(let request): self.aside("tool \(request.name) waits for an answer")
        case .toolCallCompleted(let result):
            self.aside(
                "tool \(result.name) \(result.status.rawValue)" + (result.output.isEmpty ? "" : " \(result.output)"))
        case .diagnostic(let diagnostic): self.progress(Self.words(for: diagnostic))
        case .completed: PrintedText(output: self.terminals.output && !self.isAtLineStart ? "\n" : "")
        }
    }

    mutating func printed(_ failure: StreamFailure) -> PrintedText {
        var facts = [failure.tag]
        if let category = failure.category { facts.append("category \(category.rawValue)") }
        if failure.attempts > 0 { facts.append(failure.attempts == 1 ? "1 attempt" : "\(failure.attempts) attempts") }
        if self.textByteCount > 0 { facts.append("\(self.textByteCount) bytes of text delivered") }
        if let issuer = failure.issuer { facts.append("certificate issued by \(issuer.withoutControlCharacters)") }
        if let requestID = failure.requestID { facts.append("request \(requestID.withoutControlCharacters)") }
        let hint = failure.isRetryable && failure.category != nil ? ["The same request may succeed later."] : []
        let message = self.style.red("chappie:") + " " + ([failure.safeDescription] + hint).joined(separator: " ")
        let lineEnd = self.terminals.errorOutput && !self.isAtLineStart ? "\n" : ""
        return PrintedText(
            errorOutput: lineEnd + message + "\n" + self.style.dim("  " + facts.joined(separator: ", ")) + "\n")
    }

    private mutating func answer(_ text: String) -> PrintedText {
        self.textByteCount += text.utf8.count
        let lineEnd = self.endReasoning()
        guard self.terminals.output else { return PrintedText(output: text, errorOutput: lineEnd) }
        self.isAtLineStart = text.utf8.last == UInt8(ascii: "\n")
        return PrintedText(output: text.withoutControlCharacters, errorOutput: lineEnd)
    }

    private mutating func reasoning(_ text: String) -> PrintedText {
        guard self.terminals.errorOutput else { return PrintedText() }
        self.isInReasoning = true
        return PrintedText(errorOutput: self.style.dim(self.shownOnError(text)))
    }

    private mutating func endReasoning() -> String {
        defer { self.isInReasoning = false }
        guard self.isInReasoning, !self.isAtLineStart else { return "" }
        self.isAtLineStart = true
        return "\n"
    }

    private mutating func shownOnError(_ text: String) -> String {
        guard self.terminals.errorOutput else { return text }
        self.isAtLineStart = text.utf8.last == UInt8(ascii: "\n")
        return text.withoutControlCharacters
    }

    private mutating func progress(_ words: String) -> PrintedText {
        self.terminals.errorOutput ? self.aside(words) : PrintedText()
    }

    /// A line of its own on standard error.
    private mutating func aside(_ words: String) -> PrintedText {
        guard self.terminals.errorOutput else { return PrintedText(errorOutput: words + "\n") }
        let lineEnd = self.isAtLineStart ? "" : "\n"
        self.isAtLineStart = true
        self.isInReasoning = false
        return PrintedText(errorOutput: lineEnd + self.style.dim(words.withoutControlCharacters) + "\n")
    }

    private static func words(for diagnostic: ChappieDiagnostic) -> String {
        let reason = diagnostic.reason.map { ": \($0)" } ?? ""
        switch diagnostic.kind {
        case .connected: return "connected" + (diagnostic.transport.map { " (\($0.rawValue))" } ?? "")
        case .reconnecting:
            let number = diagnostic.attempt.map { " \($0)" } ?? ""
            return "reconnecting" + number + (diagnostic.limit.map { " of \($0)" } ?? "") + reason
        case .fellBack: return "going on over HTTP" + reason
        case .resumed: return "resumed where the response broke"
        case .stalled: return "nothing new for a while; waiting on"
        case .unknownEvent: return "an event of an unknown type" + reason
        case .sequenceGap: return "numbers of events are missing"
        case .steered: return "the response goes on with what was put into it"
        case .steerPending: return "what was put into the response waits for the next request"
        case .steerFailed: return "what was put into the response was refused" + reason
        case .replayVerified: return "caught up: \(diagnostic.byteCount ?? 0) bytes compared and withheld"
        }
    }

    private static func words(for snapshot: ChappieUsageLimitSnapshot) -> String {
        let windows = [snapshot.primary, snapshot.secondary].compactMap(\.self).map { window in
            let length = window.windowMinutes.map { " of \($0) minutes" } ?? ""
            return "\(window.usedPercent) %\(length)"
        }
        return "usage: " + (windows.isEmpty ? "unknown" : windows.joined(separator: ", "))
    }
}
