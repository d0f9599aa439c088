// The result of an examination as a JSON line. Pure.
import ChappieDiagnosis

/// Formats reports as JSON.
enum DoctorJSON {
    /// Returns the report as one object on a line of its own; `isFull` adds names and addresses of machines.
    static func line(_ report: ChappieDiagnosis.Report, isFull: Bool) -> String {
        var writer = JSONLineWriter()
        writer.add("type", "diagnosis")
        writer.add("verdict", report.verdict.rawValue)
        writer.add("sentence", report.sentence)
        writer.addObjects("causes", report.causes) { Self.add($0, to: &$1) }
        writer.addObjects("steps", report.steps) { Self.add($0, isFull: isFull, to: &$1) }
        writer.addObject("advice") { Self.add(report.advice, to: &$0) }
        return writer.line
    }

    private static func add(_ cause: ChappieDiagnosis.Cause, to writer: inout JSONLineWriter) {
        writer.add("name", cause.name)
        writer.add("step", cause.step.rawValue)
        writer.add("sentence", cause.sentence)
        writer.add("evidence", cause.evidence)
        writer.add("remedies", cause.remedies)
    }

    private static func add(_ step: ChappieDiagnosis.StepResult, isFull: Bool, to writer: inout JSONLineWriter) {
        writer.add("step", step.step.rawValue)
        writer.add("outcome", step.outcome.rawValue)
        writer.add("words", step.words)
        writer.add("start", step.start.map(Self.seconds))
        writer.add("duration", step.duration.map(Self.seconds))
        if isFull, !step.fullWords.isEmpty { writer.add("full", step.fullWords) }
    }

    /// Returns seconds, to a thousandth.
    private static func seconds(_ time: Duration) -> Double { (time / .milliseconds(1)).rounded() / 1_000 }

    private static func add(_ advice: ChappieDiagnosis.Advice, to writer: inout JSONLineWriter) {
        writer.add("httpOnly", advice.usesHTTPOnly)
        writer.add("offersCompression", !advice.disablesCompression)
        writer.add("pingInterval", advice.pingInterval.map { $0 / .seconds(1) })
        writer.add("variables", advice.variables)
    }
}
