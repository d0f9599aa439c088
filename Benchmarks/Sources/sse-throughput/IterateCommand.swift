// `sse-throughput --iterations`: passes of the parser alone, for programs that count instructions.

import ServerSentEvents

/// Parses a small stream again and again.
///
/// Two runs with different counts of passes differ by those passes alone: start-up and generator cancel out.
struct IterateCommand {
    /// The stream, and the size of its chunks.
    let workload: Workload
    /// The number of passes.
    let passCount: Int

    /// Parses, and prints the passes and the events of a pass as one line of JSON.
    func run() throws {
        let input = self.workload.corpus.makeInput(byteCount: self.workload.corpus.smallByteCount)
        let expected = Tally(eventCount: input.facts.eventCount, dataByteCount: input.facts.dataByteCount)
        // Outside the passes, because making the name may allocate.
        let name = self.workload.name
        var parser = EventStreamParser()
        try input.bytes.withUnsafeBytes { bytes in
            for _ in 0..<self.passCount {
                let tally = try parser.tally(of: bytes, chunkByteCount: self.workload.chunkByteCount)
                try expectSame(name, expected: expected, found: tally)
            }
        }
        print(
            #"{"workload":"\#(name)","passes":\#(self.passCount),"eventsPerPass":\#(expected.eventCount)}"#)
    }
}
