// Logs and metrics of turns, for swift-log and swift-metrics.
//
// The article "Watching turns" lists the lines and the operations.
import Chappie
import Logging
import Metrics

extension ChappieTransportConfiguration {
    /// Sends every line to a logger, without what is private.
    mutating func log(to logger: Logger) {
        self.log = { (entry: ChappieLogEntry) in
            // Every field is a word, a number or an identifier. `privateMessage` is left out: it may repeat content.
            var metadata: Logger.Metadata = ["context": "\(entry.context)", "request_id": "\(entry.requestID)"]
            if let tag = entry.tag { metadata["tag"] = "\(tag)" }
            if let category = entry.category { metadata["category"] = "\(category.rawValue)" }
            if let isRetryable = entry.isRetryable { metadata["retryable"] = "\(isRetryable)" }
            if let serverID = entry.serverRequestID { metadata["server_request_id"] = "\(serverID)" }
            if let attempt = entry.attempt { metadata["attempt"] = "\(attempt)" }
            if let transport = entry.transport { metadata["transport"] = "\(transport.rawValue)" }
            if let delay = entry.delay { metadata["delay"] = "\(delay)" }
            if let duration = entry.duration { metadata["duration"] = "\(duration)" }
            logger.log(level: Logger.Level(entry.level), "\(entry.message)", metadata: metadata)
        }
    }

    /// Records durations, and by that the number of operations, by operation and outcome.
    mutating func record(as label: String) {
        self.metrics = { (metric: ChappieMetric) in
            // Both dimensions have few values: tags of errors, never identifiers.
            let dimensions = [("operation", metric.operation), ("outcome", metric.outcome)]
            let (seconds, attoseconds) = metric.duration.components
            Timer(label: "\(label).duration", dimensions: dimensions)
                .recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        }
    }
}

extension Logger.Level {
    fileprivate init(_ level: ChappieLogEntry.Level) {
        switch level {
        case .debug: self = .debug
        case .info: self = .info
        case .warning: self = .warning
        case .error: self = .error
        }
    }
}
