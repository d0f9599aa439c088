import ChappieRelay
import StreamTransport

/// The counts of a relay, as text for Prometheus.
///
/// May be used from any task.
final class RelayMetrics: Sendable {
    private struct Counts {
        var requests: [Int: Int] = [:]
        var started = 0
        var readers = 0
        var readersTotal = 0
        var events = 0
    }

    private let counts = LockedValue(Counts())

    func answered(_ statusCode: Int) { self.counts.withLock { $0.requests[statusCode, default: 0] += 1 } }

    func started() { self.counts.withLock { $0.started += 1 } }

    func readerCame() {
        self.counts.withLock { counts in
            counts.readers += 1
            counts.readersTotal += 1
        }
    }

    func readerLeft() { self.counts.withLock { $0.readers -= 1 } }

    func wrote(_ eventCount: Int) { self.counts.withLock { $0.events += eventCount } }

    var readerCount: Int { self.counts.withLock { $0.readers } }

    /// The text exposition format, version 0.0.4.
    func text(_ hub: HubMeter.Counts, producers: Int, connections: Int) -> String {
        let counts = self.counts.withLock { $0 }
        var lines: [String] = []
        func add(_ name: String, _ type: String, _ help: String, _ values: [(labels: String, value: Int)]) {
            lines += ["# HELP chappie_relay_\(name) \(help)", "# TYPE chappie_relay_\(name) \(type)"]
            lines += values.map { "chappie_relay_\(name)\($0.labels) \($0.value)" }
        }
        add(
            "requests_total", "counter", "Requests that were answered, by status code.",
            counts.requests.sorted { $0.key < $1.key }.map { ("{code=\"\($0.key)\"}", $0.value) })
        add(
            "streams_started_total", "counter", "Streams that clients of this process have started.",
            [("", counts.started)])
        add("streams_produced", "gauge", "Streams that this process makes now.", [("", producers)])
        add("readers", "gauge", "Clients that read a stream now.", [("", counts.readers)])
        add("readers_total", "counter", "Clients that have read a stream.", [("", counts.readersTotal)])
        add("events_written_total", "counter", "Events that were written to clients.", [("", counts.events)])
        add("connections", "gauge", "Open connections of clients.", [("", connections)])
        add("takeovers_total", "counter", "Streams that this process has taken over.", [("", hub.takeovers)])
        let name = "chappie_relay_journal_append_seconds"
        lines += ["# HELP \(name) Time of appends to the journal.", "# TYPE \(name) histogram"]
        var count = 0
        for (bound, appends) in zip(HubMeter.Counts.bounds, hub.appends) {
            count += appends
            lines.append("\(name)_bucket{le=\"\(Double(bound) / 1000)\"} \(count)")
        }
        lines += [
            "\(name)_bucket{le=\"+Inf\"} \(hub.appendCount)", "\(name)_sum \(hub.appendTime / .seconds(1))",
            "\(name)_count \(hub.appendCount)",
        ]
        return lines.joined(separator: "\n") + "\n"
    }
}
