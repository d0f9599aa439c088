// What streams report while they run.
import ChappieTransport
import StreamTransport

/// The counts so far.
struct SoakCounts: Sendable, CustomStringConvertible {
    var streams = 0
    var completed = 0
    var cancelled = 0
    var byteCount = 0
    var longPauses = 0
    var faultyStreams = 0
    /// Attempts that failed because of the proxies.
    var failedAttempts = 0

    var description: String {
        "\(self.streams) streams: \(self.completed) read to the end, \(self.cancelled) given up; "
            + "\(self.byteCount / 1_000_000) MB of text; \(self.longPauses) long pauses; "
            + "\(self.faultyStreams) behind a broken proxy, \(self.failedAttempts) attempts failed"
    }

    /// Returns the events that should have occurred and did not.
    func omissions(seconds: Int) -> [String] {
        // A few seconds are no soak.
        guard seconds >= 20 else { return [] }
        let counts = [
            ("read to the end", self.completed), ("given up", self.cancelled), ("paused", self.longPauses),
            ("broken by a proxy", self.failedAttempts),
        ]
        return counts.filter { $0.1 == 0 }.map { "no stream was \($0.0)" }
    }
}

/// The reports of streams to the runner, from any task.
final class SoakRecord: Sendable {
    private struct Running {
        let plan: StreamPlan
        /// The time since which its consumer waits; nil while it does not.
        var waitsSince: ContinuousClock.Instant?
        var handle: ChappieStreamHandle?
    }

    private struct State {
        var counts = SoakCounts()
        var violations: [String] = []
        var running: [Int: Running] = [:]
        var lastNumber = 0
    }

    private let state = LockedValue(State())

    var counts: SoakCounts { self.state.withLock { $0.counts } }
    var violations: [String] { self.state.withLock { $0.violations } }

    /// A stream begins; its number.
    func begin(_ plan: StreamPlan) -> Int {
        self.state.withLock { state in
            state.lastNumber += 1
            state.counts.streams += 1
            state.running[state.lastNumber] = Running(plan: plan, waitsSince: .now)
            return state.lastNumber
        }
    }

    /// The stream has begun: what its report says is of interest when it never ends.
    func opened(_ number: Int, _ handle: ChappieStreamHandle) {
        self.state.withLock { $0.running[number]?.handle = handle }
    }

    /// Records that the stream's consumer has received events, and whether it waits for more.
    func progress(_ number: Int, waits: Bool) {
        let now = waits ? ContinuousClock.now : nil
        self.state.withLock { $0.running[number]?.waitsSince = now }
    }

    /// The stream is over.
    func end(_ number: Int) { _ = self.state.withLock { $0.running.removeValue(forKey: number) } }

    func count(_ change: (inout SoakCounts) -> Void) { self.state.withLock { change(&$0.counts) } }

    func violation(_ text: String) { self.state.withLock { $0.violations.append(text) } }

    /// Streams that wait for too long.
    func stuck(at now: ContinuousClock.Instant) -> [String] {
        self.state.withLock { state in
            state.running.values.compactMap { stream in
                guard let since = stream.waitsSince, now - since > SoakTimes.stuck else { return nil }
                let attempts = stream.handle?.report.attempts.map { attempt in
                    "\(attempt.transport), \(attempt.receivedByteCount) bytes, \(attempt.outcome ?? "running")"
                }
                return "stuck: \(stream.plan); attempts: \(attempts ?? [])"
            }
        }
    }
}
