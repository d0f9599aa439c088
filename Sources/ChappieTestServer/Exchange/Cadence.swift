// When signs of life are due: pings on a WebSocket, keepalive events and comments while a response waits.
//
// Values owned by the connection thread.

/// When a WebSocket gets a ping, and when it should have been answered.
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

    /// A payload that no ping of this connection had before.
    mutating func nextPayload() -> [UInt8] {
        self.count += 1
        return Array("ping \(self.count)".utf8)
    }

    private var deadline: ContinuousClock.Instant? {
        guard let unansweredSince, let timeout else { return nil }
        return unansweredSince + timeout
    }

    /// When something is to be done next; nil is never.
    var nextInstant: ContinuousClock.Instant? { [self.due, self.deadline].compactMap { $0 }.min() }

    /// Returns whether a ping is due.
    func isDue(at now: ContinuousClock.Instant) -> Bool { self.due.map { $0 <= now } ?? false }

    /// Returns whether an answer should have come.
    func isOverdue(at now: ContinuousClock.Instant) -> Bool { self.deadline.map { $0 <= now } ?? false }

    /// A ping that was due is sent.
    mutating func sent(at now: ContinuousClock.Instant) {
        self.due = self.interval.map { now + $0 }
        self.unansweredSince = self.unansweredSince ?? now
    }

    /// A pong has come.
    mutating func answered() { self.unansweredSince = nil }
}

/// The signs of life that a waiting response gives.
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

    /// A wait from now on, of so many seconds or for ever.
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

    /// Indicates whether nothing will ever be done again.
    var isEndless: Bool { self.end == nil && self.entries.isEmpty }

    /// The next thing and when: a sign, or nil for the end of the wait.
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
