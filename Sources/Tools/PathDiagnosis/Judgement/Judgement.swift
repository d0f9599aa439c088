/// The verdict on one step: its outcome in words, and the faults that follow from its facts.
///
/// A value without an owner.
struct Judgement: Equatable {
    /// A fault, with the facts from which it follows.
    struct Fault: Equatable {
        let finding: PathFinding
        let evidence: [String]
        /// The effect on turns: that of the finding, unless it was found in one transport alone.
        let effect: PathFinding.Effect
        /// The fault as a clause: that of the finding, unless the facts say more.
        let clause: String

        init(finding: PathFinding, evidence: [String], effect: PathFinding.Effect? = nil, clause: String? = nil) {
            self.finding = finding
            self.evidence = evidence
            self.effect = effect ?? finding.row.effect
            self.clause = clause ?? finding.row.clause
        }
    }

    let outcome: ChappieDiagnosis.Outcome
    let words: String
    var fullWords: [String] = []
    var faults: [Fault] = []

    /// Returns the judgement of a step that works.
    static func ok(_ words: String, full: [String] = []) -> Self {
        Self(outcome: .ok, words: words, fullWords: full)
    }

    /// Returns the judgement of a step that was not examined.
    static func skipped(_ words: String) -> Self { Self(outcome: .skipped, words: words) }

    /// Returns the judgement of a step with a fault; the words are the evidence unless others are given, and the effect
    /// and the clause are those of the finding unless others are given.
    static func fault(
        _ finding: PathFinding, _ words: String, evidence: [String]? = nil, full: [String] = [],
        effect: PathFinding.Effect? = nil, clause: String? = nil
    ) -> Self {
        let fault = Fault(finding: finding, evidence: evidence ?? [words], effect: effect, clause: clause)
        let outcome: ChappieDiagnosis.Outcome =
            switch fault.effect {
            case .everything, .http, .webSocket: .failed
            case .doubt, .quality: .degraded
            case .hint: .ok
            }
        return Self(outcome: outcome, words: words, fullWords: full, faults: [fault])
    }
}

extension Examined {
    /// Returns the judgement of the facts, or that of a skipped step.
    func judged(_ judge: (Facts) -> Judgement) -> Judgement {
        switch self {
        case .skipped(let reason): .skipped(reason.words)
        case .found(let facts, _): judge(facts)
        }
    }

    /// The time of the step; nil when it was skipped.
    var time: StepTime? {
        if case .found(_, let time) = self { time } else { nil }
    }
}

extension Duration {
    /// The time in words, such as `38 ms` or `2.4 s`.
    var words: String {
        let milliseconds = Int((self / .milliseconds(1)).rounded())
        if milliseconds == 0, self > .zero { return "under 1 ms" }
        if abs(milliseconds) < 1_000 { return "\(milliseconds) ms" }
        let tenths = Int((self / .milliseconds(100)).rounded())
        if abs(tenths) < 100 { return "\(tenths / 10).\(abs(tenths % 10)) s" }
        let seconds = Int((self / .seconds(1)).rounded())
        if abs(seconds) < 600 { return "\(seconds) s" }
        if abs(seconds) < 36_000 { return "\(seconds / 60) min" }
        return abs(seconds) < 360_000 ? "\(seconds / 3_600) h" : "\(seconds / 86_400) days"
    }
}
