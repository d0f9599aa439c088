// The times of signs of life: pings on a WebSocket, keepalive events and comments while a response waits.
//
// Values owned by the connection thread.

/// The time of a WebSocket's next ping, and the time by which it should have been answered.
struct PingCadence {
    private var interval: Duration?
    private var timeout: Duration?
    private var due: ContinuousClock.Instant?
    private var unansweredSince: ContinuousClock.Instant?
    private var count = 0

    /// Begins to count.
    mutating func start(_ configuration: ChappieTestServer.Configuration) {
        self.interval = configuration.pingInterval
        self.timeout = configuration.pongTimeout
        self.due = self.interval.map { ContinuousClock.now + $0 }
    }

    /// Returns a payload that no earlier ping of this connection had.
    mutating func nextPayload() -> [UInt8] {
        self.count += 1
        return Array("ping \(self.count)".utf8)
    }

    private var deadline: ContinuousClock.Instant? {
        guard let unansweredSince, let timeout else { return nil }
        return unansweredSince + timeout
    }

    /// The time of the next action; nil is never.
    var nextInstant: ContinuousClock.Instant? { [self.due, self.deadline].compactMap { $0 }.min() }

    /// Returns whether a ping is due.
    func isDue(at now: ContinuousClock.Instant) -> Bool { self.due.map { $0 <= now } ?? false }

    /// Returns whether an answer is overdue.
    func isOverdue(at now: ContinuousClock.Instant) -> Bool { self.deadline.map { $0 <= now } ?? false }

    /// Records that a ping was sent.
    mutating func sent(at now: ContinuousClock.Instant) {
        self.due = self.interval.map { now + $0 }
        self.unansweredSince = self.unansweredSince ?? now
    }

    /// Records that a pong was received.
    mutating func answered() { self.unansweredSince = nil }
}

/// The signs of life of a waiting response.
struct WaitingCadence {
    /// A sign of life.
    enum Sign {
        case keepalive
        case comment
    }

    private struct Entry {
        var sign: Sign
        var interval: Duration
        var due: ContinuousClock.Instant
    }

    private var entries: [Entry] = []
    private let end: ContinuousClock.Instant?

    /// Creates a wait from now on, of some seconds or without end.
    init(seconds: Double?, configuration: ChappieTestServer.Configuration, transport: ChappieTestServer.Transport) {
        let now = ContinuousClock.now
        self.end = seconds.map { now + .seconds(min(3600, max(0, $0))) }
        if let interval = configuration.keepaliveInterval {
            self.entries.append(Entry(sign: .keepalive, interval: interval, due: now + interval))
        }
        if transport == .http, let interval = configuration.commentInterval {
            self.entries.append(Entry(sign: .comment, interval: interval, due: now + interval))
        }
    }

    /// Indicates whether no action is left and the wait has no end.
    var isEndless: Bool { self.end == nil && self.entries.isEmpty }

    /// Returns the next action and its time: a sign, or nil for the end of the wait.
    mutating func next() -> (sign: Sign?, instant: ContinuousClock.Instant)? {
        let index = self.entries.indices.min { self.entries[$0].due < self.entries[$1].due }
        if let index, self.end.map({ self.entries[index].due < $0 }) ?? true {
            let due = self.entries[index].due
            self.entries[index].due += self.entries[index].interval
            return (self.entries[index].sign, due)
        }
        return self.end.map { (nil, $0) }
    }
}

extension ScriptEvent {
    /// A sign of life without a number.
    static let keepalive = ScriptEvent(type: "keepalive", text: "{\"type\":\"keepalive\"}", isNumbered: false)
}
