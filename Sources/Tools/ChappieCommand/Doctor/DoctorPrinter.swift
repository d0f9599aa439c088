// The result of an examination for a person: the sentence, the causes, what to set, and a lane for each step. Pure.
import ChappieDiagnosis

/// Formats reports.
struct DoctorPrinter {
    /// The colour and weight of text.
    let style: TerminalStyle
    /// The number of columns of a line.
    let width: Int
    /// Indicates whether characters beyond ASCII can be shown.
    let isUTF8: Bool
    /// Indicates whether names and addresses of machines are printed.
    let isFull: Bool
    /// The examined server.
    let subject: String

    private static let narrowest = 60
    private static let widest = 100
    /// The width below which bars are short, so that there is room for words.
    private static let roomy = 80
    /// The columns of a step's name and of its outcome.
    private static let columns = (name: 12, outcome: 9)
    /// The number of steps from which a run of them, skipped for one reason, is one row.
    private static let leastRun = 3

    /// Returns the whole report.
    func text(_ report: ChappieDiagnosis.Report) -> String {
        var text = self.sentence(report)
        for (index, cause) in report.causes.enumerated() {
            text += "\n" + self.text(cause, number: index + 1, of: report)
        }
        let settings = DoctorSuggestion.words(report.advice)
        if !settings.isEmpty { text += "\n" + self.wrapped("Set: \(settings)", indentation: 0) }
        return text + "\n" + self.table(report.steps)
    }

    private var lineWidth: Int { min(max(self.width, Self.narrowest), Self.widest) }

    /// Returns lines of text that begin at a column, the first behind a label, which has a line of its own where it is
    /// too long for that.
    ///
    /// Words that are longer than a line are cut into several.
    private func wrapped(_ text: String, indentation: Int, label: String = "") -> String {
        let room = self.lineWidth - indentation
        let words = text.onOneLine().split(separator: " ").flatMap { Self.pieces(of: $0, columns: room) }
        let lines = HelpText.wrapped(words.joined(separator: " "), indentation: indentation, width: self.lineWidth)
        return label.count < indentation || label.isEmpty
            ? label + lines.dropFirst(label.count) : label + "\n" + lines
    }

    private static func pieces(of word: Substring, columns: Int) -> [Substring] {
        var pieces: [Substring] = []
        var rest = word
        while rest.count > columns {
            pieces.append(rest.prefix(columns))
            rest = rest.dropFirst(columns)
        }
        return pieces + [rest]
    }

    // MARK: The verdict

    private func sentence(_ report: ChappieDiagnosis.Report) -> String {
        let lines = self.wrapped(report.sentence, indentation: 0).dropLast()
        let subject = self.style.dim(self.subject.onOneLine(limit: self.lineWidth))
        return self.style.bold(self.colored(String(lines), report.verdict)) + "\n" + subject + "\n"
    }

    private func colored(_ text: String, _ verdict: ChappieDiagnosis.Verdict) -> String {
        switch verdict {
        case .works: self.style.green(text)
        case .degraded: text
        case .fails: self.style.red(text)
        }
    }

    /// Returns a cause; its sentence is left out where the verdict has it.
    private func text(_ cause: ChappieDiagnosis.Cause, number: Int, of report: ChappieDiagnosis.Report) -> String {
        let isSaid = report.sentence.lowercased().hasSuffix(cause.sentence.lowercased())
        let heading = isSaid ? cause.name : "\(cause.name): \(cause.sentence)"
        let first = self.wrapped(heading, indentation: 3, label: "\(number).")
        let evidence = cause.evidence.map { self.item("seen:", $0) }
        let remedies = cause.remedies.map { self.item("try: ", $0) }
        return first + (evidence + remedies).joined()
    }

    private func item(_ label: String, _ text: String) -> String {
        let lines = self.wrapped(text, indentation: 9)
        return "   " + self.style.dim(label) + " " + lines.dropFirst(9)
    }

    // MARK: The table

    private func table(_ steps: [ChappieDiagnosis.StepResult]) -> String {
        let end = steps.compactMap { step in step.start.flatMap { start in step.duration.map { start + $0 } } }.max()
        var rows = ""
        var rest = steps[...]
        while let step = rest.first {
            let run = Self.run(at: rest)
            if let last = run.last, run.count >= Self.leastRun {
                rows += self.row(from: step, to: last)
                rest = rest.dropFirst(run.count)
            } else {
                rows += self.row(step, of: end ?? .zero)
                rest = rest.dropFirst()
            }
        }
        return rows
    }

    /// Returns the steps at the beginning that are skipped for one reason, and have nothing else to print.
    private static func run(at steps: ArraySlice<ChappieDiagnosis.StepResult>) -> [ChappieDiagnosis.StepResult] {
        let words = steps.first?.words
        return Array(steps.prefix { $0.outcome == .skipped && $0.words == words && $0.fullWords.isEmpty })
    }

    private func row(from first: ChappieDiagnosis.StepResult, to last: ChappieDiagnosis.StepResult) -> String {
        let label = "\(first.step.rawValue) to \(last.step.rawValue)  \(first.outcome.word)"
        let lines = self.wrapped(first.words, indentation: self.wordsColumn, label: label).dropLast()
        return self.style.dim(String(lines)) + "\n"
    }

    private func row(_ step: ChappieDiagnosis.StepResult, of whole: Duration) -> String {
        let name = Self.padded(step.step.rawValue, to: Self.columns.name)
        let outcome = Self.padded(step.outcome.word, to: Self.columns.outcome)
        let words = self.wrapped(step.words, indentation: self.wordsColumn).dropFirst(self.wordsColumn).dropLast()
        var row = name + self.marked(outcome, step.outcome) + self.bar(step, of: whole) + " "
        row += step.outcome == .skipped ? self.style.dim(String(words)) : String(words)
        let full = self.isFull ? step.fullWords.map { self.wrapped($0, indentation: Self.columns.name) } : []
        return row + "\n" + full.joined()
    }

    private var barLength: Int { self.lineWidth < Self.roomy ? 8 : 16 }

    /// The column at which a step's words begin.
    private var wordsColumn: Int { Self.columns.name + Self.columns.outcome + self.barLength + 1 }

    private func marked(_ text: String, _ outcome: ChappieDiagnosis.Outcome) -> String {
        switch outcome {
        case .ok: self.style.green(text)
        case .degraded: self.style.bold(text)
        case .failed: self.style.red(text)
        case .skipped: self.style.dim(text)
        }
    }

    /// Returns the lane of a step: a bar from its beginning to its end, at least one column long.
    private func bar(_ step: ChappieDiagnosis.StepResult, of whole: Duration) -> String {
        let length = self.barLength
        guard let start = step.start, let duration = step.duration, whole > .zero else {
            return String(repeating: " ", count: length)
        }
        func column(_ time: Duration) -> Int { Int((time / whole * Double(length)).rounded(.down)) }
        let first = min(max(0, column(start)), length - 1)
        let last = min(max(first, column(start + duration) - 1), length - 1)
        let filled = String(repeating: self.isUTF8 ? "█" : "#", count: last - first + 1)
        return String(repeating: " ", count: first) + self.marked(filled, step.outcome)
            + String(repeating: " ", count: length - last - 1)
    }

    private static func padded(_ text: String, to count: Int) -> String {
        text + String(repeating: " ", count: max(1, count - text.count))
    }
}

extension ChappieDiagnosis.Outcome {
    /// The outcome in a word.
    fileprivate var word: String {
        switch self {
        case .ok: "ok"
        case .degraded: "degraded"
        case .failed: "FAILED"
        case .skipped: "skipped"
        }
    }
}
