// `connection-cost --iterations`: nothing but reading, for programs that count instructions.

/// Reads one response over each stream that is the longer the more passes there are.
///
/// Two runs with different counts of passes differ by those passes alone: start-up, connections and handshakes cancel
/// out. The server is another process, which nobody counts, and is always ahead: a program that is counted is slow.
struct Iterations {
    /// How many passes.
    let count: Int
    /// The name of a wire.
    let workload: String
    /// `events` or `batches`.
    let way: String

    /// The deltas of a pass, over all streams together.
    private static let eventsPerPass = 8_000

    /// Reads, and prints what a pass consists of as one line of JSON.
    func run() async throws {
        guard let wire = Wire.all.first(where: { $0.name == self.workload }) else {
            throw UsageError("no workload \(self.workload)")
        }
        let kinds: [String: Consumer.Kind] = ["events": .events, "batches": .batches]
        guard let kind = kinds[self.way] else { throw UsageError("'\(self.way)' is neither events nor batches") }
        let expected = ExpectedResponse(messageCount: Self.eventsPerPass / wire.streamCount * self.count)
        let server = try StreamServer(
            .flood(messageCount: expected.messageCount), isSecure: wire.isSecure, compresses: wire.form.isCompressed)
        let consumer = Consumer(kind: kind, server: server, form: wire.form)
        try await consumer.read(wire.streamCount, expected, isThorough: false)
        Line.print(
            #"{"workload":"\#(wire.name) \#(self.way)","passes":\#(self.count),"eventsPerPass":\#(Self.eventsPerPass)}"#)
    }
}
