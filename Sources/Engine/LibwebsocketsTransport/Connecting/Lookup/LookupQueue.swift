/// Decides which names are looked up, and when, for the callers that wait for them.
///
/// It starts no thread and reads no clock; its owner is the resolver's lock.
///
/// A name with several waiting callers is looked up once. Eight look-ups run at a time; a look-up of more than two
/// seconds is stuck and does not count, so that names with silent servers do not delay others. When 64 threads are
/// stuck, the next name waits until one of them returns: the system ends each look-up after its own timeout
/// (`resolv.conf`).
struct LookupQueue {
    /// The number of look-ups that run at a time, the stuck ones not counted.
    static let activeLimit = 8
    /// The largest number of threads, the stuck ones included.
    static let threadLimit = 64
    /// After this time a look-up is stuck.
    static let patience: Duration = .seconds(2)

    /// Identifies one waiting caller; never used twice.
    typealias Ticket = UInt64

    /// The next step of a thread.
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
    /// The names that wait behind `head`; one that is not in `entries`, or whose look-up runs, is stale.
    private var line: [String] = []
    private var head = 0
    private var began: [String: ContinuousClock.Instant] = [:]
    private var threadCount = 0
    /// Indicates whether a thread waits for look-ups to get stuck.
    private var hasRelief = false

    /// Adds a caller that waits for a name; returns whether another thread is to be started, which then calls `step`.
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

    /// Removes a waiting caller; a look-up without callers that has not begun is dropped.
    mutating func cancel(_ ticket: Ticket) {
        guard let name = self.names.removeValue(forKey: ticket) else { return }
        self.entries[name]?.tickets.removeAll { $0 == ticket }
        guard let entry = self.entries[name], entry.tickets.isEmpty, !entry.isRunning else { return }
        self.entries[name] = nil
    }

    /// Returns the next step of the calling thread; `isRelief` is true when its last step was a pause.
    ///
    /// After `end` the thread no longer counts.
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

    /// Ends a look-up; returns the callers that wait for it.
    mutating func finished(_ name: String) -> [Ticket] {
        self.began[name] = nil
        let tickets = self.entries.removeValue(forKey: name)?.tickets ?? []
        for ticket in tickets { self.names[ticket] = nil }
        return tickets
    }

    /// Records that a thread could not be started; returns the callers that have no other thread to serve them.
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

    /// Counts another thread, unless the running ones and the one that waits for them to be stuck are enough.
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
