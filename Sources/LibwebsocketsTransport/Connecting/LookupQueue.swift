/// Decides which name is looked up when, and for whom.
///
/// It starts no thread and reads no clock; its owner is the resolver's lock.
///
/// A name that several wait for is looked up once. Eight look-ups run at a time; one that takes longer than two
/// seconds is stuck and does not count, so that names whose servers are silent hold nobody else up. When 64 threads
/// are stuck the next name waits until one of them comes back: the system gives each look-up up after a time of its
/// own (`resolv.conf`).
struct LookupQueue {
    /// How many look-ups run at a time, the stuck ones not counted.
    static let activeLimit = 8
    /// How many threads there are at most, with those that are stuck.
    static let threadLimit = 64
    /// After this time a look-up is stuck.
    static let patience: Duration = .seconds(2)

    /// Names one who waits; never used twice.
    typealias Ticket = UInt64

    /// What a thread does next.
    enum Step: Equatable {
        /// Look this name up and call `finished`; start another thread first, if it says so.
        case lookUp(String, startsThread: Bool)
        /// Come back after this time: the look-ups that run may be stuck by then.
        case pause(Duration)
        /// End.
        case end
    }

    private struct Entry {
        var tickets: [Ticket]
        var isRunning = false
    }

    private var entries: [String: Entry] = [:]
    private var names: [Ticket: String] = [:]
    /// Names in line behind `head`; one that is not in `entries`, or that runs, is stale.
    private var line: [String] = []
    private var head = 0
    private var began: [String: ContinuousClock.Instant] = [:]
    private var threadCount = 0
    /// Indicates whether a thread waits for look-ups to get stuck.
    private var hasRelief = false

    /// Someone wants to know about a name; whether another thread is to be started, which asks `step`.
    mutating func ask(for name: String, ticket: Ticket) -> Bool {
        self.names[ticket] = name
        guard self.entries[name] == nil else {
            self.entries[name]?.tickets.append(ticket)
            return false
        }
        self.entries[name] = Entry(tickets: [ticket])
        self.line.append(name)
        return self.claimThread()
    }

    /// Nobody waits for this ticket any more; a look-up that has not begun and has no other is not begun.
    mutating func cancel(_ ticket: Ticket) {
        guard let name = self.names.removeValue(forKey: ticket) else { return }
        self.entries[name]?.tickets.removeAll { $0 == ticket }
        guard let entry = self.entries[name], entry.tickets.isEmpty, !entry.isRunning else { return }
        self.entries[name] = nil
    }

    /// What the calling thread does; `isRelief` is true when its last step was a pause.
    ///
    /// After `end` the thread counts no more.
    mutating func step(isRelief: Bool, at now: ContinuousClock.Instant) -> Step {
        if isRelief { self.hasRelief = false }
        guard let name = self.nextInLine() else { return self.endThread() }
        let active = self.began.values.filter { now < $0 + Self.patience }
        if active.count >= Self.activeLimit, let oldest = active.min() {
            guard !self.hasRelief else { return self.endThread() }
            self.hasRelief = true
            return .pause(oldest + Self.patience - now)
        }
        self.head += 1
        self.entries[name]?.isRunning = true
        self.began[name] = now
        return .lookUp(name, startsThread: self.nextInLine() != nil && self.claimThread())
    }

    /// A look-up has ended; those who wait for it.
    mutating func finished(_ name: String) -> [Ticket] {
        self.began[name] = nil
        let tickets = self.entries.removeValue(forKey: name)?.tickets ?? []
        for ticket in tickets { self.names[ticket] = nil }
        return tickets
    }

    /// A thread that was to be started could not be; whoever waits in vain, if there is no other thread.
    mutating func threadFailed() -> [Ticket] {
        self.threadCount -= 1
        guard self.threadCount == 0 else { return [] }
        var stranded: [Ticket] = []
        while let name = self.nextInLine() {
            self.head += 1
            stranded += self.finished(name)
        }
        return stranded
    }

    private mutating func nextInLine() -> String? {
        while self.head < self.line.count {
            let name = self.line[self.head]
            if let entry = self.entries[name], !entry.isRunning { return name }
            self.head += 1
        }
        self.line = []
        self.head = 0
        return nil
    }

    /// Another thread, unless those that run and the one that waits for them to get stuck see to everything.
    private mutating func claimThread() -> Bool {
        guard self.began.count < Self.activeLimit || !self.hasRelief, self.threadCount < Self.threadLimit else {
            return false
        }
        self.threadCount += 1
        return true
    }

    private mutating func endThread() -> Step {
        self.threadCount -= 1
        return .end
    }
}
