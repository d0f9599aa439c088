// The text of `chappie doctor --suggest`. Pure: a report in, text out.
import ChappieDiagnosis

/// Formats the settings that fit a path: shell variables, options of the command line, and Swift.
enum DoctorSuggestion {
    /// Returns the settings, or a sentence when the defaults fit.
    static func text(_ report: ChappieDiagnosis.Report) -> String {
        let advice = report.advice
        guard !advice.isEmpty else {
            return report.verdict == .fails
                ? "No setting of this program helps: \(report.sentence)\n" : "The defaults fit.\n"
        }
        let blocks = [Self.shell(advice), Self.options(advice), Self.swift(advice)]
        return blocks.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    /// The settings in a line, such as `--http-only, SSL_CERT_FILE`.
    static func words(_ advice: ChappieDiagnosis.Advice) -> String {
        var words = advice.usesHTTPOnly ? ["--http-only"] : []
        words += advice.variables
        if let interval = advice.pingInterval { words.append("pingInterval \(interval.components.seconds) s") }
        if advice.disablesCompression { words.append("offersCompression false") }
        return words.joined(separator: ", ")
    }

    private static func shell(_ advice: ChappieDiagnosis.Advice) -> String {
        guard !advice.variables.isEmpty else { return "" }
        return "# shell: set or correct\n" + advice.variables.map { "export \($0)=\(Self.form(of: $0))\n" }.joined()
    }

    private static func form(of variable: String) -> String {
        variable.hasSuffix("_PROXY") ? "SCHEME://USER:PASSWORD@HOST:PORT" : "FILE.pem"
    }

    private static func options(_ advice: ChappieDiagnosis.Advice) -> String {
        advice.usesHTTPOnly ? "# command line\nchappie stream --http-only PROMPT\n" : ""
    }

    private static func swift(_ advice: ChappieDiagnosis.Advice) -> String {
        var lines: [String] = []
        if advice.usesHTTPOnly { lines.append("configuration.policy = .httpSSEOnly") }
        if advice.disablesCompression { lines.append("configuration.offersCompression = false") }
        if let interval = advice.pingInterval {
            lines.append("configuration.timeouts.pingInterval = .seconds(\(interval.components.seconds))")
        }
        guard !lines.isEmpty else { return "" }
        return "// Swift: ChappieTransportConfiguration\n" + lines.map { $0 + "\n" }.joined()
    }
}
