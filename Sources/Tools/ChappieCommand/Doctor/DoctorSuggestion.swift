// The text of `chappie doctor --suggest`. Pure: a report in, text out.
import ChappieDiagnosis

/// Formats the settings that fit a path: shell variables, options of the command line, and Swift.
enum DoctorSuggestion {
    /// Returns the settings, or sentences when there are none.
    static func text(_ report: ChappieDiagnosis.Report) -> String {
        let advice = report.advice
        guard !advice.isEmpty else {
            guard report.verdict == .fails else { return "The defaults fit.\n" }
            let remedies = report.causes.first?.remedies ?? []
            return (["There is nothing to set.", report.sentence] + remedies).joined(separator: " ") + "\n"
        }
        let settings = SuggestedSetting.all(in: advice)
        let blocks = [Self.shell(advice), Self.options(settings), Self.swift(settings)]
        return blocks.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    /// The settings in a line, such as `--http-only, SSL_CERT_FILE`.
    static func words(_ advice: ChappieDiagnosis.Advice) -> String {
        (SuggestedSetting.all(in: advice).map(\.option) + advice.variables).joined(separator: ", ")
    }

    private static func shell(_ advice: ChappieDiagnosis.Advice) -> String {
        guard !advice.variables.isEmpty else { return "" }
        return "# shell: set or correct\n" + advice.variables.map { "export \($0)=\(Self.form(of: $0))\n" }.joined()
    }

    private static func form(of variable: String) -> String {
        variable.hasSuffix("_PROXY") ? "SCHEME://USER:PASSWORD@HOST:PORT" : "FILE.pem"
    }

    private static func options(_ settings: [SuggestedSetting]) -> String {
        guard !settings.isEmpty else { return "" }
        return "# command line\nchappie stream \(settings.map(\.option).joined(separator: " ")) PROMPT\n"
    }

    private static func swift(_ settings: [SuggestedSetting]) -> String {
        guard !settings.isEmpty else { return "" }
        return "// Swift: ChappieTransportConfiguration\n" + settings.map { $0.statement + "\n" }.joined()
    }
}
