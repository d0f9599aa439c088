// The text of the demonstration. Pure.
import Chappie

/// Formats the scenes of the demonstration.
struct DemoPrinter {
    /// The colour and weight of text.
    let style: TerminalStyle
    /// The columns of a line.
    let width: Int

    /// Creates a printer for a terminal with a number of columns; nil for a pipe.
    init(style: TerminalStyle, columnCount: Int? = nil) {
        self.style = style
        self.width = HelpText.width(ofColumns: columnCount)
    }

    /// Returns the text of a scene: the fault, the observations, the report, and the checks.
    func text(_ scene: DemoScene, _ turns: [DemoObservation], _ checks: [DemoScene.Check]) -> String {
        var lines = [self.style.bold("\(scene.rawValue)  " + self.wrapped(scene.title, behind: 3))]
        lines.append(self.row("wire", scene.wire))
        for turn in turns {
            lines.append(self.row("consumer", Self.words(for: turn)))
            for attempt in turn.report.attempts {
                lines.append(self.row("attempt \(attempt.number)", Self.words(attempt)))
            }
            if let reason = turn.report.fallbackReason { lines.append(self.row("fallback", "because of \(reason)")) }
            if turn.report.verifiedReplayByteCount > 0 {
                let count = turn.report.verifiedReplayByteCount
                lines.append(self.row("verified", "\(count) replayed bytes were compared and withheld"))
            }
            if !turn.toolRuns.isEmpty {
                lines.append(
                    self.row("tool", "ran \(turn.toolRuns.count) times; \(turn.finishedTools) outputs went back"))
            }
            if let text = turn.divergedText { lines.append(self.row("delivered", Self.excerpt(text))) }
        }
        lines += checks.map { check in
            "   " + (check.holds ? self.style.green("✓") : self.style.red("✗")) + " "
                + self.wrapped(check.claim, behind: 5)
        }
        return lines.joined(separator: "\n") + "\n\n"
    }

    /// Returns the last line.
    func summary(sceneCount: Int, failedCount: Int) -> String {
        failedCount == 0
            ? self.style.green("All \(sceneCount) came out as promised.") + "\n"
            : self.style.red("\(failedCount) of \(sceneCount) did not come out as promised.") + "\n"
    }

    private func row(_ name: String, _ value: String) -> String {
        let blanks = String(repeating: " ", count: max(1, 11 - name.count))
        return "   " + self.style.dim(name + blanks) + self.wrapped(value, behind: 3 + name.count + blanks.count)
    }

    private func wrapped(_ text: String, behind column: Int) -> String {
        HelpText.wrapped(text, behind: column, width: self.width)
    }

    private static func words(for turn: DemoObservation) -> String {
        let count = "\(turn.textDeltas.count) text deltas, \(turn.text.utf8.count) bytes"
        if turn.completedCount > 0 { return count + ", completed" }
        guard let error = turn.error else { return count + ", and an end without 'completed'" }
        return count + ", then " + ((error as? ChappieClientError)?.tag ?? "an unexpected error")
    }

    private static func words(_ attempt: ChappieStreamReport.Attempt) -> String {
        var facts = [attempt.transport == .webSocket ? "WebSocket" : "HTTP"]
        if let status = attempt.statusCode, let opened = attempt.opened {
            facts.append("\(status) after \(Self.milliseconds(opened))")
        }
        facts.append("\(attempt.receivedByteCount) bytes in")
        if let outcome = attempt.outcome { facts.append(outcome) }
        return facts.joined(separator: ", ")
    }

    private static func milliseconds(_ seconds: Double) -> String {
        let tenths = (seconds * 10_000).rounded() / 10
        return "\(tenths) ms"
    }

    private static func excerpt(_ text: String) -> String {
        let limit = 60
        let line = text.replacing("\n", with: " ").withoutControlCharacters
        return "\"" + line.prefix(limit) + (line.count > limit ? "…\"" : "\"")
    }
}
