// The reports of running streams.
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
    /// The counts of other events that must occur in a run, by their names.
    var others: [String: Int] = [:]

    var description: String {
        "\(self.streams) streams: \(self.completed) read to the end, \(self.cancelled) given up; "
            + "\(self.byteCount / 1_000_000) MB of content; \(self.longPauses) long pauses; "
            + "\(self.faultyStreams) behind a broken proxy, \(self.failedAttempts) attempts failed"
            + self.others.sorted { $0.key < $1.key }.map { "; \($0.value) \($0.key)" }.joined()
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
            + self.others.filter { $0.value == 0 }.map { "there were no \($0.key)" }
    }
}

/// The reports of streams to the runner, from any task.
final class SoakRecord: Sendable {
    private struct Running {
        let plan: any CustomStringConvertible & Sendable
        /// The time since which its consumer waits; nil while it does not.
        var waitsSince: ContinuousClock.Instant?
        /// The report of the stream, as text.
        var report: (@Sendable () -> String)?
    }

    private struct State {
        var counts = SoakCounts()
        var violations: [String] = []
        var running: [Int: Running] = [:]
        var lastNumber = 0
    }

    private let state = LockedValue(State())

    /// Creates a record; every one of `others` has to occur in a run.
    init(others: [String]) {
        self.state.withLock { $0.counts.others = Dictionary(uniqueKeysWithValues: others.map { ($0, 0) }) }
    }

    var counts: SoakCounts { self.state.withLock { $0.counts } }
    var violations: [String] { self.state.withLock { $0.violations } }

    /// A stream begins; its number.
    func begin(_ plan: any CustomStringConvertible & Sendable) -> Int {
        self.state.withLock { state in
            state.lastNumber += 1
            state.counts.streams += 1
            state.running[state.lastNumber] = Running(plan: plan, waitsSince: .now)
            return state.lastNumber
        }
    }

    /// The stream has begun: what its report says is of interest when it never ends.
    func opened(_ number: Int, _ report: @escaping @Sendable () -> String) {
        self.state.withLock { $0.running[number]?.report = report }
    }

    /// Records that the stream's consumer has received events, and whether it waits for more.
    func progress(_ number: Int, waits: Bool) {
        let now = waits ? ContinuousClock.now : nil
        self.state.withLock { $0.running[number]?.waitsSince = now }
    }

    /// Stops a stream's consumer for a while, often for longer than a dead peer is waited for.
    func pause(_ number: Int, _ random: inout SoakRandom) async throws {
        let isLong = random.chance(40)
        self.progress(number, waits: false)
        if isLong { self.count { $0.longPauses += 1 } }
        try await Task.sleep(for: isLong ? SoakTimes.longPause : .milliseconds(random.number(in: 1...200)))
        self.progress(number, waits: true)
    }

    /// The stream is over.
    func end(_ number: Int) { _ = self.state.withLock { $0.running.removeValue(forKey: number) } }

    func count(_ change: (inout SoakCounts) -> Void) { self.state.withLock { change(&$0.counts) } }

    /// Counts what else has to occur.
    func count(_ name: String, _ count: Int = 1) { self.count { $0.others[name, default: 0] += count } }

    /// Moves the counts of what else has to occur to another record.
    func moveOthers(to record: SoakRecord) {
        let others = self.state.withLock { state in
            defer { state.counts.others = [:] }
            return state.counts.others
        }
        for (name, count) in others { record.count(name, count) }
    }

    func violation(_ text: String) {
        self.state.withLock { $0.violations.append(text) }
        Console.line("VIOLATION: \(text)")
    }

    /// Streams that wait for too long.
    func stuck(at now: ContinuousClock.Instant) -> [String] {
        self.state.withLock { state in
            state.running.values.compactMap { stream in
                guard let since = stream.waitsSince, now - since > SoakTimes.stuck else { return nil }
                return "stuck: \(stream.plan); \(stream.report?() ?? "not begun")"
            }
        }
    }
}
