// `connection-cost --iterations N+N cold-400 WAY`: many streams that have an event a second each, for programs that
// count instructions and cache misses.
import CMachine

/// Reads streams whose memory has left the caches when their next event comes.
///
/// The server paces the events by the clock, so that a run takes as long under callgrind as without it. A pass is an
/// event on each stream, in about a second. It calls `cmachine_note_pause` after the passes before those that are
/// counted, and again after these. An event or two are in flight at either moment, of thousands between them.
struct ColdIterations {
    /// A workload, by its name: `cold-400`, or `cold-400-executor` for tasks on the service thread.
    struct Workload {
        let name: String
        let streamCount: Int
        let isOnServiceThread: Bool

        /// Reads a name; nil when it is another kind's.
        init?(_ name: String) {
            let parts = name.split(separator: "-")
            guard parts.count >= 2, parts[0] == "cold", let streamCount = Int(parts[1]), streamCount > 0,
                parts.count == 2 || parts[2...] == ["executor"]
            else { return nil }
            self.name = name
            self.streamCount = streamCount
            self.isOnServiceThread = parts.count == 3
        }
    }

    let workload: Workload
    /// The number of passes between the pauses.
    let count: Int
    /// The number of passes before the first pause.
    let countBefore: Int
    let kind: Consumer.Kind

    /// Reads, and prints the number of events between the pauses as one line of JSON.
    func run() async throws {
        Descriptors.raiseLimit()
        // Streams open one after the other, and the first ones run meanwhile.
        let messageCount = self.countBefore + self.count + 100
        let server = try StreamServer(.pace(messageCount: messageCount, perSecond: 1), isPinned: false)
        let crowd = try Crowd(
            server, by: self.kind, onServiceThread: self.workload.isOnServiceThread, isPatient: true)
        let streamCount = self.workload.streamCount
        try await crowd.grow(to: streamCount)
        try await Self.wait(for: self.countBefore * streamCount, of: crowd)
        let before = crowd.deltaCount
        cmachine_note_pause()
        try await Self.wait(for: self.count * streamCount, of: crowd)
        let eventCount = crowd.deltaCount - before
        cmachine_note_pause()
        crowd.cancel()
        Line.print(#"{"workload":"\#(self.workload.name)","passes":1,"eventsPerPass":\#(eventCount)}"#)
    }

    /// Waits for more events, and wakes seldom, because the wake-ups are counted as well.
    private static func wait(for eventCount: Int, of crowd: Crowd) async throws {
        let last = crowd.deltaCount + eventCount
        while crowd.deltaCount < last { try await Task.sleep(for: .milliseconds(200)) }
    }
}
