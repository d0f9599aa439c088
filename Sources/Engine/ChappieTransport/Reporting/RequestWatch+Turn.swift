package import StreamSession
package import TransportSurface

// The watch of a turn, with the configuration's sinks and the turn's errors.

extension RequestWatch {
    /// The whole that a log line or a measurement is about; the raw value is its context and operation.
    package enum Subject: String, Sendable {
        /// A turn of the program, with all of its responses and tools.
        case turn
        /// A response of a turn that has several, or of a warm-up.
        case response

        /// Returns a sentence about it.
        fileprivate func sentence(_ predicate: StaticString) -> String { "A \(self.rawValue) \(predicate)." }
    }

    /// Creates a watch with a configuration's sinks; an invalid request ID, or none, is replaced by a random one.
    package init(_ configuration: ChappieTransportConfiguration, requestID: String? = nil) {
        self.init(configuration, identity: RequestIdentity(requestID: requestID))
    }

    init(_ configuration: ChappieTransportConfiguration, identity: RequestIdentity) {
        self.init(requestID: identity.requestID, log: configuration.log, metrics: configuration.metrics)
    }

    /// Reports one measured operation that is complete, or has failed with an error.
    package func measure(_ operation: String, _ duration: Duration, error: (any Error)?) {
        self.measure(
            operation, duration, outcome: error.map(Self.outcome(of:)) ?? "completed",
            category: (error as? ChappieClientError)?.category)
    }

    /// Logs that a turn or a response has begun, on the transport that is tried first.
    package func began(_ subject: Subject, on transport: ChappieTransportKind) {
        self.log(.info, subject.rawValue, subject.sentence("has begun")) { $0.transport = transport }
    }

    /// Logs and measures the end of a turn or a response: complete, cancelled, or failed with the error.
    ///
    /// `fill` adds the facts of the attempts.
    package func ended(
        _ subject: Subject, with error: (any Error)?, after duration: Duration,
        _ fill: (inout ChappieLogEntry) -> Void
    ) {
        self.measure(subject.rawValue, duration, error: error)
        let (level, predicate): (ChappieLogEntry.Level, StaticString) =
            switch error {
            case nil: (.info, "is complete")
            case is CancellationError: (.info, "was cancelled")
            case _?: (.error, "has failed")
            }
        self.log(level, subject.rawValue, subject.sentence(predicate)) { entry in
            entry.duration = duration
            fill(&entry)
            if let error { entry.take(error) }
        }
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

extension ChappieTransportRequest {
    /// The name under which the request is reported: it is a turn by itself, or a part of one, or prepares one.
    var subject: RequestWatch.Subject { self.isAdmitted || self.isWarmUp ? .response : .turn }
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
