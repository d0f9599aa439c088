// The running and waiting requests of a WebSocket.
//
// A pure value, owned by the connection's exchange.

/// Requests on lanes: one at a time on a lane, sixteen on a connection, the others in the order of their arrival.
struct LaneQueue<Request> {
    /// A request and its lane; the lane without a name is empty.
    struct Entry {
        /// The lane's name.
        var lane: String
        /// The request on it.
        var request: Request
    }

    /// The largest number of responses that run at once.
    static var maximumRunningCount: Int { 16 }

    private var waiting: [Entry] = []
    private var busyLanes: Set<String> = []

    /// Adds a request behind the others.
    mutating func append(_ request: Request, lane: String) { self.waiting.append(Entry(lane: lane, request: request)) }

    /// Takes the first request that may run, and marks its lane as busy; nil when there is none.
    mutating func start() -> Entry? {
        guard self.busyLanes.count < Self.maximumRunningCount else { return nil }
        guard let index = self.waiting.firstIndex(where: { !self.busyLanes.contains($0.lane) }) else { return nil }
        let entry = self.waiting.remove(at: index)
        self.busyLanes.insert(entry.lane)
        return entry
    }

    /// Frees a lane, whose request is answered.
    mutating func finish(lane: String) { self.busyLanes.remove(lane) }

    /// Removes the waiting requests.
    mutating func removeWaiting() { self.waiting = [] }
}
