// `connection-cost --iterations`: nothing but reading, for programs that count instructions.

/// Reads one response over each stream that is the longer the more passes there are.
///
/// The server is another process, which nobody counts, and is always ahead: a program that is counted is slow. Neither
/// is on a core of its own, because nothing is timed.
///
/// With passes before the others, the server stops behind them, and once more behind the last. Whoever counts between
/// these pauses has no start, no connection, no handshake and no end in it, and as much is on its way at the first as
/// at the second: nothing.
struct Iterations {
    /// How many passes.
    let count: Int
    /// How many there are before the pause behind which they begin; 0 without a pause.
    let countBefore: Int
    /// The name of a wire.
    let workload: String
    /// `events` or `batches`.
    let way: String

    /// The deltas of a pass, on each stream: about 8,000 together.
    ///
    /// Eight passes of one stream are a block of the server, which sends whole blocks.
    private static func messagesPerPass(_ wire: Wire) -> Int { 8_192 / wire.streamCount }

    /// Reads, and prints what a pass consists of as one line of JSON.
    func run() async throws {
        guard let wire = Wire.all.first(where: { $0.name == self.workload }) else {
            throw UsageError("no workload \(self.workload)")
        }
        let kinds: [String: Consumer.Kind] = ["events": .events, "batches": .batches]
        guard let kind = kinds[self.way] else { throw UsageError("'\(self.way)' is neither events nor batches") }
        let countBefore = Self.messagesPerPass(wire) * self.countBefore
        let expected = ExpectedResponse(messageCount: countBefore + Self.messagesPerPass(wire) * self.count)
        let server = try StreamServer(
            .flood(messageCount: expected.messageCount, pauseAfter: countBefore),
            isSecure: wire.isSecure, compresses: wire.form.isCompressed, isPinned: false)
        let consumer = Consumer(kind: kind, server: server, form: wire.form, isPatient: true)
        if countBefore == 0 {
            try await consumer.read(wire.streamCount, expected, isThorough: false)
        } else {
            let pauses = Pauses(streamCount: wire.streamCount, first: countBefore, last: expected.messageCount)
            try await consumer.read(wire.streamCount, expected, with: pauses)
        }
        let eventsPerPass = Self.messagesPerPass(wire) * wire.streamCount
        Line.print(
            #"{"workload":"\#(wire.name) \#(self.way)","passes":\#(self.count),"eventsPerPass":\#(eventsPerPass)}"#)
    }
}
