public import StreamSession

// The lines and the measurements by which a program observes what runs. Values without an owner.

/// One line for a log.
///
/// Every field but `privateMessage` consists of fixed words, numbers and identifiers: no content and no secret.
public struct ChappieLogEntry: Sendable, Equatable {
    /// The severity of a line.
    public enum Level: String, Sendable, CaseIterable {
        /// Details for the search for a fault.
        case debug
        /// The normal course of a turn.
        case info
        /// A failure after which the turn continues.
        case warning
        /// The turn has failed.
        case error
    }

    /// The severity of the line.
    public let level: Level
    /// The operation: `turn`, `response`, `attempt`, `connection`, `credential`, `tool`, `event-source`.
    public let context: String
    /// A fixed sentence.
    public let message: String
    /// The stable tag of the failure, where there is one.
    public package(set) var tag: String?
    /// The failure's category.
    public package(set) var category: ChappieErrorCategory?
    /// Indicates whether a retry may succeed after the failure.
    public package(set) var isRetryable: Bool?
    /// The caller's name for the request, the same from its first attempt to its last.
    public let requestID: String
    /// The server's name for it, when the server has sent one.
    public package(set) var serverRequestID: String?
    /// The attempt's number; counts from 1.
    public package(set) var attempt: Int?
    /// The transport of the attempt.
    public package(set) var transport: ChappieTransportKind?
    /// The server's message, or a tool's: may have any content, and is to be treated as private.
    public package(set) var privateMessage: String?
    /// The delay before the turn's next attempt.
    public package(set) var delay: Duration?
    /// The duration of an operation that is over.
    public package(set) var duration: Duration?

    /// Creates a line without facts.
    package init(level: Level, context: String, message: String, requestID: String) {
        self.level = level
        self.context = context
        self.message = message
        self.requestID = requestID
    }
}

/// One measured operation, for a metrics system.
public struct ChappieMetric: Sendable, Equatable {
    /// The measured operation: `turn`, `response`, `attempt`, `tool`, `refresh`; `connect` and `connection` of a
    /// WebSocket; `event-source`.
    public let operation: String
    /// The duration of the operation.
    public let duration: Duration
    /// `completed`, `cancelled`, or the stable tag of the failure.
    public let outcome: String
    /// The category of the failure; nil for an operation that did not fail, and for an error of the program's own.
    public let category: ChappieErrorCategory?

    /// Creates a measured operation.
    package init(operation: String, duration: Duration, outcome: String, category: ChappieErrorCategory? = nil) {
        self.operation = operation
        self.duration = duration
        self.outcome = outcome
        self.category = category
    }
}
