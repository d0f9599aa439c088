package import StreamSession

/// Reports the course of one request to the program's sinks: every line has the request's name.
///
/// A value. A sink is called on the caller's task, with no lock held; without one no line is made.
package struct RequestWatch: Sendable {
    /// The caller's name for the request.
    package let requestID: String
    private let sink: (@Sendable (ChappieLogEntry) -> Void)?
    private let meter: (@Sendable (ChappieMetric) -> Void)?

    /// Creates a watch with these sinks.
    package init(
        requestID: String, log: (@Sendable (ChappieLogEntry) -> Void)?, metrics: (@Sendable (ChappieMetric) -> Void)?
    ) {
        self.requestID = requestID
        self.sink = log
        self.meter = metrics
    }

    /// Indicates whether the lines have a sink.
    package var isLogging: Bool { self.sink != nil }

    /// Logs one line.
    ///
    /// - Parameters:
    ///   - level: the severity.
    ///   - context: one of `ChappieLogEntry.context`.
    ///   - message: a fixed sentence, without text from outside.
    ///   - fill: a closure that adds the facts.
    package func log(
        _ level: ChappieLogEntry.Level, _ context: String, _ message: String,
        _ fill: (inout ChappieLogEntry) -> Void = { _ in }
    ) {
        guard let sink = self.sink else { return }
        var entry = ChappieLogEntry(level: level, context: context, message: message, requestID: self.requestID)
        fill(&entry)
        sink(entry)
    }

    /// Reports one measured operation.
    ///
    /// - Parameters:
    ///   - operation: one of `ChappieMetric.operation`.
    ///   - duration: the duration of the operation.
    ///   - outcome: `completed`, `cancelled`, or the stable tag of the failure.
    ///   - category: the category of the failure; nil without one.
    package func measure(
        _ operation: String, _ duration: Duration, outcome: String, category: ChappieErrorCategory? = nil
    ) {
        self.meter?(ChappieMetric(operation: operation, duration: duration, outcome: outcome, category: category))
    }
}
