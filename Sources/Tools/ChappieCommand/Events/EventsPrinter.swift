// The events of a server as text. Pure: values in, text out.
import ChappieTransport
import EventSource
import ServerSentEvents
import TransportSurface

/// Prints events to standard output, and all other text to standard error.
///
/// Into a pipe the output is an event stream from which a parser reads the same events. On a terminal control
/// characters are escaped.
struct EventsPrinter: Sendable {
    private let printsJSON: Bool
    private let terminals: Console.Terminals
    private let style: TerminalStyle
    private let width: Int?
    private var serializer = EventStreamSerializer()

    /// Creates a printer for the kinds of outputs; the style is that of standard error, whose words are divided into
    /// lines of `width` columns, or not at all.
    init(printsJSON: Bool, terminals: Console.Terminals, style: TerminalStyle, width: Int? = nil) {
        self.printsJSON = printsJSON
        self.terminals = terminals
        self.style = style
        self.width = width
    }

    /// Returns the text of an event.
    mutating func printed(_ event: ServerSentEvent) -> PrintedText {
        guard !self.printsJSON else { return PrintedText(output: EventStreamPrinter.line(event)) }
        // An event that was parsed can be written.
        guard let bytes = try? self.serializer.bytes(for: event) else { return PrintedText() }
        let text = String(decoding: bytes, as: UTF8.self)
        return PrintedText(output: self.terminals.output ? text.withEscapedControlCharacters : text)
    }

    /// Returns the line of JSON about the answer that a stream begins with; nil without JSON.
    ///
    /// Values that may be credentials are left out: the output often goes to a file.
    func line(ofStatusCode statusCode: Int, fields: [(name: String, value: String)]) -> String? {
        guard self.printsJSON else { return nil }
        var writer = JSONLineWriter()
        writer.add("type", "response")
        writer.add("statusCode", statusCode)
        writer.addObjects("fields", fields) { field, writer in
            let name = field.name.lowercased()
            writer.add("name", name)
            writer.add("value", FieldSecrets.isSecret(name) ? "[redacted]" : field.value)
        }
        return writer.line
    }

    /// Returns the line about an end without an error; nil where there is nothing to say.
    ///
    /// To a request such as a POST a server answers 204 because it has no more to say, and not to end a stream.
    func line(ofEndAfter method: String, statusCode: Int?, eventCount: Int) -> String? {
        guard method != "GET", statusCode == 204, eventCount == 0 else { return nil }
        return self.note("The server has accepted the request, and sends no event stream (http.204).")
    }

    /// Returns the line for a log entry; nil for those that are not shown.
    func line(for entry: ChappieLogEntry) -> String? {
        // The end is reported by the command itself, and a first connection is nothing to report into a file.
        guard entry.context != "event-source" else { return nil }
        guard entry.context != "connection" || self.terminals.errorOutput || entry.attempt ?? 1 > 1 else { return nil }
        let delay = entry.delay.map { "in \(($0 / .milliseconds(1)).rounded() / 1_000) s" }
        let facts = [entry.tag, delay].compactMap(\.self).joined(separator: ", ")
        return self.note(entry.message + (facts.isEmpty ? "" : " (\(facts))"))
    }

    private func note(_ words: String) -> String {
        self.style.dim("  " + HelpText.wrapped(words, behind: 4, width: self.width))
    }

    /// Returns the text of an event source that has failed or was interrupted.
    func printed(_ failure: EventsFailure) -> PrintedText {
        var facts = [failure.tag]
        if let category = failure.category { facts.append("category \(category.rawValue)") }
        if !failure.namesAttempts, let fact = FailureLines.fact(ofAttempts: failure.attempts) { facts.append(fact) }
        if let issuer = failure.issuer { facts.append(FailureLines.fact(ofIssuer: issuer)) }
        let lines = FailureLines(
            problem: failure.problem, serverMessage: failure.serverMessage, advice: failure.advice, facts: facts)
        return PrintedText(
            output: self.printsJSON ? Self.line(failure) : "",
            errorOutput: lines.text(style: self.style, width: self.width))
    }

    private static func line(_ failure: EventsFailure) -> String {
        var writer = JSONLineWriter()
        writer.add("type", "error")
        writer.add("tag", failure.tag)
        writer.add("category", failure.category?.rawValue)
        writer.add("retryable", failure.isRetryable)
        writer.add("statusCode", failure.statusCode)
        writer.add("safeDescription", failure.safeDescription)
        writer.add("serverMessage", failure.serverMessage)
        writer.add("attempts", failure.attempts)
        return writer.line
    }
}

/// The end of an event source whose answers were complete and empty, as often as reconnections are allowed.
struct ReconnectionsUsedUpError: Error {}

/// The known facts about an event source that has failed or was interrupted.
struct EventsFailure: Equatable {
    /// A stable name of the failure.
    var tag: String
    /// The category of the failure; nil for an interruption.
    var category: ChappieErrorCategory?
    /// Indicates whether the same request may succeed later.
    var isRetryable: Bool
    /// The status code of the answer, where the failure is about one.
    var statusCode: Int?
    /// The problem, safe to show.
    var problem: String
    /// The next step, safe to show; nil where there is none.
    var advice: String?
    /// The server's message, on one line; nil without one.
    var serverMessage: String?
    /// The issuer of the rejected certificate, as the certificate names it.
    var issuer: String?
    /// The number of attempts.
    var attempts: Int
    /// Indicates whether the problem names the number of attempts.
    var namesAttempts = false
    /// The exit code of the process.
    var status: ExitCode

    /// The problem and the advice, safe to show.
    var safeDescription: String { [self.problem, self.advice].compactMap(\.self).joined(separator: " ") }

    /// Collects the facts of an error.
    init(_ error: any Error, attempts: Int) {
        self.attempts = attempts
        self.status = ExitCode(error)
        let facts = FailureFacts(error)
        self.tag = facts.tag
        self.category = facts.category
        self.isRetryable = facts.isRetryable
        self.problem = facts.safeDescription
        if let error = error as? EventSourceError { self.add(error) }
        if error is ReconnectionsUsedUpError {
            self.advice = "Check the address, or raise the limit (--max-reconnects)."
        }
    }

    /// Adds the facts that only some errors have.
    private mutating func add(_ error: EventSourceError) {
        self.statusCode = error.statusCode
        self.problem = error.failureReason ?? error.safeDescription
        self.advice = error.recoverySuggestion
        switch error {
        case .refused(let refusal): self.serverMessage = ServerMessage.line(ofBody: refusal.body)
        case .transport(let failure):
            self.serverMessage = failure.details.serverMessage.flatMap(ServerMessage.line(ofBody:))
            self.issuer = failure.details.issuer
            self.namesAttempts = failure.attempts == self.attempts
        case .invalidArgument, .redirect, .alreadyRead: break
        }
    }
}
