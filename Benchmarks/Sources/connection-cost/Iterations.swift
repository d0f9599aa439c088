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
        let expected = ExpectedResponse(messageCount: Self.messagesPerPass(wire) * self.count)
        let server = try StreamServer(
            .flood(messageCount: expected.messageCount), isSecure: wire.isSecure, compresses: wire.form.isCompressed)
        let consumer = Consumer(kind: kind, server: server, form: wire.form)
        try await consumer.read(wire.streamCount, expected, isThorough: false)
        let eventsPerPass = Self.messagesPerPass(wire) * wire.streamCount
        Line.print(
            #"{"workload":"\#(wire.name) \#(self.way)","passes":\#(self.count),"eventsPerPass":\#(eventsPerPass)}"#)
    }
}
