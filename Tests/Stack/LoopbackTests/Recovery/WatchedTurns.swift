import ChappieTransport
import Foundation
import Synchronization
import Testing

/// The lines and metrics of a program's sinks while turns ran.
final class WatchedTurns: Sendable {
    private let state = Mutex((entries: [ChappieLogEntry](), metrics: [ChappieMetric]()))

    /// The lines.
    var entries: [ChappieLogEntry] { self.state.withLock { $0.entries } }

    /// The figures.
    var metrics: [ChappieMetric] { self.state.withLock { $0.metrics } }

    /// Listens to the turns of a configuration.
    func listen(to configuration: inout ChappieTransportConfiguration) {
        configuration.log = { entry in self.state.withLock { $0.entries.append(entry) } }
        configuration.metrics = { metric in self.state.withLock { $0.metrics.append(metric) } }
    }
}

/// Words that must not leave the engine but where they belong.
struct Canaries: Sendable {
    /// Keys, tokens and passwords, which must not appear anywhere.
    var secrets: [String]
    /// The requests' and answers' content, which may appear only in the events, and in values that are marked private.
    var content: [String]

    /// Everything that can be printed of a value.
    static func descriptions(of value: Any, isDeep: Bool = true) -> [String] {
        var dumped = ""
        if isDeep { dump(value, to: &dumped) }
        let localized = (value as? any Error)?.localizedDescription ?? ""
        return [String(describing: value), String(reflecting: value), "\(value)", localized, dumped]
    }

    /// Records an issue for every canary in any printed form of a value.
    func expectNone(in value: Any, isDeep: Bool = true, sourceLocation: SourceLocation = #_sourceLocation) {
        for description in Self.descriptions(of: value, isDeep: isDeep) {
            for canary in self.secrets + self.content where description.contains(canary) {
                Issue.record("\(canary) in \(type(of: value))", sourceLocation: sourceLocation)
            }
        }
    }

    /// The same for all that a turn leaves but its events.
    func expectNone(in outcome: StreamOutcome, sourceLocation: SourceLocation = #_sourceLocation) {
        if let error = outcome.error { self.expectNone(in: error, sourceLocation: sourceLocation) }
        if let error = outcome.clientError {
            self.expectNone(
                in: [error.safeDescription, error.tag, error.failureReason ?? "", error.recoverySuggestion ?? ""],
                sourceLocation: sourceLocation)
            self.expectNoSecret(in: error.unsafeMessage, sourceLocation: sourceLocation)
            self.expectNoSecret(in: error.serverMessage, sourceLocation: sourceLocation)
        }
        self.expectNoSecret(in: outcome.serverMessage, sourceLocation: sourceLocation)
        if let failure = outcome.transportFailure { self.expectNone(in: failure, sourceLocation: sourceLocation) }
        self.expectNone(in: outcome.diagnostics, sourceLocation: sourceLocation)
        self.expectNone(in: outcome.report, sourceLocation: sourceLocation)
        let json = (try? JSONEncoder().encode(outcome.report)) ?? Data()
        self.expectNone(in: String(decoding: json, as: UTF8.self), isDeep: false, sourceLocation: sourceLocation)
    }

    /// The same for what sinks were given; what is private may hold content, and never a secret.
    func expectNone(in watched: WatchedTurns, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(!watched.entries.isEmpty && !watched.metrics.isEmpty, sourceLocation: sourceLocation)
        self.expectNone(in: watched.metrics, sourceLocation: sourceLocation)
        for entry in watched.entries {
            self.expectNoSecret(in: entry.privateMessage, sourceLocation: sourceLocation)
            // Every other field there is, also one that is added later.
            for child in Mirror(reflecting: entry).children where child.label != "privateMessage" {
                self.expectNone(in: child.value, sourceLocation: sourceLocation)
            }
        }
    }

    private func expectNoSecret(in text: String?, sourceLocation: SourceLocation) {
        for secret in self.secrets where text?.contains(secret) == true {
            Issue.record("\(secret) in private words", sourceLocation: sourceLocation)
        }
    }
}
