// What a program is told while turns run, and what it may refuse. Values and closures; nobody owns them.
#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One line for a log.
///
/// Every field but `privateMessage` is made of fixed words, numbers and identifiers: no content and no secret.
public struct ChappieLogEntry: Sendable, Equatable {
    /// How much it matters.
    public enum Level: String, Sendable, CaseIterable {
        /// What one reads when one looks for a fault.
        case debug
        /// The ordinary course of a turn.
        case info
        /// Something failed, and the turn goes on.
        case warning
        /// The turn has failed.
        case error
    }

    /// How much it matters.
    public let level: Level
    /// What was going on: `turn`, `attempt`, `connection`, `tool`, `credential`.
    public let context: String
    /// A fixed sentence.
    public let message: String
    /// The stable tag of the failure, where there is one.
    public package(set) var tag: String?
    /// The failure's category.
    public package(set) var category: ChappieErrorCategory?
    /// Indicates whether the failure is one that trying again may mend.
    public package(set) var isRetryable: Bool?
    /// The caller's name for the request, the same from its first attempt to its last.
    public let requestID: String
    /// The server's name for it, when it has given one.
    public package(set) var serverRequestID: String?
    /// Counts from 1.
    public package(set) var attempt: Int?
    /// What the attempt uses.
    public package(set) var transport: ChappieTransportKind?
    /// The server's words, or a tool's: may hold anything, and is to be treated as private.
    public package(set) var privateMessage: String?
    /// How long the turn waits before its next attempt.
    public package(set) var delay: Duration?
    /// How long it took, where something is over.
    public package(set) var duration: Duration?

    /// A line without facts.
    package init(level: Level, context: String, message: String, requestID: String) {
        self.level = level
        self.context = context
        self.message = message
        self.requestID = requestID
    }
}

/// One measured operation, for a metrics system.
public struct ChappieMetric: Sendable, Equatable {
    /// What was measured: `turn`, `attempt`, `tool`, `refresh`.
    public let operation: String
    /// How long it took.
    public let duration: Duration
    /// `completed`, `cancelled`, or the stable tag of the failure.
    public let outcome: String

    /// A measured operation.
    package init(operation: String, duration: Duration, outcome: String) {
        self.operation = operation
        self.duration = duration
        self.outcome = outcome
    }
}

/// A request that is about to go out, for a program that may refuse it.
public struct ChappieOutgoingRequest: Sendable {
    /// Where it goes.
    public let url: URL
    /// How.
    public let transport: ChappieTransportKind
    /// The body, or the WebSocket message, as it goes out.
    ///
    /// The credential is no part of it.
    public let body: [UInt8]
    /// The caller's name for the request.
    public let requestID: String
    /// Counts from 1.
    public let attempt: Int
}
