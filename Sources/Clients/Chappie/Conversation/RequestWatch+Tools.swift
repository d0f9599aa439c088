import ChappieTransport
import TransportSurface

extension RequestWatch {
    /// Logs and measures the end of a tool call.
    ///
    /// The line has only numbers and fixed words, because the content of a tool or a model does not belong into a log.
    /// A failure has the category that the error for it has.
    func note(_ result: ChappieToolExecutionResult, _ redaction: SecretRedaction) {
        let (level, message, outcome, category): (ChappieLogEntry.Level, String, String, ChappieErrorCategory?) =
            switch result.status {
            case .completed: (.info, "A tool call is complete.", "completed", nil)
            case .failed: (.warning, "A tool call failed.", "tool.failed", .internal)
            case .denied: (.warning, "A tool call was denied.", "tool.denied", .permission)
            case .cancelled: (.info, "A tool call was cancelled.", "cancelled", nil)
            }
        self.log(level, "tool", message) { entry in
            entry.duration = result.duration
            entry.tag = category == nil ? nil : outcome
            entry.category = category
            entry.privateMessage =
                result.status == .completed ? nil : redaction.words("\(result.name): \(result.output)")
        }
        self.measure("tool", result.duration, outcome: outcome, category: category)
    }
}
