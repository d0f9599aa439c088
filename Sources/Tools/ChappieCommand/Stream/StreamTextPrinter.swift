// A stream as text for people and pipes. Pure.
import Chappie

/// Prints the text to standard output, and all other text to standard error.
///
/// Into a pipe the text goes byte for byte, with a line feed at the end of a complete response that has none.
///
/// Progress, reasoning and limits are shown on a terminal only.
struct StreamTextPrinter: StreamPrinter {
    /// The number of columns on a terminal for the input of a tool, and for its output.
    private static let toolColumnCount = 2_000

    private let terminals: Console.Terminals
    private let style: TerminalStyle
    private let width: Int?
    /// Returns the size of the terminal, which may change.
    private let size: () -> TerminalSize?
    /// The size at the beginning, where both outputs are terminals; nil elsewhere.
    private let sizeAtStart: TerminalSize?
    private var shown = ShownAnswer()
    private var textByteCount = 0
    /// Indicates whether the cursor is at the beginning of a line.
    private var isAtLineStart = true
    /// Indicates whether the text on standard output is empty or ends with a line feed.
    private var isLineEnded = true
    /// Indicates whether the last output was reasoning, which the answer does not continue.
    private var isInReasoning = false

    /// Creates a printer for the kinds of outputs; words on standard error are divided into lines of `width` columns,
    /// or not at all.
    init(
        terminals: Console.Terminals, style: TerminalStyle, width: Int? = nil,
        size: @escaping () -> TerminalSize? = { nil }
    ) {
        self.terminals = terminals
        self.style = style
        self.width = width
        self.size = size
        self.sizeAtStart = terminals.output && terminals.errorOutput ? size() : nil
    }

    mutating func printed(_ event: ChappieStreamEvent) -> PrintedText {
        let text = self.text(of: event)
        if self.sizeAtStart != nil {
            switch event {
            // The lines of tools follow an answer, and the words of a restart a void one: another answer begins.
            case .toolCallRequested, .approvalRequested, .toolCallCompleted, .restarted: self.shown.removeAll()
            case .textDelta, .reasoningDelta, .refusalDelta, .usageLimits, .raw, .diagnostic, .completed:
                self.shown.append(text)
            }
        }
        return text
    }

    private mutating func text(of event: ChappieStreamEvent) -> PrintedText {
        switch event {
        case .textDelta(let text): self.answer(text)
        case .reasoningDelta(let text): self.reasoning(text)
        case .refusalDelta(let text): PrintedText(errorOutput: self.shownOnError(text))
        case .usageLimits(let snapshot): self.progress(Self.words(for: snapshot))
        case .raw(let type, let payload): self.aside("\(type) \(payload)")
        case .toolCallRequested(let request):
            self.aside("tool \(request.name) \(request.arguments)", columns: Self.toolColumnCount)
        case .approvalRequested(let request): self.aside("tool \(request.name) waits for an answer")
        case .toolCallCompleted(let result):
            self.aside(
                "tool \(result.name) \(result.status.rawValue)" + (result.output.isEmpty ? "" : " \(result.output)"),
                columns: Self.toolColumnCount)
        case .restarted(let text): self.restarted(deliveredText: text)
        case .diagnostic(let diagnostic): self.progress(Self.words(for: diagnostic))
        case .completed: PrintedText(output: self.isInsideLine ? "\n" : "")
        }
    }

    /// Indicates whether standard output needs a line feed.
    private var isInsideLine: Bool { self.terminals.output ? !self.isAtLineStart : !self.isLineEnded }

    mutating func printed(_ failure: StreamFailure) -> PrintedText {
        var facts = [failure.tag]
        if let category = failure.category { facts.append("category \(category.rawValue)") }
        if failure.isRetryable, failure.category != nil { facts.append("may succeed later") }
        if !failure.namesAttempts, let fact = FailureLines.fact(ofAttempts: failure.attempts) { facts.append(fact) }
        if self.textByteCount > 0 { facts.append("\(self.textByteCount) bytes of text delivered") }
        if let issuer = failure.issuer { facts.append(FailureLines.fact(ofIssuer: issuer)) }
        if let requestID = failure.requestID { facts.append("request \(requestID.onOneLine(limit: 300))") }
        let lines = FailureLines(
            problem: failure.safeDescription, serverMessage: failure.serverMessage, facts: facts)
        let lineEnd = self.terminals.errorOutput && !self.isAtLineStart ? "\n" : ""
        let doctor = failure.concernsPath ? self.style.dim("  is it the network? chappie doctor finds out") + "\n" : ""
        return PrintedText(errorOutput: lineEnd + lines.text(style: self.style, width: self.width) + doctor)
    }

    private mutating func answer(_ text: String) -> PrintedText {
        self.textByteCount += text.utf8.count
        let lineEnd = self.endReasoning()
        self.isLineEnded = text.utf8.last == UInt8(ascii: "\n")
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
        guard self.terminals.errorOutput else { return PrintedText() }
        return self.line(HelpText.wrapped(words.escaped(columns: .max), behind: 2, width: self.width))
    }

    /// Returns a line before another answer takes the place of the text so far, which stays in the output, and is struck out
    /// on a terminal that still shows it.
    private mutating func restarted(deliveredText: String) -> PrintedText {
        self.textByteCount -= deliveredText.utf8.count
        var text = PrintedText()
        if let sizeAtStart, let size = self.size(), size.columnCount == sizeAtStart.columnCount {
            let shown = deliveredText.withoutControlCharacters
            text.errorOutput = self.shown.struckOut(shown, on: size, style: self.style) ?? ""
        }
        // Standard error is written first.
        if !(self.terminals.output && self.terminals.errorOutput), self.isInsideLine {
            text.output = "\n"
            if self.terminals.output { self.isAtLineStart = true }
        }
        self.isLineEnded = true
        let words = "the server answers differently: the text before this line is void, and the answer begins anew"
        text.errorOutput += self.aside(words).errorOutput
        return text
    }

    /// Returns a line of its own on standard error; on a terminal, `columns` columns of it at most.
    private mutating func aside(_ words: String, columns: Int = .max) -> PrintedText {
        guard self.terminals.errorOutput else { return PrintedText(errorOutput: words.escaped(columns: .max) + "\n") }
        return self.line(words.escaped(columns: columns))
    }

    /// Returns a line of its own on a terminal.
    private mutating func line(_ words: String) -> PrintedText {
        let lineEnd = self.isAtLineStart ? "" : "\n"
        self.isAtLineStart = true
        self.isInReasoning = false
        return PrintedText(errorOutput: lineEnd + self.style.dim(words) + "\n")
    }

    private static func words(for diagnostic: ChappieDiagnostic) -> String {
        let reason = diagnostic.reason.map { ": \($0)" } ?? ""
        switch diagnostic.kind {
        case .connected: return "connected" + (diagnostic.transport.map { " (\(Self.words(for: $0)))" } ?? "")
        case .reconnecting:
            let number = diagnostic.attempt.map { " \($0)" } ?? ""
            return "reconnecting" + number + (diagnostic.limit.map { " of \($0)" } ?? "") + reason
        case .rateLimited:
            let delay = diagnostic.delay.map { " for \(Int(($0 / .seconds(1)).rounded(.up))) s" } ?? ""
            return "the server asks for fewer requests; waiting" + delay + reason
        case .fellBack: return "going on over HTTP" + reason
        case .resumed: return "resumed where the response broke"
        case .stalled: return "nothing new for a while; waiting on"
        case .unknownEvent: return "an event of an unknown type" + reason
        case .sequenceGap: return "numbers of events are missing"
        case .steered: return "the response goes on with what was put into it"
        case .steerPending: return "what was put into the response waits for the next request"
        case .steerFailed: return "what was put into the response was refused" + reason
        case .contentRewritten: return "the response writes its content otherwise in the end"
        case .pathTimeLimit:
            let age = diagnostic.connectionAge.map { "\(Int(($0 / .seconds(1)).rounded())) s" } ?? "the same age"
            return "two connections were cut after \(age): that looks like a time limit on the path"
        case .contentTypeMismatch: return "an event stream with another content type" + reason
        case .replayVerified: return "caught up: \(diagnostic.byteCount ?? 0) bytes compared and withheld"
        }
    }

    private static func words(for transport: ChappieTransportKind) -> String {
        switch transport {
        case .webSocket: "WebSocket"
        case .httpSSE: "HTTP"
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
