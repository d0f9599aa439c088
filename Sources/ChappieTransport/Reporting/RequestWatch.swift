import TransportSurface

/// Reports the course of one request to the program's sinks: every line has the request's name.
///
/// A value. A sink is called on the caller's task, with no lock held; without one no line is made.
package struct RequestWatch: Sendable {
    /// The caller's name for the request.
    package let requestID: String
    private let sink: (@Sendable (ChappieLogEntry) -> Void)?
    private let meter: (@Sendable (ChappieMetric) -> Void)?

    /// Creates a watch with a configuration's sinks; an invalid request ID, or none, is replaced by a random one.
    package init(_ configuration: ChappieTransportConfiguration, requestID: String? = nil) {
        self.init(configuration, identity: RequestIdentity(requestID: requestID))
    }

    init(_ configuration: ChappieTransportConfiguration, identity: RequestIdentity) {
        self.requestID = identity.requestID
        self.sink = configuration.log
        self.meter = configuration.metrics
    }

    /// Indicates whether the lines have a sink.
    package var isLogging: Bool { self.sink != nil }

    /// Logs one line.
    ///
    /// - Parameters:
    ///   - level: the severity.
    ///   - context: `turn`, `attempt`, `connection`, `tool` or `credential`.
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
    ///   - operation: `turn`, `attempt`, `tool` or `refresh`.
    ///   - duration: the duration of the operation.
    ///   - outcome: `completed`, `cancelled`, or the stable tag of the failure.
    package func measure(_ operation: String, _ duration: Duration, outcome: String) {
        self.meter?(ChappieMetric(operation: operation, duration: duration, outcome: outcome))
    }

    /// Returns the outcome of an operation that ended with an error: its stable tag, or a fixed word.
    package static func outcome(of error: any Error) -> String {
        switch error {
        case is CancellationError: "cancelled"
        case let error as ChappieClientError: error.tag
        default: "failed"
        }
    }
}

extension ChappieLogEntry {
    /// Adds an error's facts.
    ///
    /// Its message, which may have any content, becomes the private message.
    package mutating func take(_ error: any Error) {
        guard let error = error as? ChappieClientError else { return }
        self.tag = error.tag
        self.category = error.category
        self.isRetryable = error.isRetryable
        self.privateMessage = error.unsafeMessage
    }
}
