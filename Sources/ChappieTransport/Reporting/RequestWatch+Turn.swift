package import TransportSurface

// The watch of a turn, with the configuration's sinks and the turn's errors.

extension RequestWatch {
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
