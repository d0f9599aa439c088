import StreamTransport

/// The end of an exchange, and the callers that wait for it.
///
/// It is a part of the arena's state, behind its lock.
struct AnnouncedEnd {
    /// The continuation of a caller; nil is the result of a cancelled one.
    typealias Watcher = CheckedContinuation<TransportEnd?, Never>

    /// The end, which stays known when the consumer has taken it.
    private(set) var end: TransportEnd?
    /// The waiting callers, by their numbers.
    private var watchers: [Int: Watcher] = [:]
    /// The number of callers that have waited so far.
    private var watcherCount = 0

    /// Returns a number for another caller.
    mutating func nextNumber() -> Int {
        self.watcherCount += 1
        return self.watcherCount
    }

    /// Keeps a caller until the end, or until it is removed.
    mutating func add(_ watcher: Watcher, number: Int) { self.watchers[number] = watcher }

    /// Removes a caller, to be resumed without the lock; nil when it does not wait.
    mutating func remove(number: Int) -> Watcher? { self.watchers.removeValue(forKey: number) }

    /// Notes the end; returns the callers that wait for it, to be resumed without the lock.
    mutating func announce(_ end: TransportEnd) -> [Watcher] {
        self.end = end
        defer { self.watchers = [:] }
        return Array(self.watchers.values)
    }
}
