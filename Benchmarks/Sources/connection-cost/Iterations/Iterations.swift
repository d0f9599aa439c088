// `connection-cost --iterations`: reads responses and does nothing else, for programs that count instructions.

/// Reads one response over each stream, with a pause before and after the passes that are counted.
///
/// The server is another process, which is not counted, and is always ahead of this one, which is slow under valgrind.
/// Neither is kept on a core, because time is not measured.
///
/// The server stops after the passes before the pause, and again after the last pass. No data is in flight at either
/// pause, so the instructions between them include no start, connection, handshake or end.
struct Iterations {
    /// The number of passes between the pauses.
    let count: Int
    /// The number of passes before the first pause.
    let countBefore: Int
    /// The name of a wire, or that of a `ColdIterations.Workload`.
    let workload: String
    /// `events`, `sequence` or `batches`, or the name of a `ClientIterations.Way`.
    let way: String

    /// The number of deltas of a pass on each stream, about 8,000 in all streams.
    ///
    /// Eight passes of one stream are a block of the server: a response with a pause is no longer than that.
    private static func messagesPerPass(_ wire: Wire) -> Int { 8_192 / wire.streamCount }

    /// Reads, and prints the passes and the events of a pass as one line of JSON.
    func run() async throws {
        if let way = ClientIterations.Way(rawValue: self.way) {
            return try await ClientIterations(way: way, count: self.count, countBefore: self.countBefore).run()
        }
        guard let kind = Consumer.Kind(name: self.way), !kind.isOnChosenThread else {
            throw UsageError("'\(self.way)' is neither events, sequence, batches nor a way of the clients")
        }
        if let cold = ColdIterations.Workload(self.workload) {
            return try await ColdIterations(
                workload: cold, count: self.count, countBefore: self.countBefore, kind: kind
            ).run()
        }
        guard let wire = Wire.all.first(where: { $0.name == self.workload }) else {
            throw UsageError("no workload \(self.workload)")
        }
        let countBefore = Self.messagesPerPass(wire) * self.countBefore
        let expected = ExpectedResponse(messageCount: countBefore + Self.messagesPerPass(wire) * self.count)
        let server = try StreamServer(
            .flood(messageCount: expected.messageCount, pauseAfter: countBefore),
            isSecure: wire.isSecure, compresses: wire.form.isCompressed, isPinned: false)
        let consumer = Consumer(kind: kind, server: server, form: wire.form, isPatient: true)
        let pauses = Pauses(streamCount: wire.streamCount, first: countBefore, last: expected.messageCount)
        try await consumer.read(wire.streamCount, expected, with: pauses)
        let eventsPerPass = Self.messagesPerPass(wire) * wire.streamCount
        Line.print(
            #"{"workload":"\#(wire.name) \#(self.way)","passes":\#(self.count),"eventsPerPass":\#(eventsPerPass)}"#)
    }
}
