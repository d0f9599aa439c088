// A stream as JSON lines. Pure.
import Chappie

/// Prints one JSON object a line, in order of arrival, ending with `completed` or `error`.
struct StreamJSONPrinter: StreamPrinter {
    mutating func printed(_ event: ChappieStreamEvent) -> PrintedText {
        var writer = JSONLineWriter()
        switch event {
        case .textDelta(let text): Self.add(text, type: "textDelta", to: &writer)
        case .reasoningDelta(let text): Self.add(text, type: "reasoningDelta", to: &writer)
        case .refusalDelta(let text): Self.add(text, type: "refusalDelta", to: &writer)
        case .usageLimits(let snapshot): Self.add(snapshot, to: &writer)
        case .raw(let type, let payload):
            writer.add("type", "raw")
            writer.add("eventType", type)
            writer.add("payload", payload)
        case .toolCallRequested(let request):
            writer.add("type", "toolCallRequested")
            writer.add("callID", request.callID)
            writer.add("name", request.name)
            writer.add("arguments", request.arguments)
            writer.add("policy", request.policy.rawValue)
        case .approvalRequested(let request):
            writer.add("type", "approvalRequested")
            writer.add("callID", request.callID)
            writer.add("name", request.name)
        case .toolCallCompleted(let result):
            writer.add("type", "toolCallCompleted")
            writer.add("callID", result.callID)
            writer.add("name", result.name)
            writer.add("status", result.status.rawValue)
            writer.add("output", result.output)
            writer.add("duration", result.duration / Duration.seconds(1))
        case .restarted(let deliveredText):
            writer.add("type", "restarted")
            writer.add("deliveredText", deliveredText)
        case .diagnostic(let diagnostic): Self.add(diagnostic, to: &writer)
        case .completed: writer.add("type", "completed")
        }
        return PrintedText(output: writer.line)
    }

    mutating func printed(_ failure: StreamFailure) -> PrintedText {
        var writer = JSONLineWriter()
        writer.add("type", "error")
        writer.add("tag", failure.tag)
        writer.add("category", failure.category?.rawValue)
        writer.add("detail", failure.detail)
        writer.add("retryable", failure.isRetryable)
        writer.add("safeDescription", failure.safeDescription)
        writer.add("serverMessage", failure.serverMessage)
        writer.add("replaySafety", failure.replaySafety.rawValue)
        writer.add("attempts", failure.attempts)
        writer.add("requestID", failure.requestID)
        writer.add("deliveredText", failure.deliveredText)
        return PrintedText(output: writer.line)
    }

    /// Returns the line of an error that comes before a stream: of the command line, a file, or a missing credential.
    ///
    /// - Parameters:
    ///   - error: the error.
    ///   - words: the command line behind the name of the command, which may be the fault itself.
    /// - Returns: the line; nil where no JSON lines are asked for.
    static func line(of error: any Error, words: [String]) -> String? {
        // The parser takes no word that begins so for the value of an option.
        guard words.prefix(while: { $0 != "--" }).contains("--json") else { return nil }
        var printer = Self()
        return printer.printed(StreamFailure(error, report: ChappieStreamReport(), proof: .none)).output
    }

    private static func add(_ text: String, type: String, to writer: inout JSONLineWriter) {
        writer.add("type", type)
        writer.add("text", text)
    }

    private static func add(_ snapshot: ChappieUsageLimitSnapshot, to writer: inout JSONLineWriter) {
        writer.add("type", "usageLimits")
        writer.add("planType", snapshot.planType)
        writer.add("primary", snapshot.primary)
        writer.add("secondary", snapshot.secondary)
    }

    private static func add(_ diagnostic: ChappieDiagnostic, to writer: inout JSONLineWriter) {
        writer.add("type", "diagnostic")
        writer.add("kind", diagnostic.kind.rawValue)
        writer.add("transport", diagnostic.transport?.rawValue)
        writer.add("attempt", diagnostic.attempt)
        writer.add("limit", diagnostic.limit)
        writer.add("reason", diagnostic.reason)
        writer.add("bytes", diagnostic.byteCount)
        writer.add("rung", diagnostic.rung?.rawValue)
        writer.add("connectionAge", diagnostic.connectionAge.map { $0 / .seconds(1) })
        writer.add("delay", diagnostic.delay.map { $0 / .seconds(1) })
    }
}

extension JSONLineWriter {
    /// Adds a usage window.
    mutating func add(_ name: String, _ window: ChappieUsageLimitWindow?) {
        guard let window else { return }
        self.addObject(name) { writer in
            writer.add("usedPercent", window.usedPercent)
            writer.add("windowMinutes", window.windowMinutes)
            writer.add("resetsAt", window.resetsAt)
        }
    }
}
