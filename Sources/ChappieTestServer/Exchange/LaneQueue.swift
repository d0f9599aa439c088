// Which requests of a WebSocket run, and which wait.
//
// A pure value, owned by the connection's exchange.

/// Requests on lanes: one at a time on a lane, sixteen on a connection, the others in the order in which they came.
struct LaneQueue<Request> {
    /// A request and its lane; the lane without a name is empty.
    struct Entry {
        /// The lane's name.
        var lane: String
        /// What was asked on it.
        var request: Request
    }

    /// How many responses run at once.
    static var maximumRunningCount: Int { 16 }

    private var waiting: [Entry] = []
    private var busyLanes: Set<String> = []

    /// Adds a request behind the others.
    mutating func append(_ request: Request, lane: String) { self.waiting.append(Entry(lane: lane, request: request)) }

    /// Takes the first request that may run, whose lane is busy from then on; nil when there is none.
    mutating func start() -> Entry? {
        guard self.busyLanes.count < Self.maximumRunningCount else { return nil }
        guard let index = self.waiting.firstIndex(where: { !self.busyLanes.contains($0.lane) }) else { return nil }
        let entry = self.waiting.remove(at: index)
        self.busyLanes.insert(entry.lane)
        return entry
    }

    /// The request that ran on a lane is answered.
    mutating func finish(lane: String) { self.busyLanes.remove(lane) }

    /// Forgets the requests that wait.
    mutating func removeWaiting() { self.waiting = [] }
}
