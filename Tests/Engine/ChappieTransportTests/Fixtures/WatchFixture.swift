// The lines and measurements that a program's sinks received, in order. Shared by a test and a turn, under a lock.
import StreamTransport

@testable import ChappieTransport

/// Records lines and measurements.
final class WatchRecorder: Sendable {
    private let state = LockedValue<(entries: [ChappieLogEntry], metrics: [ChappieMetric])>(([], []))

    /// The lines.
    var entries: [ChappieLogEntry] { self.state.withLock { $0.entries } }

    /// The measurements.
    var metrics: [ChappieMetric] { self.state.withLock { $0.metrics } }

    /// Records the turns of a configuration.
    func listen(to configuration: inout ChappieTransportConfiguration) {
        configuration.log = { entry in self.state.withLock { $0.entries.append(entry) } }
        configuration.metrics = { metric in self.state.withLock { $0.metrics.append(metric) } }
    }

    /// The lines in short: context and message.
    var lines: [String] { self.entries.map { "\($0.level) \($0.context): \($0.message)" } }

    /// The first line with a message.
    func entry(_ message: String) -> ChappieLogEntry? { self.entries.first { $0.message == message } }

    /// The measurements in short: operation and outcome.
    var outcomes: [String] { self.metrics.map { "\($0.operation) \($0.outcome)" } }
}
