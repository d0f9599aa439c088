// `connection-cost --iterations N+N cold-5000 WAY`: many streams that have an event in turn, for programs that count
// instructions and cache misses.
import CMachine

/// Reads streams whose memory has left the caches when their next event comes.
///
/// The streams have their events in turn, one at a time: the next event is sent when the one before was read and the
/// tasks and threads sleep again. No two events share a wake-up, whatever the speed of the machine, so that counts
/// hardly differ from run to run. A pass is an event on each stream. No data is in flight at either pause.
struct ColdIterations {
    /// A workload, by its name: `cold-5000`, or `cold-5000-executor` for tasks on the service thread.
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
        let server = try StreamServer(.turns, isPinned: false)
        guard let input = server.inputDescriptor else { throw WrongResultError("the server has no input") }
        let turns = Turns(of: input)
        let crowd = try Crowd(
            server, by: self.kind, onServiceThread: self.workload.isOnServiceThread, isPatient: true, turns: turns)
        let streamCount = self.workload.streamCount
        try await crowd.grow(to: streamCount)
        // Threads that have opened streams end after 5 s without work, and free their caches of memory.
        try await Task.sleep(for: .seconds(8))
        // The opening of the streams is not counted, and is several times as fast without the simulation of caches.
        cmachine_begin_simulation()
        try await turns.read(self.countBefore * streamCount)
        cmachine_note_pause()
        try await turns.read(self.count * streamCount)
        cmachine_note_pause()
        crowd.cancel()
        Line.print(
            #"{"workload":"\#(self.workload.name)","passes":\#(self.count),"eventsPerPass":\#(streamCount)}"#)
    }
}
